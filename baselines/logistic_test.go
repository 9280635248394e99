package baselines_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// history is penalised logistic regression from scratch.
type history struct {
	ridge   float64
	x       []*mat.VecDense
	rewards []float64
}

func (h *history) gradient(dst, theta []float64) {
	t := mat.NewVecDense(len(theta), theta)
	g := mat.NewVecDense(len(dst), dst)
	g.ScaleVec(h.ridge, t)
	for i, x := range h.x {
		g.AddScaledVec(g, 1/(1+math.Exp(-mat.Dot(x, t)))-h.rewards[i], x)
	}
}

func (h *history) hessian(dst *mat.SymDense, theta []float64) {
	dst.Zero()
	for i := range theta {
		dst.SetSym(i, i, h.ridge)
	}
	t := mat.NewVecDense(len(theta), theta)
	for _, x := range h.x {
		c := 1 / math.Cosh(mat.Dot(x, t)/2)
		dst.SymRankOne(dst, c*c/4, x) // μ' = 1/(4cosh²(x/2))
	}
}

// steepest returns the gradient's largest component. The objective is strictly
// convex, so 0 is the proof of the minimum.
func (h *history) steepest(theta []float64) float64 {
	g := make([]float64, len(theta))
	h.gradient(g, theta)
	return floats.Norm(g, math.Inf(1))
}

// distance returns how far theta is from the minimum in posterior standard
// deviations, sqrt(gᵀH⁻¹g), to first order.
func (h *history) distance(theta []float64) float64 {
	g := make([]float64, len(theta))
	h.gradient(g, theta)
	a := mat.NewSymDense(len(theta), nil)
	h.hessian(a, theta)
	return width(a, mat.NewVecDense(len(g), g))
}

// follow plays one run and calls see after every step with the estimate and what
// was learned.
func follow(t *testing.T, problem envs.Problem, algorithm envs.Algorithm, intercept bool, ridge float64, steps int, see func(n int, theta []float64, h *history)) {
	t.Helper()
	env, p := start(t, problem, algorithm, 5)
	features := newDirect(problem.Spec().Dim, ridge, intercept).features
	h := &history{ridge: ridge}
	actions := make([]int, 1)
	for n := 1; n <= steps; n++ {
		tr := step(t, env, p, actions)
		h.x = append(h.x, features(tr.Context(0, actions[0])))
		h.rewards = append(h.rewards, float64(tr.Reward[0]))
		see(n, estimate(p), h)
	}
}

// TestLogisticByHand: without an intercept, after the context 1 paid r, θ
// solves r − μ(θ) = Ridge·θ. With μ(log 3) = 3/4, Ridge = (r − 3/4)/log 3 makes
// that θ = log 3. A is Ridge + 1, so GLM-UCB gives the context 1 the score
// 3/4 + Alpha/sqrt(Ridge + 1).
func TestLogisticByHand(t *testing.T) {
	for _, r := range []float64{1, 2} {
		ridge := (r - 0.75) / math.Log(3)
		for _, algorithm := range []envs.Algorithm{
			baselines.GLMUCB{Alpha: 0.5, Ridge: ridge, NoIntercept: true},
			baselines.LogisticThompson{Ridge: ridge, NoIntercept: true},
		} {
			p := newPolicy(t, algorithm, envs.Spec{Candidates: 2, Dim: 1}, 1)
			tr := one([]float32{1}, []float32{0}, float32(r))
			if err := p.Update(tr); err != nil {
				t.Fatal(err)
			}
			wantClose(t, "estimate", estimate(p)[0], math.Log(3), 1e-12)
			if _, ok := algorithm.(baselines.GLMUCB); ok {
				scores := scoresOf(t, p, tr.Observation)
				wantClose(t, "score", scores[0], 0.75+0.5/math.Sqrt(ridge+1), 1e-12)
				wantClose(t, "score", scores[1], 0.5, 1e-15)
			}
		}
	}
}

