package logged

import (
	"context"
	"errors"
	"fmt"

	"github.com/contextrec/contextrec/envs"
)

// Train makes policies of an algorithm, one run a seed, and lets them learn
// every decision of the log in its order, once. They are R policies of the same
// algorithm that differ in their own luck. What the log has chosen is not what
// they would have: an algorithm that learns what a candidate is worth does not
// mind. It is an error when the log fails its Check or has no decisions. Errors
// name the decision.
func Train(ctx context.Context, log *Log, algorithm envs.Algorithm, seeds []uint64) (envs.Policy, error) {
	if err := log.checkSome(); err != nil {
		return nil, err
	}
	policy, err := algorithm.New(log.Spec(), seeds)
	if err != nil {
		return nil, err
	}
	t := newTable(log, len(seeds))
	for i := range log.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := policy.Update(t.transition(i)); err != nil {
			return nil, fmt.Errorf("logged: learning decision %s: %w", log.ID[i], err)
		}
	}
	return policy, nil
}

// Evaluation is a policy beside a log.
type Evaluation struct {
	// Choices is how probably the policy makes each choice, [N, M]: the share of
	// its draws.
	Choices []float64

	// Weight is the probability that the policy makes the logged choice, by the
	// probability with which the log has made it, [N].
	Weight []float64

	log *Log
}

// Evaluate asks a policy of that many runs what it would choose in every
// decision, draws times. It does not learn meanwhile. Where it has more than one
// run, what is evaluated is the policy that picks one of them at random for
// every decision. A policy that always chooses the same needs no more than one
// draw, more make the estimates of another less noisy.
//
// It is an error when the log is not evaluable (see Log.CheckEvaluable, which
// tells it before a policy is trained), and when the policy never makes a logged
// choice: nothing can be said of it.
func Evaluate(ctx context.Context, log *Log, policy envs.Policy, runs, draws int) (*Evaluation, error) {
	if runs < 1 || draws < 1 {
		panic(fmt.Sprintf("logged: %d draws of %d runs", draws, runs))
	}
	if err := log.CheckEvaluable(); err != nil {
		return nil, err
	}
	e := &Evaluation{
		Choices: make([]float64, log.Len()*log.Candidates),
		Weight:  make([]float64, log.Len()),
		log:     log,
	}
	t := newTable(log, runs)
	actions := make([]int, runs)
	total := 0.0
	for i := range log.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		obs := t.observe(i)
		choices := e.Choices[i*log.Candidates : (i+1)*log.Candidates]
		for range draws {
			if err := policy.Act(actions, obs); err != nil {
				return nil, fmt.Errorf("logged: decision %s: %w", log.ID[i], err)
			}
			for _, a := range actions {
				if a < 0 || a >= log.Candidates {
					return nil, fmt.Errorf("logged: decision %s: the policy chooses candidate %d of %d", log.ID[i], a, log.Candidates)
				}
				choices[a]++
			}
		}
		for c := range choices {
			choices[c] /= float64(runs * draws)
		}
		e.Weight[i] = choices[log.Chosen[i]] / log.Propensity[i]
		total += e.Weight[i]
	}
	if total == 0 {
		return nil, errors.New("logged: the policy never makes a choice of the log, which says nothing of it")
	}
	return e, nil
}

// Value is the mean reward of the policy where the rewards of all candidates are
// known, [N, M], as in a simulation.
func (e *Evaluation) Value(rewards []float64) float64 {
	e.checkRewards(rewards)
	sum := 0.0
	for i, p := range e.Choices {
		sum += p * rewards[i]
	}
	return sum / float64(e.log.Len())
}

// LoggedValue is Value of the choices that the log has made.
func (e *Evaluation) LoggedValue(rewards []float64) float64 {
	e.checkRewards(rewards)
	sum := 0.0
	for i, c := range e.log.Chosen {
		sum += rewards[i*e.log.Candidates+c]
	}
	return sum / float64(e.log.Len())
}

func (e *Evaluation) checkRewards(rewards []float64) {
	if len(rewards) != len(e.Choices) {
		panic(fmt.Sprintf("logged: %d rewards for %d candidates", len(rewards), len(e.Choices)))
	}
}

// table offers the decisions of a log to policies of several runs at once.
type table struct {
	log      *Log
	contexts []float32 // [R, M, D]
	actions  []int
	reward   []float32
	discount []float32
}

func newTable(log *Log, runs int) *table {
	return &table{
		log:      log,
		contexts: make([]float32, runs*log.Candidates*log.Dim),
		actions:  make([]int, runs),
		reward:   make([]float32, runs),
		discount: make([]float32, runs),
	}
}

func (t *table) observe(i int) envs.Observation {
	size := t.log.Candidates * t.log.Dim
	for r := range t.actions {
		copy(t.contexts[r*size:(r+1)*size], t.log.Contexts[i*size:(i+1)*size])
	}
	return envs.Observation{Runs: len(t.actions), Candidates: t.log.Candidates, Dim: t.log.Dim, Contexts: t.contexts}
}

func (t *table) transition(i int) envs.Transition {
	for r := range t.actions {
		t.actions[r], t.reward[r], t.discount[r] = t.log.Chosen[i], t.log.Reward[i], 0
	}
	return envs.Transition{Observation: t.observe(i), Actions: t.actions, Outcome: envs.Outcome{Reward: t.reward, Discount: t.discount}}
}
