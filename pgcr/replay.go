package pgcr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Replay keeps the history of R runs, D_t of section 3.2, from which updates draw their batches
// uniformly and with replacement (section 6.2). Steps are counted from 0.
//
// Where observations come with codes, those are kept in place of contexts. With S codes of the state
// a step of a run takes 4*(S+M) bytes and 24 more, else 4*M*D and 24; in sessions it takes another 8.
//
// What is exported is what gob saves of it.
type Replay struct {
	Runs  []history
	Table string // the identity of the table of the codes; empty where contexts are kept

	spec     envs.Spec
	capacity int        // steps of a run that are kept
	gamma    float32    // multiplies the discounts of the outcomes
	table    envs.Table // nil where contexts are kept, and until the first Add after a Restore
}

// history is the past of one run. Step t is kept at t mod capacity.
type history struct {
	Count    int            // steps so far
	Steps    []record       // those that are kept
	Contexts pages[float32] // M*D values a step; empty where codes are kept
	Codes    pages[int32]   // S state codes and M item codes a step

	Visits map[int32][]int32 // steps by session; nil where there are no sessions
	Ready  []int32           // steps of sessions whose target (22) is known

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
	return part(p.Pages[i/pageRows], i%pageRows, pageRows)
}

// NewReplay returns an empty history, which keeps the last capacity steps of each run, or all where
// that is 0. With a gamma above 0 a step of a session can be learned from once the next one is
// known, which the target (22) needs. With a spec of one candidate the chosen ones alone are kept.
func NewReplay(spec envs.Spec, runs, capacity int, gamma float64) *Replay {
	empty := history{Contexts: pages[float32]{Width: spec.Candidates * spec.Dim}}
	return &Replay{spec: spec, capacity: cmp.Or(capacity, math.MaxInt), gamma: float32(gamma), Runs: slices.Repeat([]history{empty}, runs)}
}

// Add appends one step of all runs, which the caller has checked. It is an error when the history is one
// of other codes or of none, or when only one of both has sessions.
func (rp *Replay) Add(tr envs.Transition) error {
	if err := rp.accept(tr); err != nil {
		return err
	}
	for r := range rp.Runs {
		h, first, size, chosen := &rp.Runs[r], 0, tr.Size(r), tr.Actions[r]
		if rp.spec.Candidates == 1 {
			first, size, chosen = chosen, 1, 0
		}
		at, contexts := h.Count%rp.capacity, part(tr.Contexts, r, tr.Runs)[first*rp.spec.Dim:][:size*rp.spec.Dim]
		if rp.table != nil {
			state := part(tr.Codes.State, r, tr.Runs)
			h.Codes.Width = len(state) + rp.spec.Candidates
			row := h.Codes.at(at)
			copy(row, state)
			copy(row[len(state):], part(tr.Codes.Items, r, tr.Runs)[first:][:size])
		} else {
			copy(h.Contexts.at(at), contexts)
		}
		h.LargestFeature = largest(h.LargestFeature, contexts)
		h.LargestReward = largest(h.LargestReward, tr.Reward[r:r+1])
		s := record{Size: int32(size), Chosen: int32(chosen), Reward: tr.Reward[r]}
		if tr.Discount != nil {
			s.Discount = rp.gamma * tr.Discount[r]
		}
		if at == len(h.Steps) {
			h.Steps = append(h.Steps, record{})
		} else if was := h.Steps[at].Session; tr.Session != nil { // the oldest step is forgotten, its session's first visit
			if h.Visits[was] = h.Visits[was][1:]; len(h.Visits[was]) == 0 {
				delete(h.Visits, was)
			}
		}
		h.Count++
		if tr.Session != nil {
			s.Session = tr.Session[r]
			rp.visit(h, s)
		}
		h.Steps[at] = s
	}
	return nil
}

