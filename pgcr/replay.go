package pgcr

import (
	"fmt"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Replay keeps the history of R runs, from which updates draw their batches
// uniformly and with replacement (section 6.2).
//
// Every run has a history, and draws from it with the generator that the caller
// passes, so a run does not depend on those beside it. Where observations come
// with codes, those are kept in place of contexts: a step of a run takes 4*(S+M)
// bytes and about 24 more, else 4*M*D and 24.
type Replay struct {
	spec     envs.Spec
	capacity int     // steps of a run that are kept; 0: all
	gamma    float32 // multiplies the discounts of the outcomes
	runs     []history
	table    envs.Table // nil where contexts are kept, and until the first Add after a Load
	identity string     // of the table; empty where contexts are kept
}

// history is the past of one run. Steps are counted from 0; step t is kept at
// t mod capacity.
type history struct {
	Count    int            // steps so far
	Steps    []record       //
	Contexts pages[float32] // M*D values a step; empty where codes are kept
	Codes    pages[int32]   // S state codes and M item codes a step

	Sessions bool              // whether there are sessions, which the next two are about
	Ready    []int32           // steps whose target (22) is known, in the order in which it came to be
	visits   map[int32][]int32 // steps by session

	LargestFeature, LargestReward float32 // in absolute value, for messages
}

// record is what is kept of a step beside its contexts.
type record struct {
	Size, Chosen, Session int32
	Next                  int32 // the next step of the session, where it is known
	Reward, Discount      float32
}

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
		rp.runs[r].Contexts.Width = spec.Candidates * spec.Dim
	}
	return rp
}

// Add appends one step of all runs. It returns an error when the history is one
// of other codes, or of contexts where these are codes.
func (rp *Replay) Add(tr envs.Transition) error {
	if err := rp.accept(tr); err != nil {
		return err
	}
	m, d := rp.spec.Candidates, rp.spec.Dim
	for r := range rp.runs {
		h, size := &rp.runs[r], tr.Size(r)
		at, contexts := rp.place(h.Count), tr.Contexts[r*m*d:(r*m+size)*d]
		if rp.table != nil {
			row, states := h.Codes.at(at), len(tr.Codes.State)/tr.Runs
			copy(row, tr.Codes.State[r*states:(r+1)*states])
			copy(row[states:], tr.Codes.Items[r*m:r*m+size])
		} else {
			copy(h.Contexts.at(at), contexts)
		}
		for _, x := range contexts {
			h.LargestFeature = max(h.LargestFeature, x, -x)
		}
		h.LargestReward = max(h.LargestReward, tr.Reward[r], -tr.Reward[r])
		s := record{Size: int32(size), Chosen: int32(tr.Actions[r]), Reward: tr.Reward[r]}
		if tr.Discount != nil {
			s.Discount = rp.gamma * tr.Discount[r]
		}
		if tr.Session != nil {
			s.Session = tr.Session[r]
		}
		if at == len(h.Steps) {
			h.Steps = append(h.Steps, s)
		} else {
			h.Steps[at] = s
		}
		h.Count++
		if tr.Session != nil {
			rp.visit(h, s)
		}
	}
	return nil
}

