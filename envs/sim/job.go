package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// job is one contender on its way from missing runs to a result.
type job struct {
	experiment Experiment
	contender  Contender
	head       Result // the configuration, and Version and Backend of this process
	path       string // of the result

	ctx    context.Context // ends with the Run or when the job fails
	cancel context.CancelFunc
	tally  tally

	mu      sync.Mutex
	parts   []*Result // [run], each of one run; nil while it is missing
	playing []bool    // [run], by this process
	result  *Result   // when finished
	failed  error     // why there will be no result
	unkept  error     // why something that was computed is in memory only
}

// stake is a run that this process has claimed.
type stake struct {
	run  int
	lock *flock.Flock
}

func (e Experiment) job(ctx context.Context, store Store, c Contender, opt Options) (*job, error) {
	head, err := e.head(c)
	if err != nil {
		return nil, err
	}
	head.Version, head.Backend = opt.Version, opt.Backend
	j := &job{
		experiment: e,
		contender:  c,
		head:       head,
		path:       store.path(&head),
		parts:      make([]*Result, e.Runs),
		playing:    make([]bool, e.Runs),
	}
	j.ctx, j.cancel = context.WithCancel(ctx)
	return j, nil
}

// over reports whether nothing is left to do.
func (j *job) over() bool { return j.result != nil || j.failed != nil }

// claim takes up to n runs that are missing and that nobody plays. elsewhere
// says that others play some, who may die before they finish them.
func (j *job) claim(n int) (stakes []stake, elsewhere bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over() || j.serve() {
		return nil, false
	}
	for run := range j.parts {
		if len(stakes) == n {
			break
		}
		if j.parts[run] != nil || j.playing[run] || j.servePart(run) {
			continue
		}
		lock, err := j.lock(partName(run) + ".lock")
		if err != nil {
			j.fail(err)
			break
		}
		if lock == nil {
			elsewhere = true
			continue
		}
		// Somebody may have finished it before the lock was ours. The order
		// matters: parts go after the result is there.
		if j.servePart(run) || j.serve() {
			lock.Unlock()
			continue
		}
		if j.over() {
			lock.Unlock()
			break
		}
		stakes = append(stakes, stake{run, lock})
		j.playing[run] = true
	}
	if j.over() {
		j.release(stakes)
		return nil, false
	}
	j.merge()
	return stakes, elsewhere
}

func (j *job) release(stakes []stake) {
	for _, s := range stakes {
		j.playing[s.run] = false
		s.lock.Unlock()
	}
}

// lock takes the named lock in the folder of parts; nil when it is held.
func (j *job) lock(name string) (*flock.Flock, error) {
	if err := os.MkdirAll(partsOf(j.path), 0o777); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	lock := flock.New(filepath.Join(partsOf(j.path), name), flock.SetPermissions(0o666))
	ok, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the folder has just gone: its result will be seen
	}
	if err != nil {
		return nil, fmt.Errorf("sim: locking %s: %w", lock.Path(), err)
	}
	if !ok {
		return nil, nil
	}
	return lock, nil
}

// serve takes the result from the store when it is there.
func (j *job) serve() bool {
	r, _, err := load(j.path)
	if err == nil {
		err = j.head.matches(r, j.path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		j.fail(err)
		return false
	}
	j.result = r
	j.unkept = nil
	j.tally.serveAll(r)
	os.RemoveAll(partsOf(j.path)) // in case that who finished it was killed here
	return true
}

// servePart takes a run from the store when it is there.
func (j *job) servePart(run int) bool {
	path := filepath.Join(partsOf(j.path), partName(run))
	part, number, err := load(path)
	if err == nil {
		err = j.head.matches(part, path)
	}
	if err == nil && number != run {
		err = refuse(path, fmt.Errorf("part is %d", number))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		j.fail(err)
		return false
	}
	j.parts[run] = part
	j.tally.serve(part)
	return true
}

func (j *job) fail(err error) {
	if j.failed == nil {
		j.failed = err
	}
	j.cancel()
}

// play plays the claimed runs and keeps them.
func (j *job) play(stakes []stake) {
	runs := make([]int, len(stakes))
	for i, s := range stakes {
		runs[i] = s.run
	}
	curves, err := simulate(j.ctx, j.experiment, j.contender, runs, &j.tally)

	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.release(stakes)
	if err != nil {
		if j.ctx.Err() == nil {
			j.fail(err)
		}
		return
	}
	for i, run := range runs {
		part := j.head
		part.Checkpoints = curves.Checkpoints
		part.Reward = curves.Reward[i:][:1]
		if curves.Regret != nil {
			part.Regret = curves.Regret[i:][:1]
		}
		j.parts[run] = &part
		if err := write(filepath.Join(partsOf(j.path), partName(run)), &part, run); err != nil && j.unkept == nil {
			j.unkept = err
		}
	}
	j.merge()
}

// merge makes the result when all parts are there.
func (j *job) merge() {
	if j.over() || slices.Contains(j.parts, nil) {
		return
	}
	r := j.head
	r.Version = distinct(j.parts, func(p *Result) string { return p.Version })
	r.Backend = distinct(j.parts, func(p *Result) string { return p.Backend })
	r.Checkpoints = j.parts[0].Checkpoints
	for run, p := range j.parts {
		if !slices.Equal(p.Checkpoints, r.Checkpoints) || (p.Regret == nil) != (j.parts[0].Regret == nil) {
			j.fail(fmt.Errorf("sim: the parts in %s of runs 0 and %d have different checkpoints or columns; remove them to have them computed again", partsOf(j.path), run))
			return
		}
		r.Reward = append(r.Reward, p.Reward[0])
		if p.Regret != nil {
			r.Regret = append(r.Regret, p.Regret[0])
		}
	}
	if err := j.keep(&r); err != nil {
		j.unkept = err
		j.result = &r
	}
}

// keep writes the result, unless another process does so first.
func (j *job) keep(r *Result) error {
	lock, err := j.lock("merge.lock")
	for lock == nil && err == nil && !j.serve() && !j.over() {
		// Another process is writing it, or has just died.
		time.Sleep(10 * time.Millisecond)
		if err = j.ctx.Err(); err == nil {
			lock, err = j.lock("merge.lock")
		}
	}
	if lock != nil {
		defer lock.Unlock()
	}
	if err != nil || j.over() || j.serve() || j.over() {
		return err
	}
	if err := write(j.path, r, whole); err != nil {
		return err
	}
	j.result = r
	j.unkept = nil
	os.RemoveAll(partsOf(j.path)) // what remains of it is removed by the next Run
	return nil
}

// distinct joins the different values of a field, in the order of runs.
func distinct(parts []*Result, of func(*Result) string) string {
	var values []string
	for _, p := range parts {
		if v := of(p); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return strings.Join(values, ", ")
}
