package baselines_test

import (
	"fmt"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// BenchmarkStep counts one step of one run (observe, act, reward, update) as one
// operation, that of a logistic model with its share of the refits. 5x40 is the
// paper's toy shape, 10x94 that of its music data.
func BenchmarkStep(b *testing.B) {
	for _, algorithm := range []envs.Algorithm{
		baselines.Random{}, baselines.LinUCB{Alpha: 0.1}, baselines.LinearThompson{Scale: 0.1},
		baselines.GLMUCB{Alpha: 0.1}, baselines.LogisticThompson{Scale: 0.1},
	} {
		for _, problem := range []envs.Bernoulli{{Candidates: 5, Dim: 40}, {Candidates: 10, Dim: 94}} {
			b.Run(fmt.Sprintf("%T/%dx%d", algorithm, problem.Candidates, problem.Dim), func(b *testing.B) {
				env, policy := start(b, problem, algorithm, 1)
				b.ReportAllocs()
				actions := make([]int, 1)
				for b.Loop() {
					step(b, env, policy, actions)
				}
			})
		}
	}
}
