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

	"github.com/gofrs/flock"
)

// job is one contender on its way from missing runs to a result.
type job struct {
	experiment Experiment
	contender  Contender
	options    Options
	path       string // of the result
	parts      string // folder of the parts
	tally      tally

	ctx    context.Context // ends with the Run, or when the job fails
	cancel context.CancelFunc

	mu       sync.Mutex
	result   Result // the configuration and, more and more, the curves
	playing  []bool // [run], by this process
	begun    bool   // by this process
	finished bool   // the result is whole
	failed   error  // why it never will be
	unkept   error  // why some of it is in memory only
	versions []string
	backends []string
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
	head.Checkpoints = Checkpoints(e.Steps)
	head.Reward = make([][]float64, e.Runs)
	j := &job{experiment: e, contender: c, options: opt, result: head, path: store.Path(&head), playing: make([]bool, e.Runs)}
	j.parts = strings.TrimSuffix(j.path, ".csv") + ".parts"
	j.ctx, j.cancel = context.WithCancel(ctx)
	return j, nil
}

// over reports whether nothing is left to do.
func (j *job) over() bool { return j.finished || j.failed != nil }

func (j *job) fail(err error) {
	if j.failed == nil {
		j.failed = err
	}
	j.cancel()
}

// inMemory reports whether something of the job could not be kept.
func (j *job) inMemory() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unkept != nil
}

// leaveOut ends a job that this process has not begun.
func (j *job) leaveOut() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.begun && !j.over() {
		j.fail(fmt.Errorf("sim: contender %q: not begun, for it could not be kept", j.contender.Name))
	}
}

// claim takes up to n runs that are missing and that nobody plays. elsewhere
// says that other processes play some, and may die before they finish them.
func (j *job) claim(n int) (stakes []stake, elsewhere bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over() {
		return nil, false
	}
	j.serve()
	for run := 0; run < len(j.playing) && len(stakes) < n && !j.over(); run++ {
		if j.result.Reward[run] != nil || j.playing[run] || j.servePart(run) {
			continue
		}
		lock, err := j.lock(fmt.Sprintf("run-%05d.lock", run))
		if err != nil {
			j.fail(err)
		}
		if lock == nil {
			elsewhere = true
			continue
		}
		j.playing[run], j.begun = true, true
		stakes = append(stakes, stake{run, lock})
		// Somebody may have finished it before the lock was ours. The order
		// matters: parts go after the result has come.
		if j.servePart(run) || j.serve() {
			j.release(stakes[len(stakes)-1:])
			stakes = stakes[:len(stakes)-1]
		}
	}
	j.merge()
	if j.over() {
		j.release(stakes)
		return nil, false
	}
	return stakes, elsewhere
}

// release gives claims back, and clears up when there is nothing more to claim.
func (j *job) release(stakes []stake) {
	for _, s := range stakes {
		j.playing[s.run] = false
		s.lock.Unlock()
	}
	if j.finished && j.unkept == nil {
		os.RemoveAll(j.parts) // what cannot be removed now is removed by the next Run
	}
}

// lock takes the named lock in the folder of parts; nil when it is held. Where
// the file system has no locks, everybody gets it. What is there in the place of
// the file - a pipe, a link - is an error: opening it might wait for ever.
func (j *job) lock(name string) (*flock.Flock, error) {
	if err := os.MkdirAll(j.parts, 0o777); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	lock := flock.New(filepath.Join(j.parts, name), flock.SetPermissions(0o666))
	if info, err := os.Lstat(lock.Path()); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("sim: locking %s: it is no file, but %v", lock.Path(), info.Mode().Type())
	}
	ok, err := lock.TryLock()
	switch {
	case ok || errors.Is(err, errors.ErrUnsupported):
		return lock, nil
	case err == nil || errors.Is(err, fs.ErrNotExist): // the folder has just gone: its result will be seen
		return nil, nil
	default:
		return nil, fmt.Errorf("sim: locking %s: %w", lock.Path(), err)
	}
}

// serve takes the result from the store when it is there.
func (j *job) serve() bool {
	r, err := j.result.loadAs(j.path, whole)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			j.fail(err)
		}
		return false
	}
	j.tally.serveAll(r)
	j.result, j.finished, j.unkept = *r, true, nil
	return true
}

func (j *job) partPath(run int) string {
	return filepath.Join(j.parts, fmt.Sprintf("run-%05d.csv", run))
}

// servePart takes a run from the store when it is there.
func (j *job) servePart(run int) bool {
	part, err := j.result.loadAs(j.partPath(run), run)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			j.fail(err)
		}
		return false
	}
	j.tally.serve(part, run)
	j.add(part, run)
	return true
}

// part is the result's part that is one run.
func (j *job) part(c *Curves, i, run int) *Result {
	p := j.result
	p.Version, p.Backend = j.options.Version, j.options.Backend
	p.Reward = make([][]float64, p.Runs)
	p.Reward[run] = c.Reward[i]
	p.Regret = nil
	if c.Regret != nil {
		p.Regret = make([][]float64, p.Runs)
		p.Regret[run] = c.Regret[i]
	}
	return &p
}

// add fills a run into the result.
func (j *job) add(part *Result, run int) {
	if !slices.Equal(part.Checkpoints, j.result.Checkpoints) {
		j.fail(refuse(j.partPath(run), fmt.Errorf("other checkpoints than those of %d steps", j.result.Steps)))
		return
	}
	j.result.Reward[run] = part.Reward[run]
	if part.Regret != nil {
		if j.result.Regret == nil {
			j.result.Regret = make([][]float64, len(j.playing))
		}
		j.result.Regret[run] = part.Regret[run]
	}
	j.versions = append(j.versions, part.Version)
	j.backends = append(j.backends, part.Backend)
}

// play plays the claimed runs and keeps them.
func (j *job) play(stakes []stake) {
	runs := make([]int, len(stakes))
	for i, s := range stakes {
		runs[i] = s.run
	}
	player := j.options.Player
	if player == nil {
		player = PlayMatch
	}
	curves, err := simulate(j.ctx, j.experiment, j.contender, runs, j.parts, player, &j.tally)

	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.release(stakes)
	if err != nil {
		if j.ctx.Err() == nil {
			j.fail(err)
		}
		return
	}
	parts := make([]*Result, len(runs))
	for i, run := range runs {
		parts[i] = j.part(curves, i, run)
		j.add(parts[i], run)
	}
	j.merge()
	if j.finished && j.unkept == nil {
		return // no need to keep the last runs twice
	}
	for i, run := range runs {
		text, err := parts[i].format()
		if err == nil {
			err = write(j.partPath(run), j.parts, text)
		}
		if err != nil && j.unkept == nil {
			j.unkept = err
		}
	}
}

// merge makes the result when all runs are there. Other processes may do so at
// the same time: they write the same bytes.
func (j *job) merge() {
	if j.over() || j.result.complete() != nil || j.serve() || j.over() {
		return
	}
	r := j.result
	r.Version, r.Backend = distinct(j.versions), distinct(j.backends)
	text, err := r.format()
	if err == nil {
		err = write(j.path, j.parts, text)
	}
	switch {
	case err == nil:
		syncFolder(filepath.Dir(j.path)) // before the parts go
		j.result, j.finished, j.unkept = r, true, nil
	case !j.serve(): // nobody else was first and removed the folder of parts
		j.result, j.finished, j.unkept = r, true, err
	}
}

// distinct joins the different ones of some texts.
func distinct(texts []string) string {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}
