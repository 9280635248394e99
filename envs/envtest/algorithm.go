package envtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// TestAlgorithm checks that policies of a, playing p, keep the promises of
// package envs:
//
//   - every action is written and is in [0, M);
//   - Act and Update leave their arguments alone and keep no reference to them;
//   - a seed determines a run: policies do not share anything;
//   - 20 runs are 7 and 13 runs and 20 single ones, bit for bit;
//   - Update needs no Act before it, and may come late;
//   - where observations have codes, the choices are those without;
//   - among candidates that are all alike, the first choice is made at random:
//     over the seeds it hits every index;
//   - a spec that is not valid and a missing seed are errors;
//   - an observation or transition of another shape is refused with a panic or
//     an error, never taken in silence;
//   - the declaration has a JSON form and is not changed by use.
//
// p should itself pass TestProblem. Each broken promise is reported by one
// t.Errorf.
func (s Suite) TestAlgorithm(t testing.TB, a envs.Algorithm, p envs.Problem) {
	t.Helper()
	report(t, s.CheckAlgorithm(a, p))
}

func (s Suite) algorithmChecks(a envs.Algorithm, p envs.Problem) []check {
	const first = "actions are candidates"
	spec, failed := specOf(p, first)
	if failed != nil {
		return failed
	}
	c := algorithmChecks{declared: a, a: watchedAlgorithm{a}, p: watchedProblem{p, spec}, spec: spec, steps: s.steps()}
	return []check{
		{first, c.actions},
		{"arguments are left alone", c.arguments},
		{"no reference is kept", c.references},
		{"a seed determines a run", c.seeds},
		{"runs do not depend on how they are stacked", c.chunks},
		{"feedback may come late", c.feedback},
		{"codes stand for contexts", c.codes},
		{"ties are broken at random", c.ties},
		{"bad specs and seeds are errors", c.specs},
		{"other shapes are refused", c.refusals},
		{"the declaration is a value with a JSON form", c.declaration},
	}
}

type algorithmChecks struct {
	declared envs.Algorithm
	a        watchedAlgorithm // the declared one
	p        envs.Problem
	spec     envs.Spec
	steps    int
}

// game is a policy in its environment.
type game struct {
	env     envs.Environment
	policy  envs.Policy
	actions []int
	traces  []trace
}

func (c algorithmChecks) start(seeds []uint64) (*game, error) {
	env, err := c.p.New(seeds)
	if err != nil {
		return nil, err
	}
	policy, err := c.a.New(c.spec, seeds)
	if err != nil {
		return nil, err
	}
	return &game{env: env, policy: policy, actions: make([]int, len(seeds)), traces: make([]trace, len(seeds))}, nil
}

// step plays one step as a simulation does, with the environment's own buffers.
func (g *game) step() error {
	obs := g.env.Observe()
	if err := g.act(obs); err != nil {
		return err
	}
	seen := cloneObservation(obs)
	out, err := g.env.Step(g.actions)
	if err != nil {
		return err
	}
	for r := range g.traces {
		g.traces[r].record(r, seen, g.actions, out)
	}
	if err := g.policy.Update(envs.Transition{Observation: obs, Actions: g.actions, Outcome: out}); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}

// act fills g.actions and wants every one to be a candidate.
func (g *game) act(obs envs.Observation) error {
	for r := range g.actions {
		g.actions[r] = math.MinInt
	}
	if err := g.policy.Act(g.actions, obs); err != nil {
		return fmt.Errorf("act: %w", err)
	}
	for r, a := range g.actions {
		if a == math.MinInt {
			return fmt.Errorf("no action was written for run %d", r)
		}
		if a < 0 || a >= obs.Candidates {
			return fmt.Errorf("action %d of run %d is outside the %d candidates", a, r, obs.Candidates)
		}
	}
	return nil
}

