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
type Replay struct {
	spec     envs.Spec
	discount float64 // gamma; 0 in a bandit
	runs     []history
}

// history is the past of one run, step by step.
type history struct {
	steps    int
	contexts pages[float32] // M*D values a step, candidates in a random order
	chosen   []uint8        // where the chosen candidate stands
	reward   []float32
	discount []float32 // gamma, or 0 at the end of an episode
	next     []int32   // the next step of the same session, -1 while unknown; empty in a bandit
	ready    []int32   // steps whose target is known, in the order in which it came to be; empty in a bandit
	session  []int32   // of each step; empty in a bandit
	visits   map[int32][]int32
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

// NewReplay returns an empty history of so many runs. discount is gamma: above
// 0 a step can be learned from once the next step of its session is known,
// since the target of Sarsa (22) needs it. It panics when there are more than
// 255 candidates.
func NewReplay(spec envs.Spec, runs int, discount float64) *Replay {
	if spec.Candidates > 255 {
		panic(fmt.Sprintf("pgcr: %d candidates, a replay holds at most 255", spec.Candidates))
	}
	r := &Replay{spec: spec, discount: discount, runs: make([]history, runs)}
	for i := range r.runs {
		r.runs[i].contexts.width = spec.Candidates * spec.Dim
	}
	return r
}

// Add appends one step of run r. order is a permutation of the candidates, in
// which their contexts are kept: a random one lets position stand for a random
// candidate.
func (rp *Replay) Add(r int, tr envs.Transition, order []int) {
	h, m, d := &rp.runs[r], rp.spec.Candidates, rp.spec.Dim
	row, from := h.contexts.append(), tr.Contexts[r*m*d:(r+1)*m*d]
	for slot, candidate := range order {
		copy(row[slot*d:(slot+1)*d], from[candidate*d:(candidate+1)*d])
		if candidate == tr.Actions[r] {
			h.chosen = append(h.chosen, uint8(slot))
		}
	}
	h.reward = append(h.reward, tr.Reward[r])
	step := int32(h.steps)
	h.steps++
	if tr.Session == nil {
		h.discount = append(h.discount, 0)
		return
	}

	gamma := float32(rp.discount) * tr.Discount[r]
	user := tr.Session[r]
	if h.visits == nil {
		h.visits = map[int32][]int32{}
	}
	if past := h.visits[user]; len(past) > 0 {
		previous := past[len(past)-1]
		h.next[previous] = step
		if h.discount[previous] > 0 {
			h.ready = append(h.ready, previous)
		}
	}
	h.visits[user] = append(h.visits[user], step)
	h.session = append(h.session, user)
	h.discount = append(h.discount, gamma)
	h.next = append(h.next, -1)
	if gamma == 0 {
		h.ready = append(h.ready, step)
	}
}

// Steps returns how many steps of run r can be drawn.
func (rp *Replay) Steps(r int) int {
	if h := &rp.runs[r]; h.session != nil {
		return len(h.ready)
	}
	return rp.runs[r].steps
}

// Draw draws a batch of step numbers of run r into dst. It panics when Steps is 0.
func (rp *Replay) Draw(dst []int, r int, rng *rand.Rand) {
	h := &rp.runs[r]
	for i := range dst {
		if h.session != nil {
			dst[i] = int(h.ready[rng.IntN(len(h.ready))])
		} else {
			dst[i] = rng.IntN(h.steps)
		}
	}
}

// Contexts returns the contexts of a step of run r, [M, D], in the order in
// which they were kept, and the position of the chosen one. The caller must not
// change them.
func (rp *Replay) Contexts(r, step int) (contexts []float32, chosen int) {
	h := &rp.runs[r]
	return h.contexts.at(step), int(h.chosen[step])
}

// Chosen returns the context of the chosen candidate of a step, [D].
func (rp *Replay) Chosen(r, step int) []float32 {
	contexts, chosen := rp.Contexts(r, step)
	return contexts[chosen*rp.spec.Dim : (chosen+1)*rp.spec.Dim]
}

// Reward returns the reward of a step.
func (rp *Replay) Reward(r, step int) float32 { return rp.runs[r].reward[step] }

// Next returns the discount of a step and the context that was chosen at the
// next step of its session, [D]; nil where the discount is 0.
func (rp *Replay) Next(r, step int) (discount float32, chosen []float32) {
	h := &rp.runs[r]
	if h.discount[step] == 0 {
		return 0, nil
	}
	return h.discount[step], rp.Chosen(r, int(h.next[step]))
}

// Rival writes to dst, [D], a context that could have competed at the step: a
// uniform draw from all contexts seen in the same session at other steps,
// joined with the state of this step (section 5.1: "from the same state").
// A session of a single step offers that step's own contexts.
func (rp *Replay) Rival(dst []float32, r, step int, rng *rand.Rand) {
	h, d := &rp.runs[r], rp.spec.Dim
	visits := h.visits[h.session[step]]
	other := step
	if len(visits) > 1 {
		for other == step {
			other = int(visits[rng.IntN(len(visits))])
		}
	}
	slot := rng.IntN(rp.spec.Candidates)
	copy(dst, h.contexts.at(other)[slot*d:(slot+1)*d])
	copy(dst[:rp.spec.State], h.contexts.at(step)[:rp.spec.State])
}
