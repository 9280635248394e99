package ondevice

import . "github.com/gomlx/gomlx/core/graph"

// history is what has been on offer and what was chosen in T steps of R runs. Step t of run r is
// t*R+r, and candidate i of a step stands at place step*M+i.
type history struct {
	m        int
	action   *Node // [T*R] int32
	reward   *Node // [T*R*M]
	item     *Node // [T*R*M] int32, a row of features; nil where that is the place
	features *Node // [rows, D]
}

// take takes places from the leading axis of x: [places..., ...].
func take(x, places *Node) *Node { return Gather(x, InsertAxes(places, -1)) }

// chosen returns the places of the candidates that were chosen at steps, [R, n].
func (h history) chosen(steps *Node) *Node { return Add(MulScalar(steps, h.m), take(h.action, steps)) }

// contexts returns those at places, [R, n], as columns, [R, D+1, n], of which the last carries the bias.
func (h history) contexts(places *Node) *Node {
	if h.item != nil {
		places = take(h.item, places)
	}
	x := take(h.features, places)
	return Transpose(Concatenate([]*Node{x, OnesLike(Slice(x, AxisRange(), AxisRange(), AxisRange(0, 1)))}, -1), 1, 2)
}
