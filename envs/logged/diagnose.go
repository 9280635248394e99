package logged

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// Diagnosis says how far the estimates of an evaluation can be trusted.
type Diagnosis struct {
	MeanWeight Estimate // 1 in expectation
	Effective  float64  // how many decisions with equal weights would say as much, (Σw)²/Σw²
	Largest    float64  // weight
	Top        float64  // the share of Σ w |r| that the 1 % of decisions with most of it have
	Missing    float64  // the share of the policy's choices that the log never makes: 1 less the mean weight, at least 0
	Warnings   []string // why the numbers mean little or nothing
}

// Diagnose returns the diagnosis.
func (e *Evaluation) Diagnose() Diagnosis {
	n, w := len(e.Weight), e.MeanWeight()
	known := !math.IsNaN(w.Mean)
	d := Diagnosis{MeanWeight: w, Effective: e.Estimate(IPW).Effective, Largest: slices.Max(e.Weight), Missing: max(0, 1-w.Mean)}
	parts, rewarded, top := slices.Clone(e.of.reward), 0, (n+99)/100
	for i, r := range parts {
		if parts[i] = e.Weight[i] * math.Abs(r); parts[i] > 0 {
			rewarded++
		}
	}
	slices.Sort(parts)
	d.Top = floats.Sum(parts[n-top:]) / max(floats.Sum(parts), math.SmallestNonzeroFloat64)
	warn := func(when bool, format string, args ...any) {
		if when {
			d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
		}
	}
	warn(!known, "the log has no propensities: there is DM alone, and nothing says how far its model is off")
	warn(e.of.estimated, "the propensities are estimated, and nothing says how far they are off")
	warn(known && !(w.Low <= 1 && 1 <= w.High), "the mean weight is %v, which leaves out 1: propensities are wrong, or the policy chooses what the log never shows; no estimate holds", w)
	warn(d.Effective >= 30 && d.Largest-slices.Min(e.Weight) <= tiny*d.Largest && math.Abs(w.Mean-1) > 0.05, "all weights are %.3g and not 1: propensities are wrong, or the policy chooses what the log never shows; no estimate holds", w.Mean) // their mean has no interval
	warn(known && !(d.Effective >= 30), "%.0f effective decisions of %d: the policy seldom chooses as the log does, or the log is short; estimates with weights are luck", d.Effective, n)
	warn(known && rewarded < 5, "%d of the log's choices that the policy makes, too, have a reward other than 0: read the intervals, not the estimates", rewarded)
	warn(d.Top > 0.5 && rewarded > 5*top, "1 %% of the decisions have %.0f %% of the weighted rewards: intervals are too short", 100*d.Top) // else rewards are rare
	return d
}

// Together returns estimates of several policies from the same decisions with longer intervals, all
// of which hold the truth at the same time in 95 % of the logs, also that of the policy which is picked
// by its estimate. Lengths are those of single ones times the 95 % quantile of the largest |t| of all,
// over 1.96: of 2,000 draws of the mean influence with a normal factor for each user (Chernozhukov,
// Chetverikov and Kato: Gaussian approximations and multiplier bootstrap for maxima of sums of
// high-dimensional random vectors. Annals of Statistics 41, 2013). In TestTogether they do in .97.
func Together(estimates ...Estimate) []Estimate {
	const samples = 2000
	rng, largest := envs.NewRand(1, "logged/together"), make([]float64, samples)
	sums := make([][]float64, len(estimates))
	for k, e := range estimates {
		e.Minus(estimates[0]) // panics where decisions are others
		sums[k] = make([]float64, len(e.influence))
		for i, x := range e.influence {
			sums[k][e.of.units[i]] += x / (float64(len(e.influence)) * e.Error)
		}
	}
	for s := range largest {
		t := make([]float64, len(estimates))
		for i := range sums[0] {
			z := rng.NormFloat64()
			for k := range t {
				t[k] += z * sums[k][i]
			}
		}
		largest[s] = floats.Norm(t, math.Inf(1))
	}
	slices.Sort(largest)
	longer := max(1, largest[samples*95/100]/1.96)
	together := slices.Clone(estimates)
	for k, e := range together {
		together[k].Low, together[k].High = e.Mean-longer*(e.Mean-e.Low), e.Mean+longer*(e.High-e.Mean)
	}
	return together
}
