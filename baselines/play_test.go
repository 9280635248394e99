package baselines_test

import (
	"math"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

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

// copyOf returns a transition that shares no memory with tr.
func copyOf(tr envs.Transition) envs.Transition {
	tr.Contexts = slices.Clone(tr.Contexts)
	tr.Actions = slices.Clone(tr.Actions)
	tr.Reward = slices.Clone(tr.Reward)
	tr.Discount = slices.Clone(tr.Discount)
	return tr
}

// regret plays and returns the cumulated expected regret of every run.
func regret(t testing.TB, problem envs.Problem, algorithm envs.Algorithm, seeds []uint64, steps int) []float64 {
	env, err := problem.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := algorithm.New(problem.Spec(), seeds)
	if err != nil {
		t.Fatal(err)
	}
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
