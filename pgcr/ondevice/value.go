package ondevice

import (
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Value is neural.EpsilonGreedy, and with Epsilon 0 neural.Greedy, whose settings it has. All are to
// be given.
type Value struct {
	Hidden                      []int
	Rate, Decay, InitScale      float64
	BatchSize, Capacity         int
	UpdateEvery, UpdatesPerStep int
	Discount, Epsilon           float64
}

// value is a live Value.
type value struct {
	Value
	batch
	sarsa   bool // targets are (22)
	network *pgcr.Parameters
	streams []struct{ act, batch *rand.Rand }

	explored *input[int32]   // [E, R], for the E steps before the U updates of a block; the candidate that is chosen at random, or -1
	tie      *input[int32]   // [E, R, M]; which of 1, 2, ... M equally good candidates is chosen
	updates  *input[float32] // [U]
}

func (a Value) player(spec envs.Spec, seeds []uint64) (player, error) {
	runs, e, u := len(seeds), a.UpdateEvery, a.UpdatesPerStep
	p := &value{Value: a, sarsa: a.Discount > 0 && spec.State > 0,
		batch:    newBatch(pgcr.NewReplay(envs.Spec{Candidates: 1}, runs, a.Capacity, a.Discount), u, runs, a.BatchSize),
		explored: newInput[int32](e, runs), tie: newInput[int32](e, runs, spec.Candidates), updates: newInput[float32](u)}
	p.network = pgcr.NewParameters(pgcr.Network{Dim: spec.Dim, Hidden: a.Hidden, Bias: true}, a.InitScale, seeds, "neural/value")
	for _, seed := range seeds {
		p.streams = append(p.streams, struct{ act, batch *rand.Rand }{envs.NewRand(seed, "neural/act"), envs.NewRand(seed, "neural/replay")})
	}
	return p, nil
}

func (p *value) block() (every, updates int) { return p.UpdateEvery, p.UpdatesPerStep }

func (p *value) networks() []*pgcr.Parameters { return []*pgcr.Parameters{p.network} }

func (p *value) inputs() []array { return append(p.batch.inputs(), p.explored, p.tie, p.updates) }

// draw draws what a neural.Policy draws at a step. How many candidates are equally good is known on
// the device alone, so the draw among them is made for every number of them.
func (p *value) draw(k, _ int, tr envs.Transition) error {
	for r, s := range p.streams {
		explored, ties := &p.explored.step(k)[r], part(p.tie.step(k), r, p.runs)
		if *explored = -1; p.Epsilon > 0 && s.act.Float64() < p.Epsilon {
			*explored = int32(s.act.IntN(len(ties)))
		} else {
			one := s.act.Uint64()
			for i := range ties {
				source := again(one)
				ties[i] = int32(rand.New(&source).IntN(i + 1))
			}
		}
	}
	tr.Candidates, tr.Codes = 1, nil
	return p.replay.Add(tr)
}

func (p *value) drawUpdate(k, u, t int) {
	p.updates.at(k)[u] = float32(t/p.UpdateEvery*p.UpdatesPerStep + u + 1)
	for r, s := range p.streams {
		p.batch.draw(k, u*p.runs+r, p.UpdatesPerStep*p.runs, r, s.batch)
	}
}

// again is a source that begins with a number that was drawn elsewhere. Another one is needed with a
// probability of M/2^32.
type again uint64

func (a *again) Uint64() uint64 {
	now := uint64(*a)
	*a = again(now*6364136223846793005 + 1)
	return now
}

func (p *value) act(states []pgcr.State, contexts *Node, own func(i int) *Node) *Node {
	explored, ties := own(4), own(5)
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

func (p *value) update(states []pgcr.State, h history, own func(i int) *Node) []pgcr.State {
	steps, ready, next, updates := own(0), own(1), own(2), own(6)
	values := func(steps *Node) *Node { return states[0].Forward(h.contexts(h.chosen(steps), steps), nil) }
	target := take(h.reward, h.chosen(steps))
	if p.sarsa {
		target = pgcr.SarsaTarget(target, own(3), values(next)) // (22)
	}
	loss := pgcr.CriticLoss(ready, target, values(steps)) // (17)
	rate := pgcr.Decayed(Scalar(steps.Graph(), dtypes.Float32, p.Rate), p.Decay, updates)
	successor, _ := states[0].Descend(loss, rate, updates, ready)
	return []pgcr.State{successor}
}
