package pgcr

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Network is the shape of the multi-layer perceptrons of section 6: ReLU layers
// and one output. The actor returns the score s = log mu_theta(c), the critic
// the action value f_phi(c).
//
// Activations are laid out [R, units, n]: n contexts side by side, one column
// each. A context enters as a column of Width values: its features, a 1 that
// carries the bias of the first layer, and zeros.
type Network struct {
	Dim    int   // D, features of a context
	Hidden []int // units of each hidden layer, at least one layer
	Bias   bool  // whether the output has one; a score needs none, since only differences count
}

// Width returns the rows that a context of dim features takes: dim+1, rounded
// up to a multiple of the vector units' 16 values.
func Width(dim int) int { return (dim + 1 + 15) / 16 * 16 }

// lanes rounds the units of a layer up to the rows that the matrix kernels take
// at a time. The added units have zero weights, in and out: they are never
// active, so their gradients are zero and they stay as they are.
func lanes(units int) int { return (units + 3) / 4 * 4 }

// steep turns positive activations into 1 and leaves zeros: min(h*steep, 1).
// Two plain passes cost a third of a comparison and a selection on the Go
// backend. Activations below 1/steep do not occur but as zeros.
const steep = 1e30

// Shapes returns the dimensions of each parameter for R runs: the first layer
// [R, H, Width], further layers [R, H, inputs] and [R, H, 1], the output
// weights [R, 1, H], and the output bias [R, 1, 1] if there is one. H is the
// number of units, rounded up to a multiple of 4.
func (n Network) Shapes(runs int) [][]int {
	dims := [][]int{{runs, lanes(n.Hidden[0]), Width(n.Dim)}}
	for l := 1; l < len(n.Hidden); l++ {
		h := lanes(n.Hidden[l])
		dims = append(dims, []int{runs, h, lanes(n.Hidden[l-1])}, []int{runs, h, 1})
	}
	dims = append(dims, []int{runs, 1, n.MaskUnits()})
	if n.Bias {
		dims = append(dims, []int{runs, 1, 1})
	}
	return dims
}

// MaskUnits returns the length of a dropout mask: the units of the last hidden
// layer, rounded up as in Shapes.
func (n Network) MaskUnits() int { return lanes(n.Hidden[len(n.Hidden)-1]) }

// Init draws the initial parameters of one run on the host, uniformly within
// one over the square root of a unit's inputs, in the order and the shapes of
// Shapes.
func (n Network) Init(rng *rand.Rand) [][]float32 {
	// uniform draws a matrix of units rows with so many inputs each, and rounds
	// it up with zeros to rows of the given width.
	uniform := func(units, columns, inputs, rows, width int) []float32 {
		limit := 1 / math.Sqrt(float64(inputs))
		w := make([]float32, rows*width)
		for h := range units {
			for i := range columns {
				w[h*width+i] = float32((2*rng.Float64() - 1) * limit)
			}
		}
		return w
	}
	params := [][]float32{uniform(n.Hidden[0], n.Dim+1, n.Dim, lanes(n.Hidden[0]), Width(n.Dim))}
	for l := 1; l < len(n.Hidden); l++ {
		units, inputs := n.Hidden[l], n.Hidden[l-1]
		params = append(params,
			uniform(units, inputs, inputs, lanes(units), lanes(inputs)),
			uniform(units, 1, inputs, lanes(units), 1))
	}
	last := n.Hidden[len(n.Hidden)-1]
	params = append(params, uniform(1, last, last, 1, lanes(last)))
	if n.Bias {
		params = append(params, uniform(1, 1, last, 1, 1))
	}
	return params
}

// fuses reports whether the backend merges elementwise operations and sums into
// few kernels, as XLA does. There, what counts is the number of kernels; on the Go
// backend it is the number of passes, and products that keep to the fast kernels.
// Each function that differs says so in one place, and computes the same up to
// rounding.
func fuses(x *Node) bool { return fusesAll || x.Graph().Backend().Name() != "Go Backend" }

var fusesAll bool // set by tests of what other backends are given

// Pass is a forward pass: the output and what its gradient needs.
type Pass struct {
	Output *Node // [R, n]

	network Network
	params  []*Node
	hidden  []*Node     // h_l, [R, H_l, n]
	last    *Node       // the output weights under the dropout mask, [R, 1, H_L]
	mask    *Node       // or nil
	split   *StateItems // of contexts that were taken apart, or nil
}

// Forward applies the network to contexts, [R, Width, n].
//
// mask is Actor-Dropout (section 5.2.2): a factor for each unit of the last
// hidden layer, [R, 1, H_L], zero for a dropped unit and 1/(1-rate) for a kept
// one. One mask serves all contexts of a pass: they are scored by the same
// sub-network. Nil drops nothing.
func (n Network) Forward(params []*Node, contexts, mask *Node) Pass {
	return n.forward(params, matMul(params[0], contexts), mask)
}

// ForwardRows is Forward for contexts that stand in rows, [R, n, Width].
func (n Network) ForwardRows(params []*Node, rows, mask *Node) Pass {
	return n.forward(params, matMulT(params[0], rows), mask)
}

// Apply is Forward of contexts in columns or, where those are nil, ForwardRows of
// contexts in rows.
func (n Network) Apply(params []*Node, columns, rows, mask *Node) Pass {
	if columns != nil {
		return n.Forward(params, columns, mask)
	}
	return n.ForwardRows(params, rows, mask)
}

// forwardTogether is ForwardRows of two networks over the same contexts, the
// first with a mask: their first layers are one product.
func forwardTogether(a, b Network, paramsA, paramsB []*Node, rows, mask *Node) (passA, passB Pass) {
	first := matMulT(Concatenate([]*Node{paramsA[0], paramsB[0]}, 1), rows)
	split := paramsA[0].Shape().Dimensions[1]
	passA = a.forward(paramsA, Slice(first, AxisRange(), AxisRange(0, split)), mask)
	return passA, b.forward(paramsB, Slice(first, AxisRange(), AxisRange(split)), nil)
}

