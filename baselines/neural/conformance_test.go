package neural_test

import (
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// TestConformance plays every algorithm in a bandit, and with a discount in a
// problem with states and episodes. The suite's comparison of stacked with
// single runs is bit for bit.
func TestConformance(t *testing.T) {
	ahead := neural.Settings{Discount: 0.9, BatchSize: 16}
	for _, c := range []struct {
		name      string
		algorithm envs.Algorithm
		problem   envs.Problem
	}{
		{"Greedy/Bernoulli", neural.Greedy{}, envs.Bernoulli{}},
		{"Greedy/Chain", neural.Greedy{Settings: ahead}, envs.Chain{}},
		{"EpsilonGreedy/Bernoulli", neural.EpsilonGreedy{}, envs.Bernoulli{}},
		{"EpsilonGreedy/Chain", neural.EpsilonGreedy{Settings: ahead}, envs.Chain{Episodic: true}},
		{"DropoutThompson/Bernoulli", neural.DropoutThompson{}, envs.Bernoulli{}},
		{"DropoutThompson/Chain", neural.DropoutThompson{Settings: ahead}, envs.Chain{}},
		{"VanillaPG/Bernoulli", neural.VanillaPG{BatchSize: 16}, envs.Bernoulli{}},
		{"VanillaPG/Chain", neural.VanillaPG{BatchSize: 16, Dropout: 0.5, Discount: 0.9}, envs.Chain{Episodic: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			envtest.Suite{Steps: 40}.TestAlgorithm(t, c.algorithm, c.problem)
		})
	}
}
