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
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs"
)

// session is what the jobs of one Run share.
type session struct {
	Experiment
	Store
	Options
	share runs                    // that this process plays
	stop  context.CancelCauseFunc // stops all jobs

	mu     sync.Mutex
	status Status
	shown  time.Time
}

const showEvery = 100 * time.Millisecond

// report changes the status and shows it when it was not shown for a while.
func (s *session) report(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
	if now := time.Now(); s.Progress != nil && now.Sub(s.shown) >= showEvery {
		s.shown = now
		s.Progress(s.status)
	}
}

// job is one entry on its way from missing runs to a result.
type job struct {
	*session
	entry  Entry
	parts  string          // folder of the parts
	ctx    context.Context // ends with Run, or when this entry fails
	cancel context.CancelFunc

	lock   sync.Mutex // of what follows
	result Result     // the settings and, more and more, the curves
	stacks []runs     // that this process has to play
	played int        // how many of them it has
	err    error      // why the entry failed
}

// runs are n consecutive runs.
type runs struct{ first, n int }

// newJob takes from the store what is there and puts into stacks what is missing
// of this process's share.
func newJob(ctx context.Context, s *session, n Entry) *job {
	head, _ := s.head(n) // Validate has seen the error
	head.Checkpoints, head.Reward = Checkpoints(s.Steps), make([][]float64, s.Runs)
	j := &job{session: s, entry: n, parts: strings.TrimSuffix(s.path(&head), ".csv") + ".parts", result: head}
	j.ctx, j.cancel = context.WithCancel(ctx)
	j.fail(j.look())
	served := int64(0)
	for run := s.share.first; run < s.share.first+s.share.n; run++ {
		last := len(j.stacks) - 1
		switch {
		case j.result.Reward[run] != nil:
			served += int64(s.Steps)
		case last >= 0 && j.stacks[last].first+j.stacks[last].n == run && j.stacks[last].n < s.Stack:
			j.stacks[last].n++
		default:
			j.stacks = append(j.stacks, runs{run, 1})
		}
	}
	s.report(func(st *Status) { st.Done, st.Served = st.Done+served, st.Served+served })
	if j.stacks != nil && j.ctx.Err() == nil {
		if err := os.MkdirAll(j.parts, 0o777); err != nil { // before hours of work
			s.stop(fmt.Errorf("sim: results cannot be kept: %w", err))
		}
	}
	return j
}

// fail stops the entry. What is cancelled already has not failed.
func (j *job) fail(err error) {
	if err != nil && j.ctx.Err() == nil {
		j.err = err
		j.cancel()
	}
}

// look takes missing runs from the parts in the store, or else its result. Where
// all runs are there, it makes the result of them. Parts are removed after their
// result has come, so a process that misses them finds it.
func (j *job) look() error {
	if err := j.readParts(); err != nil {
		return err
	}
	if j.result.complete() != nil {
		r, err := j.Load(j.Experiment, j.entry)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !j.fresh(r) {
			return err
		}
		j.result = *r
	} else if !j.keep(j.path(&j.result), &j.result) {
		return nil
	}
	os.RemoveAll(j.parts) // what stays is removed by the next Run
	return nil
}

// readParts takes missing runs from the folder of parts.
func (j *job) readParts() error {
	files, _ := os.ReadDir(j.parts) // most often there is no such folder
	for _, file := range files {
		if filepath.Ext(file.Name()) != partExt || j.result.complete() == nil {
			continue
		}
		part, err := j.load(filepath.Join(j.parts, file.Name()), &j.result)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process has just made the result
		case err != nil:
			return err
		case j.result.Reward[part.first()] == nil && j.fresh(part):
			j.add(part)
		}
	}
	return nil
}

// add takes the runs of a part.
func (j *job) add(part *Result) {
	r := &j.result
	r.Version, r.Backend = part.Version, part.Backend
	if part.Regret != nil && r.Regret == nil {
		r.Regret = make([][]float64, r.Runs)
	}
	for run, curve := range part.Reward {
		if curve != nil {
			r.Reward[run] = curve
			if part.Regret != nil {
				r.Regret[run] = part.Regret[run]
			}
		}
	}
}

// keep writes a result, or a part. What cannot be kept stops all entries.
func (j *job) keep(path string, r *Result) bool {
	err := WriteFile(path, r.format())
	if err != nil {
		j.stop(err)
	}
	return err == nil
}