// forward goes on after the product of the first layer's weights with the
// contexts, [R, H, n].
func (n Network) forward(params []*Node, first, mask *Node) Pass {
	p := Pass{network: n, params: params, mask: mask}
	h := MaxScalar(first, 0)
	p.hidden = append(p.hidden, h)
	for l := 1; l < len(n.Hidden); l++ {
		h = MaxScalar(Add(matMul(params[2*l-1], h), params[2*l]), 0)
		p.hidden = append(p.hidden, h)
	}
	out := 2*len(n.Hidden) - 1
	p.last = params[out]
	if mask != nil {
		p.last = Mul(p.last, mask)
	}
	dims := h.Shape().Dimensions
	var y *Node
	if fuses(h) { // a product with one row is a sum, which needs no kernel of its own
		y = ReduceAndKeep(Mul(h, Reshape(p.last, dims[0], dims[1], 1)), ReduceSum, 1)
	} else {
		y = matMul(p.last, h)
	}
	if n.Bias {
		y = Add(y, params[out+1])
	}
	p.Output = Reshape(y, dims[0], dims[2])
	return p
}

// Gradient pulls the gradient of a loss with respect to Output, [R, n], back to
// the parameters, in their order. rows holds the contexts of the pass once
// more, as rows, [R, n, Width]: a transposition would cost the Go backend more
// than the upload of a second copy.
//
// With u_L = 1[h_L > 0]*loss it is the chain rule in which the output weights v
// are multiplied in at the end, where the matrices are small:
// dL/dW_l = v*(u_l h_{l-1}^T).
func (p Pass) Gradient(loss, rows *Node) []*Node {
	n, layers := p.network, len(p.network.Hidden)
	dims := p.hidden[layers-1].Shape().Dimensions
	grads := make([]*Node, len(p.params))
	out := 2*layers - 1

	if n.Bias {
		grads[out+1] = ReduceAndKeep(Reshape(loss, dims[0], 1, dims[2]), ReduceSum, 2)
	}
	u := Mul(active(p.hidden[layers-1]), repeatRows(loss, dims[1]))
	scale := Reshape(p.last, dims[0], dims[1], 1)
	dv := p.outputGradient(loss, u, rows)
	if p.mask != nil {
		dv = Mul(dv, p.mask)
	}
	grads[out] = dv
	for l := layers - 1; l > 0; l-- {
		grads[2*l-1] = matMulT(u, p.hidden[l-1])
		grads[2*l] = sumColumns(u)
		back := p.params[2*l-1]
		if scale != nil {
			grads[2*l-1] = Mul(grads[2*l-1], scale)
			grads[2*l] = Mul(grads[2*l], scale)
			back = Mul(back, scale)
			scale = nil
		}
		u = Mul(active(p.hidden[l-1]), matMul(Transpose(back, 1, 2), u))
	}
	grads[0] = p.firstGradient(u, rows)
	if scale != nil {
		grads[0] = Mul(grads[0], scale)
	}
	return grads
}

// outputGradient pulls the gradient back to the output weights, [R, 1, H_L]: the
// sum over contexts of loss*h_L. u is 1[h_L > 0]*loss.
func (p Pass) outputGradient(loss, u, rows *Node) *Node {
	last := len(p.hidden) - 1
	h := p.hidden[last]
	dims := h.Shape().Dimensions
	if !fuses(h) {
		return matMulT(Reshape(loss, dims[0], 1, dims[2]), h)
	}
	// Since h_L = 1[h_L > 0]*(W_L h_{L-1} + b_L), that is a sum over the small
	// matrix u h_{L-1}^T, which the gradient of W_L needs anyway.
	var dv *Node
	if last == 0 {
		dv = ReduceSum(Mul(p.params[0], p.firstGradient(u, rows)), 2)
	} else {
		dv = ReduceSum(Mul(p.params[2*last-1], matMulT(u, p.hidden[last-1])), 2)
		dv = Add(dv, ReduceSum(Mul(p.params[2*last], ReduceAndKeep(u, ReduceSum, 2)), 2))
	}
	return Reshape(dv, dims[0], 1, dims[1])
}

// firstGradient is the sum over contexts of u_1 c^T, [R, H_1, Width].
func (p Pass) firstGradient(u, rows *Node) *Node {
	if p.split != nil {
		return p.split.product(u)
	}
	return matMul(u, rows)
}

// sumColumns sums over contexts: [R, H, n] becomes [R, H, 1]. On the Go backend a
// product with ones costs a tenth of a sum.
func sumColumns(u *Node) *Node {
	if fuses(u) {
		return ReduceAndKeep(u, ReduceSum, 2)
	}
	dims := u.Shape().Dimensions
	return matMulT(u, Ones(u.Graph(), makeShape(u, dims[0], 1, dims[2])))
}

// active is 1 where a unit is active and 0 where it is not.
func active(h *Node) *Node { return MinScalar(MulScalar(h, steep), 1) }

// matMul multiplies [R, a, b] by [R, b, c], run by run.
func matMul(a, b *Node) *Node { return DotGeneral(a, []int{2}, []int{0}, b, []int{1}, []int{0}) }

// matMulT multiplies [R, a, b] by the transpose of [R, c, b], run by run.
func matMulT(a, b *Node) *Node { return DotGeneral(a, []int{2}, []int{0}, b, []int{2}, []int{0}) }

func makeShape(like *Node, dims ...int) shapes.Shape {
	return shapes.Make(like.DType(), dims...)
}
