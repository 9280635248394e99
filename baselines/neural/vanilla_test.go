package neural_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/pgcr"
)

// eval runs a graph of float64 inputs and returns the values of its results.
func eval(t testing.TB, f func(in []*Node) []*Node, inputs ...*tensors.Tensor) [][]float64 {
	t.Helper()
	exec, err := NewExec(backend, f)
	if err != nil {
		t.Fatal(err)
	}
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	results, err := exec.Call(args...)
	if err != nil {
		t.Fatal(err)
	}
	values := make([][]float64, len(results))
	for i, r := range results {
		if values[i], err = tensors.CopyFlatData[float64](r); err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// normal returns standard normal values.
func normal(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// TestStepProbabilities has two steps of two candidates. With mu = (1, 3) and
// (6, 2), so s = log mu, the probabilities are (1/4, 3/4) and (3/4, 1/4), and for
// mu^2 = (1, 9) and (36, 4) they are (1/10, 9/10) and (9/10, 1/10).
func TestStepProbabilities(t *testing.T) {
	scores := tensors.FromFlatDataAndDimensions([]float64{0, math.Log(3), math.Log(6), math.Log(2)}, 1, 4)
	for _, c := range []struct {
		kappa float64
		want  []float64
	}{
		{1, []float64{0.25, 0.75, 0.75, 0.25}},
		{2, []float64{0.1, 0.9, 0.9, 0.1}},
	} {
		got := eval(t, func(in []*Node) []*Node {
			nu, _ := neural.OwnStep{}.Estimate(in[0], nil, Scalar(in[0].Graph(), in[0].DType(), c.kappa), 2)
			return []*Node{nu}
		}, scores)[0]
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("kappa %v: probabilities %v, want %v", c.kappa, got, c.want)
				break
			}
		}
	}
}

// TestStepProbabilitiesFarApart wants probabilities even where exp(kappa*s)
// leaves the range of floating point.
func TestStepProbabilitiesFarApart(t *testing.T) {
	scores := tensors.FromFlatDataAndDimensions([]float64{1e4, -1e4, 9e3, 1e4, 1e4, 0}, 1, 6)
	got := eval(t, func(in []*Node) []*Node {
		return []*Node{neural.StepProbabilities(in[0], Scalar(in[0].Graph(), in[0].DType(), 1e6), 3)}
	}, scores)[0]
	for i, want := range []float64{1, 0, 0, 0.5, 0.5, 0} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Fatalf("probabilities %v", got)
		}
	}
}

// TestVanillaGradient compares the gradient of the actor's loss through
// StepProbabilities with central differences in float64. Their truncation error
// is h^2/6 times a third derivative, their rounding error 1e-16/h: with h = 1e-5
// both are near 1e-10 where values are of order one.
//
// It also checks why there is no ControlVariate: a constant added to the values
// of a run changes nothing.
func TestVanillaGradient(t *testing.T) {
	const runs, batch, m, h = 2, 4, 3, 1e-5
	rng := rand.New(rand.NewPCG(6, 1))
	scores, f := normal(rng, runs*batch*m), normal(rng, runs*batch*m)
	tensor := func(v []float64) *tensors.Tensor { return tensors.FromFlatDataAndDimensions(v, runs, batch*m) }
	for _, kappa := range []float64{1, 2.5} {
		loss := func(at []float64) float64 {
			return eval(t, func(in []*Node) []*Node {
				nu, _ := neural.OwnStep{}.Estimate(in[0], nil, Scalar(in[0].Graph(), in[0].DType(), kappa), m)
				return []*Node{pgcr.ActorLoss(nu, in[1], batch)}
			}, tensor(at), tensor(f))[0][0]
		}
		gradient := func(f []float64) []float64 {
			return eval(t, func(in []*Node) []*Node {
				nu, pull := neural.OwnStep{}.Estimate(in[0], nil, Scalar(in[0].Graph(), in[0].DType(), kappa), m)
				own, rivals := pull(Gradient(pgcr.ActorLoss(nu, in[1], batch), nu)[0])
				if rivals != nil {
					t.Error("a gradient with respect to rivals, of which there are none")
				}
				return []*Node{own}
			}, tensor(scores), tensor(f))[0]
		}
		got := gradient(f)
		shifted := make([]float64, len(f))
		for i := range f {
			shifted[i] = f[i] + 100
		}
		same := gradient(shifted)
		for i := range scores {
			original := scores[i]
			scores[i] = original + h
			up := loss(scores)
			scores[i] = original - h
			down := loss(scores)
			scores[i] = original
			if want := (up - down) / (2 * h); math.Abs(got[i]-want) > 1e-8 {
				t.Fatalf("kappa %v, score %d: gradient %.10g, central difference %.10g", kappa, i, got[i], want)
			}
			if math.Abs(got[i]-same[i]) > 1e-12 {
				t.Fatalf("kappa %v, score %d: gradient %.12g, with a constant added to the values %.12g", kappa, i, got[i], same[i])
			}
		}
	}
}
