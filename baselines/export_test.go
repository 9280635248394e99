package baselines

import (
	"math"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// Scores writes the score of every candidate to dst, [R, M], NaN beyond the size of a
// set: the upper confidence bound, or θ̂·c in Thompson sampling.
func (p *policy[T]) Scores(dst []float64, obs envs.Observation) error {
	for i := range dst {
		dst[i] = math.NaN()
	}
	return p.forEach(obs, len(dst), p.spec.Candidates, func(r int, features, scores []float64) error {
		p.runs[r].Model.score(scores, features, nil)
		copy(dst[r*p.spec.Candidates:], scores)
		return nil
	})
}

// Estimate returns a copy of the fitted parameters θ of one run: [D], or [D+1] with the
// intercept last.
func (p *policy[T]) Estimate(run int) []float64 {
	switch m := any(p.runs[run].Model).(type) {
	case *linear:
		return slices.Clone(m.Theta)
	case *logistic:
		return slices.Clone(m.Theta)
	case *glmUCB:
		return slices.Clone(m.Fit.Theta)
	}
	return nil
}

type Estimator interface{ Estimate(run int) []float64 }
