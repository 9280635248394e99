// Package envtest tests implementations of the decision protocol of package
// envs, as testing/fstest does for file systems.
//
// A test of a problem, and one of an algorithm, are one line each:
//
//	envtest.TestProblem(t, envs.Linear{})
//	envtest.TestAlgorithm(t, baselines.LinUCB{}, envs.Linear{})
//
// Outside of tests, CheckProblem and CheckAlgorithm return what those report.
//
// Every check plays the environment or the policy with fixed seeds, so it
// passes or fails the same way each time.
package envtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// Suite says how thoroughly to test. The zero value is the default.
type Suite struct {
	// Steps is how many steps a check plays; default 200. An algorithm that
	// learns slowly may want fewer, but more than it takes until the first
	// update changes what is chosen.
	Steps int
}

// TestProblem runs the default suite on a problem, see Suite.TestProblem.
func TestProblem(t testing.TB, p envs.Problem) {
	t.Helper()
	Suite{}.TestProblem(t, p)
}

// TestAlgorithm runs the default suite on an algorithm, see
// Suite.TestAlgorithm.
func TestAlgorithm(t testing.TB, a envs.Algorithm, p envs.Problem) {
	t.Helper()
	Suite{}.TestAlgorithm(t, a, p)
}

// CheckProblem runs the default suite on a problem, see Suite.CheckProblem.
func CheckProblem(p envs.Problem) []Check { return Suite{}.CheckProblem(p) }

// CheckAlgorithm runs the default suite on an algorithm, see
// Suite.CheckAlgorithm.
func CheckAlgorithm(a envs.Algorithm, p envs.Problem) []Check { return Suite{}.CheckAlgorithm(a, p) }

// Check is a promise of the protocol, such as "a seed determines a run", and
// what breaks it. A panic of the implementation breaks it too: the error has the
// call with the shapes of its arguments, and the file and line of the
// implementation.
type Check struct {
	Promise string
	Err     error // nil: the promise is kept
}

// CheckProblem makes the checks of TestProblem and returns all of them, kept
// promises included. Where the first is broken, it is the only one: the others
// build on it and would only repeat what it says.
func (s Suite) CheckProblem(p envs.Problem) []Check { return run(s.problemChecks(p)) }

// CheckAlgorithm makes the checks of TestAlgorithm as CheckProblem does.
func (s Suite) CheckAlgorithm(a envs.Algorithm, p envs.Problem) []Check {
	return run(s.algorithmChecks(a, p))
}

func (s Suite) steps() int {
	if s.Steps > 0 {
		return s.Steps
	}
	return 200
}

// check is one promise of the protocol: run returns what breaks it.
type check struct {
	promise string
	run     func() error
}

// run makes the checks, but stops where the first fails.
func run(checks []check) []Check {
	var done []Check
	for i, c := range checks {
		done = append(done, Check{c.promise, guard(c.run)})
		if i == 0 && done[i].Err != nil {
			break
		}
	}
	return done
}

func report(t testing.TB, checks []Check) {
	t.Helper()
	for _, c := range checks {
		if c.Err != nil {
			t.Errorf("%s: %v", c.Promise, c.Err)
		}
	}
}

// guard turns a panic of the implementation into an error, so that the other
// checks still run. A panic that nothing of the implementation is in has the
// stack.
func guard(f func() error) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if named, ok := v.(*callPanic); ok {
			err = named
		} else if where := panicPlace(envs.Spec{}); where != "" {
			err = fmt.Errorf("panic: %v, %s", v, where)
		} else {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return f()
}

// specOf is the problem's spec. Where that panics, one check says so.
func specOf(p envs.Problem, promise string) (spec envs.Spec, failed []check) {
	err := guard(func() error {
		spec = watchedProblem{Problem: p}.Spec()
		return nil
	})
	if err != nil {
		return spec, []check{{promise, func() error { return err }}}
	}
	return spec, nil
}

// panics says whether f panics, refuses whether it panics or returns an error.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func refuses(f func() error) bool {
	var err error
	return panics(func() { err = f() }) || err != nil
}

// twenty seeds, in no order and not neighbours: the suites play them together,
// as 7 and 13, and one by one.
func twenty() []uint64 {
	seeds := make([]uint64, 20)
	for i := range seeds {
		seeds[i] = uint64(i*i*7919 + 5)
	}
	return seeds
}

