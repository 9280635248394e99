package baselines_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// wantFrequencies has a policy choose between two contexts 4,000 times. Under
// θ ~ N(mean, scale²·A⁻¹) the first one wins with probability
// Φ(d·mean/(scale·sqrt(dᵀA⁻¹d))), d being the difference of their features. The
// tolerance is 5 standard errors.
func wantFrequencies(t *testing.T, p envs.Policy, dim int, intercept bool, mean *mat.VecDense, precision *mat.SymDense, scale float64) {
	t.Helper()
	const draws = 4000
	features := newDirect(dim, 1, intercept).features
	rng := envs.NewRand(1, "pairs")
	undecided := 0
	for range 8 {
		pair := [2][]float32{make([]float32, dim), make([]float32, dim)}
		for _, c := range pair {
			for i := range c {
				c[i] = rng.Float32()
			}
		}
		var d mat.VecDense
		d.SubVec(features(pair[0]), features(pair[1]))
		want := distuv.UnitNormal.CDF(mat.Dot(&d, mean) / (scale * width(precision, &d)))
		if want > 0.05 && want < 0.95 {
			undecided++
		}
		obs := one(pair[0], pair[1], 0).Observation
		first := 0.0
		action := make([]int, 1)
		for range draws {
			if err := p.Act(action, obs); err != nil {
				t.Fatal(err)
			}
			if action[0] == 0 {
				first++
			}
		}
		if se := math.Sqrt(want*(1-want)/draws) + 1e-9; math.Abs(first/draws-want) > 5*se {
			t.Errorf("first of two chosen in %.4f of the draws, want %.4f ± %.4f", first/draws, want, 5*se)
		}
	}
	if undecided < 3 {
		t.Errorf("only %d pairs test anything", undecided)
	}
}

// trained returns a policy that has learned from given contexts and rewards,
// and those as sums and as history.
func trained(t *testing.T, algorithm envs.Algorithm, intercept bool, steps int, reward func(x []float32, noise float64) float32) (envs.Policy, *direct, *history) {
	t.Helper()
	const dim = 4
	p := newPolicy(t, algorithm, envs.Spec{Candidates: 2, Dim: dim}, 9)
	d, h := newDirect(dim, 1, intercept), &history{ridge: 1}
	rng := envs.NewRand(9, "training")
	for range steps {
		x := make([]float32, dim)
		for i := range x {
			x[i] = rng.Float32()
		}
		tr := one(x, make([]float32, dim), reward(x, rng.Float64()))
		if err := p.Update(tr); err != nil {
			t.Fatal(err)
		}
		d.add(x, tr.Reward[0])
		h.x, h.rewards = append(h.x, d.features(x)), append(h.rewards, float64(tr.Reward[0]))
	}
	return p, d, h
}

func linearReward(x []float32, noise float64) float32 { return x[0] - x[1] + float32(noise) }

func coinReward(x []float32, noise float64) float32 {
	if noise < 1/(1+math.Exp(-2*float64(x[0]-x[1]))) {
		return 1
	}
	return 0
}

func TestThompsonChoices(t *testing.T) {
	for _, scale := range []float64{1, 3} {
		p, d, _ := trained(t, baselines.LinearThompson{Scale: scale, Ridge: 1, Intercept: true}, true, 30, linearReward)
		wantFrequencies(t, p, 4, true, d.estimate(), d.precision, scale)

		p, _, h := trained(t, baselines.LogisticThompson{Scale: scale, RefitEvery: 1}, true, 60, coinReward)
		mode, precision := estimate(p), mat.NewSymDense(5, nil) // the mode is tested by TestLogisticFit
		h.hessian(precision, mode)
		wantFrequencies(t, p, 4, true, mat.NewVecDense(5, mode), precision, scale)
	}
}
