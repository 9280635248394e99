package envtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// CheckProblem checks what package envs promises of problems, playing random
// actions. The mean of realised rewards is to be within 6 standard errors of an
// Oracle's expectations.
func CheckProblem(p envs.Problem) []Check {
	c := problemChecks{p}
	return check([]promise{
		{"shapes and numbers are right", c.shapes},
		{"slices stay as they are for as long as promised", c.slices},
		{"a run depends on its seed alone: 20 runs are 7 and 13", func() error { return stacked(dice{}, p, problemSteps) }},
		{"contexts depend on the seed and, in a bandit, on no action", c.contexts},
		{"expected rewards are the means of rewards, NaN beyond a set", c.oracle},
		{"wrong lengths panic, no seed is an error", c.refusals},
		{"the declaration has a JSON form", func() error { _, err := json.Marshal(p); return err }},
	})
}

const problemSteps = 200

type problemChecks struct{ p envs.Problem }

func (c problemChecks) shapes() error {
	spec := c.p.Spec()
	g, err := start(dice{}, c.p, 1, 2, 3)
	if err := errors.Join(spec.Validate(), err); err != nil {
		return err
	}
	first := g.env.Observe()
	first.Check(spec, 3)
	for i := range problemSteps {
		tr, err := g.decide()
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		tr.Check(spec, 3)
		err = tr.Finite()
		if (tr.Session == nil) != (first.Session == nil) || (tr.Codes == nil) != (first.Codes == nil) {
			err = errors.New("sessions or codes come and go")
		}
		for r, now := range g.past[i] {
			if d := now.Discount; d != 0 && (d != 1 || tr.Session == nil) {
				err = fmt.Errorf("the discount of run %d is %v, want 0, or 1 where there are sessions", r, d)
			}
			for k := range tr.Size(r) {
				if !slices.Equal(tr.Context(r, k)[:spec.State], tr.Context(r, 0)[:spec.State]) {
					err = fmt.Errorf("run %d: candidates 0 and %d differ in features of the state", r, k)
				}
				if tr.Codes != nil && !slices.Equal(tr.Context(r, k), expand(tr.Observation, r, k)) {
					err = fmt.Errorf("run %d: the code of candidate %d expands to another context", r, k)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func expand(obs envs.Observation, r, k int) []float32 {
	c, dst := obs.Codes, make([]float32, obs.Dim)
	s := len(c.State) / obs.Runs
	c.Table.Expand(dst, c.State[r*s:(r+1)*s], c.Items[r*obs.Candidates+k])
	return dst
}

func (c problemChecks) slices() error {
	g, err := start(dice{}, c.p, 1, 2, 3)
	for i := 0; i < problemSteps && err == nil; i++ {
		tr := envs.Transition{Observation: g.env.Observe(), Actions: g.actions, Outcome: envs.Outcome{Reward: make([]float32, 3)}}
		if err = g.act(tr.Observation); err != nil {
			return err
		}
		before := moments(tr)
		tr.Observation = g.env.Observe()
		if !slices.Equal(moments(tr), before) {
			return fmt.Errorf("step %d: a second Observe differs", i)
		}
		kept := clone(tr)
		tr.Outcome, err = g.env.Step(g.actions)
		kept.Outcome = clone(tr).Outcome
		if g.env.Observe(); err == nil && !slices.Equal(moments(tr), moments(kept)) {
			return fmt.Errorf("step %d: Step changed the observation or the actions, or Observe the outcome", i)
		}
	}
	return err
}

func (c problemChecks) contexts() error {
	g, err := play(dice{1}, c.p, []uint64{21, 22}, problemSteps, nil)
	other, err2 := play(dice{2}, c.p, []uint64{21, 22}, problemSteps, nil)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	alike := true
	for i, now := range g.past {
		if now[0].Observed != other.past[i][0].Observed && g.env.Observe().Session == nil {
			return fmt.Errorf("step %d: contexts differ after other actions", i)
		}
		alike = alike && now[0].Observed == now[1].Observed && now[0].Reward == now[1].Reward
	}
	if alike {
		return errors.New("seeds 21 and 22 give the same run")
	}
	return nil
}

func (c problemChecks) oracle() error {
	seeds := firstSeeds(20)
	g, err := start(dice{}, c.p, seeds...)
	unasked, err2 := play(dice{}, c.p, seeds, problemSteps, nil)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	oracle, ok := g.env.(envs.Oracle)
	if !ok {
		return nil
	}
	m := c.p.Spec().Candidates
	expected := make([]float64, len(seeds)*m)
	var sum, squares, size float64
	for i := range problemSteps {
		oracle.ExpectedRewards(expected)
		for k, e := range expected {
			if beyond := k%m >= g.env.Observe().Size(k/m); math.IsNaN(e) != beyond || math.IsInf(e, 0) {
				return fmt.Errorf("step %d: candidate %d of run %d expects %v", i, k%m, k/m, e)
			}
		}
		tr, err := g.decide()
		if err != nil {
			return err
		}
		for r, a := range tr.Actions {
			d := float64(tr.Reward[r]) - expected[r*m+a]
			sum, squares, size = sum+d, squares+d*d, size+math.Abs(expected[r*m+a])
		}
	}
	// Rewards are float32, which rounds them by up to 1e-7.
	if bound := 6*math.Sqrt(squares) + 1e-6*size; math.Abs(sum) > bound {
		return fmt.Errorf("rewards less their expectations sum to %.4g, more than 6 standard errors (%.4g)", sum, bound)
	}
	return cmp.Or(same(g, unasked, 0), refused("ExpectedRewards", 20*m-1, m, func() { oracle.ExpectedRewards(expected[1:]) }))
}

func (c problemChecks) refusals() error {
	env, err := c.p.New([]uint64{1, 2, 3})
	if err != nil {
		return err
	}
	if _, err := c.p.New(nil); err == nil {
		return errors.New("no error without a seed")
	}
	size := env.Observe().Size(1)
	return cmp.Or(
		refused("Step with 2 actions", 2, 3, func() { env.Step(make([]int, 2)) }),
		refused("Step beyond the set", size, size-1, func() { env.Step([]int{0, size, 0}) }),
		refused("Step with a negative action", -1, 0, func() { env.Step([]int{0, -1, 0}) }))
}
