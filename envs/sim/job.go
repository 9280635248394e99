package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextrec/contextrec/envs"
)

// job is one entry on its way from missing runs to a result.
type job struct {
	experiment  Experiment
	entry       Entry
	options     Options
	store       Store
	path, parts string // of the result, and the folder of its parts
	report      *reporter
	full        *atomic.Bool
	ctx         context.Context // ends with Run, or when the entry fails
	cancel      context.CancelFunc

	mu                 sync.Mutex
	result             Result // the configuration and, more and more, the curves
	versions, backends []string
	left               int   // stacks that this process has not finished
	err                error // why the entry stopped, or could not be kept
}

func newJob(ctx context.Context, e Experiment, n Entry, store Store, opt Options, rep *reporter, full *atomic.Bool) (*job, error) {
	head, err := e.head(n)
	head.Checkpoints = Checkpoints(e.Steps)
	head.Reward = make([][]float64, e.Runs)
	j := &job{experiment: e, entry: n, options: opt, store: store, path: store.path(&head), report: rep, full: full, result: head}
	j.parts = strings.TrimSuffix(j.path, ".csv") + ".parts"
	j.ctx, j.cancel = context.WithCancel(ctx)
	return j, err
}

// fail stops the entry, unless it was stopped by the caller of Run.
func (j *job) fail(err error) {
	if j.ctx.Err() == nil {
		j.err = errors.Join(j.err, err)
		j.cancel()
	}
}

// open takes from the store what is there, and counts this process's share of it.
func (j *job) open(first, share int) {
	if err := j.look(); err != nil {
		j.fail(err)
	}
	served := int64(0)
	for _, curve := range j.result.Reward[first : first+share] {
		if curve != nil {
			served += int64(j.experiment.Steps)
		}
	}
	j.report.change(func(s *Status) {
		s.Done, s.Served = s.Done+served, s.Served+served
	})
}

// missing returns the runs of a share that have to be played, as stacks: the
// first run, and how many.
func (j *job) missing(first, share, stack int) (stacks [][2]int) {
	open := false // the last stack can grow
	for run := first; run < first+share && j.ctx.Err() == nil; run++ {
		switch last := len(stacks) - 1; {
		case j.result.Reward[run] != nil:
			open = false
		case open && stacks[last][1] < stack:
			stacks[last][1]++
		default:
			stacks, open = append(stacks, [2]int{run, 1}), true
		}
	}
	return stacks
}

// look takes what is missing from the parts, or from the result, in the store.
// Where all runs are there, it makes the result of them. The parts go after the
// result has come, so a process that misses parts which another one has removed
// finds the result.
func (j *job) look() error {
	if err := j.readParts(); err != nil {
		return err
	}
	if j.result.complete() == nil {
		r := j.result
		r.Version, r.Backend = distinct(j.versions), distinct(j.backends)
		text, err := r.format()
		if err == nil {
			err = j.write(j.path, text)
		}
		if err == nil {
			j.result = r
			os.RemoveAll(j.parts) // what stays is removed by the next Run
		}
		return err
	}
	r, err := j.store.Load(j.experiment, j.entry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if fresh, err := j.fresh(r); err != nil || !fresh {
			return err
		}
		j.result = *r
		os.RemoveAll(j.parts)
	}
	return err
}

// write keeps a file.
func (j *job) write(path string, text []byte) error {
	err := WriteFile(path, text)
	if err != nil {
		j.full.Store(true)
	}
	return err
}

// readParts takes missing runs from the folder of parts.
func (j *job) readParts() error {
	files, err := os.ReadDir(j.parts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sim: %w", err)
	}
	for _, file := range files {
		path := filepath.Join(j.parts, file.Name())
		if filepath.Ext(path) != ".csv" || j.result.complete() == nil {
			continue
		}
		part, err := load(path, &j.result)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has just made the result
		}
		if err == nil && !slices.Equal(part.Checkpoints, j.result.Checkpoints) {
			err = refuse(path, fmt.Errorf("other checkpoints than those of %d steps", j.result.Steps))
		}
		if err != nil {
			return err
		}
		fresh := true
		if j.adds(part) {
			fresh, err = j.fresh(part)
		}
		if err != nil {
			return err
		}
		if fresh {
			j.add(part)
		}
	}
	return nil
}

// adds tells whether a part has runs that are missing.
func (j *job) adds(part *Result) bool {
	for run, curve := range part.Reward {
		if curve != nil && j.result.Reward[run] == nil {
			return true
		}
	}
	return false
}

// add takes the runs of a part.
func (j *job) add(part *Result) {
	for run, curve := range part.Reward {
		if curve == nil {
			continue
		}
		j.result.Reward[run] = curve
		if part.Regret != nil {
			if j.result.Regret == nil {
				j.result.Regret = make([][]float64, len(part.Regret))
			}
			j.result.Regret[run] = part.Regret[run]
		}
	}
	j.versions, j.backends = append(j.versions, part.Version), append(j.backends, part.Backend)
}

