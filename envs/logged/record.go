package logged

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// Record returns the log of a policy of one run, which is envs.Probable and does not learn, in an environment
// of one run, with exact propensities and, for Evaluation.Truth, what an envs.Oracle expects.
func Record(ctx context.Context, env envs.Environment, policy envs.Policy, steps int) (*Log, error) {
	probable, ok := policy.(envs.Probable)
	if !ok {
		return nil, fmt.Errorf("logged: a %T does not say its probabilities", policy)
	}
	oracle, knows := env.(envs.Oracle)
	log, action := &Log{}, make([]int, 1)
	for i := range steps {
		obs := env.Observe()
		log.Candidates = obs.Candidates
		for j := len(log.Features); j < obs.Dim; j++ {
			log.Features = append(log.Features, fmt.Sprintf("x%d", j))
		}
		d, p := Decision{ID: fmt.Sprint(i), Contexts: slices.Clone(obs.Contexts[:obs.Size(0)*obs.Dim])}, make([]float64, obs.Candidates)
		err := errors.Join(ctx.Err(), probable.Probabilities(p, obs), policy.Act(action, obs))
		if knows && err == nil {
			d.Expected = make([]float64, obs.Candidates)
			oracle.ExpectedRewards(d.Expected)
			d.Expected = d.Expected[:obs.Size(0)]
		}
		var out envs.Outcome
		if err == nil {
			out, err = env.Step(action)
		}
		if err != nil {
			return nil, fmt.Errorf("logged: step %d: %w", i, err)
		}
		d.Chosen, d.Propensity, d.Reward = action[0], p[action[0]], out.Reward[0]
		log.Decisions = append(log.Decisions, d)
	}
	return log, nil
}

// Truth is the expected mean reward of the policy, given the candidates; NaN without Decision.Expected.
func (e *Evaluation) Truth() float64 {
	sum := 0.0
	for i, d := range e.of.decisions {
		if d.Expected == nil {
			return math.NaN()
		}
		sum += floats.Dot(e.Probabilities[i], d.Expected)
	}
	return sum / float64(len(e.Weight))
}
