package sim

import (
	"math"
	"sync"
	"time"

	"github.com/contextrec/contextrec/envs"
)

// Status is a snapshot of a running experiment.
type Status struct {
	Experiment string
	Contender  string  // that advanced most since the last snapshot; "" before any did
	Done       int64   // run-steps finished, served from the store included
	Total      int64   // run-steps in all; Done stays below when a contender fails
	Served     int64   // run-steps of Done that came from the store, other processes' included
	Regret     float64 // mean cumulative regret of Contender's runs so far; NaN without an Oracle
	Reward     float64 // mean reward a step of Contender so far
}

// tally is how far a contender has come, over all its runs.
type tally struct {
	mu             sync.Mutex
	runs           int   // begun
	steps, served  int64 // run-steps
	reward, regret float64
}

// begin adds runs that are about to be played.
func (t *tally) begin(runs int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs += runs
}

// Record adds one step of some runs.
func (t *tally) Record(_ int, tr envs.Transition, regret []float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps += int64(len(tr.Reward))
	for _, x := range tr.Reward {
		t.reward += float64(x)
	}
	for _, x := range regret {
		t.regret += x
	}
	if regret == nil {
		t.regret = math.NaN()
	}
}

// serve adds a run that came from the store.
func (t *tally) serve(r *Result, run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps += int64(r.Steps)
	t.served += int64(r.Steps)
	t.add(r, run)
}

// serveAll replaces what was played by the whole result from the store.
func (t *tally) serveAll(r *Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := int64(r.Runs) * int64(r.Steps)
	t.served += max(total-t.steps, 0)
	t.runs, t.steps, t.reward, t.regret = 0, total, 0, 0
	for run := range r.Reward {
		t.add(r, run)
	}
}

func (t *tally) add(r *Result, run int) {
	t.runs++
	t.reward += r.Reward[run][len(r.Checkpoints)-1]
	if r.Regret == nil {
		t.regret = math.NaN()
	} else {
		t.regret += r.Regret[run][len(r.Checkpoints)-1]
	}
}

// reporter makes snapshots. It belongs to one goroutine at a time.
type reporter struct {
	experiment Experiment
	jobs       []*job
	progress   func(Status) // may be nil
	before     []int64      // run-steps of each job at the last snapshot
	current    int          // job that is shown; -1 before any advanced
}

func (e Experiment) reporter(jobs []*job, progress func(Status)) *reporter {
	return &reporter{experiment: e, jobs: jobs, progress: progress, before: make([]int64, len(jobs)), current: -1}
}

// report calls progress with a snapshot.
func (p *reporter) report() {
	if p.progress == nil {
		return
	}
	s := Status{
		Experiment: p.experiment.Name,
		Total:      int64(len(p.jobs)) * int64(p.experiment.Runs) * int64(p.experiment.Steps),
		Regret:     math.NaN(),
	}
	most := int64(0)
	for i, j := range p.jobs {
		j.tally.mu.Lock()
		steps, served := j.tally.steps, j.tally.served
		j.tally.mu.Unlock()
		s.Done += steps
		s.Served += served
		if advance := steps - p.before[i]; advance > most {
			most, p.current = advance, i
		}
		p.before[i] = steps
	}
	if p.current >= 0 {
		j := p.jobs[p.current]
		j.tally.mu.Lock()
		s.Contender = j.contender.Name
		s.Regret = j.tally.regret / float64(j.tally.runs)
		s.Reward = j.tally.reward / float64(j.tally.steps)
		j.tally.mu.Unlock()
	}
	p.progress(s)
}

// start reports a few times a second until the returned function is called,
// which waits for the last call to return.
func (p *reporter) start() (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticks := time.NewTicker(200 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticks.C:
				p.report()
			}
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}
