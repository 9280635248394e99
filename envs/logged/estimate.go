package logged

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is an estimated mean reward of a decision, with its 95 % interval.
//
// The interval is what the estimate would have varied in, had other users come,
// or had they been shown something else: from log to log, for the same policy.
// It does not know what else the policy might have learned from another log to
// train on. Nor, where the same users are in what it was trained on (see
// Log.Split), that it was fitted to them, and that others may suit it less.
//
// Users are taken to be independent of each other, and the decisions of one user
// are not; where the log has no users, decisions are. It is Student's t with a
// degree of freedom less than Units, on the standard error of the usual
// linearisation: exact for the mean of a log without users, and approximate for
// a ratio, which a mean is as well where some users have more decisions than
// others. It is too short where a few users decide all. Rewards that are all
// equal, such as none at all in twenty decisions, tell nothing of their spread:
// the Error is 0 then, which is no certainty.
type Estimate struct {
	Mean, Low, High float64
	Error           float64 // standard error; infinite where there is one unit

	// Units is how many users the interval rests on, or decisions where the log
	// has no users: those with a weight above 0 in SelfNormalised and Agreeing,
	// all in means. Of a Minus it is the smaller number of both.
	Units int

	// Effective is how many decisions as they come with equal weights would tell
	// as much, (Σw)²/Σw². Of a Minus it is the smaller number of both.
	Effective float64

	influence []float64 // of every decision: its mean is 0
	from      decisions
}

// decisions are those that an estimate is made of.
type decisions struct {
	id     []string
	chosen []int
	unit   []int // whose they are, see units
}

// Minus is the difference of two estimates from the same decisions, whose
// interval is shorter than theirs where they have luck in common. It panics when
// the decisions are others: when their number, their names, what was chosen in
// them or their users differ.
func (e Estimate) Minus(other Estimate) Estimate {
	a, b := e.from, other.from
	if len(a.id) != len(b.id) {
		panic(fmt.Sprintf("logged: estimates from %d and from %d decisions", len(a.id), len(b.id)))
	}
	influence := make([]float64, len(a.id))
	for i := range influence {
		switch {
		case a.id[i] != b.id[i]:
			panic(fmt.Sprintf("logged: estimates from different decisions: number %d is %q and %q", i, a.id[i], b.id[i]))
		case a.chosen[i] != b.chosen[i]:
			panic(fmt.Sprintf("logged: estimates from different decisions: in %q, candidates %d and %d are chosen", a.id[i], a.chosen[i], b.chosen[i]))
		case a.unit[i] != b.unit[i]:
			panic(fmt.Sprintf("logged: estimates from the decisions of different users (decision %q)", a.id[i]))
		}
		influence[i] = e.influence[i] - other.influence[i]
	}
	return newEstimate(e.Mean-other.Mean, influence, a, min(e.Units, other.Units), min(e.Effective, other.Effective))
}

// InversePropensity is the mean of weight times reward (Horvitz and Thompson):
// unbiased, whatever the rewards are.
func (e *Evaluation) InversePropensity() Estimate {
	paid := make([]float64, len(e.Weight))
	for i, w := range e.Weight {
		paid[i] = w * float64(e.log.Reward[i])
	}
	return e.mean(paid)
}

// SelfNormalised is the mean of the rewards weighed by the weights (Swaminathan
// and Joachims: The self-normalized estimator for counterfactual learning. NIPS
// 2015): biased by a share that falls as 1/N, and less noisy than
// InversePropensity, which pays for weights that happen to be many or few.
func (e *Evaluation) SelfNormalised() Estimate { return e.ratio(e.Weight) }

// Agreeing is the mean reward of the decisions in which the policy agrees with
// the log. It is what somebody sees who does not weigh, and not what the policy
// would have earned: it favours the decisions in which the log likes what the
// policy likes. Only where the log was uniformly random it is SelfNormalised.
func (e *Evaluation) Agreeing() Estimate {
	agreement := make([]float64, len(e.Weight))
	for i, w := range e.Weight {
		agreement[i] = w * e.log.Propensity[i]
	}
	return e.ratio(agreement)
}

// ratio is the mean of the rewards weighed by weights. Units without weight tell
// nothing of the spread, nor does one alone, whose reward is the mean.
func (e *Evaluation) ratio(weights []float64) Estimate {
	n, total, paid := float64(len(weights)), 0.0, 0.0
	for i, w := range weights {
		total += w
		paid += w * float64(e.log.Reward[i])
	}
	mean := paid / total
	from, weighed := e.log.decisions(), map[int]bool{}
	influence := make([]float64, len(weights))
	for i, w := range weights {
		influence[i] = w * (float64(e.log.Reward[i]) - mean) * n / total
		if w > 0 {
			weighed[from.unit[i]] = true
		}
	}
	return newEstimate(mean, influence, from, len(weighed), effective(weights))
}

// MeanWeight is 1 in expectation. When its interval leaves that out, the
// propensities are not those with which the log was made, or the policy chooses
// what the log never shows, and no estimate holds.
func (e *Evaluation) MeanWeight() Estimate { return e.mean(e.Weight) }

// Logged is the mean reward of the log: of the policy that made it.
func (e *Evaluation) Logged() Estimate {
	rewards := make([]float64, e.log.Len())
	for i, r := range e.log.Reward {
		rewards[i] = float64(r)
	}
	mean := e.mean(rewards)
	mean.Effective = float64(e.log.Len())
	return mean
}

func (e *Evaluation) mean(x []float64) Estimate {
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	influence := make([]float64, len(x))
	for i, v := range x {
		influence[i] = v - mean
	}
	from := e.log.decisions()
	return newEstimate(mean, influence, from, from.units(), effective(e.Weight))
}

// newEstimate makes the interval of a mean from what every decision adds to it,
// and from the number of units that tell of the spread.
func newEstimate(mean float64, influence []float64, from decisions, units int, effective float64) Estimate {
	sums := make([]float64, from.units())
	for i, u := range from.unit {
		sums[u] += influence[i]
	}
	squares := 0.0
	for _, s := range sums {
		squares += s * s
	}
	e := Estimate{Mean: mean, Units: units, Effective: effective, influence: influence, from: from}
	if units < 2 {
		e.Error, e.Low, e.High = math.Inf(1), math.Inf(-1), math.Inf(1)
		return e
	}
	u := float64(units)
	e.Error = math.Sqrt(u/(u-1)*squares) / float64(len(influence))
	half := distuv.StudentsT{Sigma: 1, Nu: u - 1}.Quantile(0.975) * e.Error
	e.Low, e.High = mean-half, mean+half
	return e
}

// decisions are those of the log. Their units are its users, counted as they
// come; every decision is one where there are no users.
func (l *Log) decisions() decisions {
	unit, users := make([]int, l.Len()), map[string]int{}
	for i := range unit {
		unit[i] = i
		if l.User != nil {
			u, known := users[l.User[i]]
			if !known {
				u = len(users)
				users[l.User[i]] = u
			}
			unit[i] = u
		}
	}
	return decisions{l.ID, l.Chosen, unit}
}

// units is the number of units.
func (d decisions) units() int {
	n := 0
	for _, u := range d.unit {
		n = max(n, u+1)
	}
	return n
}

func effective(weights []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, w := range weights {
		sum, squares = sum+w, squares+w*w
	}
	return sum * sum / squares
}
