package logged

import (
	"errors"
	"fmt"
	"math"

	"github.com/contextrec/contextrec/envs"
)

// Log is N decisions among M candidates of D features.
type Log struct {
	Candidates, Dim int
	Features        []string // the names of the features, [D]

	ID   []string // the name of each decision, [N]
	User []string // whose decision it was, [N]; nil where the log does not say

	Contexts []float32 // [N, M, D], row-major
	Chosen   []int     // the index of the chosen candidate, [N]
	Reward   []float32 // what it earned, [N]

	// Propensity is the probability with which the choice was made, [N]; nil
	// where it is not known.
	Propensity []float64

	// emptied says where a log without decisions comes from, for errors.
	emptied string
}

// Len returns N, the number of decisions.
func (l *Log) Len() int { return len(l.Chosen) }

// Spec is the shape of the decisions, for envs.Algorithm.
func (l *Log) Spec() envs.Spec { return envs.Spec{Candidates: l.Candidates, Dim: l.Dim} }

// Slice returns the decisions from index from on and before index to. It shares
// the memory of l, and panics when the indices are out of bounds.
func (l *Log) Slice(from, to int) *Log {
	if from < 0 || from > to || to > l.Len() {
		panic(fmt.Sprintf("logged: decisions %d to %d of %d", from, to, l.Len()))
	}
	part := *l
	part.ID = l.ID[from:to:to]
	if l.User != nil {
		part.User = l.User[from:to:to]
	}
	size := l.Candidates * l.Dim
	part.Contexts = l.Contexts[from*size : to*size : to*size]
	part.Chosen, part.Reward = l.Chosen[from:to:to], l.Reward[from:to:to]
	if l.Propensity != nil {
		part.Propensity = l.Propensity[from:to:to]
	}
	part.empty(l, fmt.Sprintf("Slice(%d, %d)", from, to))
	return &part
}

// Split returns the first part of the log, of that fraction of the decisions
// rounded down, and the later rest: to learn from the one and to be judged by
// the other. It panics when fraction is not in [0, 1]. A part may be empty, which
// is an error of what uses it: a log of one decision has no half to learn from.
//
// The log must be in the order of time, so that a policy is not judged by what
// was before the decisions that it has learned from. Users who come more than
// once are in both parts. That is right where the policy is to serve the users
// whom it has learned from: but it was fitted to their rewards, and neither the
// estimates nor their intervals tell how it would serve users whom nobody knows
// yet.
func (l *Log) Split(fraction float64) (first, rest *Log) {
	if !(fraction >= 0 && fraction <= 1) {
		panic(fmt.Sprintf("logged: a fraction of %v", fraction))
	}
	n := int(fraction * float64(l.Len()))
	first, rest = l.Slice(0, n), l.Slice(n, l.Len())
	first.empty(l, fmt.Sprintf("the first part of Split(%v)", fraction))
	rest.empty(l, fmt.Sprintf("the later part of Split(%v)", fraction))
	return first, rest
}

