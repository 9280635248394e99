package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// Options say how results come about, never what they are.
type Options struct {
	// Workers is how many goroutines play; default: the number of CPUs that Go
	// may use.
	Workers int

	// Stack is how many runs a worker steps together, and keeps together when
	// they are finished; default: an even share of the runs a worker, but at most
	// 20. Smaller stacks lose less when the process ends; larger ones may be faster.
	Stack int

	// Shard, 1 to Shards, is the share of each entry's runs that this process
	// plays: the jobs of an array on a cluster, with one folder of results. At
	// most Runs shards have something to do. Default, both 0: all runs.
	Shard, Shards int

	// Progress is called a few times a second and once at the end, by one
	// goroutine at a time; Run returns after the last call. It may be nil.
	Progress func(Status)

	Version string // for the header of the result files: one line of up to 200 bytes
	Backend string // likewise
}

func (o Options) validate() error {
	switch {
	case o.Workers < 0:
		return fmt.Errorf("sim: Options.Workers is %d, want at least 0", o.Workers)
	case o.Stack < 0:
		return fmt.Errorf("sim: Options.Stack is %d, want at least 0", o.Stack)
	case o.Shards < 0 || o.Shard < min(o.Shards, 1) || o.Shard > o.Shards:
		return fmt.Errorf("sim: Options.Shard is %d of Shards %d, want 1 to Shards, or 0 of 0", o.Shard, o.Shards)
	}
	if err := checkLine(o.Version); err != nil {
		return fmt.Errorf("sim: Options.Version: %w", err)
	}
	if err := checkLine(o.Backend); err != nil {
		return fmt.Errorf("sim: Options.Backend: %w", err)
	}
	return nil
}

// share returns the runs of the options' shard: from the first, and how many.
func (o Options) share(runs int) (first, n int) {
	i, of := int64(max(o.Shard, 1)), int64(max(o.Shards, 1))
	first = int(int64(runs) * (i - 1) / of)
	return first, int(int64(runs)*i/of) - first
}

// Run plays all entries that the store does not hold yet, or holds from other
// code, and returns the finished results in the order of Entries.
//
// An entry that fails - an error, a panic, a number that is not finite - stops
// alone, and the error names experiment, entry, run, step and setting. When ctx
// is cancelled, all stop within a step, what is finished is kept, and the error
// wraps ctx.Err(). When a file cannot be written, nothing new is begun, and
// results that are computed are returned all the same. The errors of all entries
// are joined. Without an error there is a result for each entry, except with
// shards: an entry whose other shards are not finished yet has none.
func (e Experiment) Run(ctx context.Context, store Store, opt Options) ([]*Result, error) {
	if err := errors.Join(e.Validate(), opt.validate()); err != nil {
		return nil, err
	}
	first, share := opt.share(e.Runs)
	workers := cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	stack := cmp.Or(opt.Stack, min((share+workers-1)/workers, 20), 1)

	rep := &reporter{progress: opt.Progress, status: Status{
		Experiment: e.Name, Regret: math.NaN(), Total: int64(len(e.Entries)) * int64(share) * int64(e.Steps),
	}}
	var full atomic.Bool // a file could not be written
	jobs := make([]*job, len(e.Entries))
	for i, n := range e.Entries {
		j, err := newJob(ctx, e, n, store, opt, rep, &full)
		if err != nil {
			return nil, err
		}
		defer j.cancel()
		jobs[i] = j
	}
	parallel(workers, len(jobs), func(i int) { jobs[i].open(first, share) })

	type unit struct {
		*job
		first, n int
	}
	var units []unit
	for _, j := range jobs {
		for _, s := range j.missing(first, share, stack) {
			units = append(units, unit{j, s[0], s[1]})
			j.left++
		}
		if j.left > 0 {
			if err := os.MkdirAll(j.parts, 0o777); err != nil { // before hours of work
				return nil, fmt.Errorf("sim: results cannot be kept: %w", err)
			}
		}
	}
	parallel(workers, len(units), func(i int) {
		if u := units[i]; u.ctx.Err() == nil && !full.Load() {
			u.play(u.first, u.n)
		}
	})
	rep.show()

	var results []*Result
	var errs []error
	for _, j := range jobs {
		if j.result.complete() == nil {
			results = append(results, &j.result)
		} else if j.err == nil && j.left > 0 && ctx.Err() == nil {
			j.err = fmt.Errorf("sim: experiment %q, entry %q: not finished, for nothing more can be kept", e.Name, j.entry.Name)
		}
		errs = append(errs, j.err)
	}
	if ctx.Err() != nil && len(results) < len(jobs) {
		errs = append(errs, fmt.Errorf("sim: experiment %q was stopped with %d of %d entries; the next Run goes on with what is kept in %s: %w",
			e.Name, len(results), len(jobs), cmp.Or(store.Dir, "results"), ctx.Err()))
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
