package baselines

import (
	"math"

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
