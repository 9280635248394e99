package baselines_test

import (
	"fmt"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// Benchmarks count one step of one run as one operation. "step" is the whole of
// it: observe, act, reward, update. That of a logistic
// model includes its share of the refits. 5x40 is the paper's toy shape, 10x94
// that of its music data.

func BenchmarkRandom(b *testing.B) { benchmark(b, baselines.Random{}, linear) }
func BenchmarkLinUCB(b *testing.B) { benchmark(b, baselines.LinUCB{Alpha: 0.1}, linear) }
func BenchmarkLinearThompson(b *testing.B) {
	benchmark(b, baselines.LinearThompson{Scale: 0.1}, linear)
}
func BenchmarkGLMUCB(b *testing.B) { benchmark(b, baselines.GLMUCB{Alpha: 0.1}, bernoulli) }
func BenchmarkLogisticThompson(b *testing.B) {
	benchmark(b, baselines.LogisticThompson{Scale: 0.1}, bernoulli)
}

var (
	linear    = []envs.Problem{envs.Linear{}, envs.Linear{Candidates: 10, Dim: 94}}
	bernoulli = []envs.Problem{envs.Bernoulli{}, envs.Bernoulli{Candidates: 10, Dim: 94}}
)

func benchmark(b *testing.B, algorithm envs.Algorithm, problems []envs.Problem) {
	for _, problem := range problems {
		spec := problem.Spec()
		shape := fmt.Sprintf("%dx%d/", spec.Candidates, spec.Dim)
		start := func(b *testing.B) (envs.Environment, envs.Policy) {
			seeds := []uint64{1}
			env, err := problem.New(seeds)
			if err != nil {
				b.Fatal(err)
			}
			policy, err := algorithm.New(spec, seeds)
			if err != nil {
				b.Fatal(err)
			}
			return env, policy
		}
		perSecond := func(b *testing.B) {
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		}
		b.Run(shape+"step", func(b *testing.B) {
			env, policy := start(b)
			b.ReportAllocs()
			actions := make([]int, 1)
			for b.Loop() {
				step(b, env, policy, actions)
			}
			perSecond(b)
		})
		b.Run(shape+"act", func(b *testing.B) {
			env, policy := start(b)
			b.ReportAllocs()
			actions := make([]int, 1)
			for b.Loop() {
				if err := policy.Act(actions, env.Observe()); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b)
		})
		b.Run(shape+"update", func(b *testing.B) {
			env, policy := start(b)
			b.ReportAllocs()
			transitions := make([]envs.Transition, 512)
			for i := range transitions {
				transitions[i] = copyOf(step(b, env, policy, make([]int, 1)))
			}
			i := 0
			for b.Loop() {
				if err := policy.Update(transitions[i]); err != nil {
					b.Fatal(err)
				}
				i = (i + 1) % len(transitions)
			}
			perSecond(b)
		})
	}
}
