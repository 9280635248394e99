package logged

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is an estimated mean reward of a decision with its 95 % interval: how much it would vary
// from log to log for the same policy, whatever another log would have taught that.
//
// Users are taken to be independent of each other, and decisions of one user are not; where the log
// has no users, decisions are. Error is that of the usual linearisation, with users as clusters. It
// is too small where rewards are rare, for it does not know of those that were not seen. So the
// upper end of the interval is the largest m with
//
//	(m - Mean)² <= t² Error² + 1.96² up (m - Mean)
//
// with Student's t for the number of users, and with up, by how much one of the Effective decisions
// would raise the estimate if its reward were the largest of the log in place of a mean one. So the
// variance rises with m, as that of a rate does. The lower end is the same with the smallest reward.
// For a rare reward that is the score interval (Wilson, JASA 22, 1927) with an effective number of
// decisions as in surveys (Korn and Graubard, Survey Methodology 24, 1998): where not one of n
// decisions has the reward 1, its end is 3.84/n. It is never shorter than that of Student's t.
//
// The interval is infinite where nothing is known of the spread: rewards of the log are all equal,
// the policy agrees with choices of fewer than two users, or a difference is one of equals. It does
// not know of rewards larger than all of the log, nor of weights far above those seen.
type Estimate struct {
	Mean, Low, High float64
	Error           float64 // standard error; infinite where it is not known
	Units           int     // users (decisions, where the log has no users) with a weight above 0
	Effective       float64 // as many decisions with equal weights would say as much, (Σw)²/Σw²; of a Minus, the smaller number

	of        *sample
	influence []float64 // of every decision: the mean is 0
	up, down  []float64 // the highest and the lowest that it could have been
}

// String is mean and interval, "0.306 [0.259, 0.352]", with more decimals where the interval is short.
func (e Estimate) String() string {
	decimals := 3
	if width := e.High - e.Low; width > 0 && width < 0.1 {
		decimals = 2 - int(math.Floor(math.Log10(width)))
	}
	return fmt.Sprintf("%.*f [%.*f, %.*f]", decimals, e.Mean, decimals, e.Low, decimals, e.High)
}

// Minus is the difference of two estimates, in which common luck cancels. It panics where decisions differ.
func (e Estimate) Minus(other Estimate) Estimate {
	same := func(a, b Decision) bool { return a.ID == b.ID && a.User == b.User && a.Chosen == b.Chosen }
	if !slices.EqualFunc(e.of.decisions, other.of.decisions, same) {
		panic(fmt.Sprintf("logged: got an estimate from other decisions (%d), want the same (%d)", len(other.of.decisions), len(e.of.decisions)))
	}
	d := Estimate{Mean: e.Mean - other.Mean, Units: min(e.Units, other.Units), Effective: min(e.Effective, other.Effective), of: e.of}
	d.influence, d.down, d.up = slices.Clone(e.influence), slices.Clone(e.down), slices.Clone(e.up)
	for i := range d.influence {
		d.influence[i] -= other.influence[i]
		low, high := e.down[i]-other.down[i], e.up[i]-other.up[i]
		d.down[i], d.up[i] = min(low, high), max(low, high)
	}
	return d.interval(max(e.High-e.Low, other.High-other.Low))
}

// MeanWeight is 1 in expectation. Where its interval leaves that out, no estimate holds: see Diagnose.
func (e *Evaluation) MeanWeight() Estimate {
	return e.of.estimate(terms{reward: e.Weight, weight: ones(e.Weight)})
}

// Mean is the mean reward of the logged choices.
func (l *Log) Mean() Estimate {
	s := l.sample()
	return s.estimate(terms{reward: s.reward, weight: ones(s.reward)})
}

func ones(like []float64) []float64 { return slices.Repeat([]float64{1}, len(like)) }

// terms are what an estimate is made of: base + weight (reward - model), [N] each. Nil is 0, but of
// the reward; weights are divided by their mean or not.
type terms struct {
	reward, weight, base, model []float64
	normalised                  bool
}

// estimate is the mean of the terms.
func (of *sample) estimate(t terms) Estimate {
	n, seen, low, high := float64(len(t.reward)), make([]bool, len(t.reward)), math.Inf(1), math.Inf(-1)
	zeros, counts := make([]float64, len(t.reward)), t.weight // what makes a decision count
	if len(t.weight) == 0 {
		t.weight, counts = zeros, ones(zeros)
	}
	if t.base == nil {
		t.base, t.model = zeros, zeros
	}
	e := Estimate{of: of, influence: make([]float64, len(zeros)), up: make([]float64, len(zeros)), down: make([]float64, len(zeros))}
	var total, squares, sum, base float64
	for i, s := range of.sampling {
		low, high = min(low, t.reward[i]), max(high, t.reward[i])
		base, sum = base+s*t.base[i]/n, sum+s*t.weight[i]*(t.reward[i]-t.model[i])
		total, squares = total+s*counts[i], squares+s*counts[i]*s*counts[i]
		if unit := of.units[i]; counts[i] > 0 && !seen[unit] {
			seen[unit] = true
			e.Units++
		}
	}
	e.Effective = total * total / max(squares, math.SmallestNonzeroFloat64)
	mean, share, centre := sum/n, 1.0, 0.0 // of the second term
	if t.normalised {
		mean = sum / total
		share, centre = n/total, mean
	}
	e.Mean = base + mean
	for i, w := range t.weight {
		at := func(x float64) float64 {
			return of.sampling[i] * (t.base[i] + share*w*(x-t.model[i]-centre) + centre - e.Mean)
		}
		e.influence[i], e.down[i], e.up[i] = at(t.reward[i]), at(low), at(high)
	}
	if high-low <= tiny*max(high, -low) {
		return e.interval(math.Inf(1))
	}
	return e.interval(0)
}

const tiny = 1e-6 // the share of a value below which differences are taken as rounding

// interval returns the estimate with its error and interval. They are infinite where the spread is unknown.
func (e Estimate) interval(size float64) Estimate {
	sums, squares, users, n := make([]float64, len(e.influence)), 0.0, float64(e.Units), float64(len(e.influence))
	for i, unit := range e.of.units {
		sums[unit] += e.influence[i]
	}
	for _, s := range sums {
		squares += s * s
	}
	e.Error = math.Sqrt(users/(users-1)*squares) / n
	t := distuv.StudentsT{Sigma: 1, Nu: max(users-1, 1)}.Quantile(0.975)
	// end is how far an end is from the mean: the root of the quadratic equation.
	end := func(extremes []float64, sign float64) float64 {
		var total, squares float64
		for _, x := range extremes {
			x = max(sign*x, 0)
			total, squares = total+x, squares+x*x
		}
		half := 1.96 * 1.96 / 2 * squares / n / max(total, math.SmallestNonzeroFloat64)
		return half + math.Hypot(half, t*e.Error)
	}
	if e.Units > 1 {
		e.Low, e.High = e.Mean-end(e.down, -1), e.Mean+end(e.up, 1)
	}
	if !(e.High-e.Low > tiny*size) {
		e.Low, e.High = math.Inf(-1), math.Inf(1)
	}
	if !(e.Error > tiny*(e.High-e.Low)) {
		e.Error = math.Inf(1)
	}
	return e
}
