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
// train on. Users are taken to be independent of each other, and the decisions
// of one user are not; where the log has no users, decisions are. It is
// Student's t with a degree of freedom less than there are users, on a standard
// error that is exact for a mean and the usual linearisation for a ratio, and
// too short where a few users decide all.
type Estimate struct {
	Mean, Low, High float64
	Error           float64 // standard error; infinite where there is one user

	// Units is how many users the interval rests on, or decisions where the log
	// has no users.
	Units int

	// Effective is how many decisions as they come with equal weights would tell
	// as much, (Σw)²/Σw².
	Effective float64

	influence []float64 // of every decision: its mean is 0
	unit      []int     // of every decision
}

// Minus is the difference of two estimates from the same decisions, whose
// interval is shorter than theirs where they have luck in common. It panics when
// the decisions are others.
func (e Estimate) Minus(other Estimate) Estimate {
	if len(e.influence) != len(other.influence) {
		panic(fmt.Sprintf("logged: estimates from %d and from %d decisions", len(e.influence), len(other.influence)))
	}
	influence := make([]float64, len(e.influence))
	for i := range influence {
		if e.unit[i] != other.unit[i] {
			panic(fmt.Sprintf("logged: estimates from the decisions of different users (decision %d)", i))
		}
		influence[i] = e.influence[i] - other.influence[i]
	}
	return newEstimate(e.Mean-other.Mean, influence, e.unit, min(e.Effective, other.Effective))
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

// ratio is the mean of the rewards weighed by weights.
func (e *Evaluation) ratio(weights []float64) Estimate {
	n, total, paid := float64(len(weights)), 0.0, 0.0
	for i, w := range weights {
		total += w
		paid += w * float64(e.log.Reward[i])
	}
	mean := paid / total
	influence := make([]float64, len(weights))
	for i, w := range weights {
		influence[i] = w * (float64(e.log.Reward[i]) - mean) * n / total
	}
	return newEstimate(mean, influence, e.log.units(), effective(weights))
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
	return newEstimate(mean, influence, e.log.units(), effective(e.Weight))
}

// newEstimate makes the interval of a mean from what every decision adds to it.
func newEstimate(mean float64, influence []float64, unit []int, effective float64) Estimate {
	var sums []float64
	for i, u := range unit {
		for u >= len(sums) {
			sums = append(sums, 0)
		}
		sums[u] += influence[i]
	}
	units, n, squares := float64(len(sums)), float64(len(influence)), 0.0
	for _, s := range sums {
		squares += s * s
	}
	e := Estimate{Mean: mean, Units: len(sums), Effective: effective, influence: influence, unit: unit}
	if len(sums) < 2 {
		e.Error, e.Low, e.High = math.Inf(1), math.Inf(-1), math.Inf(1)
		return e
	}
	e.Error = math.Sqrt(units/(units-1)*squares) / n
	half := distuv.StudentsT{Sigma: 1, Nu: units - 1}.Quantile(0.975) * e.Error
	e.Low, e.High = mean-half, mean+half
	return e
}

// units are the users of the decisions, counted as they come; every decision is
// one where there are no users.
func (l *Log) units() []int {
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
	return unit
}

func effective(weights []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, w := range weights {
		sum, squares = sum+w, squares+w*w
	}
	return sum * sum / squares
}
