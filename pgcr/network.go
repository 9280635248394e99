package pgcr

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
)

// Network is the shape of the multi-layer perceptrons of section 6: ReLU layers and one output. The
// actor returns the score s = log mu_theta(c), the critic the action value f_phi(c).
//
// Contexts are columns, see Columns: [R, D+1, n] holds n contexts a run side by side, each with a
// last feature of 1 that carries the bias of the first layer. Products then need no transposition.
type Network struct {
	Dim    int   // D, features of a context
	Hidden []int // units of each hidden layer; none: the network is linear in the contexts
	Bias   bool  // whether the output has one; a score needs none, since only differences count
}

// Shapes returns the dimensions of each parameter for R runs: the first layer [R, H, D+1], further
// layers [R, H', H] and [R, H', 1], the output weights [R, 1, H], and the output bias [R, 1, 1] if
// there is one. Without hidden layers there is [R, 1, D+1] alone.
func (n Network) Shapes(runs int) [][]int {
	if len(n.Hidden) == 0 {
		return [][]int{{runs, 1, n.Dim + 1}}
	}
	dims := [][]int{{runs, n.Hidden[0], n.Dim + 1}}
	for l := 1; l < len(n.Hidden); l++ {
		dims = append(dims, []int{runs, n.Hidden[l], n.Hidden[l-1]}, []int{runs, n.Hidden[l], 1})
	}
	dims = append(dims, []int{runs, 1, n.last()})
	if n.Bias {
		dims = append(dims, []int{runs, 1, 1})
	}
	return dims
}

// last returns H of the last hidden layer, the length of a dropout mask; 1 where there is no layer.
func (n Network) last() int { return append([]int{1}, n.Hidden...)[len(n.Hidden)] }

// Init draws the initial parameters of one run on the host, uniformly within scale over the square
// root of a unit's inputs, in the order of Shapes.
func (n Network) Init(rng *rand.Rand, scale float64) [][]float32 {
	var params [][]float32
	inputs := n.Dim
	for _, dims := range n.Shapes(1) {
		units, columns := dims[1], dims[2]
		if columns > 1 && len(params) > 0 { // a matrix: the bias after it has the same inputs
			inputs = columns
		}
		w, limit := make([]float32, units*columns), scale/math.Sqrt(float64(inputs))
		for i := range w {
			w[i] = float32((2*rng.Float64() - 1) * limit)
		}
		params = append(params, w)
	}
	return params
}

// Forward applies the network to contexts, [R, D+1, n], and returns [R, n].
//
// mask, [R, 1, H], is Actor-Dropout (section 5.2.2): a factor for each unit of the last hidden
// layer, 0 or 1/(1-rate), the same for all contexts of a run. Nil drops nothing. With K > 1 masks,
// [1, K, H], the result is [R, K, n].
func (n Network) Forward(params []*Node, contexts, mask *Node) *Node {
	h := contexts
	for l := range n.Hidden {
		if l == 0 {
			h = product(params[0], h)
		} else {
			h = Add(product(params[2*l-1], h), params[2*l])
		}
		h = MaxScalar(h, 0)
	}
	out := max(2*len(n.Hidden)-1, 0)
	weights := params[out]
	if mask != nil {
		weights = Mul(weights, mask)
	}
	y := product(weights, h)
	if n.Bias && out > 0 {
		y = Add(y, params[out+1])
	}
	if y.Shape().Dimensions[1] == 1 {
		return Squeeze(y, 1)
	}
	return y
}

// split cuts parameters of R runs as State has them, [R, P], into those of Shapes.
func (n Network) split(flat *Node) (params []*Node) {
	at := 0
	for _, dims := range n.Shapes(flat.Shape().Dimensions[0]) {
		size := dims[1] * dims[2]
		params = append(params, Reshape(Slice(flat, AxisRange(), AxisRange(at, at+size)), dims...))
		at += size
	}
	return params
}

// product multiplies [R, a, b] by [R, b, c], run by run.
func product(a, b *Node) *Node { return DotGeneral(a, []int{2}, []int{0}, b, []int{1}, []int{0}) }
