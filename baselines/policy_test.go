package baselines_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

var algorithms = map[string]envs.Algorithm{
	"Random":           baselines.Random{},
	"LinUCB":           baselines.LinUCB{},
	"GLMUCB":           baselines.GLMUCB{},
	"LinearThompson":   baselines.LinearThompson{},
	"LogisticThompson": baselines.LogisticThompson{},
}

func TestConformance(t *testing.T) {
	for name, algorithm := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			envtest.TestAlgorithm(t, algorithm, envs.Mixed{Dim: 7, Candidates: 4})
			envtest.TestAlgorithm(t, algorithm, envtest.Chain{})
		})
	}
	// The other intercepts, a memory that fills up, and refits and inversions that
	// are due between the checks' saves.
	for _, algorithm := range []envs.Algorithm{
		baselines.LinUCB{Intercept: true},
		baselines.GLMUCB{NoIntercept: true, Memory: 50, RefitEvery: 40},
		baselines.LinearThompson{Intercept: true, Scale: baselines.NoExploration},
		baselines.LogisticThompson{NoIntercept: true, Memory: 50, RefitEvery: 40},
	} {
		t.Run(fmt.Sprintf("%T/other", algorithm), func(t *testing.T) {
			t.Parallel()
			envtest.TestAlgorithm(t, algorithm, envs.Bernoulli{Dim: 3, Candidates: 3}, 150)
		})
	}
}

func TestSettings(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		algorithm envs.Algorithm
		want      string // field and value
	}{
		{baselines.LinUCB{Alpha: -2}, "LinUCB: Alpha is -2"},
		{baselines.LinUCB{Alpha: nan}, "LinUCB: Alpha is NaN"},
		{baselines.LinUCB{Alpha: inf}, "LinUCB: Alpha is +Inf"},
		{baselines.LinUCB{Ridge: -1}, "LinUCB: Ridge is -1"},
		{baselines.GLMUCB{Alpha: -0.5}, "GLMUCB: Alpha is -0.5"},
		{baselines.GLMUCB{Ridge: inf}, "GLMUCB: Ridge is +Inf"},
		{baselines.GLMUCB{RefitEvery: -1}, "GLMUCB: RefitEvery is -1"},
		{baselines.GLMUCB{Memory: -5}, "GLMUCB: Memory is -5"},
		{baselines.LinearThompson{Scale: -3}, "LinearThompson: Scale is -3"},
		{baselines.LinearThompson{Ridge: nan}, "LinearThompson: Ridge is NaN"},
		{baselines.LogisticThompson{Scale: nan}, "LogisticThompson: Scale is NaN"},
		{baselines.LogisticThompson{RefitEvery: -7}, "LogisticThompson: RefitEvery is -7"},
	} {
		policy, err := c.algorithm.New(envs.Spec{Candidates: 2, Dim: 3}, []uint64{1})
		if policy != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#v: error %v, want one with %q", c.algorithm, err, c.want)
		}
	}
	if _, err := (baselines.LinUCB{}).New(envs.Spec{Candidates: 2, Dim: 1 << 20}, []uint64{1}); err == nil {
		t.Error("no error for a matrix of 2^40 numbers")
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		algorithm envs.Algorithm
		want      string
	}{
		{baselines.Random{}, `{}`},
		{baselines.LinUCB{}, `{"Alpha":0.05,"Ridge":5,"Intercept":false}`},
		{baselines.LinUCB{Alpha: baselines.NoExploration, Ridge: 2}, `{"Alpha":-1,"Ridge":2,"Intercept":false}`},
		{baselines.GLMUCB{}, `{"Alpha":0.3,"Ridge":1,"NoIntercept":false,"RefitEvery":0,"Memory":32768}`},
		{baselines.LinearThompson{Scale: 0.1}, `{"Scale":0.1,"Ridge":2,"Intercept":false}`},
		{baselines.LogisticThompson{}, `{"Scale":0.01,"Ridge":1,"NoIntercept":false,"RefitEvery":0,"Memory":32768}`},
	} {
		got, err := json.Marshal(c.algorithm)
		if err != nil || string(got) != c.want {
			t.Errorf("%#v is %s (%v), want %s", c.algorithm, got, err, c.want)
		}
	}
}

// TestLargestNumbers wants the message of a model that is lost in rounding to name
// what was seen: contexts of 1e12 leave nothing of a ridge of 1.
func TestLargestNumbers(t *testing.T) {
	p := newPolicy(t, baselines.GLMUCB{}, envs.Spec{Candidates: 2, Dim: 2}, 1)
	err := p.Update(one([]float32{1e12, 1e12}, make([]float32, 2), 0.5))
	var of *envs.RunError
	const want = "after 1 steps; the largest feature was 1e+12, the largest reward 0.5"
	if !errors.As(err, &of) || of.Run != 0 || !strings.Contains(strings.ReplaceAll(err.Error(), "9.99999995904e+11", "1e+12"), want) {
		t.Errorf("error %v, want one of run 0 with %q", err, want)
	}
	// Givens rotations lose nothing.
	p = newPolicy(t, baselines.LinUCB{Alpha: 1, Ridge: 1}, envs.Spec{Candidates: 2, Dim: 2}, 1)
	tr := one([]float32{1e12, 1e12}, []float32{1, -1}, 2e12)
	if err := p.Update(tr); err != nil {
		t.Fatal(err)
	}
	// θ = (1, 1), and the variance of (1, -1) is still that of the prior.
	wantClose(t, "score", scoresOf(t, p, tr.Observation)[1], math.Sqrt2, 1e-12)
}

// TestEqualCandidates wants equal probabilities of candidates that look alike, and
// 1 of a set's only candidate.
func TestEqualCandidates(t *testing.T) {
	nan := float32(math.NaN())
	for name, algorithm := range algorithms {
		p := newPolicy(t, algorithm, envs.Spec{Candidates: 3, Dim: 2}, 7, 8)
		obs := envs.Observation{
			Runs: 2, Candidates: 3, Dim: 2, Sizes: []int32{2, 1},
			Contexts: []float32{.3, .1, .3, .1, nan, nan, .2, .5, nan, nan, nan, nan},
		}
		law := make([]float64, 6)
		if err := p.(envs.Probable).Probabilities(law, obs); err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{.5, .5, 0, 1, 0, 0} {
			wantClose(t, name+": probability", law[i], want, 1e-12)
		}
	}
}

// TestAllocations wants none of a policy in a step, beside the environment's, once a logistic
// model's memory is full.
func TestAllocations(t *testing.T) {
	for _, algorithm := range []envs.Algorithm{
		baselines.Random{}, baselines.LinUCB{}, baselines.GLMUCB{Memory: 64}, baselines.LinearThompson{}, baselines.LogisticThompson{Memory: 64},
	} {
		env, p := start(t, envs.Bernoulli{Dim: 8}, algorithm, 1)
		actions := make([]int, 1)
		play := func() {
			for range 100 {
				step(t, env, p, actions)
			}
		}
		alone := func() {
			for range 100 {
				env.Step(actions)
			}
		}
		play()
		// 12 times 100 steps reach the refresh at step 1,024.
		if n := testing.AllocsPerRun(12, play) - testing.AllocsPerRun(12, alone); n != 0 {
			t.Errorf("%T: %v allocations in 100 steps", algorithm, n)
		}
	}
}
