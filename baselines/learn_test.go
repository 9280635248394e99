package baselines_test

import (
	"math"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// TestLearns plays 20 runs of 500 steps at the paper's size. Random choices have the
// regret that follows from the problem, 0.3357 a step (see envs.Linear); all others
// gain at least 3 standard errors of the paired difference over them.
func TestLearns(t *testing.T) {
	const steps = 500
	for _, problem := range []envs.Problem{envs.Linear{}, envs.Bernoulli{}, envs.Mixed{}} {
		random := regret(t, problem, baselines.Random{}, seedsUpTo(20), steps)
		mean, se := summary(random)
		if want := 0.3357 * steps; problem == (envs.Linear{}) && math.Abs(mean-want) > 4*se {
			t.Errorf("random regret %.4g ± %.2g, want %.4g", mean, se, want)
		}
		for _, algorithm := range []envs.Algorithm{
			baselines.LinUCB{Alpha: 0.1}, baselines.GLMUCB{Alpha: 0.1}, baselines.LinearThompson{Scale: 0.1}, baselines.LogisticThompson{Scale: 0.1},
		} {
			gain := regret(t, problem, algorithm, seedsUpTo(20), steps)
			for r := range gain {
				gain[r] = random[r] - gain[r]
			}
			if mean, se := summary(gain); mean < 3*se {
				t.Errorf("%T gains %.3g ± %.2g over random in %T", algorithm, mean, se, problem)
			}
		}
	}
}
