package neural

import (
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// learner draws batches from a policy's history and updates its network.
type learner struct {
	sarsa bool // whether targets look a step ahead (22)
	exec  *Exec
}

func newLearner(p *Policy, sessions bool) (*learner, error) {
	l := &learner{sarsa: sessions && p.settings.Discount > 0}
	var err error
	l.exec, err = NewExec(p.backend, func(in []*Node) []*Node {
		state, in := p.network.Nodes(in)
		value := func(contexts *Node) *Node { return state.Forward(contexts, nil) }
		chosen, target, weight, rate, t := in[0], in[1], in[2], in[3], in[4]
		if l.sarsa {
			target = pgcr.SarsaTarget(target, in[6], value(in[5])) // (22)
		}
		loss := pgcr.CriticLoss(weight, target, value(chosen)) // (17)
		state, squared := state.Descend(loss, pgcr.Decayed(rate, p.settings.Decay, t), t, weight)
		return []*Node{state.Params, state.M, state.V, squared}
	})
	return l, err
}

// Update implements envs.Policy: it appends the step to the history and, every UpdateEvery steps,
// learns from batches of it.
func (p *Policy) Update(tr envs.Transition) (err error) {
	tr.Check(p.spec, p.Runs())
	if err := tr.Finite(); err != nil {
		return err
	}
	if err := p.history.Add(onlyChosen(tr)); err != nil {
		return err
	}
	if p.learn == nil {
		if p.learn, err = newLearner(p, tr.Session != nil); err != nil {
			return err
		}
	}
	if p.steps++; p.steps%int64(p.settings.UpdateEvery) != 0 {
		return nil
	}
	for range p.settings.UpdatesPerStep {
		p.updates++
		if _, err := pgcr.Train(p.learn.exec, []*pgcr.Parameters{p.network}, p.draw()...); err != nil {
			return p.history.Explain(err, p.updates, tr.Observation)
		}
	}
	return nil
}

// onlyChosen is a transition in which the chosen candidate was the only one.
func onlyChosen(tr envs.Transition) envs.Transition {
	obs := tr.Observation
	obs.Candidates, obs.Sizes, obs.Contexts = 1, nil, nil
	if tr.Codes != nil {
		obs.Codes = &envs.Codes{State: tr.Codes.State, Table: tr.Codes.Table}
	}
	for r, action := range tr.Actions {
		obs.Contexts = append(obs.Contexts, tr.Context(r, action)...)
		if tr.Codes != nil {
			obs.Codes.Items = append(obs.Codes.Items, tr.Codes.Items[r*tr.Candidates+action])
		}
	}
	return envs.Transition{Observation: obs, Actions: make([]int, tr.Runs), Outcome: tr.Outcome}
}

// draw draws a batch of each run: the inputs of the graph after the parameters. A run that has no
// step to learn from yet has the weight 0, and keeps its parameters.
func (p *Policy) draw() []*tensors.Tensor {
	runs, b, d := p.Runs(), p.settings.BatchSize, p.spec.Dim
	chosen, next := make([]float32, runs*b*d), []float32(nil)
	if p.learn.sarsa {
		next = make([]float32, runs*b*d)
	}
	reward, weight, discount := make([]float32, runs*b), make([]float32, runs*b), make([]float32, runs*b)
	steps := make([]int, b)
	for r, s := range p.streams {
		if !p.history.Draw(steps, r, rand.New(s.Batch)) {
			continue
		}
		for i, step := range steps {
			at, following := r*b+i, []float32(nil)
			if p.learn.sarsa {
				following = next[(r*b+i)*d:][:d]
			}
			reward[at], discount[at] = p.history.Recall(chosen[at*d:][:d], following, r, step)
			weight[at] = 1
		}
	}
	tensor := func(x []float32) *tensors.Tensor { return tensors.FromFlatDataAndDimensions(x, runs, b) }
	inputs := []*tensors.Tensor{
		pgcr.Columns(chosen, runs, b, d), tensor(reward), tensor(weight),
		tensors.FromScalar(float32(p.settings.Rate)), tensors.FromScalar(float32(p.updates)),
	}
	if p.learn.sarsa {
		inputs = append(inputs, pgcr.Columns(next, runs, b, d), tensor(discount))
	}
	return inputs
}
