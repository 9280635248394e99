package logged

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/contextrec/contextrec/envs"
)

// Replayed is what a learning policy earned in a log.
type Replayed struct {
	Decisions []int     // those of the log that were its steps, in their order
	Reward    []float32 // of each step

	log *Log
}

// Replay lets a policy play the log while it learns (Li et al. 2011, algorithm
// 2): a decision in which it chooses what was chosen is a step, from which it
// learns, and all others never were. Where the choices of the log were uniformly
// random, the steps have the law of a policy that plays online, so the mean
// reward of the first T steps is unbiased for what it earns in its first T steps.
// About one decision in M is a step.
//
// It is an error when the log is not evaluable (see Log.CheckEvaluable), and when
// the choices were not uniform: when a propensity differs from 1/M by more than
// 3 %, which is more than the rounding of 0.33.
func Replay(ctx context.Context, log *Log, algorithm envs.Algorithm, seed uint64) (*Replayed, error) {
	if err := log.CheckEvaluable(); err != nil {
		return nil, err
	}
	for i, p := range log.Propensity {
		if math.Abs(p*float64(log.Candidates)-1) > 0.03 {
			return nil, fmt.Errorf("logged: decision %s was made with probability %v among %d candidates: only uniformly random choices can be replayed",
				log.ID[i], p, log.Candidates)
		}
	}
	policy, err := algorithm.New(log.Spec(), []uint64{seed})
	if err != nil {
		return nil, err
	}
	played := &Replayed{log: log}
	t, action := newTable(log, 1), make([]int, 1)
	for i := range log.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tr := t.transition(i)
		err := policy.Act(action, tr.Observation)
		if err == nil && action[0] == log.Chosen[i] {
			played.Decisions = append(played.Decisions, i)
			played.Reward = append(played.Reward, log.Reward[i])
			err = policy.Update(tr)
		}
		if err != nil {
			return nil, fmt.Errorf("logged: decision %s: %w", log.ID[i], err)
		}
	}
	if len(played.Reward) == 0 {
		return nil, errors.New("logged: the policy never makes a choice of the log, which says nothing of it")
	}
	return played, nil
}

// Mean is the mean reward a step, of what Replay has returned. Its interval is
// for the mean of what was expected of the choices that this policy made, step by
// step: what another policy of the same algorithm would have learned and chosen,
// another seed tells. It takes the luck of users to be independent, or that of
// steps where the log has no users, and Units is how many of them there are among
// the steps.
func (p *Replayed) Mean() Estimate {
	n := float64(len(p.Reward))
	mean := 0.0
	for _, r := range p.Reward {
		mean += float64(r) / n
	}
	steps := Log{}
	influence := make([]float64, len(p.Reward))
	for k, i := range p.Decisions {
		influence[k] = float64(p.Reward[k]) - mean
		steps.ID, steps.Chosen = append(steps.ID, p.log.ID[i]), append(steps.Chosen, p.log.Chosen[i])
		if p.log.User != nil {
			steps.User = append(steps.User, p.log.User[i])
		}
	}
	from := steps.decisions()
	return newEstimate(mean, influence, from, from.units(), n)
}
