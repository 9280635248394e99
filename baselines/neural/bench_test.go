package neural_test

import (
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
)

// The benchmarks are at the toy shape, 20 runs stacked on one core: a step of
// the benchmark is one of every run. BenchmarkUpdate times updates alone,
// BenchmarkAct decisions alone.
func BenchmarkUpdate(b *testing.B) {
	perAlgorithm(b, func(p envs.Policy, tr envs.Transition, _ []int) error { return p.Update(tr) })
}

func BenchmarkAct(b *testing.B) {
	perAlgorithm(b, func(p envs.Policy, tr envs.Transition, actions []int) error { return p.Act(actions, tr.Observation) })
}

func perAlgorithm(b *testing.B, call func(p envs.Policy, tr envs.Transition, actions []int) error) {
	for _, c := range []struct {
		name      string
		algorithm envs.Algorithm
	}{
		{"EpsilonGreedy", neural.EpsilonGreedy{}},
		{"DropoutThompson", neural.DropoutThompson{}},
		{"VanillaPG", neural.VanillaPG{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			const runs = 20
			g := start(b, c.algorithm, envs.Bernoulli{}, upTo(runs))
			var tr envs.Transition
			for range 100 { // a history to draw from, and compilation
				tr = g.step()
			}
			actions := make([]int, runs)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := call(g.policy, tr, actions); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N*runs), "µs/run-step")
		})
	}
}
