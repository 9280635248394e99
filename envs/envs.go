package envs

import (
	"errors"
	"fmt"
)

// Spec is the fixed shape of a decision problem.
type Spec struct {
	Candidates int // M, of the largest set, 1 to 1,000
	Dim        int // D, features of a context, at least 1

	// State is how many leading features describe the state of the step and are
	// the same for all its candidates: the augmented context of section 4 is
	// [state | item]. It is 0 where there is no state.
	State int
}

const maxCandidates, maxDim = 1000, 1 << 20

// Validate returns an error that names the first field that is out of bounds, and where there is
// no seed, of which each run of an environment or a policy wants one.
func (s Spec) Validate(seeds []uint64) error {
	switch {
	case s.Candidates < 1 || s.Candidates > maxCandidates:
		return fmt.Errorf("envs: Spec.Candidates is %d, want 1 to %d", s.Candidates, maxCandidates)
	case s.Dim < 1 || s.Dim > maxDim:
		return fmt.Errorf("envs: Spec.Dim is %d, want 1 to %d", s.Dim, maxDim)
	case s.State < 0 || s.State >= s.Dim:
		return fmt.Errorf("envs: Spec.State is %d, want 0 to %d, less than Spec.Dim", s.State, s.Dim-1)
	case len(seeds) == 0:
		return errors.New("envs: no seeds, want one a run")
	}
	return nil
}

// Observation is what a policy sees before it decides, for all runs at once.
type Observation struct {
	Runs, Candidates, Dim int

	// Contexts is [R, M, D], row-major. Contexts beyond the size of a run's set
	// are ignored, whatever they hold.
	Contexts []float32

	// Sizes is [R]: how many candidates each run's set has, 1 to M. Nil: all have M.
	Sizes []int32

	// Session is [R]: whose trajectory this step belongs to (a user, say), all 0
	// where there is one trajectory; nil in a bandit.
	Session []int32

	Codes *Codes // what Contexts are made of; nil where they are made of nothing smaller
}

// Size returns how many candidates the set of a run has.
func (o Observation) Size(run int) int {
	if o.Sizes == nil {
		return o.Candidates
	}
	return int(o.Sizes[run])
}

// Context returns the features of one candidate, [D]: a part of Contexts.
func (o Observation) Context(run, candidate int) []float32 {
	at := (run*o.Candidates + candidate) * o.Dim
	return o.Contexts[at : at+o.Dim : at+o.Dim]
}

// Check panics, naming the numbers, unless the observation has that many runs and that shape. It
// returns a RunError for the first run that has a context which is not finite: a ReLU, among others,
// would hide it. A policy calls it first in Act.
func (o Observation) Check(spec Spec, runs int) error {
	want(o.Runs, "runs of an observation", runs)
	want(o.Candidates, "candidates of an observation", spec.Candidates)
	want(o.Dim, "features of an observation", spec.Dim)
	want(len(o.Contexts), "context values of an observation", runs*o.Candidates*o.Dim)
	if o.Sizes != nil {
		want(len(o.Sizes), "sizes of an observation", runs)
	}
	if o.Session != nil {
		want(len(o.Session), "sessions of an observation", runs)
	}
	if o.Codes != nil {
		want(len(o.Codes.Items), "item codes of an observation", runs*o.Candidates)
	}
	for r, size := range o.Sizes {
		if size < 1 || int(size) > o.Candidates {
			panic(fmt.Sprintf("envs: set of run %d has %d candidates, want 1 to %d", r, size, o.Candidates))
		}
	}
	for r := range runs {
		from, set := r*o.Candidates*o.Dim, o.Size(r)*o.Dim
		for i, c := range o.Contexts[from : from+set] {
			if c*0 != 0 { // it is NaN where c is NaN or infinite
				return &RunError{Run: r, Err: fmt.Errorf("feature %d of candidate %d is %v", i%o.Dim, i/o.Dim, c)}
			}
		}
	}
	return nil
}

func want(got int, of string, wanted int) {
	if got != wanted {
		panic(fmt.Sprintf("envs: %d %s, want %d", got, of, wanted))
	}
}

