package baselines_test

import (
	"math"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// TestGolden plays every policy on every problem of the paper at its size: 20
// runs (seeds 1 to 20) of 1,000 steps. The settings are not tuned.
//
// The numbers are what this test logged (go test -v -run Golden) on linux/amd64
// once the policies had passed the comparisons with direct solutions: they are
// here to notice a change. A run is the same every time; 4 standard errors are
// left for other processors, whose rounding sends it another way.
//
// All learning policies must also beat the random one by 3 standard errors of
// the paired difference.
func TestGolden(t *testing.T) {
	const steps = 1000
	seeds := seedsUpTo(20)
	type golden struct {
		algorithm envs.Algorithm
		mean, se  float64 // of the cumulated expected regret
	}
	for _, c := range []struct {
		name    string
		problem envs.Problem
		random  golden
		others  []golden
	}{
		// The random policy's regret follows from the problem: about 0.3357 a
		// step (see envs.Linear).
		{"Linear", envs.Linear{}, golden{baselines.Random{}, 332, 2.2}, []golden{
			{baselines.LinUCB{Alpha: 0.1}, 9.04, 0.34},
			{baselines.GLMUCB{Alpha: 0.1}, 170, 36},
			{baselines.LinearThompson{Scale: 0.1}, 14.8, 0.53},
			{baselines.LogisticThompson{Scale: 0.1}, 123, 28},
		}},
		{"Bernoulli", envs.Bernoulli{}, golden{baselines.Random{}, 67.2, 0.74}, []golden{
			{baselines.LinUCB{Alpha: 0.1}, 52.2, 1.3},
			{baselines.GLMUCB{Alpha: 0.1}, 54.7, 1.7},
			{baselines.LinearThompson{Scale: 0.1}, 48.4, 0.99},
			{baselines.LogisticThompson{Scale: 0.1}, 55.4, 1.2},
		}},
		{"Mixed", envs.Mixed{}, golden{baselines.Random{}, 172, 2}, []golden{
			{baselines.LinUCB{Alpha: 0.1}, 30.4, 3.3},
			{baselines.GLMUCB{Alpha: 0.1}, 102, 15},
			{baselines.LinearThompson{Scale: 0.1}, 34.6, 3},
			{baselines.LogisticThompson{Scale: 0.1}, 69.8, 8.7},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			play := func(g golden) []float64 {
				runs := regret(t, c.problem, g.algorithm, seeds, steps)
				mean, se := summary(runs)
				t.Logf("%T %.3g, %.2g", g.algorithm, mean, se)
				if math.Abs(mean-g.mean) > 4*g.se || se > 2*g.se {
					t.Errorf("regret of %T is %.4g ± %.2g, was %.4g ± %.2g", g.algorithm, mean, se, g.mean, g.se)
				}
				return runs
			}
			random := play(c.random)
			for _, g := range c.others {
				gain := play(g)
				for r := range gain {
					gain[r] = random[r] - gain[r]
				}
				if mean, se := summary(gain); mean < 3*se {
					t.Errorf("%T gains %.3g ± %.2g over random", g.algorithm, mean, se)
				}
			}
		})
	}
}
