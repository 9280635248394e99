package paper

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// Theory is what notebooks/theory.ipynb has measured of the paper's theory, and keeps:
// of agents that have learned on a toy problem and then stay as they are.
type Theory struct {
	Setting string
	Critic  []Ratio    // Var[p_hat] by Var[pi of the own step], given the context: of the critic updates (23) and (28)
	Actor   []Ratio    // Var[actor update] of PGCR (25) by that of vanilla policy gradient (29)
	Bias    []Interval // p_hat less the marginal probability, one for each context
}

// Ratio is a ratio of two variances, with its interval over agents.
type Ratio struct {
	Problem       string
	N             int  // resampled sets a step
	Independently bool // others drawn anew for each context, in place of sets drawn jointly
	Ratio         Interval
}

// claim is a claim that rests on the study.
func (t *Theory) claim(row int, statement, source string, parts []Part) Claim {
	if len(parts) == 0 {
		parts = []Part{{"the theory notebook was not executed", NotRun}}
	}
	return Claim{row, statement, source, t.Setting, "[notebook](../theory.ipynb), `paper notebooks theory`, N = 1, 2 and 4, sets drawn jointly and independently", parts, conclude(parts)}
}

// criticParts are the claim that N times the ratio of the variances is 1.
func (t *Theory) criticParts() (parts []Part) {
	for _, r := range t.Critic {
		n := float64(r.N)
		i := Interval{n * r.Ratio.Mean, n * r.Ratio.Low, n * r.Ratio.High}
		parts = append(parts, Part{
			fmt.Sprintf("%s: N x ratio of the variances at N = %d: %v, limits 1 +- %v", r.Problem, r.N, i, varianceMargin),
			i.within(1-varianceMargin, 1+varianceMargin),
		})
	}
	return parts
}

// actorParts are the claim that the ratio of the variances is at most 1 at N = 1. It
// is refuted where the whole interval is above 1.
func (t *Theory) actorParts() (parts []Part) {
	for _, r := range t.Actor {
		if r.Independently || r.N != 1 {
			continue
		}
		verdict := r.Ratio.below(noHigher)
		if r.Ratio.Low > 1 {
			verdict = NotReproduced
		}
		parts = append(parts, Part{fmt.Sprintf("%s: ratio of the variances at N = 1: %v, limit %v", r.Problem, r.Ratio, noHigher), verdict})
	}
	return parts
}

// setParts are the claim that the ratio falls with N, and is above 5 with others
// that are drawn independently.
func (t *Theory) setParts() (parts []Part) {
	before := map[string]Ratio{} // of a problem, with sets drawn jointly
	for _, r := range t.Actor {
		if r.Independently {
			parts = append(parts, Part{fmt.Sprintf("%s: drawn independently, N = %d: %v, limit 5", r.Problem, r.N, r.Ratio), r.Ratio.above(5)})
			continue
		}
		if b, known := before[r.Problem]; known {
			parts = append(parts, Part{
				fmt.Sprintf("%s: drawn jointly, N = %d: %v, N = %d: %v", r.Problem, b.N, b.Ratio, r.N, r.Ratio),
				r.Ratio.below(b.Ratio.Mean),
			})
		}
		before[r.Problem] = r
	}
	return parts
}

// biasParts count the contexts whose interval leaves out 0. Of K intervals of 95 %
// each a number leave it out by chance that is binomial (K, 0.05): more of them than
// chance gives once in a thousand refute the claim, and as many as it gives once in
// twenty, or intervals that are too long, leave it undecided.
func (t *Theory) biasParts() []Part {
	k := float64(len(t.Bias))
	if k == 0 {
		return nil
	}
	without, half := 0.0, 0.0
	for _, b := range t.Bias {
		if b.Low > 0 || b.High < 0 {
			without++
		}
		half += (b.High - b.Low) / 2 / k
	}
	rare, verdict := 1-distuv.Binomial{N: k, P: 0.05}.CDF(without-1), Reproduced
	if rare < 0.001 {
		verdict = NotReproduced
	} else if rare < 0.05 || half > smallBias {
		verdict = Undecided
	}
	return []Part{{
		fmt.Sprintf("%.0f of %.0f contexts have a 95 %% interval of the bias without 0, by chance %.1f; the intervals are +-%.2g on average, limit %v",
			without, k, 0.05*k, half, smallBias), verdict,
	}}
}