func (c algorithmChecks) play(seeds []uint64) ([]trace, error) {
	g, err := c.start(seeds)
	if err != nil {
		return nil, err
	}
	for i := range c.steps {
		if err := g.step(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return g.traces, nil
}

func (c algorithmChecks) actions() error {
	_, err := c.play([]uint64{1, 2, 3})
	return err
}

func (c algorithmChecks) arguments() error {
	g, err := c.start([]uint64{1, 2, 3})
	if err != nil {
		return err
	}
	for i := range c.steps {
		obs := g.env.Observe()
		seen := cloneObservation(obs)
		if err := g.act(obs); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if !sameObservation(obs, seen) {
			return fmt.Errorf("step %d: Act changed the observation", i)
		}
		actions := slices.Clone(g.actions)
		out, err := g.env.Step(g.actions)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		followed := cloneOutcome(out)
		if err := g.policy.Update(envs.Transition{Observation: obs, Actions: g.actions, Outcome: out}); err != nil {
			return fmt.Errorf("step %d: update: %w", i, err)
		}
		if !sameObservation(obs, seen) || !slices.Equal(g.actions, actions) || !sameOutcome(out, followed) {
			return fmt.Errorf("step %d: Update changed the transition", i)
		}
	}
	return nil
}

// references plays two equal games. In one of them everything that is handed to
// the policy is overwritten as soon as the call returns.
func (c algorithmChecks) references() error {
	seeds := []uint64{31, 32, 33}
	plain, err := c.start(seeds)
	if err != nil {
		return err
	}
	hostile, err := c.start(seeds)
	if err != nil {
		return err
	}
	for i := range c.steps {
		if err := plain.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		lent := cloneObservation(hostile.env.Observe())
		if err := hostile.act(lent); err != nil {
			return fmt.Errorf("step %d, after overwriting: %w", i, err)
		}
		overwrite(lent)
		actions := slices.Clone(hostile.actions)
		for r := range hostile.actions {
			hostile.actions[r] = -1
			if want := plain.traces[r].actions[i]; actions[r] != want {
				return fmt.Errorf("step %d, run %d: action %d in place of %d after overwriting what the policy was given", i, r, actions[r], want)
			}
		}
		tr := envs.Transition{Observation: cloneObservation(hostile.env.Observe()), Actions: slices.Clone(actions)}
		out, err := hostile.env.Step(actions)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		tr.Outcome = cloneOutcome(out)
		if err := hostile.policy.Update(tr); err != nil {
			return fmt.Errorf("step %d, after overwriting: update: %w", i, err)
		}
		overwrite(tr.Observation)
		for r := range tr.Actions {
			tr.Actions[r], tr.Reward[r], tr.Discount[r] = -1, float32(math.NaN()), float32(math.NaN())
		}
	}
	return nil
}

func overwrite(obs envs.Observation) {
	for i := range obs.Contexts {
		obs.Contexts[i] = float32(math.NaN())
	}
	for r := range obs.Session {
		obs.Session[r] = -1
	}
	if obs.Codes != nil {
		for i := range obs.Codes.Items {
			obs.Codes.Items[i] = math.MaxInt32
		}
		for i := range obs.Codes.State {
			obs.Codes.State[i] = math.MaxInt32
		}
		obs.Codes.Table = nil
	}
}

func (c algorithmChecks) seeds() error {
	seeds := []uint64{11, 12, 13}
	var games [2]*game
	for i := range games {
		var err error
		if games[i], err = c.start(seeds); err != nil {
			return err
		}
	}
	// In turns, so that anything the two share shows.
	for i := range c.steps {
		for _, g := range games {
			if err := g.step(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
	}
	for r := range seeds {
		if err := games[0].traces[r].compare(games[1].traces[r]); err != nil {
			return fmt.Errorf("two policies with equal seeds: run %d: %w", r, err)
		}
	}
	return nil
}

func (c algorithmChecks) chunks() error { return checkChunks(c.play) }

// feedback hands over the transitions of another policy, a random one, three
// steps late, and lets the policy act only now and then.
func (c algorithmChecks) feedback() error {
	seeds := []uint64{41, 42}
	g, err := c.start(seeds)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(43, 0))
	var late []envs.Transition
	for i := range c.steps {
		obs := g.env.Observe()
		if i%5 == 4 {
			if err := g.act(obs); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		actions := []int{rng.IntN(c.spec.Candidates), rng.IntN(c.spec.Candidates)}
		tr := envs.Transition{Observation: cloneObservation(obs), Actions: actions}
		out, err := g.env.Step(actions)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		tr.Outcome = cloneOutcome(out)
		if late = append(late, tr); len(late) > 3 {
			if err := g.policy.Update(late[0]); err != nil {
				return fmt.Errorf("step %d: update: %w", i, err)
			}
			late = late[1:]
		}
	}
	return nil
}

// codes plays two equal games, one of them with codes that are overwritten as
// soon as the policy has seen them.
func (c algorithmChecks) codes() error {
	seeds := []uint64{21, 22}
	plain, err := c.play(seeds)
	if err != nil {
		return err
	}
	withCodes := c
	withCodes.p = coded{c.p}
	g, err := withCodes.start(seeds)
	if err != nil {
		return err
	}
	for i := range c.steps {
		obs := g.env.Observe()
		lent := cloneObservation(obs)
		if err := g.act(lent); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		overwrite(lent)
		for r, action := range g.actions {
			if want := plain[r].actions[i]; action != want {
				return fmt.Errorf("step %d, run %d: action %d with codes, %d without", i, r, action, want)
			}
		}
		out, err := g.env.Step(g.actions)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		lent = cloneObservation(obs)
		if err := g.policy.Update(envs.Transition{Observation: lent, Actions: g.actions, Outcome: out}); err != nil {
			return fmt.Errorf("step %d: update: %w", i, err)
		}
		overwrite(lent)
	}
	return nil
}

func (c algorithmChecks) ties() error {
	// With 16 seeds a candidate, an index is missed by chance in about one of
	// 1e6 sets of seeds.
	seeds := make([]uint64, 16*c.spec.Candidates)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	g, err := c.start(seeds)
	if err != nil {
		return err
	}
	obs := cloneObservation(g.env.Observe())
	size := obs.Candidates * obs.Dim
	for i := range obs.Contexts {
		obs.Contexts[i] = obs.Contexts[i-i%size+i%obs.Dim] // the run's first candidate
	}
	if err := g.act(obs); err != nil {
		return err
	}
	hits := make([]int, obs.Candidates)
	for _, a := range g.actions {
		hits[a]++
	}
	if slices.Contains(hits, 0) {
		return fmt.Errorf("over %d seeds the candidates were chosen %v times; among equal ones the policy is to draw, with envs.NewRand of the run's seed", len(seeds), hits)
	}
	return nil
}

func (c algorithmChecks) specs() error {
	bad := []envs.Spec{
		{},
		{Candidates: 0, Dim: c.spec.Dim},
		{Candidates: -c.spec.Candidates, Dim: c.spec.Dim},
		{Candidates: c.spec.Candidates, Dim: 0},
		{Candidates: c.spec.Candidates, Dim: -c.spec.Dim},
		{Candidates: c.spec.Candidates, Dim: c.spec.Dim, State: -1},
		{Candidates: c.spec.Candidates, Dim: c.spec.Dim, State: c.spec.Dim},
	}
	for _, spec := range bad {
		if _, err := c.a.New(spec, []uint64{1}); err == nil {
			return fmt.Errorf("no error for %+v", spec)
		}
	}
	if _, err := c.a.New(c.spec, nil); err == nil {
		return errors.New("no error without a seed")
	}
	return nil
}

// refusals hands over what does not fit, to a fresh policy each time, since a
// policy owes nothing after a panic.
func (c algorithmChecks) refusals() error {
	const runs = 3
	m, d := c.spec.Candidates, c.spec.Dim
	observation := func(runs, m, d int) envs.Observation {
		obs := envs.Observation{Runs: runs, Candidates: m, Dim: d, Contexts: make([]float32, runs*m*d)}
		if c.spec.State > 0 {
			obs.Session = make([]int32, runs)
		}
		return obs
	}
	transition := func(actions, rewards, discounts int) envs.Transition {
		return envs.Transition{
			Observation: observation(runs, m, d),
			Actions:     make([]int, actions),
			Outcome:     envs.Outcome{Reward: make([]float32, rewards), Discount: make([]float32, discounts)},
		}
	}
	short := observation(runs, m, d)
	short.Contexts = short.Contexts[1:]
	type call struct {
		what string
		do   func(envs.Policy) error
	}
	calls := []call{
		{"Act with too few places for actions", func(p envs.Policy) error { return p.Act(make([]int, runs-1), observation(runs, m, d)) }},
		{"Act with too many places for actions", func(p envs.Policy) error { return p.Act(make([]int, runs+1), observation(runs, m, d)) }},
		{"Update with too few actions", func(p envs.Policy) error { return p.Update(transition(runs-1, runs, runs)) }},
		{"Update with too few rewards", func(p envs.Policy) error { return p.Update(transition(runs, runs-1, runs)) }},
		{"Update with too few discounts", func(p envs.Policy) error { return p.Update(transition(runs, runs, runs-1)) }},
		{"Update with an action that is no candidate", func(p envs.Policy) error {
			tr := transition(runs, runs, runs)
			tr.Actions[1] = m
			return p.Update(tr)
		}},
	}
	for _, other := range []struct {
		what string
		obs  envs.Observation
	}{
		{"one dimension more", observation(runs, m, d+1)},
		{"one dimension less", observation(runs, m, d-1)},
		{"one candidate more", observation(runs, m+1, d)},
		{"one candidate less", observation(runs, m-1, d)},
		{"one run more", observation(runs+1, m, d)},
		{"one run less", observation(runs-1, m, d)},
		{"one context value less", short},
	} {
		calls = append(calls,
			call{"Act with " + other.what, func(p envs.Policy) error { return p.Act(make([]int, other.obs.Runs), other.obs) }},
			call{"Update with " + other.what, func(p envs.Policy) error {
				tr := transition(other.obs.Runs, other.obs.Runs, other.obs.Runs)
				tr.Observation = other.obs
				return p.Update(tr)
			}})
	}
	for _, call := range calls {
		policy, err := c.a.New(c.spec, []uint64{1, 2, 3})
		if err != nil {
			return err
		}
		if !refuses(func() error { return call.do(policy) }) {
			return fmt.Errorf("%s was taken in silence", call.what)
		}
	}
	return nil
}

func (c algorithmChecks) declaration() error {
	return checkJSON(c.declared, func() error { _, err := c.play([]uint64{1, 2}); return err })
}