const (
	replayed  = 100  // steps of one run
	tolerance = 1e-5 // of the largest number: more than another processor's rounding makes
)

// fresh plays the first steps of one run of a stored result, or part, again and
// returns whether the file says the same. If not, the entry is reported.
func (j *job) fresh(r *Result) bool {
	run := r.first()
	n, _ := slices.BinarySearch(r.Checkpoints, replayed+1)
	curves := NewCurves(1, r.Checkpoints[:n])
	if err := j.simulate(runs{run, 1}, r.Checkpoints[n-1], curves, curves); err != nil {
		j.fail(err)
		return false
	}
	was, is := r.Reward[run][:n:n], curves.Reward[0]
	same := (r.Regret == nil) == (curves.Regret == nil)
	if same && r.Regret != nil {
		was, is = append(was, r.Regret[run][:n]...), append(is, curves.Regret[0]...)
	}
	largest := max(slices.Max(was), -slices.Min(was))
	for i := range was {
		same = same && math.Abs(was[i]-is[i]) <= tolerance*largest
	}
	if !same {
		j.report(func(s *Status) {
			if !slices.Contains(s.Stale, j.entry.Name) {
				s.Stale = append(s.Stale, j.entry.Name)
			}
		})
	}
	return same
}

// play plays a stack of runs and keeps it.
func (j *job) play(stack runs) {
	if j.ctx.Err() != nil {
		return
	}
	before, last := 0, time.Now()
	curves := NewCurves(stack.n, j.result.Checkpoints)
	err := j.simulate(stack, j.Steps, curves, RecorderFunc(func(step int, tr envs.Transition, regret []float64) {
		curves.Record(step, tr, regret)
		if now := time.Now(); step == j.Steps || now.Sub(last) >= showEvery {
			j.report(func(s *Status) {
				s.Entry, s.Done = j.entry.Name, s.Done+int64(stack.n)*int64(step-before)
				s.Reward, s.Regret = stat.Mean(curves.reward, nil)/float64(step), stat.Mean(curves.regret, nil)
			})
			last, before = now, step
		}
	}))
	j.lock.Lock()
	defer j.lock.Unlock()
	if err != nil {
		j.fail(err)
		return
	}
	part := j.result
	part.Version, part.Backend = j.Version, j.Backend
	part.Reward, part.Regret = make([][]float64, j.Runs), nil
	copy(part.Reward[stack.first:], curves.Reward)
	if curves.Regret != nil {
		part.Regret = make([][]float64, j.Runs)
		copy(part.Regret[stack.first:], curves.Regret)
	}
	j.add(&part)
	if j.result.complete() != nil {
		j.keep(filepath.Join(j.parts, fmt.Sprintf("runs-%05d-%05d", stack.first, stack.first+stack.n-1)+partExt), &part)
	}
	if j.played++; j.played == len(j.stacks) {
		j.fail(j.look())
	}
}

// simulate plays a stack of runs. A panic is an error, so that a broken policy
// stops its own entry alone.
func (j *job) simulate(stack runs, steps int, curves *Curves, rec Recorder) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &stepError{curves.step + 1, fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
		}
		if err != nil {
			err = j.locate(err, stack)
		}
	}()
	env, err := j.Problem.New(j.ProblemSeeds(stack.first, stack.n))
	if err != nil {
		return err
	}
	policy, err := j.entry.Algorithm.New(j.Problem.Spec(), j.PolicySeeds(stack.first, stack.n))
	if err != nil {
		return err
	}
	return Play(j.ctx, env, policy, steps, rec)
}

// locate adds to an error of a stack where it came up.
func (j *job) locate(err error, stack runs) error {
	where, step := fmt.Sprintf("runs %d to %d", stack.first, stack.first+stack.n-1), 0
	if at := (*stepError)(nil); errors.As(err, &at) {
		step, err = at.step, at.err
	}
	if of := (*envs.RunError)(nil); errors.As(err, &of) {
		where, err = fmt.Sprintf("run %d", stack.first+of.Run), of.Err
	}
	return fmt.Errorf("sim: experiment %q, entry %q, %s, step %d: %w (setting: %s)",
		j.Name, j.entry.Name, where, step, err, j.result.Algorithm)
}
