package pgcr

import (
	"fmt"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Replay keeps the history of R runs, from which updates draw their batches
// uniformly and with replacement (section 6.2).
//
// Every run has its own history and draws from it with the generator that the
// caller passes, so a run does not depend on those beside it. Where observations
// come with codes, those are kept in place of contexts. A step of a run takes 4*M*D
// bytes, or 4*(S+M) with codes, and about 20 more.
type Replay struct {
	spec     envs.Spec
	capacity int     // steps of a run that are kept; 0: all
	gamma    float32 // multiplies the discounts of the outcomes
	runs     []history
	table    envs.Table // nil where contexts are kept, and until the first Add after a Load
	identity string     // of the table; empty where contexts are kept
}

// history is the past of one run. Steps are counted from 0; those from
// max(0, Steps-capacity) on are kept.
type history struct {
	Steps int

	LargestFeature, LargestReward float32        // in absolute value, for messages
	Contexts                      pages[float32] // M*D values a step; empty where codes are kept
	Codes                         pages[int32]   // S state codes and M item codes a step
	Meta                          pages[int32]   // a step's size of the set, chosen candidate, session, and the next step of the session or -1
	Outcome                       pages[float32] // a step's reward and discount

	Sessions bool              // where there are sessions, which the rest is about
	Ready    []int32           // steps whose target (22) is known, in the order in which it came to be
	visits   map[int32][]int32 // steps by session
}

// The columns of history.Meta.
const (
	metaSize = iota
	metaChosen
	metaSession
	metaNext
	metaColumns
)

// pages is a sequence of equal rows that grows without being copied.
type pages[T any] struct {
	Width int
	Pages [][]T
}

const pageRows = 512

// at returns row i, which is new where i is the number of rows.
func (p *pages[T]) at(i int) []T {
	if i/pageRows == len(p.Pages) {
		p.Pages = append(p.Pages, make([]T, pageRows*p.Width))
	}
	offset := i % pageRows * p.Width
	return p.Pages[i/pageRows][offset : offset+p.Width]
}

// NewReplay returns an empty history of that many runs, which keeps the last
// capacity steps of each, or all where that is 0. gamma is the discount factor:
// above 0 a step of a session can be learned from once the next one is known,
// since the target of Sarsa (22) needs it.
func NewReplay(spec envs.Spec, runs, capacity int, gamma float64) *Replay {
	rp := &Replay{spec: spec, capacity: capacity, gamma: float32(gamma), runs: make([]history, runs)}
	for r := range rp.runs {
		rp.runs[r] = history{
			Contexts: pages[float32]{Width: spec.Candidates * spec.Dim},
			Meta:     pages[int32]{Width: metaColumns},
			Outcome:  pages[float32]{Width: 2},
		}
	}
	return rp
}

// slot is where a step is kept.
func (rp *Replay) slot(step int) int {
	if rp.capacity > 0 {
		return step % rp.capacity
	}
	return step
}

// Add appends one step of all runs. It returns an error when the history is one
// of other codes, or of contexts where these are codes.
func (rp *Replay) Add(tr envs.Transition) error {
	if err := rp.accept(tr); err != nil {
		return err
	}
	m, d := rp.spec.Candidates, rp.spec.Dim
	for r := range rp.runs {
		h := &rp.runs[r]
		at, size := rp.slot(h.Steps), tr.Size(r)
		if rp.table != nil {
			row, states := h.Codes.at(at), len(tr.Codes.State)/tr.Runs
			copy(row, tr.Codes.State[r*states:(r+1)*states])
			copy(row[states:], tr.Codes.Items[r*m:r*m+size])
		} else {
			copy(h.Contexts.at(at), tr.Contexts[r*m*d:(r*m+size)*d])
		}
		for _, x := range tr.Contexts[r*m*d : (r*m+size)*d] {
			h.LargestFeature = max(h.LargestFeature, x, -x)
		}
		h.LargestReward = max(h.LargestReward, tr.Reward[r], -tr.Reward[r])
		meta, outcome := h.Meta.at(at), h.Outcome.at(at)
		meta[metaSize], meta[metaChosen], meta[metaNext] = int32(size), int32(tr.Actions[r]), -1
		outcome[0], outcome[1] = tr.Reward[r], 0
		if tr.Discount != nil {
			outcome[1] = rp.gamma * tr.Discount[r]
		}
		h.Steps++
		if tr.Session != nil {
			meta[metaSession] = tr.Session[r]
			rp.visit(h, tr.Session[r], outcome[1] == 0)
		}
	}
	return nil
}

// accept notes which codes the history is of.
func (rp *Replay) accept(tr envs.Transition) error {
	empty := rp.runs[0].Steps == 0
	switch {
	case tr.Codes == nil && rp.identity != "":
		return fmt.Errorf("pgcr: a step without codes, the history is one of %s", rp.identity)
	case tr.Codes == nil || tr.Codes.Table == rp.table:
		return nil
	case !empty && tr.Codes.Table.Identity() != rp.identity:
		return fmt.Errorf("pgcr: a step with codes of %s, the history is one of %q", tr.Codes.Table.Identity(), rp.identity)
	}
	rp.table, rp.identity = tr.Codes.Table, tr.Codes.Table.Identity()
	for r := range rp.runs {
		rp.runs[r].Codes.Width = len(tr.Codes.State)/tr.Runs + rp.spec.Candidates
	}
	return nil
}

// visit adds the last step of a run to a session. last says that its target
// is known already, because nothing follows it.
func (rp *Replay) visit(h *history, session int32, last bool) {
	if h.visits == nil {
		h.Sessions, h.visits = true, map[int32][]int32{}
	}
	past := h.visits[session]
	for len(past) > 0 && int(past[0]) < rp.oldest(h) {
		past = past[1:]
	}
	step := int32(h.Steps - 1)
	if n := len(past); n > 0 {
		previous := rp.slot(int(past[n-1]))
		h.Meta.at(previous)[metaNext] = step
		if h.Outcome.at(previous)[1] > 0 {
			h.Ready = append(h.Ready, past[n-1])
		}
	}
	if last {
		h.Ready = append(h.Ready, step)
	}
	h.visits[session] = append(past, step)
}

// oldest returns the first step that is kept.
func (rp *Replay) oldest(h *history) int {
	if rp.capacity == 0 {
		return 0
	}
	return max(0, h.Steps-rp.capacity)
}

// Draw draws a batch of steps of run r that can be learned from into dst, and
// reports whether there is one.
func (rp *Replay) Draw(dst []int, r int, rng *rand.Rand) bool {
	h := &rp.runs[r]
	oldest := rp.oldest(h)
	for i := range dst {
		if !h.Sessions {
			if h.Steps == 0 {
				return false
			}
			dst[i] = oldest + rng.IntN(h.Steps-oldest)
			continue
		}
		for {
			n := len(h.Ready)
			if n == 0 {
				return false
			}
			j := rng.IntN(n)
			if dst[i] = int(h.Ready[j]); dst[i] >= oldest {
				break
			}
			h.Ready[j] = h.Ready[n-1] // no longer kept
			h.Ready = h.Ready[:n-1]
		}
	}
	return true
}

// Size returns how many candidates the set of a step has.
func (rp *Replay) Size(r, step int) int { return int(rp.runs[r].Meta.at(rp.slot(step))[metaSize]) }

// Chosen returns which candidate of a step was chosen.
func (rp *Replay) Chosen(r, step int) int {
	return int(rp.runs[r].Meta.at(rp.slot(step))[metaChosen])
}

// Reward returns the reward of a step.
func (rp *Replay) Reward(r, step int) float32 { return rp.runs[r].Outcome.at(rp.slot(step))[0] }

// Next returns the discount of a step, gamma included, and the next step of its
// session. Where the discount is 0 the step itself stands for the next one.
func (rp *Replay) Next(r, step int) (discount float32, next int) {
	h, at := &rp.runs[r], rp.slot(step)
	if discount := h.Outcome.at(at)[1]; discount > 0 {
		return discount, int(h.Meta.at(at)[metaNext])
	}
	return 0, step
}

// Context writes the context of a candidate of a step to dst, [D].
func (rp *Replay) Context(dst []float32, r, step, candidate int) {
	rp.joined(dst, r, step, step, candidate)
}

// joined writes the item of a candidate of one step, joined with the state of
// another, to dst: a context that could have been on offer there (section 5.1).
func (rp *Replay) joined(dst []float32, r, state, step, candidate int) {
	h, d := &rp.runs[r], rp.spec.Dim
	if rp.table != nil {
		states := h.Codes.Width - rp.spec.Candidates
		rp.table.Expand(dst, h.Codes.at(rp.slot(state))[:states], h.Codes.at(rp.slot(step))[states+candidate])
		return
	}
	copy(dst, h.Contexts.at(rp.slot(step))[candidate*d:(candidate+1)*d])
	if state != step {
		copy(dst[:rp.spec.State], h.Contexts.at(rp.slot(state)))
	}
}

// offer is a candidate that was on offer at some step.
type offer struct{ step, candidate int }

// seen draws len(dst) different candidates from those that were on offer in the
// session of a step: a visit uniformly, then one of its candidates. There must be
// that many.
func (rp *Replay) seen(dst []offer, r, step int, rng *rand.Rand) {
	h := &rp.runs[r]
	visits := h.visits[h.Meta.at(rp.slot(step))[metaSession]]
	for int(visits[0]) < rp.oldest(h) {
		visits = visits[1:]
	}
	for i := 0; i < len(dst); {
		o := offer{step: int(visits[rng.IntN(len(visits))])}
		o.candidate = rng.IntN(rp.Size(r, o.step))
		if !rp.drawn(dst[:i], r, o) {
			dst[i] = o
			i++
		}
	}
}

// drawn reports whether a candidate is among others: the same place or, where
// there are codes, the same item.
func (rp *Replay) drawn(others []offer, r int, o offer) bool {
	h := &rp.runs[r]
	item := func(o offer) int32 {
		return h.Codes.at(rp.slot(o.step))[h.Codes.Width-rp.spec.Candidates+o.candidate]
	}
	for _, other := range others {
		if other == o || rp.table != nil && item(other) == item(o) {
			return true
		}
	}
	return false
}

// restore makes what a saved history lacks.
func (h *history) restore(rp *Replay) {
	if !h.Sessions {
		return
	}
	h.visits = map[int32][]int32{}
	for step := rp.oldest(h); step < h.Steps; step++ {
		session := h.Meta.at(rp.slot(step))[metaSession]
		h.visits[session] = append(h.visits[session], int32(step))
	}
}
