package paper_test

import (
	"math"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// A linear model adds the same amount to all candidates of a state, so its
// differences are the same in all of them. A network's are not.
func TestEstimatesInStates(t *testing.T) {
	problem := kkbox.MusicState{Source: kkbox.Source{Users: 30}}
	linear, err := paper.EstimatesInStates(problem, baselines.LinUCB{Alpha: baselines.NoExploration}, 1, 60, 3)
	linear = must(t, linear, err)
	network, err := paper.EstimatesInStates(problem, neural.Greedy{}, 1, 60, 3)
	network = must(t, network, err)
	worst, least := 0., 0.
	for k := 1; k < 3; k++ {
		for i := range linear[0] {
			worst = max(worst, math.Abs(linear[k][i]-linear[0][i]))
			least = max(least, math.Abs(network[k][i]-network[0][i]))
		}
	}
	if len(linear) != 3 || len(linear[0]) != 10 || worst > 1e-6 || least < 1e-4 {
		t.Errorf("over states, %d x %d estimates differ by %v, and those of a network by %v", len(linear), len(linear[0]), worst, least)
	}
	for _, c := range []error{
		func() error {
			_, err := paper.EstimatesInStates(kkbox.MusicStateless{}, neural.Greedy{}, 1, 10, 1)
			return err
		}(),
		func() error { _, err := paper.EstimatesInStates(problem, baselines.Random{}, 1, 10, 1); return err }(),
		func() error { _, err := paper.EstimatesInStates(problem, neural.Greedy{}, 1, 2, 3); return err }(),
	} {
		if c == nil {
			t.Error("no states, no estimates, or too few steps, and no error")
		}
	}
}

// What was chosen at a visit is the latest of the state at the next.
func TestVisits(t *testing.T) {
	visits, err := paper.Visits(kkbox.MusicState{Source: kkbox.Source{Users: 30}}, 1, 5)
	visits = must(t, visits, err)
	var last []int32
	for k, v := range visits {
		want := slices.Concat(last, []int32{envs.NoItem, envs.NoItem, envs.NoItem})[:3]
		if !slices.Equal(v.State, want) || k == 0 && v.Step != 1 || k > 0 && v.Step <= visits[k-1].Step {
			t.Errorf("visit %d is %+v, want the state %v", k, v, want)
		}
		last = slices.Concat([]int32{v.Chosen}, last)
	}
	if len(visits) != 5 {
		t.Errorf("there are %d visits", len(visits))
	}
	if _, err := paper.Visits(kkbox.MusicStateless{Source: kkbox.Source{Users: 30}}, 1, 2); err == nil {
		t.Error("a problem without sessions, and no error")
	}
}
