package paper

// Verdict is what the numbers say about a claim.
type Verdict string

// The verdicts. All of them are read off a 95 % interval: Reproduced and
// NotReproduced ask that the whole of it lies on the one or on the other side
// of the claim's limit, and Undecided is what remains.
const (
	Reproduced    Verdict = "reproduced"
	NotReproduced Verdict = "not reproduced"
	Undecided     Verdict = "undecided"
	NotRun        Verdict = "not run" // results are missing
	Note          Verdict = ""        // a number beside a claim, of which nothing is claimed
)

// below judges the claim that what i estimates is below the limit.
func (i Interval) below(limit float64) Verdict {
	switch {
	case i.High < limit:
		return Reproduced
	case i.Low > limit:
		return NotReproduced
	}
	return Undecided
}

// above judges the claim that what i estimates is above the limit.
func (i Interval) above(limit float64) Verdict {
	return Interval{-i.Mean, -i.High, -i.Low}.below(-limit)
}

// within judges the claim that what i estimates lies between low and high.
func (i Interval) within(low, high float64) Verdict {
	switch {
	case i.Low >= low && i.High <= high:
		return Reproduced
	case i.Low > high || i.High < low:
		return NotReproduced
	}
	return Undecided
}

// conclude is the verdict on a claim with several parts, notes apart: it is
// refuted by one part, and reproduced by all.
func conclude(parts []Part) Verdict {
	count := map[Verdict]int{}
	for _, p := range parts {
		count[p.Verdict]++
	}
	for _, v := range []Verdict{NotReproduced, NotRun, Undecided, Reproduced} {
		if count[v] > 0 {
			return v
		}
	}
	return NotRun
}
