package neural

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Policy is the live policy of Greedy and EpsilonGreedy: a value network and the history that it
// learns from, for R runs at once.
type Policy struct {
	declared envs.Algorithm // what Save records
	settings Settings       // with the defaults and the backend filled in
	epsilon  float64
	spec     envs.Spec

	network        *pgcr.Parameters
	history        *pgcr.Replay   // of the chosen contexts alone: an M-th of the memory
	streams        []pgcr.Streams // [R], of which Act and Batch are used
	steps, updates int64

	values *Exec // f of contexts, [R, M]
	update *Exec // updateGraph
}

func newPolicy(a envs.Algorithm, s Settings, epsilon float64, spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	s = s.withDefaults()
	if err := cmp.Or(s.check(), spec.Validate(seeds)); err != nil {
		return nil, fmt.Errorf("%T: %w", a, err)
	}
	if s.Backend == nil {
		var err error
		if s.Backend, err = pgcr.OpenBackend(""); err != nil {
			return nil, err
		}
	}
	p := &Policy{declared: a, settings: s, epsilon: epsilon, spec: spec, streams: pgcr.NewStreams("neural", seeds)}
	p.network = pgcr.NewParameters(pgcr.Network{Dim: spec.Dim, Hidden: s.Hidden, Bias: true}, s.InitScale, seeds, "neural/value")
	p.history = pgcr.NewReplay(envs.Spec{Candidates: 1, Dim: spec.Dim, State: spec.State}, len(seeds), s.Capacity, s.Discount)
	p.values = MustNewExec(s.Backend, func(network, contexts *Node) *Node {
		return pgcr.State{Network: p.network.Network, Params: network}.Forward(contexts, nil)
	})
	p.update = MustNewExec(s.Backend, p.updateGraph)
	return p, nil
}

// Runs returns R.
func (p *Policy) Runs() int { return len(p.streams) }

func (p *Policy) Act(dst []int, obs envs.Observation) error {
	values, err := p.evaluate(obs, len(dst), 1)
	if err != nil {
		return err
	}
	for r := range dst {
		rng := rand.New(p.streams[r].Act)
		if p.epsilon > 0 && rng.Float64() < p.epsilon {
			dst[r] = rng.IntN(obs.Size(r))
			continue
		}
		best := largest(values[r*p.spec.Candidates:][:obs.Size(r)])
		dst[r] = best[rng.IntN(len(best))]
	}
	return nil
}

// Probabilities implements envs.Probable; they are exact.
func (p *Policy) Probabilities(dst []float64, obs envs.Observation) error {
	values, err := p.evaluate(obs, len(dst), p.spec.Candidates)
	if err != nil {
		return err
	}
	clear(dst)
	for r := range p.Runs() {
		first, size := r*p.spec.Candidates, obs.Size(r)
		set := dst[first:][:size]
		for i := range set {
			set[i] = p.epsilon / float64(size)
		}
		best := largest(values[first:][:size])
		for _, i := range best {
			set[i] += (1 - p.epsilon) / float64(len(best))
		}
	}
	return nil
}

// Values writes the estimate f(c) of the value of each candidate to dst, [R, M], NaN beyond the size
// of a set: the expected reward in a bandit, the expected discounted return where Discount counts.
// It changes nothing.
func (p *Policy) Values(dst []float64, obs envs.Observation) error {
	values, err := p.evaluate(obs, len(dst), p.spec.Candidates)
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = math.NaN()
		if i%p.spec.Candidates < obs.Size(i/p.spec.Candidates) {
			dst[i] = float64(values[i])
		}
	}
	return nil
}

// evaluate returns f(c), [R, M]. It panics unless the caller's room is for each results a run.
func (p *Policy) evaluate(obs envs.Observation, room, each int) ([]float32, error) {
	envs.CheckResults(room, p.Runs()*each)
	if err := obs.Check(p.spec, p.Runs()); err != nil {
		return nil, err
	}
	return p.network.Evaluate(p.values, obs, p.history, p.updates)
}

// largest returns the indices of the largest values.
func largest(values []float32) (best []int) {
	most := slices.Max(values)
	for i, v := range values {
		if v == most {
			best = append(best, i)
		}
	}
	return best
}

// updateGraph is an update of the network by least squares (17), in sessions with the target (22).
// Its inputs are the parameters, the number of the update, and what Replay.Draw returns.
func (p *Policy) updateGraph(in []*Node) []*Node {
	state, in := p.network.Nodes(in)
	value := func(contexts *Node) *Node { return state.Forward(contexts, nil) }
	t, chosen, target, ready := in[0], in[1], in[2], in[3]
	if len(in) > 4 {
		target = pgcr.SarsaTarget(target, in[5], value(in[4])) // (22)
	}
	loss := pgcr.CriticLoss(ready, target, value(chosen)) // (17)
	state, squared := state.Descend(loss, p.settings.Rate, p.settings.Decay, t, ready)
	return []*Node{state.Params, state.M, state.V, squared}
}

// Update implements envs.Policy: it appends the step to the history and, every UpdateEvery steps,
// learns from batches of it. A run that has no step to learn from yet keeps its parameters.
func (p *Policy) Update(tr envs.Transition) error {
	if err := tr.Check(p.spec, p.Runs()); err != nil {
		return err
	}
	if err := p.history.Add(tr); err != nil {
		return err
	}
	if p.steps++; p.steps%int64(p.settings.UpdateEvery) != 0 {
		return nil
	}
	for range p.settings.UpdatesPerStep {
		p.updates++
		_, batch := p.history.Draw(p.settings.BatchSize, p.streams)
		t := tensors.FromScalar(float32(p.updates))
		if _, err := pgcr.Train(p.update, []*pgcr.Parameters{p.network}, append([]*tensors.Tensor{t}, batch...)...); err != nil {
			return p.history.Explain(err, p.updates, tr.Observation)
		}
	}
	return nil
}

// saved is everything that a policy is made of.
type saved struct {
	Steps, Updates int64
	Network        [][]float32
	Streams        []pgcr.Streams
	History        *pgcr.Replay
}

// Save implements envs.Saver: the network, Adam's moments, the counts, the random streams and the
// history.
func (p *Policy) Save(w io.Writer) error {
	network, err := p.network.Values()
	if err != nil {
		return err
	}
	return envs.WriteState(w, p.declared, p.spec, p.Runs(), saved{p.steps, p.updates, network, p.streams, p.history})
}

func (p *Policy) Load(r io.Reader) error {
	var s saved
	if err := envs.ReadState(r, p.declared, p.spec, p.Runs(), &s); err != nil {
		return err
	}
	p.network.Restore(s.Network)
	p.history.Restore(s.History)
	p.steps, p.updates, p.streams = s.Steps, s.Updates, s.Streams
	return nil
}
