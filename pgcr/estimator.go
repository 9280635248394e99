package pgcr

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// An Estimator estimates with which probability each context of a batch is
// chosen. It is where PGCR and vanilla policy gradients differ.
type Estimator interface {
	// Rivals returns how many contexts from the session of a step the estimate
	// needs, for a problem with states; 0 if none.
	Rivals(candidates int) int

	// Check returns an error if the estimate cannot be made from such a batch, in
	// a problem without states.
	Check(batch, candidates int) error

	// Estimate returns the probabilities, [R, B*M], of contexts with scores
	// [R, B*M], step by step, and the function that pulls a gradient with respect
	// to them back to the scores and rivals. rivals is [R, C, B], the scores of the C
	// contexts from the session of each step, or nil in a bandit. kappa is a
	// scalar.
	Estimate(scores, rivals, kappa *Node, candidates int) (probability *Node, gradient func(loss *Node) (scores, rivals *Node))
}

// Resampled is the estimator of PGCR (21): the rivals of a context come from
// the other steps of the batch in a bandit, and from the same session, joined
// with the state of the step, where there are states.
type Resampled struct {
	N int // resamplings, at least 1
}

// Rivals returns N*(M-1).
func (e Resampled) Rivals(candidates int) int { return e.N * (candidates - 1) }

// Check wants N*(M-1) < B, so that the rivals of a context come from different
// places of the batch.
func (e Resampled) Check(batch, candidates int) error {
	if rivals := e.Rivals(candidates); rivals >= batch {
		return fmt.Errorf("pgcr: Config.Resamples is %d, which needs %d rivals a context from other steps of the batch, but Config.BatchSize is %d: %d steps would do",
			e.N, rivals, batch, rivals+1)
	}
	return nil
}

// Estimate returns p̂ and its gradient.
func (e Resampled) Estimate(scores, rivals, kappa *Node, candidates int) (*Node, func(loss *Node) (*Node, *Node)) {
	if rivals == nil {
		return e.fromBatch(scores, kappa, candidates)
	}
	dims := rivals.Shape().Dimensions
	runs, count, batch := dims[0], dims[1], dims[2]
	others := Reshape(BroadcastToDims(Reshape(rivals, runs, count, batch, 1), runs, count, batch, candidates), runs, count, batch*candidates)
	m := EstimateMarginal(scores, others, kappa, e.N)
	return m.Probability, func(loss *Node) (*Node, *Node) {
		ds, do := m.Gradient(loss)
		return ds, ReduceSum(Reshape(do, runs, count, batch, candidates), 3)
	}
}

func (e Resampled) fromBatch(scores, kappa *Node, candidates int) (*Node, func(loss *Node) (*Node, *Node)) {
	if fuses(scores) {
		m := EstimateMarginal(scores, rolls(scores, candidates, e.Rivals(candidates)), kappa, e.N)
		return m.Probability, func(loss *Node) (*Node, *Node) {
			ds, do := m.Gradient(loss)
			return Add(ds, rollsGradient(do, candidates)), nil
		}
	}
	runs, n := scores.Shape().Dimensions[0], scores.Shape().Dimensions[1]
	own, others := BatchRivals(scores, candidates, e.Rivals(candidates))
	m := EstimateMarginal(own, others, kappa, e.N)
	p := Slice(m.Probability, AxisRange(), AxisRange(0, n))
	return p, func(loss *Node) (*Node, *Node) {
		padded := Concatenate([]*Node{loss, Zeros(loss.Graph(), makeShape(loss, runs, candidates))}, 1)
		do, dr := m.Gradient(padded)
		return BatchRivalsGradient(do, dr, candidates), nil
	}
}
