package logged

import (
	"fmt"
	"math"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// Log is decisions in the order of time.
type Log struct {
	Features   []string // the names of the D features
	Candidates int      // M, of the largest set
	Decisions  []Decision
	Warnings   []string // what Read left out of the file, or could not keep
	Estimated  bool     // propensities are estimates, see EstimatePropensities

	crossed bool // features are products, see Crossed

	sets  int    // resampled ones a decision, see Marginal; 0: weights are not marginal
	state []bool // features that are the same for all candidates of a set, where there are resampled ones
}

// Decision is one decision among m candidates, and what came of it.
type Decision struct {
	ID, User   string    // User is empty where the log has no users
	Contexts   []float32 // [m, D], row-major
	Chosen     int       // the index of the chosen candidate
	Reward     float32   // of the chosen candidate
	Propensity float64   // the probability with which it was chosen; 0: not known
	Expected   []float64 // what each candidate is expected to earn, [m], where a simulator knows; else nil
}

// Spec is the shape of the decisions, for envs.Algorithm.
func (l *Log) Spec() envs.Spec {
	return envs.Spec{Candidates: l.Candidates, Dim: len(l.Features)}
}

// Check returns warnings of what cannot be learned from the log, with remedies, as envs.CheckSteps
// does. Of a long log it looks at decisions that are evenly spaced.
func (l *Log) Check() []string {
	every := 1 + len(l.Decisions)*l.Candidates*len(l.Features)>>22
	return envs.CheckSteps(l.Spec(), func(yield func(envs.Transition) bool) {
		for i := 0; i < len(l.Decisions) && yield(l.step(l.Decisions[i], 1)); i += every {
		}
	}, l.Features...)
}

// Split returns the first part of the log, that fraction of its decisions, rounded, and the rest:
// one to learn from and one to be judged by. Users who come more than once are in both parts, so an
// estimate says how a policy serves the users that it has learned from, and not how it serves new
// ones. Split panics when the fraction is not in [0, 1].
func (l *Log) Split(fraction float64) (first, rest *Log) {
	if !(fraction >= 0 && fraction <= 1) {
		panic(fmt.Sprintf("logged: got a fraction of %v, want 0 to 1", fraction))
	}
	n := int(math.Round(fraction * float64(len(l.Decisions))))
	a, b := *l, *l
	a.Decisions, b.Decisions = l.Decisions[:n:n], l.Decisions[n:]
	return &a, &b
}

// leastPropensity bounds the weights of estimates.
const leastPropensity = 1e-6

// check returns an error where nothing can be learned or, without propensities, estimated.
func (l *Log) check(propensities bool) error {
	dim := len(l.Features)
	if len(l.Decisions) == 0 || dim == 0 {
		return fmt.Errorf("logged: the log has %d decisions and %d features, want some of both", len(l.Decisions), dim)
	}
	for _, d := range l.Decisions {
		size, wrong := len(d.Contexts)/dim, ""
		switch {
		case len(d.Contexts) != size*dim || size > l.Candidates || d.Chosen < 0 || d.Chosen >= size:
			wrong = fmt.Sprintf("has chosen candidate %d, and contexts of %d values, want %d for each of at most %d candidates", d.Chosen, len(d.Contexts), dim, l.Candidates)
		case propensities && !(d.Propensity >= leastPropensity && d.Propensity <= 1):
			wrong = fmt.Sprintf("has the propensity %v, want %v to 1 (0 is none: see EstimatePropensities)", d.Propensity, leastPropensity)
		case d.Reward*0 != 0: // it is NaN where the reward is NaN or infinite
			wrong = fmt.Sprintf("has the reward %v", d.Reward)
		case slices.ContainsFunc(d.Contexts, func(x float32) bool { return x*0 != 0 }):
			wrong = "has a feature that is NaN or infinite"
		default:
			continue
		}
		return fmt.Errorf("logged: decision %q %s", d.ID, wrong)
	}
	return nil
}

// failed is the error of a policy at a decision, with the largest values, which are often the reason.
func (l *Log) failed(d Decision, err error) error {
	var feature, reward float32
	for _, other := range l.Decisions {
		reward = max(reward, other.Reward, -other.Reward)
		for _, x := range other.Contexts {
			feature = max(feature, x, -x)
		}
	}
	return fmt.Errorf("logged: decision %q: %w (the largest feature of the log is %v, the largest reward %v)", d.ID, err, feature, reward)
}

// step is a decision as that of several runs, all of which have made the logged choice.
func (l *Log) step(d Decision, runs int) envs.Transition {
	return envs.Transition{
		Observation: l.observation(slices.Repeat([]Decision{d}, runs)),
		Actions:     slices.Repeat([]int{d.Chosen}, runs),
		Outcome:     envs.Outcome{Reward: slices.Repeat([]float32{d.Reward}, runs)},
	}
}

// observation is that of a decision a run.
func (l *Log) observation(decisions []Decision) envs.Observation {
	o := envs.Observation{Runs: len(decisions), Candidates: l.Candidates, Dim: len(l.Features)}
	o.Contexts = make([]float32, o.Runs*o.Candidates*o.Dim)
	for r, d := range decisions {
		copy(o.Contexts[r*o.Candidates*o.Dim:], d.Contexts)
		o.Sizes = append(o.Sizes, int32(len(d.Contexts)/o.Dim))
	}
	return o
}