// accept checks that a step is of the kind of the history, and notes the codes of the first.
func (rp *Replay) accept(tr envs.Transition) error {
	h := &rp.Runs[0]
	switch {
	case h.Count > 0 && (tr.Session != nil) != (h.Visits != nil):
		return errors.New("pgcr: a step with sessions among others without")
	case tr.Codes == nil && rp.Table != "":
		return fmt.Errorf("pgcr: a step without codes, the history is one of %s", rp.Table)
	case tr.Codes == nil || tr.Codes.Table == rp.table:
		return nil
	case h.Count > 0 && tr.Codes.Table.Identity() != rp.Table:
		return fmt.Errorf("pgcr: a step with codes of %s, the history is one of %q", tr.Codes.Table.Identity(), rp.Table)
	}
	rp.table, rp.Table = tr.Codes.Table, tr.Codes.Table.Identity()
	return nil
}

// visit adds the last step of a run, s, to its session.
func (rp *Replay) visit(h *history, s record) {
	if h.Visits == nil {
		h.Visits = map[int32][]int32{}
	}
	step, past := int32(h.Count-1), h.Visits[s.Session]
	if n := len(past); n > 0 {
		previous := &h.Steps[int(past[n-1])%rp.capacity]
		if previous.Next = step; previous.Discount > 0 {
			h.Ready = append(h.Ready, past[n-1])
		}
	}
	if s.Discount == 0 { // nothing follows: the target is known
		h.Ready = append(h.Ready, step)
	}
	h.Visits[s.Session] = append(past, step)
}

// oldest is the first step that is kept.
func (h *history) oldest() int { return h.Count - len(h.Steps) }

// sessions reports whether the history has sessions. It is false before the first step.
func (rp *Replay) sessions() bool { return rp.Runs[0].Visits != nil }

// Draw draws b steps of each run that can be learned from. It returns them, [R][b], nil where a run has
// none yet, and what the critic learns from: Chosen, Reward and Ready of a Batch, and in sessions with a
// gamma above 0 Next and Discount, which (22) needs.
func (rp *Replay) Draw(b int, streams []Streams) (steps [][]int, critic []*tensors.Tensor) {
	runs := len(rp.Runs)
	reward, ready, discount := make([]float32, runs*b), make([]float32, runs*b), make([]float32, runs*b)
	for r := range runs {
		steps = append(steps, rp.Sample(b, r, rand.New(streams[r].Batch)))
		for i, step := range steps[r] {
			at, s := r*b+i, rp.step(r, step)
			reward[at], ready[at], discount[at] = s.Reward, 1, s.Discount
		}
	}
	rows := make([]float32, b*rp.spec.Dim)
	joined := func(offer func(r, step int) Offer) *tensors.Tensor {
		return columns(runs, b, rp.spec.Dim, func(r int) []float32 {
			for i, step := range steps[r] {
				rp.join(part(rows, i, b), r, offer(r, step))
			}
			return rows // where a run has no step, what is there is not learned from
		})
	}
	critic = []*tensors.Tensor{joined(rp.chosen), tensor(reward, runs, b), tensor(ready, runs, b)}
	if rp.sessions() && rp.gamma > 0 { // where nothing follows, the discount is 0
		next := joined(func(r, step int) Offer { return rp.chosen(r, int(rp.step(r, step).Next)) })
		critic = append(critic, next, tensor(discount, runs, b))
	}
	return steps, critic
}

// Sample draws b steps of a run that can be learned from; nil where it has none.
func (rp *Replay) Sample(b, r int, rng *rand.Rand) (steps []int) {
	h := &rp.Runs[r]
	for !rp.sessions() && h.Count > 0 && len(steps) < b {
		steps = append(steps, h.oldest()+rng.IntN(len(h.Steps)))
	}
	for len(steps) < b && len(h.Ready) > 0 {
		j, last := rng.IntN(len(h.Ready)), len(h.Ready)-1
		if step := int(h.Ready[j]); step >= h.oldest() {
			steps = append(steps, step)
		} else { // it is no longer kept
			h.Ready[j] = h.Ready[last]
			h.Ready = h.Ready[:last]
		}
	}
	if len(steps) < b {
		return nil
	}
	return steps
}

// step returns what is kept of a step.
func (rp *Replay) step(r, step int) record { return rp.Runs[r].Steps[step%rp.capacity] }