// Outcome is what follows a decision, for all runs at once.
type Outcome struct {
	Reward []float32 // [R]

	// Discount is [R]: 0 after the last step of an episode and 1 before; nil: 0
	// for all, a bandit. A policy multiplies it by its own gamma.
	Discount []float32
}

// Transition is one step of all runs, and all that a policy may learn from.
type Transition struct {
	Observation
	Actions []int // [R], each the index of a candidate
	Outcome
}

// Check panics, naming the numbers, unless the transition has that many runs and that shape. It
// returns a RunError for the first run whose reward or contexts are not finite, or whose discount is
// outside [0, 1]. A policy calls it first in Update.
func (t Transition) Check(spec Spec, runs int) error {
	err := t.Observation.Check(spec, runs)
	want(len(t.Reward), "rewards of a transition", runs)
	if t.Discount != nil {
		want(len(t.Discount), "discounts of a transition", runs)
	}
	CheckActions(t.Actions, t.Observation)
	for r, reward := range t.Reward {
		if reward*0 != 0 {
			return &RunError{Run: r, Err: fmt.Errorf("the reward is %v", reward)}
		}
		if t.Discount != nil && !(t.Discount[r] >= 0 && t.Discount[r] <= 1) {
			return &RunError{Run: r, Err: fmt.Errorf("the discount is %v, want 0 to 1", t.Discount[r])}
		}
	}
	return err
}

// CheckResults panics unless there is room for as many results as a call writes.
func CheckResults(room, results int) { want(room, "places for results", results) }

// CheckActions panics unless there is an action for each run, and each is the index of a candidate.
func CheckActions(actions []int, obs Observation) {
	want(len(actions), "actions", obs.Runs)
	for r, a := range actions {
		if a < 0 || a >= obs.Size(r) {
			panic(fmt.Sprintf("envs: action %d of run %d, want 0 to %d", a, r, obs.Size(r)-1))
		}
	}
}

// Environment is a live problem: R independent runs that advance together.
type Environment interface {
	// Observe returns the current step's contexts. Calling it again before
	// Step returns the same observation.
	Observe() Observation
	// Step takes one action a run, [R], and moves to the next step. It panics as CheckActions does.
	Step(actions []int) (Outcome, error)
}

// Oracle is implemented by environments that know their truth.
type Oracle interface {
	// ExpectedRewards writes the expected reward of every candidate of the
	// current observation to dst, [R, M]; NaN beyond the size of a set.
	ExpectedRewards(dst []float64)
}

// Policy is a live decision maker for R runs.
type Policy interface {
	// Act writes the index of the chosen candidate of each run to dst, [R]. Among
	// candidates that look alike it chooses at random, seeded by the run (NewRand).
	Act(dst []int, obs Observation) error
	// Update learns from one step, whose feedback may come late.
	Update(tr Transition) error
}

// Probable is implemented by policies that can tell how they choose.
type Probable interface {
	// Probabilities writes to dst, [R, M], the probability with which Act would choose each
	// candidate, 0 beyond the size of a set. Where that has no closed form it is an average over
	// draws, whose number the policy documents. The run goes on as if it had not been called.
	Probabilities(dst []float64, obs Observation) error
}

// Ranged is implemented by algorithms that assume rewards in a range, and learn little from others.
type Ranged interface{ RewardRange() (low, high float32) }

// Problem declares an environment: a plain struct that can be copied and
// printed as JSON, whose zero value is the documented default.
type Problem interface {
	Spec() Spec
	// New starts one run a seed; run r depends on seeds[r] alone. It is an error
	// when a setting is out of bounds or there is no seed.
	New(seeds []uint64) (Environment, error)
}

// Algorithm declares a policy as Problem declares an environment.
type Algorithm interface {
	// New makes a policy of one run a seed; run r depends on seeds[r] alone. It is an error when a
	// setting is out of bounds, Spec.Validate has one, or there is no seed.
	New(spec Spec, seeds []uint64) (Policy, error)
}

// RunError is an error of one run, with which a caller can name it.
type RunError struct {
	Run int // the index among the runs of the policy or the environment
	Err error
}

func (e *RunError) Error() string { return fmt.Sprintf("run %d: %v", e.Run, e.Err) }
func (e *RunError) Unwrap() error { return e.Err }
