package logged

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is an estimated mean reward of a decision with its 95 % interval: how much it would vary
// from log to log for the same policy. What another log would have taught the policy it does not
// know.
//
// Users are taken to be independent of each other, and decisions of one user are not; where the log
// has no users, decisions are. The interval is Student's t on the standard error of the usual
// linearisation. It is too short where a few users decide all. Rewards that are all equal, such as
// none in twenty decisions, say nothing of their spread, nor does a single user: then Error is
// infinite, and so are Low and High.
type Estimate struct {
	Mean, Low, High float64
	Error           float64 // standard error

	// Units is how many users (decisions, where the log has no users) have a weight above 0.
	// Effective is how many decisions with equal weights would say as much, (Σw)²/Σw². Of a Minus
	// both are the smaller numbers.
	Units     int
	Effective float64

	log       *Log
	influence []float64 // of every decision: the mean is 0
}

// String is mean and interval, such as "0.306 [0.259, 0.352]".
func (e Estimate) String() string { return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Mean, e.Low, e.High) }

// Minus is the difference of two estimates from the same decisions. Its interval is shorter than
// theirs where they have luck in common. It panics when the decisions are not the same.
func (e Estimate) Minus(other Estimate) Estimate {
	same := func(a, b Decision) bool { return a.ID == b.ID && a.User == b.User && a.Chosen == b.Chosen }
	if !slices.EqualFunc(e.log.Decisions, other.log.Decisions, same) {
		panic(fmt.Sprintf("logged: got an estimate from other decisions (%d), want the same (%d)",
			len(other.log.Decisions), len(e.log.Decisions)))
	}
	d := Estimate{Mean: e.Mean - other.Mean, Units: min(e.Units, other.Units), Effective: min(e.Effective, other.Effective), log: e.log}
	for i, x := range e.influence {
		d.influence = append(d.influence, x-other.influence[i])
	}
	return d.interval(slices.Max(d.influence) > slices.Min(d.influence) && !math.IsInf(e.Error+other.Error, 1))
}

// InversePropensity is the mean of weight times reward (Horvitz and Thompson 1952): unbiased.
func (e *Evaluation) InversePropensity() Estimate {
	paid := e.log.rewards()
	for i, w := range e.Weight {
		paid[i] *= w
	}
	return e.log.estimate(paid, nil)
}

// SelfNormalised is the mean of the rewards weighed by the weights (Swaminathan and Joachims: The
// self-normalized estimator for counterfactual learning. NIPS 2015). Its bias falls as 1/N, and it
// is less noisy than InversePropensity. It is NaN where the policy makes no choice of the log.
func (e *Evaluation) SelfNormalised() Estimate { return e.log.estimate(e.log.rewards(), e.Weight) }

// MeanWeight is 1 in expectation. Where its interval leaves that out, the propensities are wrong, or
// the policy chooses what the log never shows, and no estimate holds.
func (e *Evaluation) MeanWeight() Estimate { return e.log.estimate(e.Weight, nil) }

// Mean is the mean reward of the logged choices.
func (l *Log) Mean() Estimate { return l.estimate(l.rewards(), nil) }

func (l *Log) rewards() []float64 {
	x := make([]float64, len(l.Decisions))
	for i, d := range l.Decisions {
		x[i] = float64(d.Reward)
	}
	return x
}

// estimate is the mean of x, [N], weighed by weights, [N]; nil: all 1.
func (l *Log) estimate(x, weights []float64) Estimate {
	if weights == nil {
		weights = slices.Repeat([]float64{1}, len(x))
	}
	var total, squares, sum float64
	low, high, units, seen := math.Inf(1), math.Inf(-1), l.units(), map[int]bool{}
	for i, w := range weights {
		if w > 0 {
			total, squares, sum = total+w, squares+w*w, sum+w*x[i]
			low, high, seen[units[i]] = min(low, x[i]), max(high, x[i]), true
		}
	}
	e := Estimate{Mean: sum / total, Units: len(seen), Effective: total * total / squares, log: l}
	for i, w := range weights {
		e.influence = append(e.influence, w*(x[i]-e.Mean)*float64(len(x))/total)
	}
	return e.interval(low < high)
}

// units says whose luck each decision shares, [N]: its user's, or its own where it has none.
func (l *Log) units() []int {
	units, users := make([]int, len(l.Decisions)), map[string]int{}
	for i, d := range l.Decisions {
		units[i] = i
		if first, known := users[d.User]; known && d.User != "" {
			units[i] = first
		}
		users[d.User] = units[i]
	}
	return units
}

// interval returns the estimate with its error and interval, infinite where the spread is not known.
func (e Estimate) interval(known bool) Estimate {
	e.Error, e.Low, e.High = math.Inf(1), math.Inf(-1), math.Inf(1)
	if !known || e.Units < 2 {
		return e
	}
	sums, squares, n := make([]float64, len(e.influence)), 0.0, float64(e.Units)
	for i, unit := range e.log.units() {
		sums[unit] += e.influence[i]
	}
	for _, s := range sums {
		squares += s * s
	}
	e.Error = math.Sqrt(n/(n-1)*squares) / float64(len(sums))
	half := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * e.Error
	e.Low, e.High = e.Mean-half, e.Mean+half
	return e
}
