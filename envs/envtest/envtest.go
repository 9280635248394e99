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
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
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
	kept func() // returns, or stops in want
}

// check makes all checks, but stops where the first fails: the others would repeat what it says.
func check(promises []promise) (done []Check) {
	for _, p := range promises {
		done = append(done, Check{p.text, outcome(p.kept)})
		if done[0].Err != nil {
			break
		}
	}
	return done
}

type broken struct{ error }

func outcome(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case broken:
			err = v.error
		default:
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	f()
	return nil
}

func want(ok bool, format string, args ...any) {
	if !ok {
		panic(broken{fmt.Errorf(format, args...)})
	}
}

func must[T any](v T, err error) T {
	want(err == nil, "error: %v", err)
	return v
}

// refuses wants f to panic with both numbers.
func refuses(what string, got, wanted int, f func()) {
	defer func() {
		text, _ := recover().(string)
		want(strings.Contains(text, fmt.Sprint(got)) && strings.Contains(text, fmt.Sprint(wanted)),
			"%s: panic %q, want one like \"envs: %d runs, want %d\"", what, text, got, wanted)
	}()
	f()
}

// moment is what one run shows at one step.
type moment struct {
	Observed         uint64 // hash, without what is beyond the size of the set
	Action           int
	Reward, Discount float32
}

var hashSeed = maphash.MakeSeed()

// observed hashes what each run sees, [R].
func observed(obs envs.Observation) []uint64 {
	sums := make([]uint64, obs.Runs)
	for r := range sums {
		from, n := r*obs.Candidates*obs.Dim, obs.Size(r)*obs.Dim
		seen := must(binary.Append(nil, binary.LittleEndian, obs.Contexts[from:from+n]))
		if obs.Session != nil {
			seen = binary.LittleEndian.AppendUint32(seen, uint32(obs.Session[r]))
		}
		sums[r] = maphash.Bytes(hashSeed, seen)
	}
	return sums
}

// moments returns what each run of a transition shows, [R].
func moments(tr envs.Transition) []moment {
	now := make([]moment, tr.Runs)
	for r, sum := range observed(tr.Observation) {
		now[r] = moment{sum, tr.Actions[r], tr.Reward[r], 0}
		if tr.Discount != nil {
			now[r].Discount = tr.Discount[r]
		}
	}
	return now
}

type game struct {
	env     envs.Environment
	policy  envs.Policy
	actions []int
	past    [][]moment // [steps][R]
}

func start(a envs.Algorithm, p envs.Problem, seeds []uint64) *game {
	return &game{env: must(p.New(seeds)), policy: must(a.New(p.Spec(), seeds)), actions: make([]int, len(seeds))}
}

// act lets the policy choose and wants its actions to be candidates.
func (g *game) act(obs envs.Observation) {
	fill(g.actions, -1)
	before := observed(obs)
	err := g.policy.Act(g.actions, obs)
	want(err == nil, "step %d: Act: %v", len(g.past), err)
	want(slices.Equal(observed(obs), before), "step %d: Act changed the observation", len(g.past))
	for r, a := range g.actions {
		want(a >= 0 && a < obs.Size(r), "step %d: the action of run %d is %d, want 0 to %d", len(g.past), r, a, obs.Size(r)-1)
	}
}

// decide makes a step without an update.
func (g *game) decide() envs.Transition {
	tr := envs.Transition{Observation: g.env.Observe(), Actions: g.actions}
	g.act(tr.Observation)
	chosen := slices.Clone(g.actions)
	tr.Outcome = must(g.env.Step(g.actions))
	want(slices.Equal(g.actions, chosen), "step %d: Step changed the actions", len(g.past))
	g.past = append(g.past, moments(tr))
	return tr
}

func (g *game) step() {
	tr, i := g.decide(), len(g.past)-1
	err := g.policy.Update(tr)
	want(err == nil, "step %d: Update: %v", i, err)
	want(slices.Equal(moments(tr), g.past[i]), "step %d: Update changed the transition", i)
}

func play(a envs.Algorithm, p envs.Problem, seeds []uint64, steps int) *game {
	g := start(a, p, seeds)
	for range steps {
		g.step()
	}
	return g
}

// same wants the runs of g to be those of another game, from number k on.
func (g *game) same(other *game, k int) {
	for i, now := range g.past {
		for r, a := range now {
			b := other.past[i][k+r]
			want(a == b, "step %d, run %d: %+v and %+v", i, r, a, b)
		}
	}
}

// stacked compares 7 runs and 13 runs with all 20 in one.
func stacked(a envs.Algorithm, p envs.Problem, steps int) {
	all := play(a, p, seeds(20), steps)
	play(a, p, seeds(20)[:7], steps).same(all, 0)
	play(a, p, seeds(20)[7:], steps).same(all, 7)
}

func seeds(n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i*i*7919 + 5)
	}
	return s
}

func fill[T any](dst []T, with T) []T {
	for i := range dst {
		dst[i] = with
	}
	return dst
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
