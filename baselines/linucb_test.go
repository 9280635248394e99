package baselines_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// TestLinUCBByHand: with Ridge 1, after the context (1, 0) paid 1, A is
// diag(2, 1) and θ = (1/2, 0). So (1, 0) scores 1/2 + Alpha·sqrt(1/2), and (0, 2)
// scores 0 + Alpha·2. With (0, 2) paying 3 next, A = diag(2, 5), θ = (1/2, 6/5).
func TestLinUCBByHand(t *testing.T) {
	p := newPolicy(t, baselines.LinUCB{Alpha: 0.5, Ridge: 1}, envs.Spec{Candidates: 2, Dim: 2}, 1)
	tr := one([]float32{1, 0}, []float32{0, 2}, 1)
	want := func(s0, s1 float64) {
		t.Helper()
		scores := scoresOf(t, p, tr.Observation)
		wantClose(t, "score", scores[0], s0, 1e-15)
		wantClose(t, "score", scores[1], s1, 1e-15)
	}
	want(0.5, 1)
	p.Update(tr)
	want(0.5+0.5*math.Sqrt(0.5), 1)
	tr.Actions[0], tr.Reward[0] = 1, 3
	p.Update(tr)
	want(0.5+0.5*math.Sqrt(0.5), 2.4+0.5*math.Sqrt(4./5))
}

// TestLinUCBDrift compares 20,479 updates with one direct solution, also where the
// prior is so weak that it is lost in seven digits.
func TestLinUCBDrift(t *testing.T) {
	const alpha = 1e3 // makes widths count for more than estimates
	problem := envs.Linear{Dim: 10}
	for _, ridge := range []float64{1, 1e-7} {
		env, p := start(t, problem, baselines.LinUCB{Alpha: alpha, Ridge: ridge}, 3)
		reference := newDirect(10, ridge, false)
		actions := make([]int, 1)
		for n := 1; n < 20*1024; n++ {
			tr := step(t, env, p, actions)
			reference.add(tr.Context(0, actions[0]), tr.Reward[0])
			if n != 1023 && n != 20*1024-1 {
				continue
			}
			theta := reference.estimate()
			for i, got := range estimate(p) {
				wantClose(t, fmt.Sprintf("ridge %g: estimate after %d steps", ridge, n), got, theta.AtVec(i), 1e-10)
			}
			for m, got := range scoresOf(t, p, tr.Observation) {
				x := reference.features(tr.Context(0, m))
				wantClose(t, "score", got, mat.Dot(theta, x)+alpha*reference.width(x), 1e-10)
			}
		}
	}
}

// TestLinUCBManyFeatures compares the first steps of a large model with the dual
// form, which needs no N by N matrix: with the contexts as rows of X, θ = Xᵀ(XXᵀ + Ridge·I)⁻¹r.
func TestLinUCBManyFeatures(t *testing.T) {
	const dim, steps = 1025, 40
	for _, ridge := range []float64{1, 1e-7} {
		p := newPolicy(t, baselines.LinUCB{Ridge: ridge}, envs.Spec{Candidates: 2, Dim: dim}, 1)
		rng := envs.NewRand(4, "contexts")
		x, rewards := mat.NewDense(steps, dim, nil), mat.NewVecDense(steps, nil)
		chosen, other := make([]float32, dim), make([]float32, dim)
		for i := range steps {
			for j := range chosen {
				chosen[j] = float32(rng.NormFloat64())
				x.Set(i, j, float64(chosen[j]))
			}
			reward := float32(rng.NormFloat64())
			rewards.SetVec(i, float64(reward))
			if err := p.Update(one(chosen, other, reward)); err != nil {
				t.Fatal(err)
			}
		}
		gram := mat.NewSymDense(steps, nil)
		gram.SymOuterK(1, x)
		for i := range steps {
			gram.SetSym(i, i, gram.At(i, i)+ridge)
		}
		var dual, theta mat.VecDense
		if err := dual.SolveVec(gram, rewards); err != nil {
			t.Fatal(err)
		}
		theta.MulVec(x.T(), &dual)
		for i, got := range estimate(p) {
			wantClose(t, fmt.Sprintf("ridge %g: estimate", ridge), got, theta.AtVec(i), 1e-9)
		}
	}
}
