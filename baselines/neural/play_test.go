package neural_test

import (
	"math"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// game is a policy in its environment.
type game struct {
	t       testing.TB
	env     envs.Environment
	policy  envs.Policy
	actions []int
}

func start(t testing.TB, algorithm envs.Algorithm, problem envs.Problem, seeds []uint64) *game {
	t.Helper()
	env, err := problem.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := algorithm.New(problem.Spec(), seeds)
	if err != nil {
		t.Fatal(err)
	}
	return &game{t, env, policy, make([]int, len(seeds))}
}

// step plays one step and returns it, valid until the next call.
func (g *game) step() envs.Transition {
	g.t.Helper()
	obs := g.env.Observe()
	if err := g.policy.Act(g.actions, obs); err != nil {
		g.t.Fatal(err)
	}
	out, err := g.env.Step(g.actions)
	if err != nil {
		g.t.Fatal(err)
	}
	tr := envs.Transition{Observation: obs, Actions: g.actions, Outcome: out}
	if err := g.policy.Update(tr); err != nil {
		g.t.Fatal(err)
	}
	return tr
}

// regret plays so many steps and returns the cumulated expected regret of every
// run.
func (g *game) regret(steps int) []float64 {
	g.t.Helper()
	obs := g.env.Observe()
	m := obs.Candidates
	expected, total := make([]float64, obs.Runs*m), make([]float64, obs.Runs)
	for range steps {
		g.env.(envs.Oracle).ExpectedRewards(expected)
		g.step()
		for r, a := range g.actions {
			of := expected[r*m : (r+1)*m]
			total[r] += slices.Max(of) - of[a]
		}
	}
	return total
}

// summary returns the mean and its standard error.
func summary(x []float64) (mean, se float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		se += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(se / (n - 1) / n)
}

// upTo returns the seeds 1 ... n.
func upTo(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	return seeds
}
