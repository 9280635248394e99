package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs"
)

// Run plays all entries that the store does not hold yet, or all of them if it holds
// one from other code, and returns the finished results in the order of Entries.
// Without an error these are all, or with shards, all whose other shards are finished.
//
// Settings that an algorithm refuses stop all before a step is played. An entry that fails later - an
// error, a panic, a number that is not finite - stops alone, and the error names run, step and
// setting. When ctx is cancelled, all stop within a step, finished stacks are kept, and the error
// wraps ctx.Err(). All stop too when a file cannot be written.
func (e Experiment) Run(ctx context.Context, store Store, opt Options) ([]*Result, error) {
	if err := errors.Join(e.Validate(), opt.validate()); err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &session{Experiment: e, Store: store, Options: opt, stop: stop, began: time.Now()}
	shard, shards, all := max(opt.Shard, 1), max(opt.Shards, 1), e.Runs*len(e.Entries)
	s.from, s.to = all*(shard-1)/shards, all*shard/shards
	share := s.to - s.from
	if share == 0 {
		return nil, fmt.Errorf("sim: experiment %q has %d runs, which are not enough for %d shards", e.Name, all, shards)
	}
	workers := cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	s.Stack = cmp.Or(opt.Stack, min((share-1)/(len(e.Entries)*workers)+1, 5))
	s.Version, s.Backend = strings.Join(strings.Fields(opt.Version), " "), strings.Join(strings.Fields(opt.Backend), " ")
	s.status = Status{Experiment: e.Name, Regret: math.NaN(), Total: int64(share) * int64(e.Steps)}
	s.check = problemCheck(running, e)
	jobs := make([]*job, len(e.Entries))
	parallel(workers, len(jobs), func(i int) { jobs[i] = newJob(running, s, i) })
	stale := func() (names []string) {
		for _, j := range jobs {
			if j.stale {
				names = append(names, j.entry.Name)
			}
		}
		return names
	}
	if s.status.Stale = stale(); s.status.Stale != nil {
		s.status.Warnings = []string{"stored results of other code, so all are played again: " + strings.Join(s.status.Stale, ", ")}
	}
	var units []func()
	var algorithms []envs.Algorithm
	for _, j := range jobs {
		if running.Err() == nil && (opt.Fresh || s.status.Stale != nil) {
			j.forget()
		}
		s.status.Served += j.divide() * int64(e.Steps)
		algorithms = append(algorithms, j.entry.Algorithm)
		for _, stack := range j.stacks {
			units = append(units, func() { j.play(stack) })
		}
	}
	s.status.Done = s.status.Served
	if len(units) > 0 && running.Err() == nil { // before hours of work
		try := filepath.Join(filepath.Dir(s.path(&jobs[0].result)), ".writable")
		if err := WriteFile(try, nil); err != nil {
			stop(err)
		}
		os.Remove(try)
	}
	if len(units) > 0 && s.check != "" { // the problem itself does not fail
		warnings, err := envs.Check(e.Problem, algorithms...)
		if err != nil {
			warnings = []string{err.Error()}
		}
		s.status.Warnings = append(s.status.Warnings, warnings...)
	}
	s.report(func(*Status) {})
	parallel(workers, len(units), func(i int) { units[i]() })
	s.shown = time.Time{}
	s.report(func(st *Status) { st.Stale = stale() }) // parts of other processes, too

	var results []*Result
	var errs []error
	kept := 0
	for _, j := range jobs {
		kept += len(j.result.there())
		if j.result.complete() {
			results = append(results, &j.result)
		}
		if err := context.Cause(j.ctx); err != context.Cause(running) {
			errs = append(errs, err)
		}
	}
	switch err := context.Cause(running); {
	case err != nil && ctx.Err() == nil:
		errs = append(errs, err)
	case err != nil && len(results) < len(jobs):
		errs = append(errs, fmt.Errorf("sim: experiment %q was stopped; %d of %d runs are kept in %s: %w",
			e.Name, kept, all, cmp.Or(store.Dir, "results"), ctx.Err()))
	}
	return results, errors.Join(errs...)
}

func parallel(workers, n int, f func(i int)) {
	free := make(chan struct{}, workers)
	var wg sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		wg.Go(func() { f(i); <-free })
	}
	wg.Wait()
}

type session struct {
	Experiment
	Store
	Options
	from, to int                     // the runs that this process plays; number Entries*r+k is run r of entry k
	check    string                  // Result.Check, as the code makes it
	stop     context.CancelCauseFunc // stops all jobs

	mu     sync.Mutex
	status Status
	shown  time.Time
	began  time.Time
}