// distinct joins the different ones of some texts.
func distinct(texts []string) string {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}

const (
	replayed  = 100  // steps of one run
	tolerance = 1e-5 // of the largest number: what another processor's rounding may make
)

// fresh plays the first steps of the first run of a stored result, or part, again
// and tells whether the file says the same. Where not, the entry is reported.
func (j *job) fresh(r *Result) (bool, error) {
	run := slices.IndexFunc(r.Reward, func(curve []float64) bool { return curve != nil })
	n := 0
	for n < len(r.Checkpoints) && r.Checkpoints[n] <= replayed {
		n++
	}
	if run < 0 || n == 0 {
		return true, nil
	}
	curves := NewCurves(1, r.Checkpoints[:n])
	if err := j.simulate(run, 1, r.Checkpoints[n-1], curves, curves); err != nil {
		return false, err
	}
	was, is := slices.Clone(r.Reward[run][:n]), curves.Reward[0]
	same := (r.Regret == nil) == (curves.Regret == nil)
	if same && r.Regret != nil {
		was, is = append(was, r.Regret[run][:n]...), append(is, curves.Regret[0]...)
	}
	largest := 0.0
	for _, x := range was {
		largest = max(largest, math.Abs(x))
	}
	for i := range was {
		same = same && math.Abs(was[i]-is[i]) <= tolerance*largest
	}
	if !same {
		j.report.change(func(s *Status) {
			if !slices.Contains(s.Stale, j.entry.Name) {
				s.Stale = append(s.Stale, j.entry.Name)
			}
		})
	}
	return same, nil
}

// play plays a stack of runs and keeps it.
func (j *job) play(first, n int) {
	e, before, last := j.experiment, 0, time.Now()
	curves := NewCurves(n, Checkpoints(e.Steps))
	err := j.simulate(first, n, e.Steps, curves, RecorderFunc(func(step int, tr envs.Transition, regret []float64) {
		curves.Record(step, tr, regret)
		if now := time.Now(); step == e.Steps || now.Sub(last) >= showEvery {
			last = now
			j.report.change(func(s *Status) {
				s.Entry, s.Done = j.entry.Name, s.Done+int64(n)*int64(step-before)
				s.Reward, s.Regret = mean(curves.reward)/float64(step), mean(curves.regret)
			})
			before = step
		}
	}))
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.fail(err)
		return
	}
	part := j.result
	part.Version, part.Backend = j.options.Version, j.options.Backend
	part.Reward, part.Regret = spread(curves.Reward, first, e.Runs), spread(curves.Regret, first, e.Runs)
	j.add(&part)
	j.left--
	if j.result.complete() != nil {
		text, err := part.format()
		if err == nil {
			err = j.write(filepath.Join(j.parts, fmt.Sprintf("runs-%05d-%05d.csv", first, first+n-1)), text)
		}
		if err != nil {
			j.err = errors.Join(j.err, err)
		}
	}
	if j.left == 0 {
		if err := j.look(); err != nil {
			j.err = errors.Join(j.err, err)
		}
	}
}

// mean is NaN without values.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// spread places the curves of a stack among those of all runs.
func spread(curves [][]float64, first, runs int) [][]float64 {
	if curves == nil {
		return nil
	}
	all := make([][]float64, runs)
	copy(all[first:], curves)
	return all
}

// simulate plays n runs. A panic is an error: a broken policy stops its own entry.
func (j *job) simulate(first, n, steps int, curves *Curves, rec Recorder) (err error) {
	e := j.experiment
	defer func() {
		if v := recover(); v != nil {
			err = &stepError{curves.step + 1, fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
		}
		if err != nil {
			err = j.locate(err, first, n)
		}
	}()
	env, err := e.Problem.New(e.ProblemSeeds(first, n))
	if err != nil {
		return err
	}
	if runs := env.Observe().Runs; runs != n {
		return fmt.Errorf("the environment has %d runs, want %d, one a seed", runs, n)
	}
	policy, err := j.entry.Algorithm.New(e.Problem.Spec(), e.PolicySeeds(first, n))
	if err != nil {
		return err
	}
	return Play(j.ctx, env, policy, steps, rec)
}

// locate adds to an error of a stack what stopped where.
func (j *job) locate(err error, first, n int) error {
	where := fmt.Sprintf("runs %d to %d", first, first+n-1)
	if n == 1 {
		where = fmt.Sprintf("run %d", first)
	}
	step := ""
	if at := (*stepError)(nil); errors.As(err, &at) {
		step, err = fmt.Sprintf(", step %d", at.step), at.err
	}
	if in := (*envs.RunError)(nil); errors.As(err, &in) && in.Run >= 0 && in.Run < n {
		where, err = fmt.Sprintf("run %d", first+in.Run), in.Err
	}
	return fmt.Errorf("sim: experiment %q, entry %q, %s%s: %w (setting: %s)",
		j.experiment.Name, j.entry.Name, where, step, err, j.result.Algorithm)
}
