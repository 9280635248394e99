package pgcr

import "math/rand/v2"

// A Timeline says how the steps of one run hang together in sessions, and which
// of them can be learned from. Nothing of it depends on the actions, so a tape
// may run ahead of them.
//
// Steps are counted from 0.
type Timeline struct {
	gamma    float32
	steps    int
	discount []float32 // gamma, or 0 at the end of an episode; empty without sessions, as all that follows
	next     []int32   // the next step of the same session, -1 while unknown
	ready    []int32   // steps whose target is known, in the order in which it came to be
	session  []int32   // of each step
	visits   map[int32][]int32
}

// NewTimeline returns one without steps. discount is gamma: above 0 a step can be
// learned from once the next step of its session is known, since the target of
// Sarsa (22) needs it.
func NewTimeline(discount float64) *Timeline { return &Timeline{gamma: float32(discount)} }

// Add appends a step to a timeline; nil is one of a bandit.
func (t *Timeline) Add(v *Visit) {
	if v == nil {
		t.Append()
	} else {
		t.AppendVisit(v.Session, v.Discount)
	}
}

// Append adds a step of a bandit.
func (t *Timeline) Append() { t.steps++ }

// AppendVisit adds a step of a session. discount is the Outcome's.
func (t *Timeline) AppendVisit(session int32, discount float32) {
	step := int32(t.steps)
	t.steps++
	gamma := t.gamma * discount
	if t.visits == nil {
		t.visits = map[int32][]int32{}
	}
	if past := t.visits[session]; len(past) > 0 {
		previous := past[len(past)-1]
		t.next[previous] = step
		if t.discount[previous] > 0 {
			t.ready = append(t.ready, previous)
		}
	}
	t.visits[session] = append(t.visits[session], step)
	t.session = append(t.session, session)
	t.discount = append(t.discount, gamma)
	t.next = append(t.next, -1)
	if gamma == 0 {
		t.ready = append(t.ready, step)
	}
}

// Ready returns how many steps can be drawn.
func (t *Timeline) Ready() int {
	if t.session != nil {
		return len(t.ready)
	}
	return t.steps
}

// Draw draws one of the steps that can be learned from, uniformly. It panics
// when Ready is 0.
func (t *Timeline) Draw(rng *rand.Rand) int {
	if t.session != nil {
		return int(t.ready[rng.IntN(len(t.ready))])
	}
	return rng.IntN(t.steps)
}

// Next returns the discount of a step that can be drawn, and the next step of its
// session; the step itself where the discount is 0.
func (t *Timeline) Next(step int) (discount float32, next int) {
	if t.session == nil || t.discount[step] == 0 {
		return 0, step
	}
	return t.discount[step], int(t.next[step])
}

// Rival draws another step of a step's session, uniformly: the step itself where
// there is none.
func (t *Timeline) Rival(step int, rng *rand.Rand) int {
	visits := t.visits[t.session[step]]
	other := step
	if len(visits) > 1 {
		for other == step {
			other = int(visits[rng.IntN(len(visits))])
		}
	}
	return other
}

// revisit makes visits of the sessions.
func (t *Timeline) revisit() {
	t.visits = map[int32][]int32{}
	for step, session := range t.session {
		t.visits[session] = append(t.visits[session], int32(step))
	}
}
