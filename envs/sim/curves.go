package sim

import (
	"fmt"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// Checkpoints returns the steps at which the curves of a simulation of the given
// length are kept, ascending; the last is steps itself. They are the union of 100
// evenly spaced steps, for linear axes, and of steps that grow by a fifth each,
// for logarithmic ones: every step up to 10, then 12, 14, ... About 150 for
// 20,000 steps. Integer arithmetic, the same on all machines.
func Checkpoints(steps int) []int {
	var at []int
	for i := 1; i <= 100; i++ {
		at = append(at, steps/100*i+steps%100*i/100) // steps*i may not fit a 32-bit int
	}
	for s := 1; s < steps; s += max(1, s/5) {
		at = append(at, s)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) > 0 && at[0] == 0 { // fewer than 100 steps
		at = at[1:]
	}
	return at
}

// Curves is a Recorder that cumulates reward and expected regret run by run and
// keeps them at checkpoints.
type Curves struct {
	Checkpoints []int
	Reward      [][]float64 // [run][checkpoint]
	Regret      [][]float64 // [run][checkpoint]; nil where there is no Oracle

	step           int       // the last that was recorded
	reward, regret []float64 // [run], up to that step
}

// NewCurves makes the empty curves of that many runs, kept at the given ascending
// steps ([Checkpoints] makes some).
func NewCurves(runs int, checkpoints []int) *Curves {
	return &Curves{Checkpoints: checkpoints, Reward: make([][]float64, runs), reward: make([]float64, runs)}
}

// Record adds one step. It panics when the step has another number of runs.
func (c *Curves) Record(step int, tr envs.Transition, regret []float64) {
	if len(tr.Reward) != len(c.reward) || regret != nil && len(regret) != len(c.reward) {
		panic(fmt.Sprintf("sim: got %d rewards and %d regrets, want %d", len(tr.Reward), len(regret), len(c.reward)))
	}
	if regret != nil && c.regret == nil {
		c.Regret, c.regret = make([][]float64, len(c.reward)), make([]float64, len(c.reward))
	}
	c.step = step
	_, keep := slices.BinarySearch(c.Checkpoints, step)
	for r, x := range tr.Reward {
		c.reward[r] += float64(x)
		if keep {
			c.Reward[r] = append(c.Reward[r], c.reward[r])
		}
	}
	for r, x := range regret {
		c.regret[r] += x
		if keep {
			c.Regret[r] = append(c.Regret[r], c.regret[r])
		}
	}
}