// report changes the status and shows it from time to time.
func (s *session) report(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
	if now := time.Now(); s.Progress != nil && now.Sub(s.shown) >= 100*time.Millisecond {
		s.shown, s.status.Took = now, now.Sub(s.began)
		s.Progress(s.status)
	}
}

// job is one entry on its way from missing runs to a result.
type job struct {
	*session
	entry Entry
	index int                     // of the entry
	ctx   context.Context         // ends with Run, or when this entry fails
	fail  context.CancelCauseFunc // stops the entry, and says why if it was not stopped already

	lock   sync.Mutex // of what follows
	result Result     // the settings and, more and more, the curves
	stacks []runs     // that this process has to play
	played int        // how many of them it has
	stale  bool       // what is stored has come of other code
}

type runs struct{ first, n int }

// newJob takes from the store what is there, if the algorithm accepts its settings.
func newJob(ctx context.Context, s *session, index int) *job {
	j := &job{session: s, entry: s.Entries[index], index: index}
	j.result, _ = s.head(j.entry) // Validate has seen the error
	j.result.Checkpoints, j.result.Reward, j.result.Check = Checkpoints(s.Steps), make([][]float64, s.Runs), s.check
	j.ctx, j.fail = context.WithCancelCause(ctx)
	if j.try(); !s.Fresh {
		j.look()
	}
	return j
}

// forget makes the store one without this entry. What it had of other code must not be mixed with
// what is played now, not even if that is interrupted, and is kept aside until that is there.
func (j *job) forget() {
	j.result.Reward, j.result.Regret = make([][]float64, j.Runs), nil
	path := j.path(&j.result)
	err, err2 := os.Rename(path, path+".old"), os.RemoveAll(j.parts(&j.result))
	if err2 != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.stop(fmt.Errorf("sim: results of other code stay: %w", cmp.Or(err2, err)))
	}
}

// divide puts into stacks what is missing of this process's share, and returns how many runs are not.
func (j *job) divide() (served int64) {
	for run := range j.Runs {
		last := len(j.stacks) - 1
		switch number := run*len(j.Entries) + j.index; {
		case number < j.from || number >= j.to:
		case j.result.Reward[run] != nil:
			served++
		case last >= 0 && j.stacks[last].first+j.stacks[last].n == run && j.stacks[last].n < j.Stack:
			j.stacks[last].n++
		default:
			j.stacks = append(j.stacks, runs{run, 1})
		}
	}
	return served
}

// try makes a policy: which settings it refuses is said before other entries play for hours.
func (j *job) try() {
	defer func() { recover() }() // a panic stops its own entry alone
	if _, err := j.entry.Algorithm.New(j.Problem.Spec(), j.PolicySeeds(0, 1)); err != nil {
		j.stop(fmt.Errorf("sim: experiment %q, entry %q: %w", j.Name, j.entry.Name, err))
	}
}

// look takes missing runs from the parts in the store, or else its result, and
// makes the result where all runs are there. Parts are removed after their result
// has come, so a process that misses them finds it.
func (j *job) look() {
	folder := j.parts(&j.result)
	parts, err := j.loadAll(folder, partExt)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !j.result.complete() {
		j.fail(err)
		return
	}
	replay := true // one of an entry: what is there has come of one code
	for _, part := range parts {
		if j.result.Reward[part.there()[0]] == nil && j.fresh(part, replay) {
			j.add(part)
			replay = false
		}
	}
	if j.result.complete() {
		if err := WriteFile(j.path(&j.result), j.result.format()); err != nil {
			j.stop(err)
			return
		}
	} else if r, err := j.Load(j.Experiment, j.entry); err == nil && j.fresh(r, true) {
		j.result = *r
	} else {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			j.fail(err)
		}
		return
	}
	os.RemoveAll(folder) // what stays is removed by the next Run
	os.Remove(j.path(&j.result) + ".old")
}

func (j *job) add(part *Result) {
	r := &j.result
	r.Version, r.Backend = part.Version, part.Backend
	if part.Regret != nil && r.Regret == nil {
		r.Regret = make([][]float64, r.Runs)
	}
	for _, run := range part.there() {
		r.Reward[run] = part.Reward[run]
		if part.Regret != nil {
			r.Regret[run] = part.Regret[run]
		}
	}
}

// Steps that are played again, those where another backend or Player has played, those of the
// problem alone, and how much of the largest number another processor's rounding may make. Backends
// round otherwise, and at high learning rates Adam makes other choices of that within 100 steps.
const replayed, replayedElsewhere, checked, tolerance = 100, 20, 10_000, 1e-5

