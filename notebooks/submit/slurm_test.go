package submit_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/submit"
)

var onSlurm = flag.Bool("slurm", false, "submit to a Slurm cluster, that of .ci/slurm")

// run runs a command in the repository's folder and returns what it prints.
func run(t *testing.T, command ...string) string {
	t.Helper()
	text, err := attempt(command...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, text)
	}
	return text
}

func attempt(command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = "../.."
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// until asks the cluster again and again.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for began := time.Now(); !f(); run(t, "squeue") {
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("%s: not after 10 minutes", what)
		}
	}
}

func idle(t *testing.T) func() bool {
	return func() bool { return run(t, "squeue", "-h") == "" }
}

// statusOf is that of the only job, or nothing before it has begun.
func statusOf(out string) (s submit.Status) {
	if all, _ := submit.Look(out); len(all) == 1 {
		s = all[0]
	}
	return s
}

var timed = regexp.MustCompile(`(?m)^[0-9.]+ s$`)

var submitted = regexp.MustCompile(`submitted (\d+)`)

// results are the result files by their names.
func results(t *testing.T, out string) map[string]string {
	files, _ := filepath.Glob(filepath.Join(out, "results", "*", "*.csv"))
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	return all
}

// A search of 1,120 runs loses a task, is cancelled in the middle, and is submitted again, twice at
// the same time. Then its finals are. All files and the table are those of one process.
func TestSlurm(t *testing.T) {
	if !*onSlurm {
		t.Skip("there is no Slurm: .ci/slurm go test ./notebooks/submit -slurm has one")
	}
	dir := t.TempDir()
	alone, out, paper, other := filepath.Join(dir, "alone"), filepath.Join(dir, "it's 100%"), filepath.Join(dir, "paper"), filepath.Join(dir, "other")
	run(t, "go", "build", "-o", paper, "./notebooks/cmd/paper")
	run(t, "go", "build", "-ldflags=-s", "-o", other, "./notebooks/cmd/paper")
	study := strings.Fields("tuning-toy-linear -scale 0.0025 -runs 5 -out")
	table := func(out string) string {
		_, rows, _ := strings.Cut(run(t, append(append([]string{paper, "run"}, study...), out)...), "best setting")
		rows, _, found := strings.Cut(rows, "The results are in")
		if !found || strings.Count(rows, "\n") < 8 {
			t.Errorf("no table: %s", rows)
		}
		return timed.ReplaceAllString(strings.ReplaceAll(rows, out, ""), "")
	}
	want := table(alone)
	submitting := append(append(append([]string{paper, "submit", "-to", "slurm"}, study...), out), "--", "--time=30")
	with := func(tasks string) []string {
		return append(submitting[:len(submitting)-2:len(submitting)-2], "-tasks", tasks, "--", "--time=30")
	}

	id := submitted.FindStringSubmatch(run(t, submitting...))[1]
	until(t, "a task is killed", func() bool {
		programs, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, program := range programs {
			if path, _ := os.Readlink(program); strings.HasPrefix(path, out) {
				pid := 0
				for _, digit := range strings.Split(program, "/")[2] {
					pid = 10*pid + int(digit-'0')
				}
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		return false
	})
	until(t, "runs are finished", func() bool { return statusOf(out).Finished >= 100 })
	run(t, paper, "cancel", id)
	until(t, "the job is cancelled", idle(t))
	if s := statusOf(out); s.Runs != 1120 || s.Finished < 100 || s.Finished == s.Runs {
		t.Errorf("the job was not stopped in the middle: %v", s)
	}
	if text, err := attempt(append([]string{other}, submitting[1:]...)...); err == nil || !strings.Contains(text, "another build") {
		t.Errorf("another build: %v, %s", err, text)
	}
	both := submitted.FindAllStringSubmatch(run(t, with("10")...)+run(t, with("7")...), -1)
	until(t, "both jobs have ended", idle(t))
	for _, job := range both {
		if logs, _ := filepath.Glob(filepath.Join(out, "results", "*", "*.job", job[1]+"_*.log")); logs == nil {
			t.Errorf("job %s has not started", job[1])
		}
	}
	if s := statusOf(out); s.Finished != 1120 || s.Underway != 0 {
		t.Errorf("at the end: %v", s)
	}
	run(t, with("8")...)
	until(t, "the finals have ended", idle(t))
	files, have := results(t, alone), results(t, out)
	for name, text := range files {
		if have[name] != text {
			t.Errorf("%s is another file", name)
		}
	}
	if len(files) != 224+56 || len(have) != len(files) {
		t.Errorf("%d and %d results, want 280", len(files), len(have))
	}
	if have := table(out); have != want {
		t.Errorf("the table is\n%s, that of one process\n%s", have, want)
	}
	if parts, _ := filepath.Glob(filepath.Join(out, "results", "*", "*.parts")); parts != nil {
		t.Errorf("parts stay: %v", parts)
	}
}

// A task at its time limit keeps what is finished, and is queued again.
func TestSlurmTimeLimit(t *testing.T) {
	if !*onSlurm {
		t.Skip("there is no Slurm")
	}
	out := t.TempDir()
	text := run(t, strings.Fields("go run ./notebooks/cmd/paper submit toy-linear -to slurm -tasks 1 -scale 0.01 -runs 1000 -out "+out+" -- --time=1 --signal=B:USR1@50")...)
	id := submitted.FindStringSubmatch(text)[1]
	until(t, "the task runs again", func() bool {
		job := run(t, "scontrol", "show", "job", id)
		return strings.Contains(job, "Restarts=1 ") && strings.Contains(job, "JobState=RUNNING")
	})
	run(t, "scancel", id)
	until(t, "the job is cancelled", idle(t))
	if s := statusOf(out); s.Finished == 0 {
		t.Errorf("nothing was kept: %v", s)
	}
}

// What a cluster does not take is said, and nothing starts where nodes do not see the folder.
func TestSlurmRefuses(t *testing.T) {
	if !*onSlurm {
		t.Skip("there is no Slurm")
	}
	line := "go run ./notebooks/cmd/paper submit toy-linear -to slurm -out " + t.TempDir() + " -- --partition=nonsense"
	if text, err := attempt(strings.Fields(line)...); err == nil || !strings.Contains(text, "invalid partition specified: nonsense") {
		t.Errorf("%v, %s", err, text)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	id := submitted.FindStringSubmatch(run(t, strings.Fields("go run ./notebooks/cmd/paper submit toy-linear -to slurm -out "+out+" -- --hold")...))[1]
	if err := os.Rename(out, filepath.Join(dir, "hidden")); err != nil {
		t.Fatal(err)
	}
	for job := range strings.FieldsSeq(run(t, "squeue", "-h", "-o", "%A")) {
		run(t, "scontrol", "release", job)
	}
	until(t, "the job is given up", idle(t))
	if job := run(t, "scontrol", "show", "job", id); !strings.Contains(job, "JobState=CANCELLED Reason=DependencyNeverSatisfied") {
		t.Error(job)
	}
	if s := statusOf(filepath.Join(dir, "hidden")); !strings.Contains(s.String(), "have not yet found that folder") {
		t.Error(s)
	}
}
