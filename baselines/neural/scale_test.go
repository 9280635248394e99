package neural_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// scaled multiplies the rewards of a problem.
type scaled struct {
	envs.Problem
	by float32
}

func (p scaled) New(seeds []uint64) (envs.Environment, error) {
	env, err := p.Problem.New(seeds)
	return scaledEnvironment{env, p.by}, err
}

type scaledEnvironment struct {
	envs.Environment
	by float32
}

func (e scaledEnvironment) Step(actions []int) (envs.Outcome, error) {
	out, err := e.Environment.Step(actions)
	for r := range out.Reward {
		out.Reward[r] *= e.by
	}
	return out, err
}

// Rewards of any size are learned from with default settings, or envs.Check warns and says what to do.
func TestRewardsOfAnySize(t *testing.T) {
	const steps, runs = 400, 3
	glm, logistic, usual := baselines.GLMUCB{}, baselines.LogisticThompson{}, []float32{0.3, 1, 3, 30}
	for _, c := range []struct {
		algorithm       envs.Algorithm
		problem         envs.Problem
		learned, warned []float32
	}{
		{baselines.LinUCB{}, envs.Linear{Dim: 5}, usual, []float32{1e-3, 1e-2, 100, 1e3}},
		{glm, envs.Bernoulli{Dim: 5}, []float32{0.3, 1}, []float32{1e-3, 1e-2, 2, 18, -1}},
		{baselines.Standardised{Algorithm: glm}, envs.Bernoulli{Dim: 5}, []float32{1}, []float32{2, 18}},
		{logistic, envs.Bernoulli{Dim: 5}, []float32{0.3, 1}, []float32{-1}},
		{baselines.Standardised{Algorithm: baselines.LinUCB{}}, envs.Linear{Dim: 5}, usual, nil},
		{baselines.LinearThompson{}, envs.Linear{Dim: 5}, usual, nil},
		{neural.Greedy{}, envs.Linear{Dim: 5}, usual, nil},
		{neural.EpsilonGreedy{}, envs.Linear{Dim: 5}, usual, nil},
		{neural.VanillaPG{}, envs.Linear{Dim: 5}, usual, nil},
		{pgcr.Config{}, envs.Linear{Dim: 5}, usual, nil},
	} {
		for _, by := range c.warned {
			warnings, err := envs.Check(scaled{c.problem, by}, c.algorithm, c.algorithm)
			if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "divide them") {
				t.Errorf("%T: rewards times %v: warnings %q, %v, want one", c.algorithm, by, warnings, err)
			}
		}
		chance, _ := play(t, c.problem, baselines.Random{}, runs, steps)
		for _, by := range c.learned {
			problem := scaled{c.problem, by}
			if warnings, err := envs.Check(problem, c.algorithm); err != nil || len(warnings) > 0 {
				t.Errorf("%T: rewards times %v: warnings %q, %v", c.algorithm, by, warnings, err)
			}
			mean, _ := play(t, problem, c.algorithm, runs, steps)
			if mean /= float64(by); mean < chance+0.12 {
				t.Errorf("%T: rewards times %v: %.3f a step over %v, where a random policy has %.3f", c.algorithm, by, mean, by, chance)
			}
		}
	}
}

// What is lost to numbers that are too large is an error that names the largest ones,
// or is learned all the same.
func TestErrorsNameTheLargestNumbers(t *testing.T) {
	for _, a := range []envs.Algorithm{
		baselines.LinUCB{}, baselines.GLMUCB{}, baselines.LinearThompson{}, baselines.LogisticThompson{},
		neural.Greedy{}, neural.EpsilonGreedy{}, neural.VanillaPG{}, pgcr.Config{},
	} {
		for _, large := range []struct{ feature, reward float32 }{{1e15, 1}, {1e30, 1}, {3e38, 1}, {1, 1e15}, {1, 1e30}, {1, 3e38}} {
			p := newPolicy(t, a, envs.Spec{Candidates: 2, Dim: 2}, 1)
			tr := envs.Transition{Observation: envs.Observation{Runs: 1, Candidates: 2, Dim: 2, Contexts: make([]float32, 4)},
				Actions: make([]int, 1), Outcome: envs.Outcome{Reward: make([]float32, 1)}}
			rng, err := envs.NewRand(1, "large"), error(nil)
			for step := 0; step < 100 && err == nil; step++ {
				for i := range tr.Contexts {
					tr.Contexts[i] = rng.Float32()
				}
				tr.Contexts[0] *= large.feature
				if err = p.Act(tr.Actions, tr.Observation); err == nil {
					tr.Reward[0] = rng.Float32() * large.reward
					err = p.Update(tr)
				}
			}
			if err == nil {
				continue
			}
			_, named, _ := strings.Cut(err.Error(), "the largest feature ")
			var feature, reward float32
			_, scan := fmt.Sscanf(strings.NewReplacer("was ", "", "is ", "").Replace(named), "%g, the largest reward %g", &feature, &reward)
			if scan != nil || feature < large.feature/10 || reward < large.reward/10 {
				t.Errorf("features of %v and rewards of %v: the error is %v", large.feature, large.reward, err)
			}
		}
	}
}
