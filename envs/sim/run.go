package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how results come about, never what they are.
type Options struct {
	// Workers is how many goroutines play; default: the CPUs that Go may use.
	Workers int

	// Stack is how many runs a worker steps together and keeps as one part;
	// default: an even share of the runs a worker, at most 20. Smaller stacks lose
	// less when the process is stopped, and larger ones may be faster.
	Stack int

	// Shard, 1 to Shards, is the share of each entry's runs that this process
	// plays, as a job of an array does; at most Runs shards have something to do.
	// Default, both 0: all runs.
	Shard, Shards int

	// Progress is called a few times a second and once at the end, by one
	// goroutine at a time. It may be nil.
	Progress func(Status)

	Version string // for the header of the result files
	Backend string // likewise
}

func (o Options) validate() error {
	switch {
	case o.Workers < 0 || o.Stack < 0:
		return fmt.Errorf("sim: Options.Workers is %d and Stack %d, want at least 0", o.Workers, o.Stack)
	case o.Shards < 0 || o.Shard < min(o.Shards, 1) || o.Shard > o.Shards:
		return fmt.Errorf("sim: Options.Shard is %d of Shards %d, want 1 to Shards, or 0 of 0", o.Shard, o.Shards)
	}
	return nil
}

// Status is a snapshot of a running experiment. Run-steps are steps times runs,
// of this process's share.
type Status struct {
	Experiment string
	Entry      string   // that advanced last; "" before any did
	Done       int64    // run-steps finished, those from the store included
	Total      int64    // run-steps in all; Done stays below when an entry fails
	Served     int64    // run-steps of Done that came from the store
	Regret     float64  // mean cumulated regret so far of the runs that advanced last; NaN without an Oracle
	Reward     float64  // their mean reward a step so far
	Stale      []string // names of entries with stored results of other code; they are played again
}

// Run plays all entries that the store does not hold yet, or holds from other
// code, and returns the finished results in the order of Entries.
//
// An entry that fails - an error, a panic, a number that is not finite - stops
// alone, and the error names experiment, entry, run, step and setting. When ctx
// is cancelled, all stop within a step, what is finished is kept, and the error
// wraps ctx.Err(). All stop too when a file cannot be written; a result that is
// computed is returned all the same. The errors of all entries are joined.
// Without an error there is a result for each entry, except with shards: while
// other shards have runs of an entry to play, it has none.
func (e Experiment) Run(ctx context.Context, store Store, opt Options) ([]*Result, error) {
	if err := errors.Join(e.Validate(), opt.validate()); err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &session{Experiment: e, Store: store, Options: opt, stop: stop}
	i, of := max(opt.Shard, 1), max(opt.Shards, 1)
	s.share.first = e.Runs * (i - 1) / of
	s.share.n = e.Runs*i/of - s.share.first
	workers := cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	s.Stack = cmp.Or(opt.Stack, min((s.share.n+workers-1)/workers, 20))
	s.Version, s.Backend = strings.Join(strings.Fields(opt.Version), " "), strings.Join(strings.Fields(opt.Backend), " ")
	s.status = Status{Experiment: e.Name, Regret: math.NaN(), Total: int64(len(e.Entries)) * int64(s.share.n) * int64(e.Steps)}
	jobs := make([]*job, len(e.Entries))
	parallel(workers, len(jobs), func(i int) { jobs[i] = newJob(running, s, e.Entries[i]) })
	var units []func()
	for _, j := range jobs {
		for _, stack := range j.stacks {
			units = append(units, func() { j.play(stack) })
		}
	}
	parallel(workers, len(units), func(i int) { units[i]() })
	s.shown = time.Time{}
	s.report(func(*Status) {})

	var results []*Result
	var errs []error
	for _, j := range jobs {
		j.cancel()
		if j.result.complete() == nil {
			results = append(results, &j.result)
		}
		errs = append(errs, j.err)
	}
	if running.Err() != nil && (len(results) < len(jobs) || ctx.Err() == nil) {
		errs = append(errs, fmt.Errorf("sim: experiment %q was stopped with %d of %d entries; the next Run goes on with what is kept in %s: %w",
			e.Name, len(results), len(jobs), cmp.Or(store.Dir, "results"), cmp.Or(ctx.Err(), context.Cause(running))))
	}
	return results, errors.Join(errs...)
}

// parallel calls f with 0 to n-1 on some goroutines.
func parallel(workers, n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				f(int(i - 1))
			}
		})
	}
	wg.Wait()
}
