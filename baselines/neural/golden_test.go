package neural_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
)

// TestGolden plays every algorithm on every toy problem of the paper at its
// size: 20 runs (seeds 1 to 20) of 1,000 steps. The settings are the defaults,
// not tuned, but for fewer updates and, for policy gradients, a smaller batch, to
// be quick.
//
// The numbers are what this test logged (go test -v -run Golden) on linux/amd64
// once the policies had passed the tests of their parts: they are here to notice
// a change. A run is the same every time; 5 standard errors are left for other
// processors and vector instructions, whose rounding sends it another way.
//
// What does not depend on these numbers is asserted too: all have less regret
// than the random policy, by 3 standard errors.
func TestGolden(t *testing.T) {
	value := neural.Settings{UpdateEvery: 4}
	greedy, epsilon := neural.Greedy{Settings: value}, neural.EpsilonGreedy{Settings: value}
	dropout, vanilla := neural.DropoutThompson{Settings: value}, neural.VanillaPG{UpdateEvery: 4, BatchSize: 16}
	for _, c := range []struct {
		problem envs.Problem
		random  float64 // regret of the random policy, as logged for baselines.Random
		golden  []golden
	}{
		{envs.Linear{}, 332, []golden{{greedy, 48.8, 3.3}, {epsilon, 85.3, 3.7}, {dropout, 165, 8.2}, {vanilla, 98.1, 3.8}}},
		{envs.Bernoulli{}, 67.2, []golden{{greedy, 46.8, 2.4}, {epsilon, 49.3, 2}, {dropout, 56.9, 1.7}, {vanilla, 45.8, 1.7}}},
		{envs.Mixed{}, 172, []golden{{greedy, 55.2, 3.6}, {epsilon, 63.5, 3.8}, {dropout, 119, 5.8}, {vanilla, 93.3, 7.1}}},
	} {
		for _, g := range c.golden {
			t.Run(fmt.Sprintf("%T/%T", c.problem, g.algorithm), func(t *testing.T) {
				t.Parallel()
				mean, se := summary(start(t, g.algorithm, c.problem, upTo(20)).regret(1000))
				t.Logf("%.3g, %.2g", mean, se)
				if math.Abs(mean-g.mean) > 5*g.se || se > 2*g.se {
					t.Errorf("regret is %.4g ± %.2g, was %.4g ± %.2g", mean, se, g.mean, g.se)
				}
				if mean > c.random-3*se {
					t.Errorf("regret is %.4g ± %.2g, that of the random policy %v", mean, se, c.random)
				}
			})
		}
	}
}

type golden struct {
	algorithm envs.Algorithm
	mean, se  float64 // of the cumulated expected regret
}
