package pgcr_test

import (
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// BenchmarkUpdateMusic times the update alone at the shapes of the paper's music
// networks (section 6.3), of one run: without states 94-60-20-1, with states
// 379-90-20-1, where rivals come from sessions.
func BenchmarkUpdateMusic(b *testing.B) {
	for _, shape := range []struct {
		name     string
		spec     envs.Spec
		hidden   []int
		sessions []int32
	}{
		{"94-60-20-1", envs.Spec{Candidates: 10, Dim: 94}, []int{60, 20}, nil},
		{"379-90-20-1", envs.Spec{Candidates: 10, Dim: 379, State: 285}, []int{90, 20}, []int32{0}},
	} {
		b.Run(shape.name, func(b *testing.B) {
			agent, err := pgcr.Config{Hidden: shape.hidden, BatchSize: 256}.New(shape.spec, seeds(1, 1))
			if err != nil {
				b.Fatal(err)
			}
			rng := envs.NewRand(1, "bench")
			update := func() {
				contexts := make([]float32, shape.spec.Candidates*shape.spec.Dim)
				for i := range contexts {
					if i < shape.spec.Dim || i%shape.spec.Dim >= shape.spec.State {
						contexts[i] = rng.Float32()
					} else {
						contexts[i] = contexts[i%shape.spec.Dim]
					}
				}
				tr := envs.Transition{
					Observation: envs.Observation{Runs: 1, Candidates: shape.spec.Candidates, Dim: shape.spec.Dim, Contexts: contexts, Session: shape.sessions},
					Actions:     []int{0}, Outcome: envs.Outcome{Reward: []float32{rng.Float32()}, Discount: []float32{0}},
				}
				if err := agent.Update(tr); err != nil {
					b.Fatal(err)
				}
			}
			for range 300 { // a history to draw from, and compilation
				update()
			}
			b.ReportAllocs()
			for b.Loop() {
				update()
			}
		})
	}
}
