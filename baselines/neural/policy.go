package neural

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Policy is the live policy of Greedy and EpsilonGreedy: a value network and the history that it
// learns from, for R runs at once.
type Policy struct {
	declared envs.Algorithm // what Save records
	settings Settings
	epsilon  float64
	spec     envs.Spec

	network        *pgcr.Parameters
	history        *pgcr.Replay // of the chosen contexts alone: an M-th of the memory
	streams        []streams    // [R]
	steps, updates int64

	values *Exec // f of contexts, [R, M]
	update *Exec // updateGraph
}

// streams are the random sources of one run, one for each purpose, so that no use of one shifts
// another.
type streams struct{ Act, Batch *rand.PCG }

func newPolicy(a envs.Algorithm, s Settings, epsilon float64, spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if err := cmp.Or(s.check(), spec.Validate(seeds)); err != nil {
		return nil, fmt.Errorf("%T: %w", a, err)
	}
	if s.Backend == nil {
		var err error
		if s.Backend, err = pgcr.OpenBackend(""); err != nil {
			return nil, err
		}
	}
	p := &Policy{declared: a, settings: s, epsilon: epsilon, spec: spec}
	p.network = pgcr.NewParameters(pgcr.Network{Dim: spec.Dim, Hidden: s.Hidden, Bias: true}, s.InitScale, seeds, "neural/value")
	p.history = pgcr.NewReplay(envs.Spec{Candidates: 1, Dim: spec.Dim, State: spec.State}, len(seeds), s.Capacity, s.Discount)
	for _, seed := range seeds {
		p.streams = append(p.streams, streams{envs.NewSource(seed, "neural/act"), envs.NewSource(seed, "neural/replay")})
	}
	p.values = MustNewExec(s.Backend, func(in []*Node) *Node {
		return pgcr.State{Network: p.network.Network, Params: in[0]}.Forward(in[1], nil)
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
		best := largest(p.set(values, obs, r))
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
		set := dst[r*p.spec.Candidates:][:obs.Size(r)]
		for i := range set {
			set[i] = p.epsilon / float64(len(set))
		}
		best := largest(p.set(values, obs, r))
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
	obs.Check(p.spec, p.Runs())
	envs.CheckResults(room, p.Runs()*each)
	if err := obs.Finite(); err != nil {
		return nil, err
	}
	values, err := p.network.Evaluate(p.values, obs)
	return values, p.history.Explain(err, p.updates, obs)
}

// set returns the values of the candidates of a run.
func (p *Policy) set(values []float32, obs envs.Observation, r int) []float32 {
	return values[r*p.spec.Candidates:][:obs.Size(r)]
}

// largest returns the indices of the largest values.
func largest(values []float32) (best []int) {
	for i, v := range values {
		switch {
		case len(best) == 0 || v > values[best[0]]:
			best = append(best[:0], i)
		case v == values[best[0]]:
			best = append(best, i)
		}
	}
	return best
}

// saved is everything that a policy is made of.
type saved struct {
	Steps, Updates int64
	Network        [][]float32
	Streams        []streams
	History        pgcr.Kept
}

// Save implements envs.Saver: the network, Adam's moments, the counts, the random streams and the
// history.
func (p *Policy) Save(w io.Writer) error {
	network, err := p.network.Values()
	if err != nil {
		return err
	}
	s := saved{p.steps, p.updates, network, p.streams, p.history.Kept()}
	return envs.WriteState(w, p.declared, p.spec, p.Runs(), s)
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
