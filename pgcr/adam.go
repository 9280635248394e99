package pgcr

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// Adam is the optimiser of Kingma and Ba (2015), with beta_1 = 0.9,
// beta_2 = 0.999 and epsilon = 1e-8.
//
// The moments are kept without their factors (1-beta), and the bias corrections
// are folded into two numbers a step: that leaves ten passes over the
// parameters, and the same update.
type Adam struct {
	Rate float64 // learning rate
}

const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

// Scalars returns the step size and the epsilon of update t = 1, 2, ... With
// M = m/(1-beta_1) and V = v/(1-beta_2) the textbook's step
//
//	rate * m̂ / (sqrt(v̂) + epsilon)
//
// is size * M / (sqrt(V) + eps).
func (a Adam) Scalars(t int64) (size, eps float64) {
	first := (1 - beta1) / (1 - math.Pow(beta1, float64(t)))
	second := math.Sqrt((1 - beta2) / (1 - math.Pow(beta2, float64(t))))
	return a.Rate * first / second, epsilon / second
}

// adamStep returns the parameters and moments after one update. All slices run
// parallel; size and eps are scalars from Scalars.
func adamStep(params, m, v, grads []*Node, size, eps *Node) (p2, m2, v2 []*Node) {
	for i, g := range grads {
		mi := Add(MulScalar(m[i], beta1), g)
		vi := Add(MulScalar(v[i], beta2), Square(g))
		m2, v2 = append(m2, mi), append(v2, vi)
		p2 = append(p2, Sub(params[i], Mul(Div(mi, Add(Sqrt(vi), eps)), size)))
	}
	return p2, m2, v2
}