// TestLogisticFit wants the gradient of the objective to be 0 at refits: for 0/1
// rewards, and for real ones of both signs.
func TestLogisticFit(t *testing.T) {
	every := func(int) bool { return true }
	for _, c := range []struct {
		algorithm envs.Algorithm
		problem   envs.Problem
		intercept bool
		ridge     float64
		refit     func(n int) bool
	}{
		{baselines.GLMUCB{RefitEvery: 1}, envs.Bernoulli{Dim: 6}, true, 1, every},
		{baselines.GLMUCB{RefitEvery: 1, NoIntercept: true, Ridge: 0.01}, envs.Mixed{Dim: 6}, false, 0.01, every},
		{baselines.LogisticThompson{RefitEvery: 1, Ridge: 1e-4}, envs.Bernoulli{Dim: 6}, true, 1e-4, every},
		{baselines.LogisticThompson{RefitEvery: 50}, envs.Mixed{Dim: 6}, true, 1, func(n int) bool { return n%50 == 1 }},
		// By default every step is a refit until 20/10 = 2 is the stride.
		{baselines.GLMUCB{}, envs.Bernoulli{Dim: 40}, true, 1, func(n int) bool { return n <= 20 || n == 22 }},
	} {
		follow(t, c.problem, c.algorithm, c.intercept, c.ridge, 301, func(n int, theta []float64, h *history) {
			if g := h.steepest(theta); c.refit(n) && !(g < 1e-9) {
				t.Fatalf("%#v on %#v: gradient %.2g at step %d", c.algorithm, c.problem, g, n)
			}
		})
	}
}

// TestLogisticBetweenRefits bounds what the approximation between refits adds:
// a sixth of the estimate's own standard error in the first steps (about half of
// that when this was written), less later.
func TestLogisticBetweenRefits(t *testing.T) {
	var early, late float64
	follow(t, envs.Bernoulli{Dim: 20}, baselines.GLMUCB{}, true, 1, 1000, func(n int, theta []float64, h *history) {
		switch d := h.distance(theta); {
		case n <= 400 && n%3 == 0:
			early = max(early, d)
		case n > 400 && n%19 == 0:
			late = max(late, d)
		}
	})
	if early > 0.17 || late > 0.08 || late == 0 {
		t.Errorf("largest distance %.2g standard deviations in the first 400 steps, %.2g after that", early, late)
	}
}

// TestLogisticExtremes wants the minimum also where the sigmoid saturates:
// rewards that no probability explains, and rewards that a plane separates.
func TestLogisticExtremes(t *testing.T) {
	for _, c := range []struct {
		what   string
		ridge  float64
		reward func(x []float32) float32
	}{
		{"negative", 1, func([]float32) float32 { return -1 }},
		{"negative, weak prior", 1e-3, func([]float32) float32 { return -1 }},
		{"large", 1, func(x []float32) float32 { return 50 * x[0] }},
		{"mostly 0, then large", 0.1, func(x []float32) float32 {
			if x[0]+x[1] > 1.8 {
				return 30
			}
			return 0
		}},
		{"separable", 1e-6, func(x []float32) float32 {
			if x[0] > x[1] {
				return 1
			}
			return 0
		}},
		{"constant", 1e-6, func([]float32) float32 { return 1 }},
	} {
		p := newPolicy(t, baselines.GLMUCB{Ridge: c.ridge, RefitEvery: 7}, envs.Spec{Candidates: 2, Dim: 4}, 1)
		h := &history{ridge: c.ridge}
		features := newDirect(4, c.ridge, true).features
		rng := envs.NewRand(4, c.what)
		for n := 1; n <= 400; n++ {
			x := make([]float32, 4)
			for i := range x {
				x[i] = rng.Float32()
			}
			tr := one(x, make([]float32, 4), c.reward(x))
			if err := p.Update(tr); err != nil {
				t.Fatalf("%s rewards, step %d: %v", c.what, n, err)
			}
			h.x = append(h.x, features(x))
			h.rewards = append(h.rewards, float64(tr.Reward[0]))
			theta := estimate(p)
			if g, scale := h.steepest(theta), 1+floats.Norm(theta, math.Inf(1)); n%7 == 1 && !(g < 1e-9*scale) {
				t.Fatalf("%s rewards: gradient %.2g at step %d, θ = %v", c.what, g, n, theta)
			}
		}
	}
}

// TestLogisticMemory compares a short memory with the minimum over the whole
// history. Forgetting what leaves the memory would be off by several standard
// deviations: with a quarter of the data the standard error doubles.
func TestLogisticMemory(t *testing.T) {
	var worst float64
	follow(t, envs.Bernoulli{Dim: 6}, baselines.LogisticThompson{Memory: 250}, true, 1, 1000, func(n int, theta []float64, h *history) {
		if n%20 == 0 {
			worst = max(worst, h.distance(theta))
		}
	})
	if worst > 0.1 || worst == 0 {
		t.Errorf("largest distance %.2g standard deviations", worst)
	}
	// A memory of one step is the online approximation alone, and still close.
	last := 0.0
	follow(t, envs.Bernoulli{Dim: 6}, baselines.LogisticThompson{Memory: 1}, true, 1, 1000, func(n int, theta []float64, h *history) {
		last = h.distance(theta)
	})
	if last > 0.3 {
		t.Errorf("distance %.2g standard deviations with a memory of 1", last)
	}
}
