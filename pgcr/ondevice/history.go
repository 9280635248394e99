package ondevice

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
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
