package ondevice

import (
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// value is a live neural.EpsilonGreedy, and with Epsilon 0 a neural.Greedy.
type value struct {
	*learner
	config   neural.EpsilonGreedy
	explored *input[int32] // [E, R]; the candidate that is chosen at random, or -1
	tie      *input[int32] // [E, R, M]; which of 1, 2, ... M equally good candidates is chosen
}

func newValue(c neural.EpsilonGreedy, spec envs.Spec, seeds []uint64) player {
	runs, e, shape := len(seeds), c.UpdateEvery, pgcr.Network{Dim: spec.Dim, Hidden: c.Hidden, Bias: true}
	network := pgcr.NewParameters(shape, c.InitScale, seeds, "neural/value")
	replay := pgcr.NewReplay(envs.Spec{Candidates: 1}, runs, c.Capacity, c.Discount)
	p := &value{config: c, learner: newLearner(pgcr.NewStreams("neural", seeds), e, c.UpdatesPerStep, c.BatchSize, replay, network)}
	p.explored, p.tie = newInput[int32](e, runs), newInput[int32](e, runs, spec.Candidates)
	p.inputs = append(p.inputs, p.explored, p.tie)
	return p
}

// draw draws what a neural.Policy draws at a step. How many candidates are equally good is known on
// the device alone, so the draw among them is made for every number of them, each from the same point
// of the stream. That goes on behind one number: the host takes another with a probability of M/2^32.
func (p *value) draw(k, _ int, tr envs.Transition) error {
	for r, s := range p.streams {
		explored, ties, rng := &p.explored.step(k)[r], part(p.tie.step(k), r, p.runs), rand.New(s.Act)
		if *explored = -1; p.config.Epsilon > 0 && rng.Float64() < p.config.Epsilon {
			*explored = int32(rng.IntN(len(ties)))
			continue
		}
		for i := range ties {
			again := *s.Act
			ties[i] = int32(rand.New(&again).IntN(i + 1))
		}
		s.Act.Uint64()
	}
	tr.Codes = nil
	return p.replay.Add(tr)
}

func (p *value) drawUpdate(k, u, _ int) {
	for r := range p.runs {
		p.drawSteps(k, u, r)
	}
}

func (p *value) act(states []pgcr.State, contexts *Node, own func(array) *Node) *Node {
	explored, ties := own(p.explored), own(p.tie)
	values := states[0].Forward(contexts, nil)
	best := ConvertDType(Equal(values, ReduceAndKeep(values, ReduceMax, -1)), dtypes.Int32)
	// The candidate before which as many of the best stand as the draw for their number says.
	number := ReduceAndKeep(best, ReduceSum, -1)
	m := values.Shape().Dimensions[1]
	index := Iota(values.Graph(), best.Shape(), -1)
	drawn := ReduceAndKeep(Mul(ties, ConvertDType(Equal(AddScalar(index, 1), number), dtypes.Int32)), ReduceSum, -1)
	rank := AddScalar(CumSum(best, -1), -1)
	chosen := Mul(best, ConvertDType(Equal(rank, drawn), dtypes.Int32))
	greedy := MinScalar(ReduceSum(Mul(index, chosen), -1), float64(m-1))
	return Where(GreaterOrEqual(explored, ZerosLike(explored)), explored, greedy)
}

func (p *value) update(states []pgcr.State, h history, own func(array) *Node) []pgcr.State {
	steps, next := own(p.steps), own(p.next)
	values := func(steps *Node) *Node { return states[0].Forward(h.contexts(h.chosen(steps), steps), nil) }
	target := take(h.reward, h.chosen(steps))
	if p.config.Discount > 0 && h.past != nil {
		target = pgcr.SarsaTarget(target, own(p.discount), values(next)) // (22)
	}
	loss := pgcr.CriticLoss(own(p.ready), target, values(steps)) // (17)
	successor, _ := states[0].Descend(loss, p.config.Rate, p.config.Decay, own(p.number), own(p.ready))
	return []pgcr.State{successor}
}
