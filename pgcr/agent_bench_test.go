package pgcr_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// seeds returns the numbers first ... first+n-1.
func seeds(first uint64, n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = first + uint64(i)
	}
	return s
}

// BenchmarkUpdate times the update alone, at the toy shape: a step of the
// benchmark is one update of every run. The stack is split over workers as an
// experiment splits it over the processors.
func BenchmarkUpdate(b *testing.B) {
	for _, bench := range []struct{ runs, workers int }{{1, 1}, {5, 1}, {10, 1}, {20, 1}, {20, 2}} {
		b.Run(fmt.Sprintf("R=%d/workers=%d", bench.runs, bench.workers), func(b *testing.B) {
			perRun(b, bench.runs, bench.workers, func(a envs.Policy, tr envs.Transition, _ []int) error { return a.Update(tr) })
		})
	}
}

// BenchmarkAct times decisions alone.
func BenchmarkAct(b *testing.B) {
	perRun(b, 20, 1, func(a envs.Policy, tr envs.Transition, actions []int) error { return a.Act(actions, tr.Observation) })
}

func perRun(b *testing.B, runs, workers int, step func(a envs.Policy, tr envs.Transition, actions []int) error) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for w := range workers {
		n := runs / workers
		problem := envs.Bernoulli{}
		env, err := problem.New(seeds(uint64(w*n), n))
		if err != nil {
			b.Fatal(err)
		}
		agent, err := pgcr.Config{Dropout: 0.5}.New(problem.Spec(), seeds(uint64(w*n), n))
		if err != nil {
			b.Fatal(err)
		}
		actions := make([]int, n)
		tr := envs.Transition{Observation: env.Observe(), Actions: actions, Outcome: envs.Outcome{Reward: make([]float32, n), Discount: make([]float32, n)}}
		for range 200 { // a history to draw from, and compilation
			if err := agent.Update(tr); err != nil {
				b.Fatal(err)
			}
		}
		if err := step(agent, tr, actions); err != nil {
			b.Fatal(err)
		}
		group.Add(1)
		go func() {
			defer group.Done()
			<-start
			for range b.N {
				if err := step(agent, tr, actions); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	b.ReportAllocs()
	b.ResetTimer()
	close(start)
	group.Wait()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*runs), "µs/run-step")
}
