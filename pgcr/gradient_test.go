package pgcr_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/pgcr"
)

// checkGradient compares the gradient of a loss with respect to the first
// inputs, written out by the package, with central differences in float64.
//
// The truncation error of a central difference is h^2/6 times a third
// derivative, its rounding error 1e-16/h: with h = 1e-5 both are near 1e-10
// where values are of order one.
func checkGradient(t *testing.T, loss func(in []*Node) *Node, gradient func(in []*Node) []*Node, inputs []*tensors.Tensor) {
	t.Helper()
	const h, tolerance = 1e-5, 2e-7
	got := eval(t, gradient, inputs...)
	value := func() float64 {
		return eval(t, func(in []*Node) []*Node { return []*Node{loss(in)} }, inputs...)[0][0]
	}
	for k, g := range got {
		for i := range g {
			var original float64
			set := func(v float64) {
				tensors.MustMutableFlatData(inputs[k], func(flat []float64) { flat[i] = v })
			}
			tensors.MustConstFlatData(inputs[k], func(flat []float64) { original = flat[i] })
			set(original + h)
			up := value()
			set(original - h)
			down := value()
			set(original)
			if want := (up - down) / (2 * h); math.Abs(g[i]-want) > tolerance*(1+math.Abs(want)) {
				t.Fatalf("input %d, element %d: gradient %.10g, central difference %.10g", k, i, g[i], want)
			}
		}
	}
}

func TestNetworkGradient(t *testing.T) {
	const runs, n = 2, 6
	for _, net := range []pgcr.Network{
		{Dim: 3, Hidden: []int{4}},
		{Dim: 3, Hidden: []int{4}, Bias: true},
		{Dim: 3, Hidden: []int{5, 4}, Bias: true},
		{Dim: 3, Hidden: []int{4, 3, 2}},
	} {
		for _, dropped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v bias %v dropout %v", net.Hidden, net.Bias, dropped), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(7, uint64(len(net.Hidden))))
				params, columns, rows := networkInputs(rng, net, runs, n)
				weights := normal(rng, runs, n)
				mask := fixed(1, runs, 1, net.MaskUnits())
				if dropped {
					tensors.MustMutableFlatData(mask, func(flat []float64) {
						for i := range flat {
							flat[i] = float64(i%2) * 2
						}
					})
				}
				k := len(params)
				forward := func(in []*Node) pgcr.Pass { return net.Forward(in[:k], in[k], in[k+3]) }
				bothForms(func() {
					checkGradient(t,
						func(in []*Node) *Node { return ReduceAllSum(Mul(forward(in).Output, in[k+2])) },
						func(in []*Node) []*Node { return forward(in).Gradient(in[k+2], in[k+1]) },
						append(params, columns, rows, weights, mask))
				})
			})
		}
	}
}

// networkInputs draws parameters as the agent does, in float64, and contexts in
// both layouts.
func networkInputs(rng *rand.Rand, net pgcr.Network, runs, n int) (params []*tensors.Tensor, columns, rows *tensors.Tensor) {
	values := make([][]float64, 0)
	for range runs {
		for i, w := range net.Init(rng) {
			if i == len(values) {
				values = append(values, nil)
			}
			for _, x := range w {
				values[i] = append(values[i], float64(x))
			}
		}
	}
	for i, dims := range net.Shapes(runs) {
		params = append(params, tensors.FromFlatDataAndDimensions(values[i], dims...))
	}
	width := pgcr.Width(net.Dim)
	c, r := make([]float64, runs*width*n), make([]float64, runs*n*width)
	for run := range runs {
		for i := range n {
			for d := range net.Dim + 1 {
				x := rng.NormFloat64()
				if d == net.Dim {
					x = 1
				}
				c[(run*width+d)*n+i], r[(run*n+i)*width+d] = x, x
			}
		}
	}
	return params, tensors.FromFlatDataAndDimensions(c, runs, width, n), tensors.FromFlatDataAndDimensions(r, runs, n, width)
}

func TestMarginalGradient(t *testing.T) {
	const runs, batch, candidates, kappa = 2, 9, 3, 1.7
	for _, resamples := range []int{1, 2, 4} {
		for _, sessions := range []bool{false, true} {
			t.Run(fmt.Sprintf("N=%d sessions %v", resamples, sessions), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(11, uint64(resamples)))
				estimator := pgcr.Resampled{N: resamples}
				inputs := []*tensors.Tensor{normal(rng, runs, batch*candidates)}
				if sessions {
					inputs = append(inputs, normal(rng, runs, estimator.Rivals(candidates), batch))
				}
				values := normal(rng, runs, batch*candidates)
				rivals := func(in []*Node) *Node {
					if sessions {
						return in[1]
					}
					return nil
				}
				estimate := func(in []*Node) (*Node, func(*Node) (*Node, *Node)) {
					return estimator.Estimate(in[0], rivals(in), Scalar(in[0].Graph(), in[0].DType(), kappa), candidates)
				}
				bothForms(func() {
					checkGradient(t,
						func(in []*Node) *Node {
							p, _ := estimate(in)
							return pgcr.ActorLoss(p, in[len(in)-1], batch)
						},
						func(in []*Node) []*Node {
							_, pull := estimate(in)
							own, others := pull(pgcr.ActorSlope(in[len(in)-1], batch))
							if sessions {
								return []*Node{own, others}
							}
							return []*Node{own}
						},
						append(inputs, values))
				})
			})
		}
	}
}

func TestCriticGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	value, marginal, target := normal(rng, 2, 5), normal(rng, 2, 5), normal(rng, 2, 5)
	loss := func(in []*Node) *Node { return pgcr.CriticLoss(in[1], in[2], in[0]) }
	checkGradient(t, loss, func(in []*Node) []*Node { return []*Node{pgcr.CriticSlope(in[1], in[2], in[0])} }, []*tensors.Tensor{value, marginal, target})
	plain := func(in []*Node) *Node { return pgcr.ValueLoss(in[1], in[0]) }
	checkGradient(t, plain, func(in []*Node) []*Node { return []*Node{pgcr.ValueSlope(in[1], in[0])} }, []*tensors.Tensor{value, target})
}

func TestLogProbabilitiesGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	scores, weights := normal(rng, 2, 3, 4), normal(rng, 2, 3, 4)
	loss := func(in []*Node) *Node {
		return ReduceAllSum(Mul(pgcr.LogProbabilities(in[0], Scalar(in[0].Graph(), in[0].DType(), 2.5)), in[1]))
	}
	checkGradient(t, loss, func(in []*Node) []*Node { return Gradient(loss(in), in[0]) }, []*tensors.Tensor{scores, weights})
}
