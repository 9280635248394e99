package sim_test

import (
	"context"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

// What the loop and the recorder add to a step of 20 runs: environment and
// policy do next to nothing.
func BenchmarkPlay(b *testing.B) {
	const runs = 20
	seeds := make([]uint64, runs)
	env, err := doors{}.New(seeds)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	curves := sim.NewCurves(runs, sim.Checkpoints(b.N))
	if err := sim.Play(context.Background(), env, stubborn{}, b.N, curves); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/runs, "ns/run-step")
}
