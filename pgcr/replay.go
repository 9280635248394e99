package pgcr

import (
	"fmt"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Replay keeps the history of R runs, from which updates draw their batches
// uniformly and with replacement.
//
// Every run has its own history, and draws from it with the generator that the
// caller passes, so a run does not depend on those beside it.
//
// Where observations come with codes, those are kept instead of contexts.
type Replay struct {
	spec envs.Spec
	runs []history

	identity string     // of the table; empty where contexts are kept
	table    envs.Table // nil where contexts are kept, and until the first Add after a Load
	state    int        // S, codes of a step's state
	step     []float32  // scratch: expanded contexts of a step, [M, D]
	context  []float32  // scratch: one expanded context
}

// history is the past of one run, step by step.
type history struct {
	*Timeline
	contexts pages[float32] // M*D values a step, candidates in a random order; empty where codes are kept
	codes    pages[int32]   // S state codes and M item codes a step, in that order
	chosen   []uint8        // where the chosen candidate stands
	reward   []float32
}

// pages is a sequence of equal rows that grows without being copied.
type pages[T any] struct {
	width int
	rows  [][]T
}

const pageRows = 512

func (p *pages[T]) append() []T {
	if len(p.rows) == 0 || len(p.rows[len(p.rows)-1]) == cap(p.rows[len(p.rows)-1]) {
		p.rows = append(p.rows, make([]T, 0, pageRows*p.width))
	}
	last := &p.rows[len(p.rows)-1]
	*last = (*last)[:len(*last)+p.width]
	return (*last)[len(*last)-p.width:]
}

func (p *pages[T]) at(i int) []T {
	offset := i % pageRows * p.width
	return p.rows[i/pageRows][offset : offset+p.width]
}

// NewReplay returns an empty history of so many runs. discount is gamma, see
// NewTimeline. It panics when there are more than 255 candidates.
func NewReplay(spec envs.Spec, runs int, discount float64) *Replay {
	if spec.Candidates > 255 {
		panic(fmt.Sprintf("pgcr: %d candidates, a replay holds at most 255", spec.Candidates))
	}
	r := &Replay{spec: spec, runs: make([]history, runs)}
	for i := range r.runs {
		r.runs[i].Timeline = NewTimeline(discount)
		r.runs[i].contexts.width = spec.Candidates * spec.Dim
	}
	return r
}

// Accept makes the history ready for such transitions. It returns an error when
// it holds steps of another kind: contexts where these have codes, codes where
// they have none, or codes of another table.
func (rp *Replay) Accept(tr envs.Transition) error {
	empty := rp.runs[0].steps == 0
	if tr.Codes == nil {
		if !empty && rp.identity != "" {
			return fmt.Errorf("pgcr: a step without codes, the history is one of %s", rp.identity)
		}
		return nil
	}
	if tr.Codes.Table == rp.table {
		return nil
	}
	identity, state := tr.Codes.Table.Identity(), len(tr.Codes.State)/tr.Runs
	if !empty && (identity != rp.identity || state != rp.state) {
		return fmt.Errorf("pgcr: a step with %d state codes of %s, the history has %d of %q", state, identity, rp.state, rp.identity)
	}
	rp.encode(identity, state)
	rp.table = tr.Codes.Table
	return nil
}

// encode makes the histories keep codes.
func (rp *Replay) encode(identity string, state int) {
	m, d := rp.spec.Candidates, rp.spec.Dim
	rp.identity, rp.state = identity, state
	rp.step, rp.context = make([]float32, m*d), make([]float32, d)
	for i := range rp.runs {
		rp.runs[i].codes.width = state + m
	}
}

// Add appends one step of run r, of a kind that Accept has seen. order is a
// permutation of the candidates, in which they are kept: a random one lets
// position stand for a random candidate.
func (rp *Replay) Add(r int, tr envs.Transition, order []int) {
	h, m := &rp.runs[r], rp.spec.Candidates
	if rp.table != nil {
		row := h.codes.append()
		copy(row, tr.Codes.State[r*rp.state:(r+1)*rp.state])
		place(row[rp.state:], tr.Codes.Items[r*m:(r+1)*m], order)
	} else {
		d := rp.spec.Dim
		place(h.contexts.append(), tr.Contexts[r*m*d:(r+1)*m*d], order)
	}
	for slot, candidate := range order {
		if candidate == tr.Actions[r] {
			h.chosen = append(h.chosen, uint8(slot))
		}
	}
	h.reward = append(h.reward, tr.Reward[r])
	if tr.Session == nil {
		h.Append()
	} else {
		h.AppendVisit(tr.Session[r], tr.Discount[r])
	}
}

// place copies equal parts of from to dst, in that order.
func place[T any](dst, from []T, order []int) {
	d := len(from) / len(order)
	for slot, candidate := range order {
		copy(dst[slot*d:(slot+1)*d], from[candidate*d:(candidate+1)*d])
	}
}

// Steps returns how many steps of run r can be drawn.
func (rp *Replay) Steps(r int) int { return rp.runs[r].Ready() }

// Draw draws a batch of step numbers of run r into dst. It panics when Steps is 0.
func (rp *Replay) Draw(dst []int, r int, rng *rand.Rand) {
	for i := range dst {
		dst[i] = rp.runs[r].Draw(rng)
	}
}

// Contexts returns the contexts of a step of run r, [M, D], in the order in
// which they were kept, and the position of the chosen one. The caller must not
// change them, and they hold until the next call.
func (rp *Replay) Contexts(r, step int) (contexts []float32, chosen int) {
	h := &rp.runs[r]
	chosen = int(h.chosen[step])
	if rp.table == nil {
		return h.contexts.at(step), chosen
	}
	d, codes := rp.spec.Dim, h.codes.at(step)
	for slot, item := range codes[rp.state:] {
		rp.table.Expand(rp.step[slot*d:(slot+1)*d], codes[:rp.state], item)
	}
	return rp.step, chosen
}

// Chosen returns the context of the chosen candidate of a step, [D]. The caller
// must not change it, and it holds until the next call of Chosen or Next.
func (rp *Replay) Chosen(r, step int) []float32 {
	h := &rp.runs[r]
	slot := int(h.chosen[step])
	if rp.table == nil {
		d := rp.spec.Dim
		return h.contexts.at(step)[slot*d : (slot+1)*d]
	}
	codes := h.codes.at(step)
	rp.table.Expand(rp.context, codes[:rp.state], codes[rp.state+slot])
	return rp.context
}

// Reward returns the reward of a step.
func (rp *Replay) Reward(r, step int) float32 { return rp.runs[r].reward[step] }

// Next returns the discount of a step and the context that was chosen at the
// next step of its session, [D]; nil where the discount is 0.
func (rp *Replay) Next(r, step int) (discount float32, chosen []float32) {
	discount, next := rp.runs[r].Next(step)
	if discount == 0 {
		return 0, nil
	}
	return discount, rp.Chosen(r, next)
}

// Rival writes to dst, [D], a context that could have competed at the step: a
// uniform draw from all contexts seen in the same session at other steps,
// joined with the state of this step (section 5.1: "from the same state").
// A session of a single step offers that step's own contexts.
func (rp *Replay) Rival(dst []float32, r, step int, rng *rand.Rand) {
	h, d := &rp.runs[r], rp.spec.Dim
	other := h.Timeline.Rival(step, rng)
	slot := rng.IntN(rp.spec.Candidates)
	if rp.table != nil {
		rp.table.Expand(dst, h.codes.at(step)[:rp.state], h.codes.at(other)[rp.state+slot])
		return
	}
	copy(dst, h.contexts.at(other)[slot*d:(slot+1)*d])
	copy(dst[:rp.spec.State], h.contexts.at(step)[:rp.spec.State])
}
