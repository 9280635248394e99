package sim

import (
	"context"
	"fmt"
	"math"

	"github.com/contextrec/contextrec/envs"
)

// Recorder sees every step of a simulation. It copies what it wants to keep.
type Recorder interface {
	// Record is called after each step, step being 1 after the first. regret is
	// [R], the expected regret of this step; nil where there is no Oracle.
	Record(step int, tr envs.Transition, regret []float64)
}

// RecorderFunc makes a Recorder of a function.
type RecorderFunc func(step int, tr envs.Transition, regret []float64)

// Record calls f.
func (f RecorderFunc) Record(step int, tr envs.Transition, regret []float64) { f(step, tr, regret) }

// Play lets the policy decide for the given number of steps, all runs together,
// and learn from each of them. rec may be nil.
//
// It stops at the first error of policy or environment, at an action outside the
// candidate set, and at a reward or an expected reward that is not finite. The
// error names the step and wraps an [envs.RunError] where it concerns one run.
// When ctx is cancelled, Play stops before the next step with ctx.Err().
func Play(ctx context.Context, env envs.Environment, policy envs.Policy, steps int, rec Recorder) error {
	actions := make([]int, env.Observe().Runs)
	var expected, regret []float64 // [R, M], [R]
	for step := 1; step <= steps; step++ {
		if err := ctx.Err(); err != nil {
			return &stepError{step, err}
		}
		obs := env.Observe()
		for r := range actions {
			actions[r] = -1 // a run that the policy leaves out is an error
		}
		if err := policy.Act(actions, obs); err != nil {
			return &stepError{step, err}
		}
		for r, a := range actions {
			if a < 0 || a >= obs.Size(r) {
				return &stepError{step, runError(r, "the policy chose action %d of %d candidates", a, obs.Size(r))}
			}
		}
		if oracle, ok := env.(envs.Oracle); ok { // while it still speaks of this step
			if expected == nil {
				expected, regret = make([]float64, obs.Runs*obs.Candidates), make([]float64, obs.Runs)
			}
			oracle.ExpectedRewards(expected)
			if err := setRegret(regret, expected, actions, obs); err != nil {
				return &stepError{step, err}
			}
		}
		out, err := env.Step(actions)
		if err != nil {
			return &stepError{step, err}
		}
		for r, reward := range out.Reward {
			if !finite(float64(reward)) {
				return &stepError{step, runError(r, "the reward is %v", reward)}
			}
		}
		tr := envs.Transition{Observation: obs, Actions: actions, Outcome: out}
		if err := policy.Update(tr); err != nil {
			return &stepError{step, err}
		}
		if rec != nil {
			rec.Record(step, tr, regret)
		}
	}
	return nil
}

// setRegret writes the expected regret of the actions: the largest expected
// reward of the candidate set less that of the chosen one.
func setRegret(regret, expected []float64, actions []int, obs envs.Observation) error {
	for r, a := range actions {
		set := expected[r*obs.Candidates:][:obs.Size(r)]
		best := set[a]
		for i, x := range set {
			if !finite(x) {
				return runError(r, "the expected reward of candidate %d is %v", i, x)
			}
			best = max(best, x)
		}
		regret[r] = best - set[a]
	}
	return nil
}

func runError(run int, format string, args ...any) error {
	return &envs.RunError{Run: run, Err: fmt.Errorf(format, args...)}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// stepError is an error of one step, 1 being the first.
type stepError struct {
	step int
	err  error
}

func (e *stepError) Error() string { return fmt.Sprintf("step %d: %v", e.step, e.err) }
func (e *stepError) Unwrap() error { return e.err }
