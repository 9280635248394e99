package baselines

import (
	"fmt"

	"github.com/contextrec/contextrec/envs"
)

// shape is what a policy was made for.
type shape struct {
	envs.Spec
	runs int
}

func newShape(algorithm string, spec envs.Spec, seeds []uint64) (shape, error) {
	if err := spec.Validate(); err != nil {
		return shape{}, fmt.Errorf("baselines: %s: %w", algorithm, err)
	}
	if len(seeds) == 0 {
		return shape{}, fmt.Errorf("baselines: %s needs at least one seed", algorithm)
	}
	return shape{spec, len(seeds)}, nil
}

// checkObservation panics when the shape is another one, and returns an
// *envs.RunError when a context is not finite.
func (s shape) checkObservation(obs envs.Observation) error {
	obs.Check(s.Spec, s.runs)
	size := s.Candidates * s.Dim
	for r := range s.runs {
		contexts := obs.Contexts[r*size : (r+1)*size]
		if finite(contexts) {
			continue
		}
		for i := range contexts {
			if !finite(contexts[i : i+1]) {
				return &envs.RunError{Run: r, Err: fmt.Errorf("baselines: feature %d of candidate %d is %v", i%s.Dim, i/s.Dim, contexts[i])}
			}
		}
	}
	return nil
}

// checkDecision is checkObservation with the actions to be written.
func (s shape) checkDecision(dst []int, obs envs.Observation) error {
	if len(dst) != s.runs {
		panic(fmt.Sprintf("baselines: %d actions asked for, policy was made for %d runs", len(dst), s.runs))
	}
	return s.checkObservation(obs)
}

// checkTransition is checkObservation for all of a transition.
func (s shape) checkTransition(tr envs.Transition) error {
	tr.Check(s.Spec, s.runs)
	for r := range tr.Reward {
		if !finite(tr.Reward[r : r+1]) {
			return &envs.RunError{Run: r, Err: fmt.Errorf("baselines: reward is %v", tr.Reward[r])}
		}
	}
	return s.checkObservation(tr.Observation)
}

// finite reports whether no number is NaN or infinite.
func finite(x []float32) bool {
	// v-v is 0 or else NaN. Four sums and no branch, because this reads every
	// context of every step twice.
	var s0, s1, s2, s3 float32
	for ; len(x) >= 4; x = x[4:] {
		s0 += x[0] - x[0]
		s1 += x[1] - x[1]
		s2 += x[2] - x[2]
		s3 += x[3] - x[3]
	}
	for _, v := range x {
		s0 += v - v
	}
	return s0+s1+s2+s3 == 0
}
