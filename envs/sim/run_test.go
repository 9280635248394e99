package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

// files maps the paths below a folder to their contents.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func mustRun(t testing.TB, e sim.Experiment, store sim.Store, opt sim.Options) []*sim.Result {
	t.Helper()
	results, err := e.Run(context.Background(), store, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(e.Contenders) {
		t.Fatalf("%d results of %d contenders", len(results), len(e.Contenders))
	}
	return results
}

// However the runs are stacked and shared out, the files are the same, and
// nothing else is left.
func TestSameFilesForAllOptions(t *testing.T) {
	t.Parallel()
	want := wanted(t)
	if len(want) != 2 {
		t.Fatalf("%d files of 2 contenders", len(want))
	}
	for _, stack := range []int{1, 7, 20} {
		for workers := 1; workers <= 4; workers++ {
			dir := t.TempDir()
			mustRun(t, lesson(), sim.Store{Dir: dir}, sim.Options{Workers: workers, Stack: stack})
			wantFiles(t, dir, want)
		}
	}
}

// Settings that are more than enough do no harm.
func TestMoreThanEnough(t *testing.T) {
	t.Parallel()
	want := wanted(t)
	for _, opt := range []sim.Options{{Workers: math.MaxInt}, {Stack: math.MaxInt}, {Workers: 100_000_000, Stack: math.MaxInt}} {
		dir := t.TempDir()
		mustRun(t, lesson(), sim.Store{Dir: dir}, opt)
		wantFiles(t, dir, want)
	}
}

// Run r can be rebuilt from its seeds, alone and without Run, and its regret
// never falls.
func TestResultIsPlay(t *testing.T) {
	t.Parallel()
	e := lesson()
	for i, r := range mustRun(t, e, sim.Store{Dir: t.TempDir()}, sim.Options{Stack: 7}) {
		if r.Contender != e.Contenders[i].Name {
			t.Fatalf("result %d is of %q", i, r.Contender)
		}
		const run = 13
		env, err := e.Problem.New(e.ProblemSeeds(run, 1))
		if err != nil {
			t.Fatal(err)
		}
		policy, err := e.Contenders[i].Algorithm.New(e.Problem.Spec(), e.PolicySeeds(run, 1))
		if err != nil {
			t.Fatal(err)
		}
		curves := sim.NewCurves(1, sim.Checkpoints(e.Steps))
		if err := sim.Play(context.Background(), env, policy, e.Steps, curves); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Checkpoints, curves.Checkpoints) || !reflect.DeepEqual(r.Reward[run], curves.Reward[0]) || !reflect.DeepEqual(r.Regret[run], curves.Regret[0]) {
			t.Errorf("%s: run %d differs from the same run alone", r.Contender, run)
		}
		for run, regret := range r.Regret {
			before := 0.0
			for k, x := range regret {
				if x < before {
					t.Errorf("%s: run %d: regret falls from %v to %v at step %d", r.Contender, run, before, x, r.Checkpoints[k])
				}
				before = x
			}
			if before == 0 {
				t.Errorf("%s: run %d: no regret in spite of exploring", r.Contender, run)
			}
		}
	}
}

// Contenders meet the same streams: two of the same setting get the same curves.
func TestPaired(t *testing.T) {
	e := lesson()
	e.Contenders = []sim.Contender{
		{Name: "a", Algorithm: student{Rate: 0.1}},
		{Name: "b", Algorithm: student{Rate: 0.2}},
		{Name: "c", Algorithm: student{Rate: 0.1}},
	}
	r := mustRun(t, e, sim.Store{Dir: t.TempDir()}, sim.Options{})
	if !reflect.DeepEqual(r[0].Reward, r[2].Reward) || !reflect.DeepEqual(r[0].Regret, r[2].Regret) {
		t.Error("two contenders of the same setting differ")
	}
	if reflect.DeepEqual(r[0].Reward, r[1].Reward) {
		t.Error("two settings do not differ")
	}
}

func TestNoOracle(t *testing.T) {
	t.Parallel()
	e := lesson()
	e.Problem = field{Mute: true}
	store := sim.Store{Dir: t.TempDir()}
	var last sim.Status
	for _, r := range mustRun(t, e, store, sim.Options{Progress: func(s sim.Status) { last = s }}) {
		if r.Regret != nil {
			t.Errorf("%s: regret without an Oracle", r.Contender)
		}
	}
	if !math.IsNaN(last.Regret) {
		t.Errorf("status has regret %v", last.Regret)
	}
	for i, r := range mustRun(t, lesson(), sim.Store{Dir: t.TempDir()}, sim.Options{}) {
		blind, err := store.Load(e, e.Contenders[i])
		if err != nil {
			t.Fatal(err)
		}
		if blind.Regret != nil || !reflect.DeepEqual(blind.Reward, r.Reward) {
			t.Errorf("%s: an Oracle changes the rewards", r.Contender)
		}
	}
}