// Next returns the step of the session after one that can be learned from, and the discount of its
// value in (22), 0 where nothing follows.
func (rp *Replay) Next(r, step int) (next int, discount float32) {
	s := rp.step(r, step)
	return int(s.Next), s.Discount
}

// Offer is a candidate that was on offer at some step, and the step with whose state it is joined:
// a context that could have been on offer there (section 5.1).
type Offer struct{ State, Step, Candidate int }

// chosen is the offer that was chosen at a step.
func (rp *Replay) chosen(r, step int) Offer { return Offer{step, step, int(rp.step(r, step).Chosen)} }

// join writes the context of an offer, c~ = (s, c) of section 4, to dst, [D].
func (rp *Replay) join(dst []float32, r int, o Offer) {
	h, d := &rp.Runs[r], rp.spec.Dim
	if rp.table != nil {
		state := h.Codes.at(o.State % rp.capacity)
		rp.table.Expand(dst, state[:len(state)-rp.spec.Candidates], rp.item(h, o))
		return
	}
	copy(dst, h.Contexts.at(o.Step % rp.capacity)[o.Candidate*d:(o.Candidate+1)*d])
	copy(dst[:rp.spec.State], h.Contexts.at(o.State%rp.capacity))
}

// item is the code of an offer.
func (rp *Replay) item(h *history, o Offer) int32 {
	codes := h.Codes.at(o.Step % rp.capacity)
	return codes[len(codes)-rp.spec.Candidates+o.Candidate]
}

// offered appends the candidates of a step, the chosen one first, as Update wants it.
func (rp *Replay) offered(offers []Offer, r, step int) []Offer {
	s, first := rp.step(r, step), len(offers)
	for j := range int(s.Size) {
		offers = append(offers, Offer{step, step, j})
	}
	set := offers[first:]
	set[0], set[s.Chosen] = set[s.Chosen], set[0]
	return offers
}

// seen appends as many candidates as a step offered, joined with its state. They are drawn from all
// that were on offer in its session, without replacement: first one of the session's steps, then one
// of its candidates. Where items have codes, no item comes twice, unless the step itself offered one
// twice, for then the session may not have enough different ones.
func (rp *Replay) seen(offers []Offer, r, step int, rng *rand.Rand) []Offer {
	h, s, first := &rp.Runs[r], rp.step(r, step), len(offers)
	var items []int32
	for i := 0; rp.table != nil && i < int(s.Size); i++ {
		items = append(items, rp.item(h, Offer{step, step, i}))
	}
	slices.Sort(items)
	visits, differ := h.Visits[s.Session], len(slices.Compact(items)) == int(s.Size)
	for len(offers) < first+int(s.Size) {
		o := Offer{State: step, Step: int(visits[rng.IntN(len(visits))])}
		o.Candidate = rng.IntN(int(rp.step(r, o.Step).Size))
		if !slices.ContainsFunc(offers[first:], func(other Offer) bool {
			return other == o || differ && rp.item(h, other) == rp.item(h, o)
		}) {
			offers = append(offers, o)
		}
	}
	return offers
}

// Restore makes the history that of a saved one of as many runs.
func (rp *Replay) Restore(saved *Replay) { rp.Runs, rp.Table, rp.table = saved.Runs, saved.Table, nil }

// Explain adds to an envs.RunError what is known of its cause: the largest feature, of the history
// and of obs, and the largest reward, in absolute value. Other errors stay as they are.
func (rp *Replay) Explain(err error, updates int64, obs envs.Observation) error {
	var run *envs.RunError
	if !errors.As(err, &run) {
		return err
	}
	h := &rp.Runs[run.Run]
	feature := largest(h.LargestFeature, part(obs.Contexts, run.Run, obs.Runs)[:obs.Size(run.Run)*obs.Dim])
	return &envs.RunError{Run: run.Run, Err: fmt.Errorf("after %d updates %w; the largest feature is %v, the largest reward %v",
		updates, run.Err, feature, h.LargestReward)}
}

// largest returns the largest absolute value, but at least x.
func largest(x float32, values []float32) float32 {
	for _, v := range values {
		x = max(x, v, -v)
	}
	return x
}
