package pgcr_test

import (
	"fmt"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// BenchmarkUpdate times an update of all runs, draws from the history included, at
// the shapes of the paper's networks.
func BenchmarkUpdate(b *testing.B) {
	for _, bench := range []struct {
		name   string
		config pgcr.Config
		spec   envs.Spec
		runs   []int
	}{
		{"toy", pgcr.Paper(), envs.Spec{Candidates: 5, Dim: 40}, []int{1, 20}},
		{"toy-N=4", pgcr.Config{Resamples: 4, UpdatesPerStep: 1}, envs.Spec{Candidates: 5, Dim: 40}, []int{1}},
		{"music", pgcr.Config{Hidden: []int{60, 20}, BatchSize: 256, UpdatesPerStep: 1}, envs.Spec{Candidates: 10, Dim: 94}, []int{1, 5}},
	} {
		for _, runs := range bench.runs {
			b.Run(fmt.Sprintf("%s/R=%d", bench.name, runs), func(b *testing.B) {
				policy, err := bench.config.New(bench.spec, seeds(1, runs))
				if err != nil {
					b.Fatal(err)
				}
				obs := envs.Observation{Runs: runs, Candidates: bench.spec.Candidates, Dim: bench.spec.Dim,
					Contexts: make([]float32, runs*bench.spec.Candidates*bench.spec.Dim)}
				tr := envs.Transition{Observation: obs, Actions: make([]int, runs), Outcome: envs.Outcome{Reward: make([]float32, runs)}}
				rng := envs.NewRand(1, "bench")
				update := func() {
					for i := range obs.Contexts {
						obs.Contexts[i] = rng.Float32()
					}
					for r := range tr.Reward {
						tr.Reward[r] = rng.Float32()
					}
					if err := policy.Update(tr); err != nil {
						b.Fatal(err)
					}
				}
				for range 20 { // a history to draw from, and compilation
					update()
				}
				for b.Loop() {
					update()
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*runs), "µs/run-update")
			})
		}
	}
}
