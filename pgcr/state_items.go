package pgcr

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// StateItems is contexts [state | item] taken apart, C of each of B steps. The first
// layer's product with a state is the same for all contexts of a step, so that it
// is made once:
//
//	W c = W_state state + W_item item
//
// Items holds the item features, the 1 of the bias and the zeros. Its columns stand
// context by context: i*B+b is the i-th one of step b.
type StateItems struct {
	State, StateRows *Node // [R, S, B], [R, B, S]
	Items, ItemRows  *Node // [R, Width-S, C*B] or nil, [R, C*B, Width-S]
}

// minState is the size of a state, in features, from which contexts are taken
// apart. That costs two passes over the first layer, which products of fewer
// features are no dearer than. Tests set it.
var minState = 32

// ForwardStateItems is Forward of contexts that are taken apart. The output's columns,
// [R, C*B], stand as those of Items.
func (n Network) ForwardStateItems(params []*Node, s StateItems, mask *Node) Pass {
	size, steps := s.State.Shape().Dimensions[1], s.State.Shape().Dimensions[2]
	all := AxisRange()
	ofStates := matMul(Slice(params[0], all, all, AxisRange(0, size)), s.State)
	weights := Slice(params[0], all, all, AxisRange(size))
	var ofItems *Node
	if s.Items != nil {
		ofItems = matMul(weights, s.Items)
	} else {
		ofItems = matMulT(weights, s.ItemRows)
	}
	dims := ofItems.Shape().Dimensions
	count := dims[2] / steps
	repeated := make([]*Node, count)
	for i := range repeated {
		repeated[i] = ofStates
	}
	p := n.forward(params, Add(ofItems, Concatenate(repeated, 2)), mask)
	p.split = &s
	return p
}

// product is the sum over contexts of u c^T, [R, H, Width]; u is [R, H, C*B].
func (s StateItems) product(u *Node) *Node {
	dims := u.Shape().Dimensions
	runs, units, steps := dims[0], dims[1], s.State.Shape().Dimensions[2]
	byContext := Reshape(u, runs, units, -1, steps)
	return Concatenate([]*Node{matMul(ReduceSum(byContext, 2), s.StateRows), matMul(u, s.ItemRows)}, 2)
}

// byStep puts values of contexts that stand context by context, [R, C*B], in the
// order of their steps, [R, B*C].
func byStep(x *Node, steps int) *Node { return regroup(x, -1, steps) }

// byContext is the inverse of byStep.
func byContext(x *Node, steps int) *Node { return regroup(x, steps, -1) }

func regroup(x *Node, rows, columns int) *Node {
	dims := x.Shape().Dimensions
	return Reshape(Transpose(Reshape(x, dims[0], rows, columns), 1, 2), dims...)
}