// accept notes which codes the history is of.
func (rp *Replay) accept(tr envs.Transition) error {
	empty := rp.runs[0].Count == 0
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

// visit adds the last step of a run, s, to its session.
func (rp *Replay) visit(h *history, s record) {
	if h.visits == nil {
		h.Sessions, h.visits = true, map[int32][]int32{}
	}
	step, past := int32(h.Count-1), rp.recent(h, h.visits[s.Session])
	if n := len(past); n > 0 {
		previous := &h.Steps[rp.place(int(past[n-1]))]
		if previous.Next = step; previous.Discount > 0 {
			h.Ready = append(h.Ready, past[n-1])
		}
	}
	if s.Discount == 0 { // nothing follows: the target is known
		h.Ready = append(h.Ready, step)
	}
	h.visits[s.Session] = append(past, step)
}

// place is where a step is kept, and oldest is the first one that is.
func (rp *Replay) place(step int) int {
	if rp.capacity > 0 {
		return step % rp.capacity
	}
	return step
}

func (rp *Replay) oldest(h *history) int { return h.Count - min(h.Count, len(h.Steps)) }

// recent leaves out the steps that are no longer kept, which come first.
func (rp *Replay) recent(h *history, steps []int32) []int32 {
	for len(steps) > 0 && int(steps[0]) < rp.oldest(h) {
		steps = steps[1:]
	}
	return steps
}

// Draw draws a batch of steps of run r that can be learned from into dst, and
// reports whether there is one.
func (rp *Replay) Draw(dst []int, r int, rng *rand.Rand) bool {
	h := &rp.runs[r]
	oldest := rp.oldest(h)
	for i := 0; i < len(dst); {
		n := len(h.Ready)
		switch {
		case !h.Sessions && h.Count > 0:
			dst[i] = oldest + rng.IntN(h.Count-oldest)
		case n == 0:
			return false
		default:
			j := rng.IntN(n)
			if dst[i] = int(h.Ready[j]); dst[i] < oldest { // it is no longer kept
				h.Ready[j] = h.Ready[n-1]
				h.Ready = h.Ready[:n-1]
				continue
			}
		}
		i++
	}
	return true
}

// step returns what is kept of a step.
func (rp *Replay) step(r, step int) record { return rp.runs[r].Steps[rp.place(step)] }

// Chosen writes the context that was chosen at a step of run r to dst, [D], and
// returns the reward.
func (rp *Replay) Chosen(dst []float32, r, step int) (reward float32) {
	s := rp.step(r, step)
	rp.joined(dst, r, offer{step, step, int(s.Chosen)})
	return s.Reward
}

// Next returns the discount of a step, gamma included, and the next step of its
// session. Where the discount is 0 the step itself stands for the next one.
func (rp *Replay) Next(r, step int) (discount float32, next int) {
	if s := rp.step(r, step); s.Discount > 0 {
		return s.Discount, int(s.Next)
	}
	return 0, step
}

// offer is a candidate that was on offer at some step, and the step with whose
// state it is joined: a context that could have been on offer there (section 5.1).
type offer struct{ state, step, candidate int }

// joined writes such a context to dst.
func (rp *Replay) joined(dst []float32, r int, o offer) {
	h, d := &rp.runs[r], rp.spec.Dim
	if rp.table != nil {
		states := h.Codes.Width - rp.spec.Candidates
		rp.table.Expand(dst, h.Codes.at(rp.place(o.state))[:states], h.Codes.at(rp.place(o.step))[states+o.candidate])
		return
	}
	copy(dst, h.Contexts.at(rp.place(o.step))[o.candidate*d:(o.candidate+1)*d])
	copy(dst[:rp.spec.State], h.Contexts.at(rp.place(o.state)))
}

// seen appends n different candidates of those that were on offer in the session
// of a step, joined with its state: each from a visit that is drawn uniformly.
func (rp *Replay) seen(offers []offer, n, r, step int, rng *rand.Rand) []offer {
	h, first := &rp.runs[r], len(offers)
	visits := rp.recent(h, h.visits[rp.step(r, step).Session])
	for len(offers) < first+n {
		o := offer{state: step, step: int(visits[rng.IntN(len(visits))])}
		o.candidate = rng.IntN(int(rp.step(r, o.step).Size))
		if !rp.among(offers[first:], h, o) {
			offers = append(offers, o)
		}
	}
	return offers
}

// among reports whether a candidate is among others: the same place or, where
// there are codes, the same item.
func (rp *Replay) among(others []offer, h *history, o offer) bool {
	item := func(o offer) int32 {
		return h.Codes.at(rp.place(o.step))[h.Codes.Width-rp.spec.Candidates+o.candidate]
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
	for step := rp.oldest(h); step < h.Count; step++ {
		session := h.Steps[rp.place(step)].Session
		h.visits[session] = append(h.visits[session], int32(step))
	}
}

// Kept is what a saved history consists of; gob reads and writes it.
type Kept struct {
	Table string // identity of the codes' table
	Runs  []history
}

// Kept returns the history to be saved. It shares memory with the history.
func (rp *Replay) Kept() Kept { return Kept{rp.identity, rp.runs} }

// Restore makes the history what Kept returned, of as many runs.
func (rp *Replay) Restore(k Kept) {
	rp.runs, rp.identity, rp.table = k.Runs, k.Table, nil
	for r := range rp.runs {
		rp.runs[r].restore(rp)
	}
}

// Largest returns the largest feature and reward that were added to a run, in
// absolute value, for messages.
func (rp *Replay) Largest(r int) (feature, reward float32) {
	return rp.runs[r].LargestFeature, rp.runs[r].LargestReward
}
