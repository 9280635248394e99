package sim

import (
	"sync"
	"time"
)

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

// reporter shows snapshots, one at a time.
type reporter struct {
	mu       sync.Mutex
	status   Status
	progress func(Status) // may be nil
	shown    time.Time
}

const showEvery = 100 * time.Millisecond

// change changes the status and shows it when it was not shown for a while.
func (p *reporter) change(f func(*Status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.status)
	if now := time.Now(); now.Sub(p.shown) >= showEvery {
		p.shown = now
		p.show()
	}
}

func (p *reporter) show() {
	if p.progress != nil {
		p.progress(p.status)
	}
}
