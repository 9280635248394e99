package sim_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

func TestCheckpoints(t *testing.T) {
	for _, steps := range []int{1, 2, 9, 10, 11, 99, 100, 101, 1234, 20_000, 5_000_000, 1_000_000_000} {
		at := sim.Checkpoints(steps)
		if !slices.IsSorted(at) || len(slices.Compact(slices.Clone(at))) != len(at) {
			t.Errorf("%d steps: not strictly ascending: %v", steps, at)
		}
		if at[0] != 1 || at[len(at)-1] != steps {
			t.Errorf("%d steps: from %d to %d", steps, at[0], at[len(at)-1])
		}
		if len(at) > 220 {
			t.Errorf("%d steps: %d checkpoints", steps, len(at))
		}
		for i := 1; i < len(at); i++ {
			gap := at[i] - at[i-1]
			if gap > steps/100+1 {
				t.Errorf("%d steps: a gap from %d to %d on the linear axis", steps, at[i-1], at[i])
			}
			if gap > max(1, at[i-1]/5) {
				t.Errorf("%d steps: a gap from %d to %d on the logarithmic axis", steps, at[i-1], at[i])
			}
		}
	}
	// Counted by an awk program written from the documentation.
	if n := len(sim.Checkpoints(20_000)); n != 152 {
		t.Errorf("%d checkpoints of 20,000 steps, want 152", n)
	}
	if at := sim.Checkpoints(12); !slices.Equal(at, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) {
		t.Errorf("checkpoints of 12 steps: %v", at)
	}
}

func TestCurves(t *testing.T) {
	c := sim.NewCurves(2, []int{1, 3})
	for step := 1; step <= 3; step++ {
		x := float32(step)
		c.Record(step, envs.Transition{Outcome: envs.Outcome{Reward: []float32{x, -x}}}, []float64{0.5, float64(step)})
	}
	if want := [][]float64{{1, 1 + 2 + 3}, {-1, -1 - 2 - 3}}; !reflect.DeepEqual(c.Reward, want) {
		t.Errorf("reward %v, want %v", c.Reward, want)
	}
	if want := [][]float64{{0.5, 1.5}, {1, 1 + 2 + 3}}; !reflect.DeepEqual(c.Regret, want) {
		t.Errorf("regret %v, want %v", c.Regret, want)
	}

	blind := sim.NewCurves(1, []int{1})
	blind.Record(1, envs.Transition{Outcome: envs.Outcome{Reward: []float32{1}}}, nil)
	if blind.Regret != nil {
		t.Errorf("regret %v without an Oracle", blind.Regret)
	}
	defer func() {
		if recover() == nil {
			t.Error("a step of 2 runs went into curves of 1")
		}
	}()
	blind.Record(2, envs.Transition{Outcome: envs.Outcome{Reward: []float32{1, 2}}}, nil)
}
