package ondevice

import (
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/pgcr"
)

// history is what has been on offer and what was chosen in T steps of R runs. Step t of run r is
// t*R+r, and candidate i of a step stands at place step*M+i.
type history struct {
	m        int
	action   *Node // [T*R] int32
	reward   *Node // [T*R*M]
	item     *Node // [T*R*M] int32, a row of features; nil where that is the place
	past     *Node // [T*R, V] int32, see world; nil where there are no states
	features *Node // [rows, I]
}

// take takes places from the leading axis of x: [places..., ...].
func take(x, places *Node) *Node { return Gather(x, InsertAxes(places, -1)) }

// items returns the features of the candidates at places: [places..., I].
func (h history) items(places *Node) *Node {
	if h.item != nil {
		places = take(h.item, places)
	}
	return take(h.features, places)
}

// chosen returns the places of the candidates that were chosen at steps, [R, n].
func (h history) chosen(steps *Node) *Node { return Add(MulScalar(steps, h.m), take(h.action, steps)) }

// contexts returns those at places, [R, n], as columns, [R, D+1, n]. Each is joined with the state of
// one of the steps, [R, S]: the first n/S with that of the first, and so on.
func (h history) contexts(places, steps *Node) *Node {
	items := h.items(places)
	parts := []*Node{items, OnesLike(Slice(items, AxisRange(), AxisRange(), AxisRange(0, 1)))} // 1 carries the bias
	if h.past != nil {
		past := take(h.past, steps) // [R, S, V]
		chosen := h.chosen(MaxScalar(past, 0))
		feedback := AddScalar(MulScalar(take(h.reward, chosen), 2), -1)
		state := Concatenate([]*Node{h.items(chosen), InsertAxes(feedback, -1)}, -1)
		known := ConvertDType(GreaterOrEqual(past, ZerosLike(past)), dtypes.Float32)
		state = Mul(state, InsertAxes(known, -1))

		runs, n, s := places.Shape().Dimensions[0], places.Shape().Dimensions[1], steps.Shape().Dimensions[1]
		state = Reshape(state, runs, s, 1, -1)
		width := state.Shape().Dimensions[3]
		state = Reshape(BroadcastToDims(state, runs, s, n/s, width), runs, n, width)
		parts = append([]*Node{state}, parts...)
	}
	return Transpose(Concatenate(parts, -1), 1, 2)
}

// batch is what updates draw of the steps that they learn from, for U updates of R runs. It is the
// first inputs of a player. Its history knows nothing of choices, which draws do not depend on.
type batch struct {
	replay          *pgcr.Replay
	runs            int
	steps, next     *input[int32]   // [U, R, B]; the next steps of the sessions
	ready, discount *input[float32] // [U, R, B], see pgcr.Batch
}

func newBatch(replay *pgcr.Replay, updates, runs, size int) batch {
	return batch{replay, runs, newInput[int32](updates, runs, size), newInput[int32](updates, runs, size),
		newInput[float32](updates, runs, size), newInput[float32](updates, runs, size)}
}

func (b batch) inputs() []array { return []array{b.steps, b.ready, b.next, b.discount} }

// draw draws for run r in block k, which is part i of the n = U*R of each input. It returns the steps
// of the run, nil where it has none to learn from yet.
func (b batch) draw(k, i, n, r int, rng *rand.Rand) []int {
	drawn, nexts := part(b.steps.at(k), i, n), part(b.next.at(k), i, n)
	ready, discounts := part(b.ready.at(k), i, n), part(b.discount.at(k), i, n)
	steps := b.replay.Sample(len(drawn), r, rng)
	clear(ready)
	for j, step := range steps {
		next, discount := b.replay.Next(r, step)
		drawn[j], nexts[j] = int32(step*b.runs+r), int32(next*b.runs+r)
		ready[j], discounts[j] = 1, discount
	}
	return steps
}
