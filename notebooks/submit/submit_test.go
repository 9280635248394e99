package submit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/submit"
)

var experiment = sim.Experiment{
	Name: "toy-linear", Problem: envs.Linear{}, Runs: 3, Steps: 20,
	Entries: []sim.Entry{{Name: "random", Algorithm: baselines.Random{}}, {Name: "Lin-UCB", Algorithm: baselines.LinUCB{}}},
}

// TestMain also is a task, in a process that is given a folder.
func TestMain(m *testing.M) {
	if out := os.Getenv("SUBMIT_TEST_OUT"); out != "" {
		if _, err := submit.Run(context.Background(), out, experiment, sim.Options{}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// job is the name of the experiment's job, by which its tasks know it.
func job(t *testing.T, e sim.Experiment) string {
	t.Helper()
	text, err := submit.Job{To: "slurm"}.Text(t.TempDir(), e, nil)
	_, name, found := strings.Cut(text, "PAPER_JOB=")
	if err != nil || !found {
		t.Fatalf("%v\n%s", err, text)
	}
	return strings.Fields(name)[0]
}

// Tasks leave the files of one process, and nothing is left of them.
func TestTasks(t *testing.T) {
	alone, out := t.TempDir(), t.TempDir()
	if _, err := submit.Run(t.Context(), alone, experiment, sim.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAPER_TASKS", "4")
	t.Setenv("PAPER_JOB", job(t, experiment))
	for i, finished := range []int{1, 3, 4, 6} {
		t.Setenv("JOB_COMPLETION_INDEX", strconv.Itoa(i))
		var during submit.Status
		if _, err := submit.Run(t.Context(), out, experiment, sim.Options{Progress: func(sim.Status) { during = statusOf(out) }}); err != nil {
			t.Fatal(err)
		}
		if s := statusOf(out); s.Runs != 6 || s.Finished != finished || s.Underway != 0 || during.Runs != 6 {
			t.Errorf("after task %d: %+v, during it: %+v", i, s, during)
		}
	}
	want, have := results(t, alone), results(t, out)
	if len(want) != 2 || fmt.Sprint(want) != fmt.Sprint(have) {
		t.Error("other results")
	}
	// Tasks that are none of this job, or of this build.
	for _, test := range []struct{ name, value, want string }{
		{"JOB_COMPLETION_INDEX", "4", "Shard 5 of Shards 4"},
		{"JOB_COMPLETION_INDEX", "", "EOF"},
		{"PAPER_JOB", "00000000.job", submit.ErrOtherJob.Error()},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Setenv(test.name, test.value)
			if _, err := submit.Run(t.Context(), out, experiment, sim.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
		})
	}
	file := filepath.Join(statusOf(out).Folder, "job.json")
	text, err := os.ReadFile(file)
	if err == nil {
		_, rest, _ := bytes.Cut(text, []byte(`"Build": "`))
		err = sim.WriteFile(file, bytes.Replace(text, rest[:12], []byte("000000000000"), 1))
	}
	for name := range have {
		err = errors.Join(err, os.Remove(filepath.Join(out, "results", "toy-linear", name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := submit.Run(t.Context(), out, experiment, sim.Options{}); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("of another build: %v", err)
	}
}

// The batch file is one for bash, with any folder and any argument.
func TestBatchFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), `it's 5% "of" $HOME`)
	text, err := submit.Job{To: "slurm", Tasks: 100, Args: []string{"--comment=a b", "-p", "cpu"}}.Text(out, experiment, []string{"run", "a'b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`--array=1-6 `, `%% \"of\" $HOME/results/toy-linear/`, `"--comment=a b" "-p" "cpu"`, `'run' 'a'\''b' &`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	bash := exec.Command("bash", "-n")
	bash.Stdin = strings.NewReader(text)
	if said, err := bash.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, said, text)
	}
}

// Kubernetes takes the name of a job whatever the experiment's is.
func TestNames(t *testing.T) {
	named := regexp.MustCompile(`(?m)^  name: paper-[a-z0-9-]{0,30}-[a-z0-9]{6}$`)
	for _, name := range []string{"A_b.c", "-x-", strings.Repeat("long", 25)} {
		e := experiment
		e.Name = name
		text, err := submit.Job{To: "kubernetes", Image: "i", Claim: "c"}.Text(t.TempDir(), e, nil)
		if err != nil || !named.MatchString(text) {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// What is wrong is said in a sentence, before anything is submitted.
func TestRefused(t *testing.T) {
	fake := t.TempDir() // a cluster that refuses all
	for _, name := range []string{"sbatch", "kubectl", "scancel"} {
		if err := os.WriteFile(filepath.Join(fake, name), []byte("#!/bin/sh\necho $0 is not amused >&2\nexit 1\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	slurm, kubernetes := submit.Job{To: "slurm"}, submit.Job{To: "kubernetes", Image: "i", Claim: "c", Program: "p"}
	bad := experiment
	bad.Runs = 0
	for _, test := range []struct {
		want, path string
		job        submit.Job
		experiment sim.Experiment
	}{
		{`To slurm, or kubernetes with an Image and a Claim; it is "pbs"`, fake, submit.Job{To: "pbs"}, experiment},
		{"an Image and a Claim", fake, submit.Job{To: "kubernetes", Image: "i"}, experiment},
		{"an Image and a Claim", fake, submit.Job{To: "slurm", Queue: "q"}, experiment},
		{"Tasks is 2000, want 1 to 1,000", fake, submit.Job{To: "slurm", Tasks: 2000}, experiment},
		{"Runs is 0", fake, slurm, bad},
		{"sbatch is not amused", fake, slurm, experiment},
		{"kubectl is not amused", fake, kubernetes, experiment},
		{"submit from a machine of the cluster", "/nowhere", slurm, experiment},
		{"submit from a machine of the cluster", "/nowhere", kubernetes, experiment},
	} {
		t.Setenv("PATH", test.path)
		_, err := test.job.Submit(t.Context(), t.TempDir(), test.experiment, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
	for name, want := range map[string]string{"12_3": "scancel", "paper-a": "kubectl"} {
		t.Setenv("PATH", fake)
		if err := submit.Cancel(t.Context(), name, nil); err == nil || !strings.Contains(err.Error(), want+" is not amused") {
			t.Errorf("cancel %s: %v", name, err)
		}
	}
}

// Status says, from the store alone: what is under way, how long it takes, and that the tasks
// which look for the folder have not found it. A task that has been silent is dead.
func TestStatus(t *testing.T) {
	out := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	accepts := "#!/bin/sh\necho \"$@\" >>" + out + "/asked\necho 7\n"
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "sbatch"), []byte(accepts), 0o777); err != nil {
		t.Fatal(err)
	}
	if said, err := (submit.Job{To: "slurm"}).Submit(t.Context(), out, experiment, nil); err != nil || !strings.Contains(said, "submitted 7,") {
		t.Fatalf("%s, %v", said, err)
	}
	asked, _ := os.ReadFile(filepath.Join(out, "asked"))
	if want := "--parsable --array=1-2 --time=5 --output=/dev/null\n--parsable --kill-on-invalid-dep=yes --dependency=afterok:7\n"; string(asked) != want {
		t.Errorf("sbatch was asked %s, want %s", asked, want)
	}
	const none = "toy-linear, 20 steps: 0 of 6 runs are finished, "
	if s := statusOf(out).String(); !strings.HasPrefix(s, none+"0 under way, 6 missing") || !strings.Contains(s, "have not yet found that folder") {
		t.Error(s)
	}
	folder := statusOf(out).Folder
	for name, text := range map[string]string{"task-1": "2 60", "task-2": "1 90", "task-3": "3 900"} {
		if err := sim.WriteFile(filepath.Join(folder, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Remove(filepath.Join(folder, "unseen/1")), os.Remove(filepath.Join(folder, "unseen/2")), os.Chtimes(filepath.Join(folder, "task-3"), time.Time{}, time.Unix(0, 0)))
	if s, want := statusOf(out).String(), none+"3 under way, 3 missing; logs are in "+folder+"; 1m30s left for those under way"; err != nil || s != want {
		t.Errorf("%v, %s, want %s", err, s, want)
	}
}

// A full disk stops a task with an advice.
func TestFullDisk(t *testing.T) {
	out := t.TempDir()
	task := exec.Command("unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=8k none "$0" && exec "$1"`, out, os.Args[0])
	task.Env = append(os.Environ(), "SUBMIT_TEST_OUT="+out, "PAPER_JOB="+job(t, experiment), "PAPER_TASKS=1", "JOB_COMPLETION_INDEX=0")
	text, err := task.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || strings.Contains(string(text), "unshare:") || strings.Contains(string(text), "mount:") {
		t.Skipf("no small disk can be had: %v %s", err, text)
	}
	if !strings.Contains(string(text), "make room and submit again") {
		t.Errorf("%v, %s", err, text)
	}
}
