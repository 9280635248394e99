package logged

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// Train makes a policy of one run a seed and lets it learn every decision of the log, once and in
// order, whatever its propensity and weight. The choices are not its own. Errors name the decision.
func Train(ctx context.Context, log *Log, algorithm envs.Algorithm, seeds []uint64) (envs.Policy, error) {
	return train(ctx, log, algorithm, seeds, 1)
}

func train(ctx context.Context, log *Log, algorithm envs.Algorithm, seeds []uint64, epochs int) (envs.Policy, error) {
	if err := log.check(false); err != nil {
		return nil, err
	}
	policy, err := algorithm.New(log.Spec(), seeds)
	if err != nil {
		return nil, err
	}
	for i := range epochs * len(log.Decisions) {
		d := log.Decisions[i%len(log.Decisions)]
		if err := log.explained(ctx, "decision "+d.ID, policy.Update(log.step(d, len(seeds)))); err != nil {
			return nil, err
		}
	}
	return policy, nil
}

// Evaluation is a policy beside a log of N decisions.
type Evaluation struct {
	Probabilities [][]float64 // how probably the policy chooses each candidate, [N][m]
	Weight        []float64   // the probability of the logged choice by its propensity, [N]; NaN without propensities
	Model         [][]float64 // the reward that a model expects of each candidate, [N][m], see Log.CrossFit; nil: none
	of            *sample
}

// Evaluate asks a policy how probably it would choose each candidate of every decision. It does not
// learn. Of several runs, one picked at random for every decision is evaluated. Where the policy is not
// envs.Probable, probabilities are shares of 100 draws a run. Without propensities DM is left, without interval.
func Evaluate(ctx context.Context, log *Log, policy envs.Policy, runs int) (*Evaluation, error) {
	if err := log.check(slices.ContainsFunc(log.Decisions, func(d Decision) bool { return d.Propensity != 0 })); err != nil {
		return nil, err
	}
	e := &Evaluation{make([][]float64, len(log.Decisions)), make([]float64, len(log.Decisions)), nil, log.sample()}
	for i, d := range log.Decisions {
		p, err := log.probabilities(ctx, policy, runs, d)
		chance := p[d.Chosen]
		if err == nil && log.sets > 0 {
			chance, err = log.chance(ctx, policy, runs, i)
		}
		if err != nil {
			return nil, err
		}
		if d.Propensity == 0 {
			chance = math.NaN()
		}
		e.Probabilities[i], e.Weight[i] = p, chance/d.Propensity
	}
	return e, nil
}

// probabilities are those of a policy for the candidates of a decision, [m], in the mean over runs.
func (l *Log) probabilities(ctx context.Context, policy envs.Policy, runs int, d Decision) ([]float64, error) {
	const draws = 100
	obs, all, actions := l.step(d, runs).Observation, make([]float64, runs*l.Candidates), make([]int, runs)
	probable, ok := policy.(envs.Probable)
	var err error
	if ok {
		err = probable.Probabilities(all, obs)
	}
	for i := 0; i < draws && !ok && err == nil; i++ {
		if err = policy.Act(actions, obs); err == nil {
			envs.CheckActions(actions, obs)
			for r, a := range actions {
				all[r*l.Candidates+a] += 1.0 / draws
			}
		}
	}
	p := make([]float64, l.size(d))
	for i, x := range all {
		if c := i % l.Candidates; c < len(p) {
			p[c] += x / float64(runs)
		}
	}
	if sum := floats.Sum(p); err == nil && !(math.Abs(sum-1) < 1e-3) {
		err = fmt.Errorf("the policy's probabilities sum to %v", sum)
	}
	return p, l.explained(ctx, "decision "+d.ID, err)
}
