package sim_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// files returns the files below a folder by their relative paths.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// run runs an experiment without errors.
func run(t *testing.T, e sim.Experiment, dir string, opt sim.Options) []*sim.Result {
	t.Helper()
	results, err := e.Run(context.Background(), sim.Store{Dir: dir}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// names are the sorted paths of files.
func names(all map[string]string) []string {
	return slices.Sorted(maps.Keys(all))
}

// What is played comes with the warnings about its problem, what is stored with none.
func TestWarnings(t *testing.T) {
	e, dir, last := lesson(), t.TempDir(), sim.Status{}
	e.Problem = envs.Linear{RewardNoise: 1e5}
	opt := sim.Options{Progress: func(st sim.Status) { last = st }}
	if run(t, e, dir, opt); len(last.Warnings) != 1 || !strings.HasPrefix(last.Warnings[0], "rewards are of the size") {
		t.Errorf("warnings %q", last.Warnings)
	}
	if run(t, e, dir, opt); last.Warnings != nil {
		t.Errorf("warnings %q of what is stored", last.Warnings)
	}
	e.Entries[1].Algorithm = unit{}
	if run(t, e, t.TempDir(), opt); len(last.Warnings) != 2 || !strings.HasPrefix(last.Warnings[1], "sim_test.unit assumes rewards in [0, 1], and these are from -") {
		t.Errorf("warnings %q", last.Warnings)
	}
	e.Problem, e.Runs = field{Few: true}, 1
	if run(t, e, dir, opt); len(last.Warnings) != 1 || !strings.HasSuffix(last.Warnings[0], "1 rewards of a transition, want 4") {
		t.Errorf("warnings %q", last.Warnings)
	}
}

// Files are the same byte for byte however the runs are shared out.
func TestSameResult(t *testing.T) {
	dir := t.TempDir()
	results := run(t, lesson(), dir, sim.Options{Workers: 1, Stack: 20})
	want := files(t, dir)
	if len(want) != 2 || len(results) != 2 || results[0].Entry != "slow student" {
		t.Fatalf("files %v and %d results, want 2", names(want), len(results))
	}
	for _, opts := range [][]sim.Options{
		{{}},
		{{Workers: 4, Stack: 7}},
		{{Workers: 3, Stack: 1}},
		{{Shard: 2, Shards: 3}, {Shard: 1, Shards: 3, Stack: 2}, {Shard: 3, Shards: 3, Workers: 2}},
		{{Shard: 21, Shards: 30}, {Shard: 1, Shards: 2}, {Shard: 2, Shards: 2}},
	} {
		dir, have := t.TempDir(), []*sim.Result(nil)
		for i, opt := range opts {
			have = run(t, lesson(), dir, opt)
			if i < len(opts)-1 && len(have) != 0 {
				t.Errorf("shard %d has results of all", opt.Shard)
			}
		}
		if got := files(t, dir); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: other files: %v", opts, names(got))
		}
		if !reflect.DeepEqual(have, results) {
			t.Errorf("%+v: other results", opts)
		}
		if again := run(t, lesson(), dir, sim.Options{}); !reflect.DeepEqual(again, results) {
			t.Errorf("%+v: other results from the store", opts)
		}
	}
}

// Shards that run at the same time leave the same files, and there may be as many as
// runs of all entries.
func TestShardsAtOnce(t *testing.T) {
	dir, alone := t.TempDir(), t.TempDir()
	run(t, lesson(), alone, sim.Options{})
	var wg sync.WaitGroup
	for shard := range 40 {
		wg.Go(func() {
			opt := sim.Options{Shard: shard + 1, Shards: 40, Progress: func(s sim.Status) {
				if want := int64(lesson().Steps); s.Total != want {
					t.Errorf("shard %d of 40 plays %d run-steps, want those of one run, %d", shard+1, s.Total, want)
				}
			}}
			if _, err := lesson().Run(context.Background(), sim.Store{Dir: dir}, opt); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if have, want := files(t, dir), files(t, alone); !reflect.DeepEqual(have, want) {
		t.Errorf("files %v, want %v", names(have), names(want))
	}
}

// A run depends on its seeds alone, and the curves are what Play makes of them.
func TestRunIsPlay(t *testing.T) {
	e := lesson()
	result := run(t, e, t.TempDir(), sim.Options{})[0]
	env, _ := e.Problem.New(e.ProblemSeeds(13, 1))
	policy, _ := e.Entries[0].Algorithm.New(e.Problem.Spec(), e.PolicySeeds(13, 1))
	curves := sim.NewCurves(1, sim.Checkpoints(e.Steps))
	if err := sim.Play(context.Background(), env, policy, e.Steps, curves.Record); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(curves.Reward[0], result.Reward[13]) || !slices.Equal(curves.Regret[0], result.Regret[13]) {
		t.Error("run 13 is not what its seeds make")
	}
	if !slices.IsSorted(result.Regret[13]) || result.Regret[13][0] < 0 {
		t.Errorf("the regret falls: %v", result.Regret[13])
	}
}

// What a stopped Run has finished is played once.
func TestInterrupted(t *testing.T) {
	alone := t.TempDir()
	run(t, with(student{Rate: 0.1}), alone, sim.Options{})
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	var begun atomic.Int64
	e := with(student{Rate: 0.1, Begun: &begun, At: func(step int) {
		if begun.Load() == 9 && step == 5 { // in the third stack
			cancel()
		}
	}})
	results, err := e.Run(ctx, sim.Store{Dir: dir}, sim.Options{Workers: 1, Stack: 3})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "6 of 20 runs are kept") || results != nil {
		t.Errorf("error %v and %d results", err, len(results))
	}
	begun.Store(0)
	e = with(student{Rate: 0.1, Begun: &begun})
	var last sim.Status
	run(t, e, dir, sim.Options{Stack: 5, Progress: func(s sim.Status) { last = s }})
	if n := begun.Load(); n != 14+1 { // and the first steps of one run of one of the two parts
		t.Errorf("%d runs were begun, want 15", n)
	}
	if last.Done != 6000 || last.Total != 6000 || last.Served != 1800 || last.Entry != "student" || last.Stale != nil {
		t.Errorf("status %+v", last)
	}
	if have, want := files(t, dir), files(t, alone); !reflect.DeepEqual(have, want) {
		t.Errorf("files %v, want %v", names(have), names(want))
	}
	begun.Store(0)
	if run(t, e, dir, sim.Options{}); begun.Load() != 1 {
		t.Errorf("%d runs were begun of a result that is there, want the replay of 1", begun.Load())
	}
}

// When one stored result, or part, is of other code, all entries are played again,
// and nothing of the old code can be read from then on.
func TestStale(t *testing.T) {
	muted := func(shift bad, habit float64) sim.Experiment {
		e := lesson()
		e.Problem = field{Mute: true, Shift: shift}
		e.Entries[1].Algorithm = &student{Rate: 0.1, Habit: habit}
		return e
	}
	one := lesson().ProblemSeeds(1, 1)[0]
	var last sim.Status
	progress := func(s sim.Status) { last = s }
	for name, changed := range map[string]sim.Experiment{
		"an algorithm":                        muted(bad{}, 0.5),
		"a problem that changes late":         muted(bad{Step: 200}, 0),
		"a problem that has changed in run 1": muted(bad{Seed: one, Step: 1}, 0),
	} {
		dir, alone := t.TempDir(), t.TempDir()
		store, old := sim.Store{Dir: dir}, muted(bad{}, 0)
		want := run(t, changed, alone, sim.Options{})
		run(t, old, dir, sim.Options{})
		// It is interrupted once, and done by shards then.
		ctx, cancel := context.WithCancel(t.Context())
		stopped := changed
		stopped.Entries = slices.Clone(changed.Entries)
		slow := student{Rate: 0.01, At: func(step int) {
			if step == 250 {
				cancel()
			}
		}}
		stopped.Entries[0].Algorithm = slow
		if _, err := stopped.Run(ctx, store, sim.Options{Workers: 1, Progress: progress}); err == nil || last.Stale == nil || last.Served != 0 {
			t.Errorf("%s: error %v, status %+v", name, err, last)
		}
		for _, file := range must(os.ReadDir(filepath.Join(dir, "lesson"))) {
			if !strings.HasSuffix(file.Name(), ".old") {
				t.Errorf("%s: after an interrupt there is %s", name, file.Name())
			}
		}
		for shard := range 2 {
			have := run(t, changed, dir, sim.Options{Progress: progress, Shard: shard + 1, Shards: 2, Stack: 10})
			parts := 0
			for _, file := range must(os.ReadDir(filepath.Join(dir, "lesson"))) {
				parts += len(sim.PartRuns(filepath.Join(dir, "lesson", file.Name())))
			}
			if last.Stale != nil || len(have) != 2*shard || parts != (1-shard)*changed.Runs {
				t.Errorf("%s: %d results, %d runs in parts, status %+v", name, len(have), parts, last)
			}
		}
		have := run(t, changed, dir, sim.Options{Progress: progress})
		if !reflect.DeepEqual(have, want) || last.Stale != nil || last.Served != last.Total {
			t.Errorf("%s: other results, or status %+v", name, last)
		}

		// Parts of the old code are not completed by the new.
		dir = t.TempDir()
		run(t, old, dir, sim.Options{Shard: 1, Shards: 2})
		have = run(t, changed, dir, sim.Options{Progress: progress})
		if !reflect.DeepEqual(have, want) || last.Stale == nil || last.Served != 0 {
			t.Errorf("%s: other results, or status %+v", name, last)
		}
		if have, want := files(t, dir), files(t, alone); !reflect.DeepEqual(have, want) {
			t.Errorf("%s: files %v, want %v", name, names(have), names(want))
		}
	}
}

// Parts of other code that another process leaves while the last runs are played make no result, and are
// told.
func TestStaleParts(t *testing.T) {
	dir, left := t.TempDir(), false
	changed := with(student{Rate: 0.1, Habit: 0.5, At: func(step int) {
		if step == 250 && !left {
			left = true
			run(t, with(student{Rate: 0.1}), dir, sim.Options{Shard: 1, Shards: 2})
		}
	}})
	var last sim.Status
	have := run(t, changed, dir, sim.Options{Shard: 2, Shards: 2, Workers: 1, Progress: func(s sim.Status) { last = s }})
	if len(have) != 0 || !slices.Equal(last.Stale, []string{"student"}) {
		t.Errorf("%d results, status %+v", len(have), last)
	}
}

// What another backend, or another Player, has played is compared over fewer steps, for rounding
// parts it from what is played here.
func TestStaleElsewhere(t *testing.T) {
	player := sim.Options{Player: sim.PlayRuns}
	for _, c := range []struct {
		late          int
		first, second sim.Options
		stale         bool
	}{
		{60, sim.Options{}, sim.Options{}, true},
		{60, sim.Options{Backend: "other"}, sim.Options{}, false},
		{60, player, player, false},
		{0, sim.Options{Backend: "other"}, sim.Options{}, true},
		{0, player, player, true},
	} {
		dir, stale := t.TempDir(), false
		run(t, with(student{Rate: 0.1}), dir, c.first)
		c.second.Progress = func(s sim.Status) { stale = stale || s.Stale != nil }
		if run(t, with(student{Rate: 0.1, Habit: 9, Late: c.late}), dir, c.second); stale != c.stale {
			t.Errorf("%+v: stale is %v", c, stale)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Progress in lines says what was stored, and that code has changed.
func TestPrintProgress(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		habit float64
		want  string
	}{
		{0, "^lesson: done in .* s; 0 % was stored\n$"},
		{0, "^lesson: done in .* s; 100 % was stored\n$"},
		{1, "^lesson: stored results of other code, so all are played again: student\nlesson: done in .* s; 0 % was stored\n$"},
	} {
		var text strings.Builder
		progress := sim.PrintProgress(&text)
		var last sim.Status
		run(t, with(student{Rate: 0.1, Habit: test.habit}), dir, sim.Options{Progress: func(s sim.Status) { last = s }})
		progress(last)
		progress(last)
		if !regexp.MustCompile(test.want).MatchString(text.String()) {
			t.Errorf("%s\nwant %s", text.String(), test.want)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, test := range []struct {
		status sim.Status
		want   string
	}{
		{sim.Status{Total: 100}, "  0 %"},
		{sim.Status{Total: 100, Done: 50, Served: 50, Took: time.Second}, " 50 %"},
		{sim.Status{Total: 100, Done: 75, Served: 50, Took: 10 * time.Second, Entry: "a", Regret: 1.25}, " 75 %   2 run-steps/s   10s left   a   regret 1.2"},
		{sim.Status{Total: 100, Done: 99, Took: time.Second, Entry: "a", Regret: math.NaN(), Reward: .5}, " 99 %   99 run-steps/s   0s left   a   reward 0.5 a step"},
		{sim.Status{Total: 1e18, Done: 1, Took: time.Hour}, "  0 %   0 run-steps/s   277777h46m40s left"},
	} {
		if have := test.status.String(); have != test.want {
			t.Errorf("%q, want %q", have, test.want)
		}
	}
}

// Fresh plays again what is there, and keeps the old result under another name until then.
func TestFresh(t *testing.T) {
	dir := t.TempDir()
	var begun atomic.Int64
	e := with(student{Rate: 0.1, Begun: &begun})
	want := run(t, e, dir, sim.Options{})
	begun.Store(0)
	if have := run(t, e, dir, sim.Options{Fresh: true}); !reflect.DeepEqual(have, want) || begun.Load() != 20 {
		t.Errorf("other results, or %d runs begun, want 20", begun.Load())
	}
	all := files(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := e.Run(ctx, sim.Store{Dir: dir}, sim.Options{Fresh: true, Progress: func(sim.Status) { cancel() }})
	left := files(t, dir)
	name := names(all)[0]
	if err == nil || len(all) != 1 || len(left) != 1 || left[name+".old"] != all[name] {
		t.Errorf("error %v, files %v and then %v", err, names(all), names(left))
	}
	if run(t, e, dir, sim.Options{}); !reflect.DeepEqual(files(t, dir), all) {
		t.Errorf("in the end files %v", names(files(t, dir)))
	}
}

// One entry stops with run, step and setting in its error; the others go on.
func TestFailures(t *testing.T) {
	e := lesson()
	at := bad{Seed: e.PolicySeeds(13, 1)[0], Step: 17}
	reward := bad{Seed: e.ProblemSeeds(13, 1)[0], Step: 17}
	for _, test := range []struct {
		text      string
		problem   envs.Problem
		algorithm student
	}{
		{"run 13, step 17: the reward is NaN (setting: ", field{Bad: reward}, student{}},
		{"run 13, step 17: a weight is NaN (setting: sim_test.student {\"Rate\":0.25,", field{}, student{Rate: 0.25, Fail: at}},
		{"run 13, step 17: the policy chose action ", field{}, student{Outside: at}},
		{"run 13, step 17: the policy chose action -1 of ", field{}, student{Idle: at}},
		{"runs 10 to 14, step 17: panic: student: out of ink\n", field{}, student{Panic: at}},
		{"runs 0 to 4, step 1: panic: envs: 1 rewards of a transition, want 5\n", field{Few: true}, student{}},
	} {
		e.Problem = test.problem
		e.Entries = []sim.Entry{{Name: "broken", Algorithm: test.algorithm}, {Name: "sound", Algorithm: student{Rate: 0.1}}}
		results, err := e.Run(context.Background(), sim.Store{Dir: t.TempDir()}, sim.Options{Stack: 5, Workers: 1})
		want := `sim: experiment "lesson", entry "broken", ` + test.text
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if test.problem == (field{}) && (len(results) != 1 || results[0].Entry != "sound") {
			t.Errorf("%s: results %v, want that of the other entry", test.text, results)
		}
	}
}

// Which settings are refused is said before the entries ahead of them are played.
func TestRefusedSettings(t *testing.T) {
	var begun atomic.Int64
	e, dir := with(student{Begun: &begun}), t.TempDir()
	run(t, e, dir, sim.Options{})
	before := files(t, dir)
	begun.Store(0)
	e.Entries = append(e.Entries, sim.Entry{Name: "typo", Algorithm: student{Refuse: true}})
	const want = `sim: experiment "lesson", entry "typo": student: Refuse is true`
	if _, err := e.Run(t.Context(), sim.Store{Dir: dir}, sim.Options{Fresh: true}); err == nil || err.Error() != want || begun.Load() != 0 {
		t.Errorf("error %v, want %s; %d runs were begun", err, want, begun.Load())
	}
	if after := files(t, dir); !reflect.DeepEqual(after, before) {
		t.Errorf("files %v, and then %v", names(before), names(after))
	}
}

// What cannot be written is said, before hours of work where that is possible.
func TestNotWritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results") // where a file stands, whatever the user may do
	if err := os.WriteFile(dir, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var begun atomic.Int64
	e := with(student{Begun: &begun})
	if _, err := e.Run(t.Context(), sim.Store{Dir: dir}, sim.Options{}); err == nil || !strings.Contains(err.Error(), dir) || begun.Load() != 0 {
		t.Errorf("error %v after %d runs", err, begun.Load())
	}
	// The folder goes bad while the only stack is played.
	dir = t.TempDir()
	blocked := filepath.Join(dir, "lesson")
	e = with(student{At: func(step int) {
		if step == 200 {
			os.RemoveAll(blocked)
			os.WriteFile(blocked, nil, 0o666)
		}
	}})
	results, err := e.Run(t.Context(), sim.Store{Dir: dir}, sim.Options{Workers: 1, Stack: 20})
	if err == nil || !strings.HasPrefix(err.Error(), "sim: writing "+blocked) || len(results) != 1 {
		t.Errorf("error %v and %d results, want the result and the file's name", err, len(results))
	}
	// Nothing more is begun when a part cannot be written.
	os.Remove(blocked)
	e.Entries = append(e.Entries, sim.Entry{Name: "next", Algorithm: student{Begun: &begun}})
	results, err = e.Run(t.Context(), sim.Store{Dir: dir}, sim.Options{Workers: 1, Stack: 2})
	if err == nil || !strings.Contains(err.Error(), "sim: writing "+blocked) || results != nil || begun.Load() != 0 {
		t.Errorf("error %v, %d results and %d more runs", err, len(results), begun.Load())
	}
}

// On a full disk, here a limit of the size of files, what was there stays, and nothing half-written.
func TestFullDisk(t *testing.T) {
	var limit syscall.Rlimit
	path := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(sim.WriteFile(path, []byte("old")), syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	small := limit
	small.Cur = 1 << 22 // far more than go test itself writes meanwhile
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	err := sim.WriteFile(path, make([]byte, 1<<23))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if left, _ := os.ReadDir(filepath.Dir(path)); err == nil || string(text) != "old" || len(left) != 1 {
		t.Errorf("error %v, the file has %q, and there are %v", err, text, left)
	}
}

// Files that a killed process leaves are never read, and go with the parts.
func TestHalfWritten(t *testing.T) {
	dir, alone := t.TempDir(), t.TempDir()
	run(t, with(student{Rate: 0.1}), alone, sim.Options{})
	run(t, with(student{Rate: 0.1}), dir, sim.Options{Shard: 1, Shards: 2})
	for name, text := range files(t, dir) {
		half := filepath.Join(dir, filepath.Dir(name), "."+filepath.Base(name)+"-ABC")
		if err := os.WriteFile(half, []byte(text[:len(text)/2]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run(t, with(student{Rate: 0.1}), dir, sim.Options{Shard: 2, Shards: 2})
	if have, want := files(t, dir), files(t, alone); !reflect.DeepEqual(have, want) {
		t.Errorf("files %v, want %v", names(have), names(want))
	}
}