// A cancelled Run stops within a step, keeps finished parts and says so; the
// next one plays the rest only.
func TestResumeAfterCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	e := loggedLesson(log, 0, 0)
	first := e.Contenders[0].Algorithm.(student)
	var stacks atomic.Int64
	first.Stop = func() {
		if stacks.Add(1) == 3 {
			cancel()
		}
	}
	e.Contenders[0].Algorithm = first
	results, err := e.Run(ctx, sim.Store{Dir: dir}, sim.Options{Workers: 1, Stack: 5})
	if len(results) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d results, error %v", len(results), err)
	}
	if text := "0 of 2 contenders, and 10 runs of the others, are kept in " + filepath.Join(dir, "lesson"); !strings.Contains(fmt.Sprint(err), text) {
		t.Errorf("error %v, want %q", err, text)
	}
	os.Remove(log)
	mustRun(t, loggedLesson(log, 0, 0), sim.Store{Dir: dir}, sim.Options{})
	if _, bySeed := begun(t, log); bySeed[fmt.Sprint(e.PolicySeeds(9, 1)[0])] != 1 || bySeed[fmt.Sprint(e.PolicySeeds(10, 1)[0])] != 2 {
		t.Errorf("runs that were begun after resuming: %v", bySeed)
	}
	wantFiles(t, dir, wanted(t))

	// What is finished is served even when nothing may be played any more.
	if results, err := lesson().Run(ctx, sim.Store{Dir: dir}, sim.Options{}); len(results) != 2 || err != nil {
		t.Errorf("cancelled, but all is there: %d results, error %v", len(results), err)
	}
}

// Two Runs of one process share the work like two processes.
func TestRunTwiceAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			results, err := loggedLesson(log, 0, 0).Run(context.Background(), sim.Store{Dir: dir}, sim.Options{Workers: 2, Stack: 3})
			if len(results) != 2 || err != nil {
				t.Errorf("%d results, error %v", len(results), err)
			}
		})
	}
	wg.Wait()
	if byProcess, _ := begun(t, log); byProcess[fmt.Sprint(os.Getpid())] != 40 {
		t.Errorf("%v runs were played, want 40", byProcess)
	}
	wantFiles(t, dir, wanted(t))
}

// The result names the versions that its runs come from.
func TestVersions(t *testing.T) {
	store := sim.Store{Dir: t.TempDir()}
	ctx, cancel := context.WithCancel(context.Background())
	e := lesson()
	e.Contenders = e.Contenders[:1]
	// Runs 0 to 6 in version 2: the stack after them is cancelled at step 5.
	var stacks atomic.Int64
	e.Contenders[0].Algorithm = student{Rate: 0.01, Stop: func() {
		if stacks.Add(1) == 2 {
			cancel()
		}
	}}
	if _, err := e.Run(ctx, store, sim.Options{Workers: 1, Stack: 7, Version: "v2", Backend: "go"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	e.Contenders[0].Algorithm = student{Rate: 0.01}
	r := mustRun(t, e, store, sim.Options{Version: "v1", Backend: "go"})[0]
	if r.Version != "v1, v2" || r.Backend != "go" {
		t.Errorf("version %q, backend %q", r.Version, r.Backend)
	}
}

func TestProgress(t *testing.T) {
	store := sim.Store{Dir: t.TempDir()}
	const total = 2 * 20 * 300
	var inside atomic.Bool
	var seen []sim.Status
	opt := sim.Options{Workers: 2, Stack: 5, Progress: func(s sim.Status) {
		if inside.Swap(true) {
			t.Error("calls of Progress overlap")
		}
		seen = append(seen, s)
		inside.Store(false)
	}}
	results := mustRun(t, lesson(), store, opt)
	before := int64(0)
	for _, s := range seen {
		if s.Experiment != "lesson" || s.Total != total || s.Served != 0 || s.Done < before {
			t.Errorf("after %d run-steps: %+v", before, s)
		}
		before = s.Done
	}
	if before != total {
		t.Errorf("ended at %d of %d", before, total)
	}
	last := seen[len(seen)-1]
	for _, r := range results {
		if r.Contender != last.Contender {
			continue
		}
		regret, reward := 0.0, 0.0
		end := len(r.Checkpoints) - 1
		for run := range r.Regret {
			regret += r.Regret[run][end] / 20
			reward += r.Reward[run][end] / 20 / 300
		}
		if math.Abs(regret-last.Regret) > 1e-9 || math.Abs(reward-last.Reward) > 1e-9 {
			t.Errorf("status has regret %v and reward %v, results %v and %v", last.Regret, last.Reward, regret, reward)
		}
	}

	seen = nil
	mustRun(t, lesson(), store, opt)
	if len(seen) != 1 || seen[0].Done != total || seen[0].Served != total || seen[0].Contender == "" {
		t.Errorf("served: %+v", seen)
	}
}