// empty keeps what a part without decisions is a part of.
func (l *Log) empty(whole *Log, part string) {
	if l.Len() > 0 || whole.Len() == 0 {
		return
	}
	count := func(n int, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	l.emptied = fmt.Sprintf(": it is %s of a log of %s", part, count(whole.Len(), "decision"))
	if whole.User != nil {
		users := map[string]bool{}
		for _, u := range whole.User {
			users[u] = true
		}
		l.emptied += " of " + count(len(users), "user")
	}
}

// Context returns the features of a candidate of a decision, [D].
func (l *Log) Context(decision, candidate int) []float32 {
	at := (decision*l.Candidates + candidate) * l.Dim
	return l.Contexts[at : at+l.Dim : at+l.Dim]
}

// Check reports the first thing that is wrong with a log: lengths that do not
// agree, an index that is no candidate, numbers that are not finite, a propensity
// that is no probability above 0. A log of no decisions passes.
func (l *Log) Check() error {
	n := l.Len()
	bad := func(format string, args ...any) error { return fmt.Errorf("logged: "+format, args...) }
	if err := l.Spec().Validate(); err != nil {
		return err
	}
	switch {
	case len(l.Features) != l.Dim:
		return bad("%d names for %d features", len(l.Features), l.Dim)
	case len(l.ID) != n || len(l.Reward) != n || l.User != nil && len(l.User) != n || l.Propensity != nil && len(l.Propensity) != n:
		return bad("%d choices, %d names, %d users, %d rewards and %d propensities", n, len(l.ID), len(l.User), len(l.Reward), len(l.Propensity))
	case len(l.Contexts) != n*l.Candidates*l.Dim:
		return bad("%d context values for %d decisions, %d candidates and %d features", len(l.Contexts), n, l.Candidates, l.Dim)
	}
	for i := range n {
		if c := l.Chosen[i]; c < 0 || c >= l.Candidates {
			return bad("decision %q: candidate %d of %d", l.ID[i], c, l.Candidates)
		}
		if r := float64(l.Reward[i]); !finite(r) {
			return bad("decision %q: the reward is %v", l.ID[i], r)
		}
		if l.Propensity != nil && !(l.Propensity[i] > 0 && l.Propensity[i] <= 1) {
			return bad("decision %q: the propensity is %v", l.ID[i], l.Propensity[i])
		}
	}
	for i, x := range l.Contexts {
		if !finite(float64(x)) {
			per := l.Candidates * l.Dim
			return bad("decision %q: feature %q of candidate %d is %v", l.ID[i/per], l.Features[i%l.Dim], i%per/l.Dim, x)
		}
	}
	return nil
}

// checkSome is Check of a log that is to have decisions.
func (l *Log) checkSome() error {
	if err := l.Check(); err != nil {
		return err
	}
	if l.Len() == 0 {
		return errors.New("logged: the log has no decisions" + l.emptied)
	}
	return nil
}

// CheckEvaluable reports why Evaluate can say nothing of any policy: what Check
// reports, that there are no decisions, or no propensities. To ask that of a test
// before anything is trained spares a training for nothing.
func (l *Log) CheckEvaluable() error {
	if err := l.checkSome(); err != nil {
		return err
	}
	if l.Propensity == nil {
		return errNoPropensity
	}
	return nil
}

var errNoPropensity = errors.New("logged: the log does not say how probable its choices were (the column propensity, or Format.Uniform), " +
	"and without that it says nothing of other choices")

// Moments are the mean and the standard deviation of every feature, [D].
type Moments struct{ Mean, Deviation []float64 }

// Moments returns those of the log, over all candidates.
func (l *Log) Moments() Moments {
	m := Moments{make([]float64, l.Dim), make([]float64, l.Dim)}
	rows := float64(l.Len() * l.Candidates)
	for i, x := range l.Contexts {
		m.Mean[i%l.Dim] += float64(x) / rows
	}
	for i, x := range l.Contexts {
		d := float64(x) - m.Mean[i%l.Dim]
		m.Deviation[i%l.Dim] += d * d / rows
	}
	for d, v := range m.Deviation {
		m.Deviation[d] = math.Sqrt(v)
	}
	return m
}

// Standardise writes the contexts, less the mean and by the standard deviation,
// to dst, which may be contexts itself: what is given to a policy that was
// trained on a standardised log. A feature without deviation becomes 0. It
// panics when the lengths differ or are no multiple of D.
func (m Moments) Standardise(dst, contexts []float32) {
	dim := len(m.Mean)
	if len(dst) != len(contexts) || dim == 0 || len(contexts)%dim != 0 {
		panic(fmt.Sprintf("logged: %d context values of %d features into %d", len(contexts), dim, len(dst)))
	}
	for i, x := range contexts {
		dst[i] = 0
		if sd := m.Deviation[i%dim]; sd > 0 {
			dst[i] = float32((float64(x) - m.Mean[i%dim]) / sd)
		}
	}
}

// Standardised returns the log with standardised contexts. Those of a test are
// standardised by the moments of what was learned from:
//
//	m := train.Moments()
//	train, test = train.Standardised(m), test.Standardised(m)
//
// Networks and penalised models work best with features of about equal spread.
func (l *Log) Standardised(m Moments) *Log {
	out := *l
	out.Contexts = make([]float32, len(l.Contexts))
	m.Standardise(out.Contexts, l.Contexts)
	return &out
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
