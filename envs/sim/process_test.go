package sim_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs/sim"
)

// order is what a child process is told to do: play lesson.
type order struct {
	Dir            string
	Log            string
	Delay          time.Duration
	Free           int // runs without delay
	Workers, Stack int
	FileLimit      uint64 // bytes a file may have; 0: no limit
}

// report is what a child says at its end.
type report struct {
	Results int
	Error   string
}

const childVariable = "SIM_TEST_CHILD"

// TestMain makes the test binary a child that plays when it is told to.
func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	limitFiles(o.FileLimit)
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	results, err := loggedLesson(o.Log, o.Delay, o.Free).Run(context.Background(), sim.Store{Dir: o.Dir}, sim.Options{Workers: o.Workers, Stack: o.Stack})
	said := report{Results: len(results)}
	if err != nil {
		said.Error = err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(said)
}

// loggedLesson is lesson, with policies that take their time and note their
// runs; neither changes a result.
func loggedLesson(log string, delay time.Duration, free int) sim.Experiment {
	e := lesson()
	e.Contenders = []sim.Contender{
		{Name: e.Contenders[0].Name, Algorithm: student{Rate: 0.01, Log: log, Delay: delay, Free: free}},
		{Name: e.Contenders[1].Name, Algorithm: student{Rate: 0.1, Log: log, Delay: delay, Free: free}},
	}
	return e
}

// child is a process that has been started and waits for the word.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(t *testing.T, o order) *child {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childVariable+"="+string(text))
	c.Stderr = os.Stderr
	c.in, _ = c.StdinPipe()
	out, _ := c.StdoutPipe()
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	return c
}

func (c *child) begin() { fmt.Fprintln(c.in) }

func (c *child) report(t *testing.T) (r report) {
	t.Helper()
	if err := json.NewDecoder(c.out).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// parts are the paths of the part files below a folder.
func parts(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "lesson", "*.parts", "run-*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// await waits until a condition holds; a minute is long enough on any machine.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain for " + what)
		}
	}
}

// begun counts the runs that the processes began, by process and by seed.
func begun(t *testing.T, log string) (byProcess, bySeed map[string]int) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	byProcess, bySeed = make(map[string]int), make(map[string]int)
	for line := range strings.Lines(string(text)) {
		process, seed, _ := strings.Cut(strings.TrimSpace(line), " ")
		byProcess[process]++
		bySeed[seed]++
	}
	return byProcess, bySeed
}

// wanted are the files of an uninterrupted lesson.
func wanted(t *testing.T) map[string]string {
	t.Helper()
	uninterrupted.once.Do(func() {
		dir := t.TempDir()
		mustRun(t, lesson(), sim.Store{Dir: dir}, sim.Options{Workers: 1, Stack: 20})
		uninterrupted.files = files(t, dir)
	})
	return uninterrupted.files
}

var uninterrupted struct {
	once  sync.Once
	files map[string]string
}

func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	have := files(t, dir)
	for name := range have {
		if want[name] != have[name] {
			t.Errorf("%s is not a file of the uninterrupted run, or differs from it", name)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d files, want %d", len(have), len(want))
	}
}

// Two processes share 2 contenders of 20 runs: each run is played once, both
// play, and both end with all results.
func TestProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	o := order{Dir: dir, Log: log, Delay: time.Millisecond, Workers: 2, Stack: 4}
	a := startChild(t, o)
	o.Stack = 3
	b := startChild(t, o)
	a.begin()
	b.begin()
	for _, c := range []*child{a, b} {
		if r := c.report(t); r.Results != 2 || r.Error != "" {
			t.Errorf("a process ended with %d results and error %q", r.Results, r.Error)
		}
	}
	byProcess, bySeed := begun(t, log)
	if len(byProcess) != 2 {
		t.Errorf("%d processes played", len(byProcess))
	}
	for _, seed := range lesson().PolicySeeds(0, 20) {
		if n := bySeed[fmt.Sprint(seed)]; n != 2 { // once for each contender
			t.Errorf("the run of policy seed %d was played %d times by 2 contenders", seed, n)
		}
	}
	wantFiles(t, dir, wanted(t))
}

// A process that is killed leaves its finished parts and, here, half a
// temporary file. The next Run plays what is missing and ends with the files of
// an uninterrupted one.
func TestResumeAfterKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	c := startChild(t, order{Dir: dir, Log: log, Delay: time.Hour, Free: 6, Workers: 1, Stack: 3})
	c.begin()
	await(t, "parts", func() bool { return len(parts(t, dir)) == 6 })
	c.Process.Kill()
	c.Wait()
	kept := parts(t, dir)
	half, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(kept[0]), "HALF.tmp"), half[:len(half)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	mustRun(t, loggedLesson(log, 0, 0), sim.Store{Dir: dir}, sim.Options{})
	if byProcess, _ := begun(t, log); byProcess[fmt.Sprint(os.Getpid())] != 40-6 {
		t.Errorf("played %v runs after 6 of 40 were kept", byProcess)
	}
	wantFiles(t, dir, wanted(t))
}

// A process waits for the runs that another one plays, and takes them over when
// that one is killed.
func TestTakeOverFromKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	c := startChild(t, order{Dir: dir, Log: log, Delay: time.Hour, Workers: 1, Stack: 20})
	c.begin()
	await(t, "the child's runs", func() bool {
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "\n") == 20
	})
	done := make(chan error)
	go func() {
		_, err := lesson().Run(context.Background(), sim.Store{Dir: dir}, sim.Options{})
		done <- err
	}()
	await(t, "the other contender", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "lesson", "0.1-quick-*.csv"))
		return len(found) == 1
	})
	select {
	case err := <-done:
		t.Fatalf("ended while another process plays 20 runs: %v", err)
	default:
	}
	c.Process.Kill()
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantFiles(t, dir, wanted(t))
}
