package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// Recorder is called after each step of a simulation, step being 1 after the first, and copies what
// it wants to keep. regret is [R], the expected regret of this step; nil where there is no Oracle.
type Recorder func(step int, tr envs.Transition, regret []float64)

// Play lets the policy decide for the given number of steps, all runs together,
// and learn from each of them. rec may be nil.
//
// It stops at the first error, at an action outside the candidate set, at contexts, rewards or
// expected rewards that are not finite, and before the next step when ctx is cancelled. The error
// names the step and wraps an [envs.RunError] where it concerns one run. Wrong shapes panic.
func Play(ctx context.Context, env envs.Environment, policy envs.Policy, steps int, rec Recorder) error {
	actions := make([]int, env.Observe().Runs)
	var expected, regret []float64 // [R, M], [R]
	for step := 1; step <= steps; step++ {
		at := func(err error) error { return fmt.Errorf("step %d: %w", step, err) }
		if err := ctx.Err(); err != nil {
			return at(err)
		}
		obs := env.Observe()
		for r := range actions {
			actions[r] = -1 // a run that the policy leaves out is an error
		}
		if err := policy.Act(actions, obs); err != nil {
			return at(err)
		}
		oracle, ok := env.(envs.Oracle)
		if ok { // it speaks of this step until Step is called
			if regret == nil {
				expected, regret = make([]float64, obs.Runs*obs.Candidates), make([]float64, obs.Runs)
			}
			oracle.ExpectedRewards(expected)
		}
		for r, a := range actions {
			if n := obs.Size(r); a < 0 || a >= n {
				return at(&envs.RunError{Run: r, Err: fmt.Errorf("the policy chose action %d of %d candidates", a, n)})
			} else if ok {
				set := expected[r*obs.Candidates:][:n]
				if regret[r] = slices.Max(set) - set[a]; regret[r]*0 != 0 {
					return at(&envs.RunError{Run: r, Err: fmt.Errorf("the expected rewards are %v", set)})
				}
			}
		}
		out, err := env.Step(actions)
		if err != nil {
			return at(err)
		}
		tr := envs.Transition{Observation: obs, Actions: actions, Outcome: out}
		if err := tr.Check(envs.Spec{Candidates: obs.Candidates, Dim: obs.Dim}, len(actions)); err != nil {
			return at(err)
		}
		if err := policy.Update(tr); err != nil {
			return at(err)
		}
		if rec != nil {
			rec(step, tr, regret)
		}
	}
	return nil
}

// Player plays an algorithm in a problem, one run a seed.
type Player func(ctx context.Context, problem envs.Problem, problemSeeds []uint64,
	algorithm envs.Algorithm, policySeeds []uint64, steps int, rec Recorder) error

// PlayRuns is a Player by Play.
func PlayRuns(ctx context.Context, problem envs.Problem, problemSeeds []uint64,
	algorithm envs.Algorithm, policySeeds []uint64, steps int, rec Recorder) error {
	env, err := problem.New(problemSeeds)
	if err != nil {
		return err
	}
	policy, err := algorithm.New(problem.Spec(), policySeeds)
	if err = cmp.Or(env.Observe().Check(problem.Spec(), len(problemSeeds)), err); err != nil {
		return err
	}
	return Play(ctx, env, policy, steps, rec)
}

// Checkpoints returns the steps at which curves are kept, ascending; the last is
// steps itself. They are 100 evenly spaced ones, for linear axes, and ones that
// grow by a fifth, for logarithmic axes: every step up to 10, then 12, 14, ...
func Checkpoints(steps int) []int {
	var at []int
	for i := 1; i <= 100; i++ {
		if s := steps/100*i + steps%100*i/100; s > 0 { // steps*i may not fit a 32-bit int
			at = append(at, s)
		}
	}
	for s := 1; s < steps; s += max(1, s/5) {
		at = append(at, s)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// Curves cumulate reward and expected regret run by run and keep them at checkpoints.
// Their method Record is a Recorder.
type Curves struct {
	Checkpoints []int
	Reward      [][]float64 // [run][checkpoint]
	Regret      [][]float64 // [run][checkpoint]; nil where there is no Oracle

	step           int       // the last that was recorded
	reward, regret []float64 // [run], up to that step
}

// NewCurves makes the empty curves of that many runs, kept at ascending steps.
func NewCurves(runs int, checkpoints []int) *Curves {
	return &Curves{Checkpoints: checkpoints, Reward: make([][]float64, runs), reward: make([]float64, runs)}
}

// Record adds one step.
func (c *Curves) Record(step int, tr envs.Transition, regret []float64) {
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
