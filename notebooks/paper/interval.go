package paper

import (
	"fmt"
	"math"
	"slices"

	"github.com/contextrec/contextrec/envs/sim"
)

// Interval is a mean with its 95 % confidence interval.
type Interval struct{ Mean, Low, High float64 }

// Mean95 is the mean of independent values with the interval of [sim.Interval95].
func Mean95(values []float64) Interval {
	mean, low, high := sim.Interval95(values)
	return Interval{mean, low, high}
}

// Paired95 is Mean95 of the differences a[r] - factor*b[r], see [sim.Differences].
func Paired95(a, b []float64, factor float64) Interval { return Mean95(sim.Differences(a, b, factor)) }

// String writes the interval with as many digits as its length makes sense of:
// "-12.3 [-15.1, -9.5]", or "0.000 [no interval]" where the runs tell nothing of
// their spread: there is one, or all are equal.
func (i Interval) String() string {
	digits := 3
	switch length := i.High - i.Low; {
	case math.IsInf(length, 1):
		return fmt.Sprintf("%.3f [no interval]", i.Mean)
	case length > 0:
		digits = int(math.Ceil(-math.Log10(length))) + 1
	}
	digits = min(max(digits, 0), 6)
	return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, i.Mean, digits, i.Low, digits, i.High)
}

// Verdict is what the numbers say about a claim.
type Verdict string

// The verdicts. All of them are read off a 95 % interval: Reproduced and
// NotReproduced ask that the whole of it lies on the one or on the other side
// of the claim's limit, and Undecided is what remains.
const (
	Reproduced    Verdict = "reproduced"
	NotReproduced Verdict = "not reproduced"
	Undecided     Verdict = "undecided"
	TooShort      Verdict = "too short to judge" // fewer steps were played than the claim is about
	NotRun        Verdict = "not run"            // results are missing
	partlyRun     Verdict = "partly run"         // some parts are judged, and results of others are missing
	Note          Verdict = ""                   // a number beside a claim, of which nothing is claimed
)

// below judges the claim that what i estimates is below the limit.
func (i Interval) below(limit float64) Verdict { return i.within(math.Inf(-1), limit) }

// above judges the claim that what i estimates is above the limit.
func (i Interval) above(limit float64) Verdict { return i.within(limit, math.Inf(1)) }

// within judges the claim that what i estimates lies between low and high.
func (i Interval) within(low, high float64) Verdict {
	switch {
	case i.Low > low && i.High < high:
		return Reproduced
	case i.Low > high || i.High < low:
		return NotReproduced
	}
	return Undecided
}

// conclude is the verdict on a claim with several parts, notes apart: one part
// refutes it, and all of them reproduce it.
func conclude(parts []Part) Verdict {
	has := func(v Verdict) bool { return slices.ContainsFunc(parts, func(p Part) bool { return p.Verdict == v }) }
	switch judged := has(Undecided) || has(Reproduced); {
	case has(NotReproduced):
		return NotReproduced
	case has(NotRun) && judged:
		return partlyRun
	case !judged:
		return NotRun
	case has(Undecided):
		return Undecided
	}
	return Reproduced
}
