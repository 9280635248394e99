package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// TheoryClaims are the claims that rest on the theory study.
func TheoryClaims(t *TheoryResult) []Claim {
	return slices.DeleteFunc(Claims(nil, t), func(c Claim) bool { return c.Row != 7 && c.Row != 8 && c.Row != 10 })
}

// critic is the claim that N times the ratio of the variances is 1.
func (t *TheoryResult) critic() []Part {
	var parts []Part
	for _, name := range distinct(t.Critic, func(v VarianceRatio) string { return v.Setting }) {
		var numbers []string
		var each []Part
		for _, v := range t.Critic {
			if v.Setting == name {
				n := float64(v.N)
				scaled := Interval{n * v.Ratio.Mean, n * v.Ratio.Low, n * v.Ratio.High}
				numbers = append(numbers, fmt.Sprintf("%d: %v", v.N, scaled))
				each = append(each, Part{Verdict: scaled.within(1-VarianceMargin, 1+VarianceMargin)})
			}
		}
		parts = append(parts, Part{
			fmt.Sprintf("%sN x ratio of the variances at N = %s; limits 1 +- %v", in(name), strings.Join(numbers, ", "), VarianceMargin),
			conclude(each),
		})
	}
	parts = append(measured(parts), ratios(t.CriticTotal, "over the steps, not given one, the ratio is")...)
	if len(t.Chosen) > 0 {
		var p, nu, pHat float64
		for _, c := range t.Chosen {
			p, nu, pHat = p+c.Marginal, nu+c.OwnStep.Mean, pHat+c.Resampled.Mean
		}
		n := float64(len(t.Chosen))
		parts = append(parts, Part{fmt.Sprintf(
			"unbiased, as the lemma says of both, is PGCR's alone: contexts with a mean marginal of %.2f are weighed, when chosen, by %.2f in vanilla policy gradient and by %.2f in PGCR",
			p/n, nu/n, pHat/n), Note})
	}
	return parts
}

// actor is the claim that the ratio of the variances is at most 1.
func (t *TheoryResult) actor() []Part {
	var parts []Part
	for _, v := range t.Actor {
		verdict := Undecided
		if v.Ratio.Low > 1 {
			verdict = NotReproduced
		} else if v.Ratio.High <= NoHigher {
			verdict = Reproduced
		}
		parts = append(parts, Part{fmt.Sprintf("%sN = %d: ratio of the variances: %v, limit %v", in(v.Setting), v.N, v.Ratio, NoHigher), verdict})
	}
	return append(measured(parts), ratios(t.ActorBeside, "ratio")...)
}

// ratios notes the ratios of each setting.
func ratios(list []VarianceRatio, what string) []Part {
	var parts []Part
	for _, setting := range distinct(list, func(v VarianceRatio) string { return v.Setting }) {
		those := slices.DeleteFunc(slices.Clone(list), func(v VarianceRatio) bool { return v.Setting != setting })
		text := in(setting) + what
		variants := distinct(those, func(v VarianceRatio) string { return v.Variant })
		slices.Sort(variants) // none first
		for i, variant := range variants {
			var numbers []string
			for _, v := range those {
				if v.Variant == variant {
					numbers = append(numbers, fmt.Sprintf("%d: %s", v.N, short(v.Ratio.Mean)))
				}
			}
			if i > 0 {
				text += ";"
			}
			if variant != "" {
				text += " with " + variant
			}
			text += " at N = " + strings.Join(numbers, ", ")
		}
		parts = append(parts, Part{text, Note})
	}
	return parts
}

// distinct are the names of a list in the order in which they come.
func distinct(list []VarianceRatio, of func(VarianceRatio) string) []string {
	var names []string
	for _, v := range list {
		if name := of(v); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func in(setting string) string {
	if setting == "" {
		return ""
	}
	return setting + ": "
}

// unbiased counts the contexts whose interval leaves out 0. Of K intervals of
// 95 % each, a number leave it out by chance that is binomial (K, 0.05): more
// of them than chance gives once in a thousand refute the claim, and so many as
// it gives once in twenty leave it undecided.
func (t *TheoryResult) unbiased() []Part {
	if len(t.Bias) == 0 {
		return measured(nil)
	}
	out, furthest, largest := 0, 0.0, 0.0
	for _, b := range t.Bias {
		if b.Low > 0 || b.High < 0 {
			out++
		}
		largest = math.Max(largest, math.Abs(b.Mean))
		furthest = math.Max(furthest, math.Max(-b.Low, b.High))
	}
	chance := distuv.Binomial{N: float64(len(t.Bias)), P: 0.05}
	// rarer is the smallest number that chance reaches less often than p.
	rarer := func(p float64) int {
		n := 1
		for n <= len(t.Bias) && 1-chance.CDF(float64(n-1)) >= p {
			n++
		}
		return n
	}
	verdict := Reproduced
	if out >= rarer(0.001) {
		verdict = NotReproduced
	} else if out >= rarer(0.05) || furthest > SmallBias {
		verdict = Undecided
	}
	parts := []Part{{
		fmt.Sprintf("%d of %d contexts have a 95 %% interval of the bias without 0 (by chance %.1f on average; %d would leave it undecided, %d refute it); largest bias %.2g, furthest end of an interval %.2g, limit %v",
			out, len(t.Bias), 0.05*float64(len(t.Bias)), rarer(0.05), rarer(0.001), largest, furthest, SmallBias),
		verdict,
	}}
	var early []string
	for _, h := range t.History {
		if h.Steps <= 100 {
			early = append(early, fmt.Sprintf("%d: %+.1f %%", h.Steps, 100*h.Bias.Mean))
		}
	}
	if early != nil {
		parts = append(parts, Part{"of batches drawn with replacement from a short history it is not; the bias for the most probable context after steps " + strings.Join(early, ", "), Note})
	}
	return parts
}

func measured(parts []Part) []Part {
	if len(parts) == 0 {
		return []Part{{"the theory study was not run", NotRun}}
	}
	return parts
}
