package neural_test

import (
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
)

// TestLooksAhead plays a chain in which the far-sighted policy earns 0.45 a step
// and the myopic one 0.18, and compares the rewards of the last third of the
// steps. With a discount of 0 the sessions do not count, and the same algorithm
// earns what the myopic policy does.
func TestLooksAhead(t *testing.T) {
	chain := envs.Chain{}
	myopic := chain.Optimal(0).AverageReward
	const runs, steps, last = 10, 1500, 500
	for _, c := range []struct {
		name      string
		algorithm envs.Algorithm
		ahead     bool
	}{
		{"EpsilonGreedy, discount 0", neural.EpsilonGreedy{Settings: neural.Settings{BatchSize: 32}}, false},
		{"EpsilonGreedy", neural.EpsilonGreedy{Settings: neural.Settings{BatchSize: 32, Discount: 0.9}}, true},
		{"VanillaPG", neural.VanillaPG{BatchSize: 32, UpdateEvery: 2, Discount: 0.9}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := start(t, c.algorithm, chain, upTo(runs))
			reward := make([]float64, runs)
			for i := range steps {
				for r, x := range g.step().Reward {
					if i >= steps-last {
						reward[r] += float64(x) / last
					}
				}
			}
			mean, se := summary(reward)
			t.Logf("%.3f ± %.3f a step", mean, se)
			if c.ahead && mean < myopic+3*se || !c.ahead && mean > myopic+3*se {
				t.Errorf("reward %.3f ± %.3f a step, that of the myopic policy is %.3f", mean, se, myopic)
			}
		})
	}
}
