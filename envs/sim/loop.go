package sim

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// Recorder sees every step of a simulation. It must not modify what it is
// shown, and must copy what it wants to keep.
type Recorder interface {
	// Record is called after each step, step being 1 after the first. regret is
	// [R], the expected regret of this step; nil where there is no Oracle.
	Record(step int, tr envs.Transition, regret []float64)
}

// RecorderFunc makes a Recorder of a function.
type RecorderFunc func(step int, tr envs.Transition, regret []float64)

// Record calls f.
func (f RecorderFunc) Record(step int, tr envs.Transition, regret []float64) { f(step, tr, regret) }

// Play lets the policy decide for the given number of steps, all runs in
// lockstep, and learn from each of them. rec may be nil.
//
// It stops at the first error of policy or environment, at an action outside
// the candidates, and at a reward or an expected reward that is not finite. The
// error is a [StepError], which wraps an [envs.RunError] where one run is to
// blame. When ctx is cancelled, it stops before the next step and wraps
// ctx.Err(). Panics of policy and environment pass through.
func Play(ctx context.Context, env envs.Environment, policy envs.Policy, steps int, rec Recorder) error {
	t := table{env: env, policy: policy}
	t.oracle, _ = env.(envs.Oracle)
	for step := 1; step <= steps; step++ {
		if err := ctx.Err(); err != nil {
			return &StepError{step, err}
		}
		tr, regret, err := t.step()
		if err != nil {
			return &StepError{step, err}
		}
		if rec != nil {
			rec.Record(step, tr, regret)
		}
	}
	return nil
}

// StepError is an error of one step, 1 being the first.
type StepError struct {
	Step int
	Err  error
}

func (e *StepError) Error() string { return fmt.Sprintf("step %d: %v", e.Step, e.Err) }

// Unwrap returns the error without the step.
func (e *StepError) Unwrap() error { return e.Err }

// table is where environment and policy meet.
type table struct {
	env    envs.Environment
	oracle envs.Oracle // nil where the environment has none
	policy envs.Policy

	actions  []int     // [R]
	expected []float64 // [R, M]
	regret   []float64 // [R]
}

// step observes, acts, asks the oracle while it still speaks of this step,
// steps and updates.
func (t *table) step() (tr envs.Transition, regret []float64, err error) {
	obs := t.env.Observe()
	t.actions = slices.Grow(t.actions[:0], obs.Runs)[:obs.Runs]
	for r := range t.actions {
		t.actions[r] = -1 // a policy that leaves a run out is found out
	}
	if err := t.policy.Act(t.actions, obs); err != nil {
		return tr, nil, err
	}
	for r, a := range t.actions {
		if a < 0 || a >= obs.Candidates {
			return tr, nil, &envs.RunError{Run: r, Err: fmt.Errorf("policy chose action %d of %d candidates", a, obs.Candidates)}
		}
	}
	if t.oracle != nil {
		if regret, err = t.expect(obs); err != nil {
			return tr, nil, err
		}
	}
	out, err := t.env.Step(t.actions)
	if err != nil {
		return tr, nil, err
	}
	if len(out.Reward) != obs.Runs || len(out.Discount) != obs.Runs {
		return tr, nil, fmt.Errorf("environment returned %d rewards and %d discounts to %d runs", len(out.Reward), len(out.Discount), obs.Runs)
	}
	for r, reward := range out.Reward {
		if !finite(float64(reward)) {
			return tr, nil, &envs.RunError{Run: r, Err: fmt.Errorf("reward is %v", reward)}
		}
		if d := out.Discount[r]; !(d >= 0 && d <= 1) {
			return tr, nil, &envs.RunError{Run: r, Err: fmt.Errorf("discount is %v, want 0 to 1", d)}
		}
	}
	tr = envs.Transition{Observation: obs, Actions: t.actions, Outcome: out}
	return tr, regret, t.policy.Update(tr)
}

// expect returns the expected regret of the actions, [R]: the largest expected
// reward less that of the chosen candidate.
func (t *table) expect(obs envs.Observation) ([]float64, error) {
	n := obs.Runs * obs.Candidates
	t.expected = slices.Grow(t.expected[:0], n)[:n]
	t.regret = slices.Grow(t.regret[:0], obs.Runs)[:obs.Runs]
	t.oracle.ExpectedRewards(t.expected)
	for r, a := range t.actions {
		expected := t.expected[r*obs.Candidates:][:obs.Candidates]
		for i, e := range expected {
			if !finite(e) {
				return nil, &envs.RunError{Run: r, Err: fmt.Errorf("expected reward of candidate %d is %v", i, e)}
			}
		}
		t.regret[r] = slices.Max(expected) - expected[a]
	}
	return t.regret, nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
