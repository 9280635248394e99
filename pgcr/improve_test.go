package pgcr_test

import (
	"math"
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
	for i := range 4 {
		likelihood, c := i%2 == 1, pgcr.Config{ActorRate: 0.05}
		if i > 1 {
			c.Hidden = []int{}
		}
		policy, err := c.New(envs.Spec{Candidates: 3, Dim: 1}, []uint64{1, 2})
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
		// Without a hidden layer it is the softmax of the contexts times a weight.
		actor, _, err := agent.Weights()
		if odds := math.Log(p[1] / p[2]); err != nil || i > 1 && math.Abs(odds-2*float64(actor[0][0])) > 1e-4 {
			t.Errorf("log odds %v of contexts 1 and -1 with weights %v, %v", odds, actor, err)
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