// checkChunks compares 20 runs in one with 7 and 13, and with one alone. play
// returns one trace a seed.
func checkChunks(play func(seeds []uint64) ([]trace, error)) error {
	seeds := twenty()
	whole, err := play(seeds)
	if err != nil {
		return fmt.Errorf("20 runs: %w", err)
	}
	for _, part := range [][2]int{{0, 7}, {7, 20}, {11, 12}} {
		some, err := play(seeds[part[0]:part[1]])
		if err != nil {
			return fmt.Errorf("%d runs: %w", part[1]-part[0], err)
		}
		for i := range some {
			r := part[0] + i
			if err := whole[r].compare(some[i]); err != nil {
				return fmt.Errorf("run %d of 20 differs from the same run as number %d of %d: %w", r, i, len(some), err)
			}
		}
	}
	twins, err := play([]uint64{seeds[3], seeds[3]})
	if err != nil {
		return fmt.Errorf("two runs of one seed: %w", err)
	}
	for i, twin := range twins {
		if err := whole[3].compare(twin); err != nil {
			return fmt.Errorf("a run differs from number %d of two runs of its seed: %w", i, err)
		}
	}
	return nil
}

// checkJSON wants a declared value to have one JSON form, and use to leave it
// alone.
func checkJSON(declared any, use func() error) error {
	before, err := json.Marshal(declared)
	if err != nil {
		return err
	}
	if err := use(); err != nil {
		return err
	}
	after, err := json.Marshal(declared)
	if err != nil {
		return err
	}
	if string(before) != string(after) {
		return fmt.Errorf("it was %s and is %s after use", before, after)
	}
	return nil
}

// trace is all that one run showed, step by step.
type trace struct {
	contexts [][]float32 // a step's [M, D]
	session  []int32     // empty in a bandit
	actions  []int
	reward   []float32
	discount []float32
}

// record appends run r of a step, copying.
func (tr *trace) record(r int, obs envs.Observation, actions []int, out envs.Outcome) {
	size := obs.Candidates * obs.Dim
	tr.contexts = append(tr.contexts, append([]float32(nil), obs.Contexts[r*size:(r+1)*size]...))
	if obs.Session != nil {
		tr.session = append(tr.session, obs.Session[r])
	}
	tr.actions = append(tr.actions, actions[r])
	tr.reward = append(tr.reward, out.Reward[r])
	tr.discount = append(tr.discount, out.Discount[r])
}

// compare names the first step at which two traces differ in a bit.
func (tr trace) compare(other trace) error {
	if len(tr.actions) != len(other.actions) || len(tr.session) != len(other.session) {
		return errors.New("one is longer")
	}
	for i := range tr.actions {
		switch {
		case !sameBits(tr.contexts[i], other.contexts[i]):
			return fmt.Errorf("step %d: the contexts differ", i)
		case len(tr.session) > 0 && tr.session[i] != other.session[i]:
			return fmt.Errorf("step %d: session %d and %d", i, tr.session[i], other.session[i])
		case tr.actions[i] != other.actions[i]:
			return fmt.Errorf("step %d: action %d and %d", i, tr.actions[i], other.actions[i])
		case !sameBits(tr.reward[i:i+1], other.reward[i:i+1]):
			return fmt.Errorf("step %d: reward %v and %v", i, tr.reward[i], other.reward[i])
		case !sameBits(tr.discount[i:i+1], other.discount[i:i+1]):
			return fmt.Errorf("step %d: discount %v and %v", i, tr.discount[i], other.discount[i])
		}
	}
	return nil
}

func sameBits(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return true
}

func cloneObservation(obs envs.Observation) envs.Observation {
	obs.Contexts = append([]float32(nil), obs.Contexts...)
	if obs.Session != nil {
		obs.Session = append([]int32{}, obs.Session...)
	}
	if obs.Codes != nil {
		codes := *obs.Codes
		codes.Items, codes.State = slices.Clone(codes.Items), slices.Clone(codes.State)
		obs.Codes = &codes
	}
	return obs
}

func cloneOutcome(out envs.Outcome) envs.Outcome {
	return envs.Outcome{
		Reward:   append([]float32(nil), out.Reward...),
		Discount: append([]float32(nil), out.Discount...),
	}
}

func sameObservation(a, b envs.Observation) bool {
	if a.Runs != b.Runs || a.Candidates != b.Candidates || a.Dim != b.Dim || !sameBits(a.Contexts, b.Contexts) ||
		(a.Session == nil) != (b.Session == nil) || len(a.Session) != len(b.Session) {
		return false
	}
	for r := range a.Session {
		if a.Session[r] != b.Session[r] {
			return false
		}
	}
	return (a.Codes == nil) == (b.Codes == nil) && (a.Codes == nil || a.Codes.Table == b.Codes.Table &&
		slices.Equal(a.Codes.Items, b.Codes.Items) && slices.Equal(a.Codes.State, b.Codes.State))
}

func sameOutcome(a, b envs.Outcome) bool {
	return sameBits(a.Reward, b.Reward) && sameBits(a.Discount, b.Discount)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
