package envtest

import (
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
		{"other seeds give other runs", c.seeds},
		{"contexts of a bandit do not depend on the actions", c.pairs},
		{"expected rewards are the means of rewards, NaN beyond a set", c.oracle},
		{"codes expand to the contexts", c.codes},
		{"wrong lengths panic, no seed is an error", c.refusals},
		{"the declaration has a JSON form and is not changed by use", func() error { return unchanged(p, c.shapes) }},
	})
}

const problemSteps = 200

type problemChecks struct{ p envs.Problem }

// each plays 3 runs and calls look with every transition.
func (c problemChecks) each(look func(tr envs.Transition) error) error {
	g, err := start(dice{}, c.p, 1, 2, 3)
	for i := 0; i < problemSteps && err == nil; i++ {
		var tr envs.Transition
		if tr, err = g.decide(); err == nil {
			err = look(tr)
		}
		if err != nil {
			err = fmt.Errorf("step %d: %w", i, err)
		}
	}
	return err
}

func (c problemChecks) shapes() error {
	spec := c.p.Spec()
	if err := spec.Validate(); err != nil {
		return err
	}
	env, err := c.p.New([]uint64{1, 2, 3})
	if err != nil {
		return err
	}
	first := env.Observe()
	first.Check(spec, 3)
	return c.each(func(tr envs.Transition) error {
		tr.Check(spec, 3)
		if (tr.Session == nil) != (first.Session == nil) || (tr.Codes == nil) != (first.Codes == nil) {
			return errors.New("sessions or codes come and go")
		}
		for r, now := range moments(tr) {
			if d := now.Discount; d != 0 && (d != 1 || tr.Session == nil) {
				return fmt.Errorf("the discount of run %d is %v, want 0, or 1 where there are sessions", r, d)
			}
			for k := range tr.Size(r) {
				if !slices.Equal(tr.Context(r, k)[:spec.State], tr.Context(r, 0)[:spec.State]) {
					return fmt.Errorf("run %d: candidates 0 and %d differ in features of the state", r, k)
				}
			}
		}
		return tr.Finite()
	})
}

func (c problemChecks) slices() error {
	g, err := start(dice{}, c.p, 1, 2, 3)
	if err != nil {
		return err
	}
	for i := range problemSteps {
		obs := g.env.Observe()
		kept := clone(envs.Transition{Observation: obs, Actions: g.actions, Outcome: envs.Outcome{Reward: make([]float32, 3)}})
		again := kept
		again.Observation = g.env.Observe()
		if !slices.Equal(moments(again), moments(kept)) {
			return fmt.Errorf("step %d: a second Observe differs", i)
		}
		if err := g.act(obs); err != nil {
			return err
		}
		kept.Actions = slices.Clone(g.actions)
		if kept.Outcome, err = g.env.Step(g.actions); err != nil {
			return err
		}
		tr := envs.Transition{Observation: obs, Actions: g.actions, Outcome: kept.Outcome}
		kept = clone(kept)
		g.env.Observe()
		if !slices.Equal(moments(tr), moments(kept)) {
			return fmt.Errorf("step %d: Step changed the observation or the actions, or Observe the outcome", i)
		}
	}
	return nil
}

func (c problemChecks) seeds() error {
	g, err := play(dice{}, c.p, []uint64{1, 2}, problemSteps, nil)
	for _, now := range g.past {
		now[1].Action = now[0].Action // the dice have seeds too
		if now[0] != now[1] {
			return err
		}
	}
	return errors.Join(err, errors.New("seeds 1 and 2 give the same run"))
}

func (c problemChecks) pairs() error {
	seeds := []uint64{21, 22, 23}
	one, err := play(dice{1}, c.p, seeds, problemSteps, nil)
	other, err2 := play(dice{2}, c.p, seeds, problemSteps, nil)
	if err := errors.Join(err, err2); err != nil || one.env.Observe().Session != nil {
		return err
	}
	for i := range one.past {
		for r := range seeds {
			if one.past[i][r].Observed != other.past[i][r].Observed {
				return fmt.Errorf("step %d, run %d: contexts differ after other actions", i, r)
			}
		}
	}
	return nil
}

func (c problemChecks) oracle() error {
	seeds := make([]uint64, 20)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	g, err := start(dice{}, c.p, seeds...)
	if err != nil {
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
			if beyond := k%m >= g.env.Observe().Size(k / m); math.IsNaN(e) != beyond || math.IsInf(e, 0) {
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
	unasked, err := play(dice{}, c.p, seeds, problemSteps, nil)
	for r := range seeds {
		if err == nil {
			err = same(g, unasked, r, r)
		}
	}
	return errors.Join(err, refused("ExpectedRewards", m*20-1, m, func() { oracle.ExpectedRewards(expected[1:]) }))
}

func (c problemChecks) codes() error {
	var table envs.Table
	dst := make([]float32, c.p.Spec().Dim)
	return c.each(func(tr envs.Transition) error {
		codes := tr.Codes
		if codes == nil {
			return nil
		}
		if table == nil {
			table = codes.Table
		}
		if codes.Table != table || len(codes.Items) != tr.Runs*tr.Candidates || len(codes.State)%tr.Runs != 0 {
			return fmt.Errorf("another table, or %d items and %d states for %d runs of %d candidates",
				len(codes.Items), len(codes.State), tr.Runs, tr.Candidates)
		}
		states := len(codes.State) / tr.Runs
		for r := range tr.Runs {
			for k := range tr.Size(r) {
				item := codes.Items[r*tr.Candidates+k]
				table.Expand(dst, codes.State[r*states:(r+1)*states], item)
				if !slices.Equal(dst, tr.Context(r, k)) {
					return fmt.Errorf("candidate %d of run %d: code %d expands to another context", k, r, item)
				}
			}
		}
		return nil
	})
}

func (c problemChecks) refusals() error {
	env, err := c.p.New([]uint64{1, 2, 3})
	if err != nil {
		return err
	}
	if _, none := c.p.New(nil); none == nil {
		return errors.New("no error without a seed")
	}
	size := env.Observe().Size(1)
	return errors.Join(
		refused("Step with 2 actions", 2, 3, func() { env.Step(make([]int, 2)) }),
		refused("Step with 4 actions", 4, 3, func() { env.Step(make([]int, 4)) }),
		refused("Step beyond the set", size, size-1, func() { env.Step([]int{0, size, 0}) }),
		refused("Step with a negative action", -1, 0, func() { env.Step([]int{0, -1, 0}) }))
}
