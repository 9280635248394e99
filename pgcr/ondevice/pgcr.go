package ondevice

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// PGCR is the algorithm of package pgcr, and with Resamples pgcr.OwnSets vanilla policy gradient. All
// settings but the Backend are to be given.
type PGCR pgcr.Config

// agent is a live PGCR.
type agent struct {
	config        pgcr.Config
	m             int // candidates
	actor, critic *pgcr.Parameters
	streams       []struct{ act, actMask, batch, batchMask, resample *rand.Rand } // those of a pgcr.Agent

	uniform                        *input[float64] // [E, R], for the E steps before the U updates of a block
	actMask, updateMask            *input[float32] // [E, R, 1, H] and [U, R, 1, H]
	steps                          *input[int32]   // [U, R, B], the batch
	places                         *input[int32]   // [U, R, B*M]: where its contexts stand in the history
	sets                           *input[int32]   // [U, R, N, B*M], see pgcr.Batch
	actKappa, updateKappa, updates *input[float32] // [E], [U], [U]
}

func (a PGCR) player(spec envs.Spec, seeds []uint64) (player, error) {
	p := &agent{m: spec.Candidates, config: pgcr.Config(a)}
	if err := cmp.Or(spec.Validate(seeds), p.config.Validate()); err != nil {
		return nil, err
	}
	c, runs, n := p.config, len(seeds), max(a.Resamples, 1)
	network := pgcr.Network{Dim: spec.Dim, Hidden: c.Hidden}
	p.actor = pgcr.NewParameters(network, c.InitScale, seeds, "pgcr/actor")
	network.Bias = true
	p.critic = pgcr.NewParameters(network, c.InitScale, seeds, "pgcr/critic")
	p.streams = slices.Grow(p.streams, runs)[:runs]
	for r, seed := range seeds {
		source := func(role string) *rand.Rand { return envs.NewRand(seed, "pgcr/"+role) }
		s := &p.streams[r]
		s.act, s.actMask, s.batch, s.batchMask, s.resample = source("act"), source("act-dropout"), source("replay"), source("update-dropout"), source("resample")
	}
	units, e, u := append([]int{1}, c.Hidden...)[len(c.Hidden)], c.UpdateEvery, c.UpdatesPerStep
	p.uniform = newInput[float64](e, runs)
	p.actMask, p.updateMask = newInput[float32](e, runs, 1, units), newInput[float32](u, runs, 1, units)
	p.steps, p.places = newInput[int32](u, runs, c.BatchSize), newInput[int32](u, runs, c.BatchSize*p.m)
	p.sets = newInput[int32](u, runs, n, c.BatchSize*p.m)
	p.actKappa, p.updateKappa, p.updates = newInput[float32](e), newInput[float32](u), newInput[float32](u)
	return p, nil
}

func (p *agent) block() (every, updates int) { return p.config.UpdateEvery, p.config.UpdatesPerStep }

func (p *agent) networks() []*pgcr.Parameters { return []*pgcr.Parameters{p.actor, p.critic} }

func (p *agent) inputs() []array {
	return []array{p.uniform, p.actMask, p.updateMask, p.steps, p.places, p.actKappa, p.updateKappa, p.updates, p.sets}
}

// draw draws for step k of a chunk, which is step t of all, what an Agent draws.
func (p *agent) draw(k, t int) {
	c, runs := p.config, len(p.streams)
	for r, s := range p.streams {
		p.uniform.step(k)[r] = s.act.Float64()
		drawMask(part(p.actMask.step(k), r, runs), c.Dropout, s.actMask)
	}
	p.actKappa.step(k)[0] = float32(c.Greed.At(int64(t)))
}

func (p *agent) drawUpdate(k, u, t int) {
	c, runs, width := p.config, len(p.streams), p.config.BatchSize*p.m
	p.updateKappa.at(k)[u], p.updates.at(k)[u] = float32(c.Greed.At(int64(t+1))), float32(t/c.UpdateEvery*c.UpdatesPerStep+u+1)
	for r, s := range p.streams {
		i, n := u*runs+r, c.UpdatesPerStep*runs // its part of the inputs
		drawMask(part(p.updateMask.at(k), i, n), c.Dropout, s.batchMask)
		drawn, places, sets := part(p.steps.at(k), i, n), part(p.places.at(k), i, n), part(p.sets.at(k), i, n)
		drawSteps(drawn, r, runs, t, c.Capacity, s.batch)
		for j := range max(c.Resamples, 1) { // the order is not that of OwnSets
			for place, from := range s.resample.Perm(width) {
				if j == 0 { // the contexts are put together in this order
					places[place] = drawn[from/p.m]*int32(p.m) + int32(from%p.m)
					from = place
				}
				sets[j*width+place] = int32(r*width + from)
			}
		}
	}
}

// drawMask draws a mask of Actor-Dropout.
func drawMask(mask []float32, rate float64, rng *rand.Rand) {
	for i := range mask {
		mask[i] = float32(1 / (1 - rate))
		if rate > 0 && rng.Float64() < rate {
			mask[i] = 0
		}
	}
}

func (p *agent) act(states []pgcr.State, contexts *Node, own func(i int) *Node) *Node {
	uniform, mask, kappa := own(0), own(1), own(5)
	scores := states[0].Forward(contexts, mask)
	probabilities := ConvertDType(pgcr.Probabilities(scores, kappa), dtypes.Float64) // (13)
	// The first candidate with which they sum to more than the uniform number.
	below := LessOrEqual(CumSum(probabilities, -1), InsertAxes(uniform, -1))
	return MinScalar(ReduceSum(ConvertDType(below, dtypes.Int32), -1), float64(p.m-1))
}

func (p *agent) update(states []pgcr.State, h history, own func(i int) *Node) []pgcr.State {
	mask, steps, places, kappa, updates, sets := own(2), own(3), own(4), own(6), own(7), own(8)
	c, g := p.config, steps.Graph()
	runs, b := steps.Shape().Dimensions[0], c.BatchSize
	chosen := h.chosen(steps)
	if c.Resamples == pgcr.OwnSets { // the chosen candidate stands first
		candidate := Iota(g, shapes.Make(dtypes.Int32, runs, b, p.m), -1)
		action, zero := BroadcastToDims(InsertAxes(take(h.action, steps), -1), runs, b, p.m), ZerosLike(candidate)
		candidate = Where(Equal(candidate, action), zero, Where(Equal(candidate, zero), action, candidate))
		places = Reshape(Add(InsertAxes(MulScalar(steps, p.m), -1), candidate), runs, b*p.m)
	}
	n := sets.Shape().Dimensions[1]
	batch := pgcr.Batch{
		Contexts: h.contexts(places), Chosen: h.contexts(chosen), Reward: take(h.reward, chosen), Mask: mask,
		Sets: sets, Absent: Zeros(g, shapes.Make(dtypes.Float32, runs, n, b, p.m)),
		Ready: Ones(g, shapes.Make(dtypes.Float32, runs, b)), WeightedCritic: c.WeightedCritic, Decay: c.Decay,
		Kappa: kappa, ActorRate: Scalar(g, dtypes.Float32, c.ActorRate), CriticRate: Scalar(g, dtypes.Float32, c.CriticRate), Updates: updates,
	}
	actor, critic, _ := pgcr.Update(states[0], states[1], batch)
	return []pgcr.State{actor, critic}
}
