package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how fast results come, never what they are.
type Options struct {
	// Workers is how many goroutines play; default: the number of CPUs that Go
	// may use. There are never more than there are runs.
	Workers int

	// Stack is how many runs one worker steps together; default: an even share
	// of Runs a worker, but at most 20. What is under way is lost when a process
	// is killed, so smaller stacks lose less and larger ones may be faster.
	Stack int

	// Player plays matches; default: PlayMatch. Others play the same game in
	// another place, and up to rounding with the same result.
	Player func(ctx context.Context, m Match) error

	// Progress is called a few times a second and once at the end; calls do not
	// overlap, and Run returns after the last one. Nil: none.
	Progress func(Status)

	Version string // recorded in the result files; one line of up to 200 bytes
	Backend string // likewise
}

// Run plays all contenders that the store does not hold yet and returns the
// results of those that are finished, in the order of Contenders.
//
// A contender that fails - an error, a panic, a number that is not finite -
// stops alone; its error is a [ContenderError]. When ctx is cancelled, all stop
// within a step, what is finished is kept, and the error wraps ctx.Err(). When
// a result is computed but cannot be written, it is returned all the same, the
// error names the file, and contenders that nobody has begun are left out. The
// errors of all contenders are joined, so results
// may be returned beside an error; without one, there is a result for each
// contender. Errors of the declaration or of the folder come before anything is
// played.
func (e Experiment) Run(ctx context.Context, store Store, opt Options) ([]*Result, error) {
	if err := errors.Join(e.Validate(), opt.validate()); err != nil {
		return nil, err
	}
	workers := opt.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, e.Runs*len(e.Contenders))
	p := pool{stack: opt.Stack}
	if p.stack == 0 {
		p.stack = min((e.Runs+workers-1)/workers, 20)
	}
	for _, c := range e.Contenders {
		j, err := e.job(ctx, store, c, opt)
		if err != nil {
			return nil, err
		}
		defer j.cancel()
		p.jobs = append(p.jobs, j)
	}
	if p.load() {
		if err := store.probe(e.Name); err != nil {
			results, _ := p.results()
			return results, err
		}
	}
	rep := e.reporter(p.jobs, opt.Progress)
	stop := rep.start()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { p.work(ctx) })
	}
	wg.Wait()
	stop()
	rep.report()

	results, err := p.results()
	if ctx.Err() != nil && len(results) < len(p.jobs) {
		err = errors.Join(p.stopped(e, store, ctx.Err()), err)
	}
	return results, err
}

// load takes from the store what it has, and tells whether something is missing.
func (p *pool) load() bool {
	var missing atomic.Bool
	free := make(chan struct{}, runtime.GOMAXPROCS(0)) // more take memory, and no less time
	var wg sync.WaitGroup
	for _, j := range p.jobs {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if !j.serve() && !j.over() {
				missing.Store(true)
			}
			j.release(nil)
		})
	}
	wg.Wait()
	return missing.Load()
}

// stopped says what is kept of an experiment that was cancelled.
func (p *pool) stopped(e Experiment, store Store, cause error) error {
	finished, parts := 0, 0
	for _, j := range p.jobs {
		if j.finished {
			finished++
		} else if j.failed == nil {
			for _, curve := range j.result.Reward {
				if curve != nil {
					parts++
				}
			}
		}
	}
	return fmt.Errorf("sim: experiment %q was stopped: %d of %d contenders, and %d runs of the others, are kept in %s, and the next Run goes on from there: %w",
		e.Name, finished, len(p.jobs), parts, store.folder(e.Name), cause)
}

func (o Options) validate() error {
	if o.Workers < 0 {
		return fmt.Errorf("sim: Options.Workers is %d", o.Workers)
	}
	if o.Stack < 0 {
		return fmt.Errorf("sim: Options.Stack is %d", o.Stack)
	}
	if err := checkText(o.Version); err != nil {
		return fmt.Errorf("sim: Options.Version: %w", err)
	}
	if err := checkText(o.Backend); err != nil {
		return fmt.Errorf("sim: Options.Backend: %w", err)
	}
	return nil
}

// pool shares the runs of all contenders out to workers.
type pool struct {
	jobs  []*job
	stack int
}

const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// work plays until nothing is left that this process does not play already.
// While other processes play the rest, it looks from time to time whether they
// have finished or died.
func (p *pool) work(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		j, stakes, elsewhere := p.claim()
		switch {
		case j != nil:
			j.play(stakes)
			pause = firstPause
		case !elsewhere:
			return
		default:
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, lastPause)
		}
	}
}

// claim begins no contender when one could not be kept: a full disk is told
// after what is under way, not after all.
func (p *pool) claim() (j *job, stakes []stake, elsewhere bool) {
	trouble := false
	for _, j := range p.jobs {
		trouble = trouble || j.inMemory()
	}
	for _, j := range p.jobs {
		if trouble {
			j.leaveOut()
		}
		stakes, others := j.claim(p.stack)
		if len(stakes) > 0 {
			return j, stakes, false
		}
		elsewhere = elsewhere || others
	}
	return nil, nil, elsewhere
}

// results are the finished ones; the error says what happened to the others,
// except for being stopped.
func (p *pool) results() (results []*Result, err error) {
	var errs []error
	for _, j := range p.jobs {
		if j.finished {
			r := j.result
			results = append(results, &r)
		}
		if j.unkept != nil {
			errs = append(errs, fmt.Errorf("sim: contender %q: computed, but not kept: %w", j.contender.Name, j.unkept))
		}
		if j.failed != nil {
			errs = append(errs, j.failed)
		}
	}
	return results, errors.Join(errs...)
}
