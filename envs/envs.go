package envs

import "fmt"

// Spec is the fixed shape of a decision problem: how many candidates are on
// offer at every step and how many features each of them has.
type Spec struct {
	Candidates int // M, at least 2
	Dim        int // D, at least 1

	// State is how many leading features of every context describe the state
	// of the step and are therefore the same for all its candidates: a context
	// is [state | item]. It is 0 in a bandit.
	State int
}

// Validate returns an error that names the first field that is out of bounds:
// Candidates below 2, Dim below 1, State outside [0, Dim).
func (s Spec) Validate() error {
	switch {
	case s.Candidates < 2:
		return fmt.Errorf("envs: Spec.Candidates is %d, want at least 2", s.Candidates)
	case s.Dim < 1:
		return fmt.Errorf("envs: Spec.Dim is %d, want at least 1", s.Dim)
	case s.State < 0 || s.State >= s.Dim:
		return fmt.Errorf("envs: Spec.State is %d, want 0 to %d, less than Spec.Dim", s.State, s.Dim-1)
	}
	return nil
}

// Observation is what a policy sees before it decides, for all runs at once.
//
// The slices belong to the environment, which keeps them unchanged through the
// Step that answers the observation and until the Step after that: so a
// Transition is built without copying. A policy that wants to keep them longer
// than its Update copies them.
type Observation struct {
	Runs, Candidates, Dim int

	// Contexts is [R, M, D], row-major.
	Contexts []float32

	// Session is [R]: whose trajectory this step belongs to (a user, say).
	// It is all 0 where there is one trajectory, and nil in a bandit.
	Session []int32

	// Codes is what Contexts are made of, nil where they are made of nothing
	// smaller. It says the same as Contexts do.
	Codes *Codes
}

// Outcome is what follows a decision, for all runs at once. The slices belong
// to the environment and are valid until its next Step; a policy that wants to
// keep them longer than its Update copies them.
type Outcome struct {
	Reward []float32 // [R]

	// Discount is [R]: 0 in a bandit and after the last step of an episode,
	// else 1. A policy multiplies it by its own discount factor.
	Discount []float32
}

// Transition is one step of all runs, and all that a policy may learn from.
type Transition struct {
	Observation
	Actions []int // [R], each in [0, M)
	Outcome
}

// Check panics, naming the numbers, unless the observation is one of that many
// runs of a problem of that shape. A policy calls it first thing in Act.
func (o Observation) Check(spec Spec, runs int) {
	switch {
	case o.Runs != runs:
		panic(fmt.Sprintf("envs: observation of %d runs, policy was made for %d", o.Runs, runs))
	case o.Candidates != spec.Candidates:
		panic(fmt.Sprintf("envs: observation of %d candidates, policy was made for %d", o.Candidates, spec.Candidates))
	case o.Dim != spec.Dim:
		panic(fmt.Sprintf("envs: observation has dimension %d, policy was made for %d", o.Dim, spec.Dim))
	case len(o.Contexts) != o.Runs*o.Candidates*o.Dim:
		panic(fmt.Sprintf("envs: observation has %d context values, want %d·%d·%d", len(o.Contexts), o.Runs, o.Candidates, o.Dim))
	case o.Session != nil && len(o.Session) != o.Runs:
		panic(fmt.Sprintf("envs: observation has %d sessions for %d runs", len(o.Session), o.Runs))
	case o.Codes != nil && (len(o.Codes.Items) != o.Runs*o.Candidates || len(o.Codes.State)%o.Runs != 0 || o.Codes.Table == nil):
		panic(fmt.Sprintf("envs: observation has codes of %d items and %d states for %d runs of %d candidates", len(o.Codes.Items), len(o.Codes.State), o.Runs, o.Candidates))
	}
}

// Check panics, naming the numbers, unless the transition is one of that many
// runs of a problem of that shape. A policy calls it first thing in Update.
func (t Transition) Check(spec Spec, runs int) {
	t.Observation.Check(spec, runs)
	if len(t.Reward) != runs || len(t.Discount) != runs {
		panic(fmt.Sprintf("envs: transition has %d rewards and %d discounts for %d runs", len(t.Reward), len(t.Discount), runs))
	}
	checkActions(t.Actions, runs, spec.Candidates)
}

// Finite returns a RunError for the first run that has a context which is not
// finite. A ReLU, among others, would hide it.
func (o Observation) Finite() error {
	per := o.Candidates * o.Dim
	for r := range o.Runs {
		sum := float32(0)
		for _, c := range o.Contexts[r*per : (r+1)*per] {
			sum += c * 0 // NaN where c is NaN or infinite
		}
		if sum == 0 {
			continue
		}
		for i, c := range o.Contexts[r*per : (r+1)*per] {
			if c*0 != 0 {
				return &RunError{Run: r, Err: fmt.Errorf("feature %d of candidate %d is %v", i%o.Dim, i/o.Dim, c)}
			}
		}
	}
	return nil
}

// Finite returns a RunError for the first run whose reward or contexts are not
// finite, or whose discount is outside [0, 1].
func (t Transition) Finite() error {
	for r, reward := range t.Reward {
		if reward*0 != 0 {
			return &RunError{Run: r, Err: fmt.Errorf("the reward is %v", reward)}
		}
		if d := t.Discount[r]; !(d >= 0 && d <= 1) {
			return &RunError{Run: r, Err: fmt.Errorf("the discount is %v, want 0 to 1", d)}
		}
	}
	return t.Observation.Finite()
}

// Environment is a live problem: R independent runs that advance in lockstep.
type Environment interface {
	// Observe returns the current step's contexts. Calling it again before
	// Step returns the same observation.
	Observe() Observation
	// Step takes one action a run, [R], and moves to the next step.
	// It panics when len(actions) != R or an action is outside [0, M).
	Step(actions []int) (Outcome, error)
}

// Oracle is implemented by environments that know their truth.
type Oracle interface {
	// ExpectedRewards writes the expected reward of every candidate of the
	// current observation to dst, [R, M] row-major. It panics when dst has
	// another length.
	ExpectedRewards(dst []float64)
}

// Policy is a live decision maker for R runs.
type Policy interface {
	// Act writes the index of the chosen candidate of each run to dst, [R].
	// Among candidates that look alike it chooses at random, seeded by the run
	// (NewRand): the first would be a choice that the order makes.
	Act(dst []int, obs Observation) error
	// Update learns from one step. Everything arrives by argument, so a policy
	// serves online with late feedback as well as in a simulation.
	Update(tr Transition) error
}

// Problem declares an environment: a plain struct that can be copied and
// printed as JSON, whose zero value is the documented default.
type Problem interface {
	Spec() Spec
	// New starts one run a seed. Run r depends on seeds[r] alone. New returns
	// an error when a setting is out of bounds or there is no seed.
	New(seeds []uint64) (Environment, error)
}

// Algorithm declares a policy in the way in which Problem declares an
// environment.
type Algorithm interface {
	// New makes a policy of one run a seed. Run r depends on seeds[r] alone.
	// New returns an error when a setting is out of bounds, the spec is not
	// valid (Spec.Validate) or there is no seed.
	New(spec Spec, seeds []uint64) (Policy, error)
}

// RunError is an error of one run. Policies and environments return it so that
// a caller can name the run: Run is the index among the runs that they were
// made for.
type RunError struct {
	Run int
	Err error
}

func (e *RunError) Error() string { return fmt.Sprintf("run %d: %v", e.Run, e.Err) }
func (e *RunError) Unwrap() error { return e.Err }