// problemCheck is the Check of results that are played now; "" where the problem fails,
// of which the entries tell the error.
func problemCheck(ctx context.Context, e Experiment) (check string) {
	defer func() { recover() }()
	steps := min(e.Steps, checked)
	c := NewCurves(1, []int{steps})
	if PlayRuns(ctx, e.Problem, e.ProblemSeeds(0, 1), inTurn{}, make([]uint64, 1), steps, c.Record) != nil {
		return ""
	}
	check = fmt.Sprintf("reward %.6g", c.Reward[0][0])
	if c.Regret != nil {
		check += fmt.Sprintf(", regret %.6g", c.Regret[0][0])
	}
	return check
}

type inTurn struct{ step int }

func (inTurn) New(envs.Spec, []uint64) (envs.Policy, error) { return new(inTurn), nil }

func (t *inTurn) Act(dst []int, obs envs.Observation) error {
	for r := range dst {
		dst[r] = t.step % obs.Size(r)
	}
	return nil
}

func (t *inTurn) Update(envs.Transition) error { t.step++; return nil }

// fresh returns whether a stored result, or part, has today's Check and, where replay asks for it,
// says of the first steps of one run what they are when played again. If not, the entry is
// stale. Entries play different runs, since what one shows concerns all.
func (j *job) fresh(r *Result, replay bool) bool {
	same := r.Check == j.check
	if there := r.there(); replay {
		run, steps := there[j.index%len(there)], replayed
		if j.Player != nil || r.Backend != j.Backend {
			steps = replayedElsewhere
		}
		n, _ := slices.BinarySearch(r.Checkpoints, steps+1)
		curves := NewCurves(1, r.Checkpoints[:n])
		if err := j.simulate(runs{run, 1}, r.Checkpoints[n-1], curves, curves.Record); err != nil {
			j.fail(err)
			return false
		}
		was, is := r.Reward[run][:n:n], curves.Reward[0]
		same = same && (r.Regret == nil) == (curves.Regret == nil)
		if same && r.Regret != nil {
			was, is = append(was, r.Regret[run][:n]...), append(is, curves.Regret[0]...)
		}
		same = same && floats.Distance(was, is, math.Inf(1)) <= tolerance*floats.Norm(was, math.Inf(1))
	}
	j.stale = j.stale || !same
	return same
}

func (j *job) play(stack runs) {
	if j.ctx.Err() != nil {
		return
	}
	curves := NewCurves(stack.n, j.result.Checkpoints)
	err := j.simulate(stack, j.Steps, curves, func(step int, tr envs.Transition, regret []float64) {
		curves.Record(step, tr, regret)
		j.report(func(s *Status) {
			s.Entry, s.Done = j.entry.Name, s.Done+int64(stack.n)
			s.Reward, s.Regret = stat.Mean(curves.reward, nil)/float64(step), stat.Mean(curves.regret, nil)
		})
	})
	j.lock.Lock()
	defer j.lock.Unlock()
	if err != nil {
		j.fail(err)
		return
	}
	part := j.result
	part.Version, part.Backend = j.Version, j.Backend
	before := make([][]float64, stack.first)
	part.Reward, part.Regret = slices.Concat(before, curves.Reward), nil
	if curves.Regret != nil {
		part.Regret = slices.Concat(before, curves.Regret)
	}
	j.add(&part)
	if !j.result.complete() {
		name := fmt.Sprintf(partName, stack.first, stack.first+stack.n-1)
		if err := WriteFile(filepath.Join(j.parts(&part), name), part.format()); err != nil {
			j.stop(err)
		}
	}
	if j.played++; j.played == len(j.stacks) {
		j.look()
	}
}

// simulate plays a stack of runs and says where an error came up. A panic is an
// error, so that a broken policy stops its own entry alone.
func (j *job) simulate(stack runs, steps int, curves *Curves, rec Recorder) (err error) {
	defer func() {
		where := fmt.Sprintf("runs %d to %d", stack.first, stack.first+stack.n-1)
		if v := recover(); v != nil {
			err = fmt.Errorf("step %d: panic: %v\n%s", curves.step+1, v, debug.Stack())
		}
		if of := (*envs.RunError)(nil); errors.As(err, &of) {
			where, err = fmt.Sprintf("run %d", stack.first+of.Run), fmt.Errorf("step %d: %w", curves.step+1, of.Err)
		}
		if err != nil {
			err = fmt.Errorf("sim: experiment %q, entry %q, %s, %w (setting: %s)", j.Name, j.entry.Name, where, err, j.result.Algorithm)
		}
	}()
	play := j.Player
	if play == nil {
		play = PlayRuns
	}
	return play(j.ctx, j.Problem, j.ProblemSeeds(stack.first, stack.n), j.entry.Algorithm, j.PolicySeeds(stack.first, stack.n), steps, rec)
}
