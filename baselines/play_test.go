package baselines_test

import (
	"math"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

func newPolicy(t testing.TB, algorithm envs.Algorithm, spec envs.Spec, seeds ...uint64) envs.Policy {
	t.Helper()
	p, err := algorithm.New(spec, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func start(t testing.TB, problem envs.Problem, algorithm envs.Algorithm, seeds ...uint64) (envs.Environment, envs.Policy) {
	t.Helper()
	env, err := problem.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	return env, newPolicy(t, algorithm, problem.Spec(), seeds...)
}

// estimate returns θ of the first run.
func estimate(p envs.Policy) []float64 { return p.(baselines.Estimator).Estimate(0) }

func scoresOf(t testing.TB, p envs.Policy, obs envs.Observation) []float64 {
	t.Helper()
	scores := make([]float64, obs.Runs*obs.Candidates)
	if err := p.(interface {
		Scores([]float64, envs.Observation) error
	}).Scores(scores, obs); err != nil {
		t.Fatal(err)
	}
	return scores
}

// step plays one step and returns it; actions is [R]. The transition is valid
// until the next call.
func step(t testing.TB, env envs.Environment, policy envs.Policy, actions []int) envs.Transition {
	obs := env.Observe()
	if err := policy.Act(actions, obs); err != nil {
		t.Fatal(err)
	}
	out, err := env.Step(actions)
	if err != nil {
		t.Fatal(err)
	}
	tr := envs.Transition{Observation: obs, Actions: actions, Outcome: out}
	if err := policy.Update(tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// one returns a transition of one run with two candidates, whose first one was
// chosen.
func one(c0, c1 []float32, reward float32) envs.Transition {
	return envs.Transition{
		Observation: envs.Observation{Runs: 1, Candidates: 2, Dim: len(c0), Contexts: append(append([]float32{}, c0...), c1...)},
		Actions:     []int{0},
		Outcome:     envs.Outcome{Reward: []float32{reward}},
	}
}

// regret plays and returns the cumulated expected regret of every run.
func regret(t testing.TB, problem envs.Problem, algorithm envs.Algorithm, seeds []uint64, steps int) []float64 {
	env, policy := start(t, problem, algorithm, seeds...)
	m := problem.Spec().Candidates
	expected := make([]float64, len(seeds)*m)
	actions := make([]int, len(seeds))
	total := make([]float64, len(seeds))
	for range steps {
		env.(envs.Oracle).ExpectedRewards(expected)
		step(t, env, policy, actions)
		for r, a := range actions {
			of := expected[r*m : (r+1)*m]
			total[r] += slices.Max(of) - of[a]
		}
	}
	return total
}

// summary returns the mean and its standard error.
func summary(x []float64) (mean, se float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		se += (v - mean) * (v - mean)
	}
	n := float64(len(x))
	return mean, math.Sqrt(se / (n - 1) / n)
}

func seedsUpTo(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	return seeds
}
