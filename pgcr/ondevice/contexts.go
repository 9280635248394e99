package ondevice

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// contexts are those of steps of the history, as networks take them. hist is
// what was chosen so far.
type contexts interface {
	// candidates makes [R, n*M, Width] of rows of the history, [R, n, ...].
	candidates(steps, hist *Node) *Node

	// chosen makes [R, n, Width] of numbers of rows of the history and of slots,
	// both [R, n].
	chosen(rows, slot, hist *Node) *Node

	// rivals makes [R, C*B, Width] of rows of the history, [R, B, ...], whose state
	// they get, and the places of the items in the history, [R, C*B].
	rivals(steps, places, hist *Node) *Node
}

func (p program) contextsOf(t tape) contexts {
	if p.catalogue != nil {
		return coded{p, t}
	}
	return laidOut{p, t}
}

// laidOut are contexts that stand in the history themselves.
type laidOut struct {
	program
	tape tape
}

// places is the history by candidate, [R*T*M, Width].
func (l laidOut) places() *Node { return Reshape(l.tape.history, -1, l.shape.width) }

func (l laidOut) candidates(steps, _ *Node) *Node {
	return Reshape(steps, l.runs(), -1, l.shape.width)
}

func (l laidOut) chosen(rows, slot, _ *Node) *Node {
	return gatherRows(l.places(), place(rows, slot, l.spec.Candidates, 0))
}

func (l laidOut) rivals(steps, places, _ *Node) *Node {
	rivals := gatherRows(l.places(), places)
	if l.spec.State == 0 {
		return rivals
	}
	state := Slice(steps, AxisRange(), AxisRange(), AxisRange(0, l.spec.State)) // that of the first candidate
	return joinStates(state, Slice(rivals, AxisRange(), AxisRange(), AxisRange(l.spec.State)))
}

// coded are contexts whose history is codes.
type coded struct {
	program
	tape tape
}

func (c coded) candidates(steps, hist *Node) *Node {
	runs, n, m, s := c.runs(), steps.Shape().Dimensions[1], c.spec.Candidates, c.catalogue.state
	items := gatherRows(c.tape.features, Slice(steps, AxisRange(), AxisRange(), AxisRange(s))) // [R, n, M, columns]
	if s == 0 {
		return Reshape(items, runs, n*m, -1)
	}
	state := BroadcastToDims(Reshape(c.state(steps, hist), runs, n, 1, c.spec.State), runs, n, m, c.spec.State)
	return Reshape(Concatenate([]*Node{state, items}, 3), runs, n*m, -1)
}

func (c coded) chosen(rows, slot, hist *Node) *Node {
	s := c.catalogue.state
	at := place(rows, slot, c.shape.history, s)
	items := gatherRows(c.tape.features, c.codes(at)) // [R, n, columns]
	if s == 0 {
		return items
	}
	return Concatenate([]*Node{c.state(gather(c.tape.history, rows), hist), items}, 2)
}

func (c coded) rivals(steps, places, hist *Node) *Node {
	items := gatherRows(c.tape.features, c.codes(places))
	if c.catalogue.state == 0 {
		return items
	}
	return joinStates(c.state(steps, hist), items)
}

// codes are those at places of the history.
func (c coded) codes(places *Node) *Node {
	dims := places.Shape().Dimensions
	return Reshape(gatherRows(Reshape(c.tape.history, -1, 1), places), dims...)
}

// state makes the states, [R, n, State], of rows of the history: for each of the S
// choices that they name, the features of its row and the feedback.
func (c coded) state(steps, hist *Node) *Node {
	runs, n, s, f := c.runs(), steps.Shape().Dimensions[1], c.catalogue.state, c.catalogue.f
	choices := Slice(steps, AxisRange(), AxisRange(), AxisRange(0, s)) // [R, n, S]
	none := LessThan(choices, ZerosLike(choices))
	outcome := gather(hist, Max(choices, ZerosLike(choices))) // [R, n, S, 4]
	column := func(i int) *Node {
		return Reshape(Slice(outcome, AxisRange(), AxisRange(), AxisRange(), AxisRange(i, i+1)), runs, n, s)
	}
	feedback := Where(none, ZerosLike(column(2)), column(2))
	// The last row of the features is all 0.
	last := c.tape.features.Shape().Dimensions[0] - 1
	empty := BroadcastToDims(Reshape(Const(steps.Graph(), []int32{int32(last)}), 1, 1, 1), runs, n, s)
	row := Where(none, empty, ConvertDType(column(3), dtypes.Int32))
	features := Slice(gatherRows(c.tape.features, row), AxisRange(), AxisRange(), AxisRange(), AxisRange(0, f))
	return Reshape(Concatenate([]*Node{features, Reshape(feedback, runs, n, s, 1)}, 3), runs, n, s*(f+1))
}

// place is that of a slot of rows of the history which have so many places, those
// of the items from one on.
func place(rows, slot *Node, places, from int) *Node {
	at := ConvertDType(slot, rows.DType())
	if from > 0 {
		at = AddScalar(at, float64(from))
	}
	return Add(MulScalar(rows, float64(places)), at)
}

// joinStates puts the states of B steps, [R, B, n], before their rivals' items,
// [R, C*B, ...], rival by rival.
func joinStates(state, items *Node) *Node {
	dims := state.Shape().Dimensions
	times := items.Shape().Dimensions[1] / dims[1]
	states := BroadcastToDims(Reshape(state, dims[0], 1, dims[1], dims[2]), dims[0], times, dims[1], dims[2])
	return Concatenate([]*Node{Reshape(states, dims[0], times*dims[1], dims[2]), items}, 2)
}
