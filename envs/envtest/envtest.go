// Package envtest tests implementations of the protocol of package envs, as
// testing/fstest tests file systems:
//
//	envtest.TestProblem(t, envs.Linear{})
//	envtest.TestAlgorithm(t, baselines.LinUCB{}, envs.Linear{})
//
// Outside of tests, CheckProblem and CheckAlgorithm return what those report.
// Seeds are fixed, so a check passes or fails the same way each time.
package envtest

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// Check is a promise of the protocol and what breaks it.
type Check struct {
	Promise string
	Err     error // nil: the promise is kept
}

// TestProblem reports every promise of CheckProblem that p breaks.
func TestProblem(t testing.TB, p envs.Problem) {
	t.Helper()
	report(t, CheckProblem(p))
}

// TestAlgorithm reports every promise of CheckAlgorithm that a breaks in p.
func TestAlgorithm(t testing.TB, a envs.Algorithm, p envs.Problem, steps ...int) {
	t.Helper()
	report(t, CheckAlgorithm(a, p, steps...))
}

func report(t testing.TB, checks []Check) {
	t.Helper()
	for _, c := range checks {
		if c.Err != nil {
			t.Errorf("%s: %v", c.Promise, c.Err)
		}
	}
}

type promise struct {
	text string
	kept func() error
}

// check makes all checks, but stops where the first fails: the others would
// repeat what it says. A panic is an error with its stack.
func check(promises []promise) (done []Check) {
	for i := 0; i < len(promises) && (i < 1 || done[0].Err == nil); i++ {
		c := Check{Promise: promises[i].text}
		func() {
			defer func() {
				if v := recover(); v != nil {
					c.Err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
				}
			}()
			c.Err = promises[i].kept()
		}()
		done = append(done, c)
	}
	return done
}

// refused returns an error unless f panics, naming a package and both numbers.
func refused(what string, got, want int, f func()) (err error) {
	defer func() {
		v := recover()
		text, _ := v.(string)
		numbers := regexp.MustCompile(`-?\d+`).FindAllString(text, -1)
		if !regexp.MustCompile(`^\w+: `).MatchString(text) ||
			!slices.Contains(numbers, fmt.Sprint(got)) || !slices.Contains(numbers, fmt.Sprint(want)) {
			err = fmt.Errorf("%s: panic %v, want one like \"envs: %d runs, want %d\"", what, v, got, want)
		}
	}()
	f()
	return nil
}

// moment is what one run shows at one step.
type moment struct {
	Observed         uint64 // hash
	Action           int
	Reward, Discount float32
}

var hashSeed = maphash.MakeSeed()

// hash sums up what run r observes, without what is beyond the size of its set.
func hash(obs envs.Observation, r int) uint64 {
	at, n := r*obs.Candidates, obs.Size(r)
	said := []any{obs.Contexts[at*obs.Dim : (at+n)*obs.Dim]}
	if obs.Session != nil {
		said = append(said, obs.Session[r])
	}
	if obs.Codes != nil {
		said = append(said, obs.Codes.Items[at:at+n])
	}
	return maphash.String(hashSeed, fmt.Sprint(said...))
}

// moments returns what each run of a transition shows, [R].
func moments(tr envs.Transition) []moment {
	now := make([]moment, tr.Runs)
	for r := range now {
		now[r] = moment{hash(tr.Observation, r), tr.Actions[r], tr.Reward[r], 0}
		if tr.Discount != nil {
			now[r].Discount = tr.Discount[r]
		}
	}
	return now
}

// clone copies what a transition points to.
func clone(tr envs.Transition) envs.Transition {
	tr.Contexts, tr.Sizes, tr.Session = slices.Clone(tr.Contexts), slices.Clone(tr.Sizes), slices.Clone(tr.Session)
	tr.Actions, tr.Reward, tr.Discount = slices.Clone(tr.Actions), slices.Clone(tr.Reward), slices.Clone(tr.Discount)
	if tr.Codes != nil {
		tr.Codes = &envs.Codes{Items: slices.Clone(tr.Codes.Items), State: slices.Clone(tr.Codes.State), Table: tr.Codes.Table}
	}
	return tr
}

// game is a policy in an environment.
type game struct {
	env     envs.Environment
	policy  envs.Policy
	actions []int
	past    [][]moment // [steps][R]
}

func start(a envs.Algorithm, p envs.Problem, seeds ...uint64) (*game, error) {
	env, err := p.New(seeds)
	if err != nil {
		return nil, err
	}
	policy, err := a.New(p.Spec(), seeds)
	return &game{env: env, policy: policy, actions: make([]int, len(seeds))}, err
}

// act lets the policy choose and wants its actions to be candidates.
func (g *game) act(obs envs.Observation) error {
	for r := range g.actions {
		g.actions[r] = math.MinInt
	}
	err := g.policy.Act(g.actions, obs)
	for r, a := range g.actions {
		if err == nil && (a < 0 || a >= obs.Size(r)) {
			return fmt.Errorf("the action of run %d is %d, want 0 to %d", r, a, obs.Size(r)-1)
		}
	}
	return err
}

// decide makes a step without an update.
func (g *game) decide() (tr envs.Transition, err error) {
	tr.Observation, tr.Actions = g.env.Observe(), g.actions
	if err = g.act(tr.Observation); err == nil {
		tr.Outcome, err = g.env.Step(g.actions)
	}
	if err == nil {
		g.past = append(g.past, moments(tr))
	}
	return tr, err
}

func (g *game) step() error {
	tr, err := g.decide()
	if err != nil {
		return err
	}
	return g.policy.Update(tr)
}

// play makes steps; before each it calls look, if there is one.
func play(a envs.Algorithm, p envs.Problem, seeds []uint64, steps int, look func(*game) error) (*game, error) {
	g, err := start(a, p, seeds...)
	for i := 0; i < steps && err == nil; i++ {
		if look != nil {
			err = look(g)
		}
		if err == nil {
			err = g.step()
		}
		if err != nil {
			err = fmt.Errorf("step %d: %w", i, err)
		}
	}
	return g, err
}

// same wants the runs of one game to be those of another from number k on.
func same(one, other *game, k int) error {
	for i, now := range one.past {
		for r, a := range now {
			if b := other.past[i][k+r]; a != b {
				return fmt.Errorf("step %d, run %d: %+v and %+v", i, r, a, b)
			}
		}
	}
	return nil
}

// stacked compares 7 runs and 13 runs with all 20 in one.
func stacked(a envs.Algorithm, p envs.Problem, steps int) error {
	seeds := firstSeeds(20)
	all, err := play(a, p, seeds, steps, nil)
	some, err2 := play(a, p, seeds[:7], steps, nil)
	others, err3 := play(a, p, seeds[7:], steps, nil)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	return cmp.Or(same(some, all, 0), same(others, all, 7))
}

func firstSeeds(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i*i*7919 + 5)
	}
	return seeds
}

// dice is an algorithm that chooses at random, with its own numbers a style.
type dice struct{ style uint64 }

type thrown []*rand.Rand // [R]

func (d dice) New(_ envs.Spec, seeds []uint64) (envs.Policy, error) {
	var t thrown
	for _, seed := range seeds {
		t = append(t, rand.New(rand.NewPCG(seed, d.style)))
	}
	return t, nil
}

func (t thrown) Act(dst []int, obs envs.Observation) error {
	for r := range dst {
		dst[r] = t[r].IntN(obs.Size(r))
	}
	return nil
}

func (t thrown) Update(envs.Transition) error { return nil }
