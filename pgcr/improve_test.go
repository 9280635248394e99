package pgcr_test

import (
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Candidates with gains are found, in each set by its own context and in each run; a place beyond the
// size of a set counts for nothing, whatever its gain.
func TestImprove(t *testing.T) {
	const runs, sets = 2, 3
	obs := envs.Observation{Runs: runs * sets, Candidates: 3, Dim: 1}
	var gains []float32
	for range runs {
		obs.Contexts = append(obs.Contexts, 1, -1, 0, -1, 1, 0, 0, 1, -1)
		obs.Sizes = append(obs.Sizes, 2, 3, 3)
		gains = append(gains, 2, 1, 9, 1, 2, 1, 1, 2, 1)
	}
	for _, likelihood := range []bool{false, true} {
		policy, err := pgcr.Config{ActorRate: 0.05}.New(envs.Spec{Candidates: 3, Dim: 1}, []uint64{1, 2})
		if err != nil {
			t.Fatal(err)
		}
		agent := policy.(*pgcr.Agent)
		for range 300 {
			if err := agent.Improve(obs, gains, likelihood); err != nil {
				t.Fatal(err)
			}
		}
		one := envs.Observation{Runs: runs, Candidates: 3, Dim: 1, Contexts: []float32{0, 1, -1, 0, 1, -1}}
		p := make([]float64, 6)
		if err := agent.Probabilities(p, one); err != nil {
			t.Fatal(err)
		}
		// The likelihood is largest at probabilities in proportion to gains: 1/4, 1/2, 1/4.
		low, high := 0.95, 1.0
		if likelihood {
			low, high = 0.45, 0.6
		}
		if p[1] < low || p[1] > high || p[4] < low || p[4] > high {
			t.Errorf("likelihood %v: probabilities %.3f", likelihood, p)
		}
	}
}

func TestImproveChecks(t *testing.T) {
	policy, err := pgcr.Config{}.New(envs.Spec{Candidates: 2, Dim: 1}, []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, "pgcr: got 1 gains, want 2") {
			t.Errorf("panics with %q", got)
		}
	}()
	_ = policy.(*pgcr.Agent).Improve(envs.Observation{Runs: 1, Candidates: 2, Dim: 1, Contexts: []float32{1, 2}}, []float32{1}, false)
}
