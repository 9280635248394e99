package neural

import (
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// updateGraph is an update of the network by least squares (17), in sessions with the target (22).
// Its inputs are the parameters, learning rate and number of the update, and what Replay.Draw returns.
func (p *Policy) updateGraph(in []*Node) []*Node {
	state, in := p.network.Nodes(in)
	value := func(contexts *Node) *Node { return state.Forward(contexts, nil) }
	rate, t, chosen, target, ready := in[0], in[1], in[2], in[3], in[4]
	if len(in) > 5 {
		target = pgcr.SarsaTarget(target, in[6], value(in[5])) // (22)
	}
	loss := pgcr.CriticLoss(ready, target, value(chosen)) // (17)
	state, squared := state.Descend(loss, pgcr.Decayed(rate, p.settings.Decay, t), t, ready)
	return []*Node{state.Params, state.M, state.V, squared}
}

// Update implements envs.Policy: it appends the step to the history and, every UpdateEvery steps,
// learns from batches of it. A run that has no step to learn from yet keeps its parameters.
func (p *Policy) Update(tr envs.Transition) error {
	tr.Check(p.spec, p.Runs())
	if err := tr.Finite(); err != nil {
		return err
	}
	if err := p.history.Add(onlyChosen(tr)); err != nil {
		return err
	}
	if p.steps++; p.steps%int64(p.settings.UpdateEvery) != 0 {
		return nil
	}
	for range p.settings.UpdatesPerStep {
		p.updates++
		_, batch := p.history.Draw(p.settings.BatchSize, func(r int) *rand.PCG { return p.streams[r].Batch })
		rate, t := tensors.FromScalar(float32(p.settings.Rate)), tensors.FromScalar(float32(p.updates))
		if _, err := pgcr.Train(p.update, []*pgcr.Parameters{p.network}, append([]*tensors.Tensor{rate, t}, batch...)...); err != nil {
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
