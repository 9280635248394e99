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
	config        pgcr.Config // with the defaults filled in
	spec          envs.Spec
	actor, critic *pgcr.Parameters
	streams       []struct{ act, actMask, batch, batchMask, resample *rand.Rand } // those of a pgcr.Agent

	batch
	uniform                        *input[float64] // [E, R], for the E steps before the U updates of a block
	actMask, updateMask            *input[float32] // [E, R, 1, H] and [U, R, 1, H]
	actKappa, updateKappa, updates *input[float32] // [E], [U], [U]
	places                         *input[int32]   // [U, R, K]: where the contexts of a batch stand in the history
	sets                           *input[int32]   // [U, R, N, B*M], see pgcr.Batch
}

func (a PGCR) player(spec envs.Spec, seeds []uint64) (player, error) {
	p := &agent{spec: spec, config: pgcr.Config(a)}
	if err := cmp.Or(spec.Validate(seeds), p.config.Validate()); err != nil {
		return nil, err
	}
	c, runs := p.config, len(seeds)
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
	n, width := max(c.Resamples, 1), c.BatchSize*spec.Candidates
	p.batch = newBatch(pgcr.NewReplay(envs.Spec{Candidates: spec.Candidates, State: spec.State}, runs, c.Capacity, c.Discount), u, runs, c.BatchSize)
	p.uniform = newInput[float64](e, runs)
	p.actMask, p.updateMask = newInput[float32](e, runs, 1, units), newInput[float32](u, runs, 1, units)
	p.actKappa, p.updateKappa, p.updates = newInput[float32](e), newInput[float32](u), newInput[float32](u)
	p.places, p.sets = newInput[int32](u, runs, width), newInput[int32](u, runs, n, width)
	if spec.State > 0 { // the N sets of a step are made of contexts of their own
		p.places = newInput[int32](u, runs, n*width)
	}
	return p, nil
}

func (p *agent) block() (every, updates int) { return p.config.UpdateEvery, p.config.UpdatesPerStep }

func (p *agent) networks() []*pgcr.Parameters { return []*pgcr.Parameters{p.actor, p.critic} }

func (p *agent) inputs() []array {
	return append(p.batch.inputs(), p.uniform, p.actMask, p.actKappa, p.updateMask, p.updateKappa, p.updates, p.places, p.sets)
}

// draw draws for step k of a chunk, which is step t of all, what an Agent draws.
func (p *agent) draw(k, t int, tr envs.Transition) error {
	for r, s := range p.streams {
		p.uniform.step(k)[r] = s.act.Float64()
		drawMask(part(p.actMask.step(k), r, p.runs), p.config.Dropout, s.actMask)
	}
	p.actKappa.step(k)[0] = float32(p.config.Greed.At(int64(t)))
	return p.replay.Add(tr)
}

func (p *agent) drawUpdate(k, u, t int) {
	c, runs, m := p.config, p.runs, p.spec.Candidates
	p.updateKappa.at(k)[u], p.updates.at(k)[u] = float32(c.Greed.At(int64(t+1))), float32(t/c.UpdateEvery*c.UpdatesPerStep+u+1)
	for r, s := range p.streams {
		i, n := u*runs+r, c.UpdatesPerStep*runs // its part of the inputs
		drawMask(part(p.updateMask.at(k), i, n), c.Dropout, s.batchMask)
		steps := p.batch.draw(k, i, n, r, s.batch)
		if steps == nil {
			continue
		}
		contexts, drawn := p.replay.Resample(r, steps, c.Resamples, s.resample)
		places, sets := part(p.places.at(k), i, n), part(p.sets.at(k), i, n)
		for j, o := range contexts {
			places[j] = int32((o.Step*runs+r)*m + o.Candidate)
		}
		for j, context := range drawn {
			sets[j] = int32(r*len(contexts) + context)
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
	uniform, mask, kappa := own(4), own(5), own(6)
	scores := states[0].Forward(contexts, mask)
	probabilities := ConvertDType(pgcr.Probabilities(scores, kappa), dtypes.Float64) // (13)
	// The first candidate with which they sum to more than the uniform number.
	below := LessOrEqual(CumSum(probabilities, -1), InsertAxes(uniform, -1))
	return MinScalar(ReduceSum(ConvertDType(below, dtypes.Int32), -1), float64(p.spec.Candidates-1))
}

func (p *agent) update(states []pgcr.State, h history, own func(i int) *Node) []pgcr.State {
	steps, ready, places, sets := own(0), own(1), own(10), own(11)
	c, g, m, n := p.config, steps.Graph(), p.spec.Candidates, sets.Shape().Dimensions[1]
	runs, b := steps.Shape().Dimensions[0], c.BatchSize
	chosen := h.chosen(steps)
	if c.Resamples == pgcr.OwnSets { // the chosen candidate stands first
		candidate := Iota(g, shapes.Make(dtypes.Int32, runs, b, m), -1)
		action, zero := BroadcastToDims(InsertAxes(take(h.action, steps), -1), runs, b, m), ZerosLike(candidate)
		candidate = Where(Equal(candidate, action), zero, Where(Equal(candidate, zero), action, candidate))
		places = Reshape(Add(InsertAxes(MulScalar(steps, m), -1), candidate), runs, b*m)
	}
	drawn := pgcr.Batch{
		Contexts: h.contexts(places, Concatenate(slices.Repeat([]*Node{steps}, n), -1)), Chosen: h.contexts(chosen, steps), Reward: take(h.reward, chosen),
		Mask: own(7), Kappa: own(8), Updates: own(9), Ready: ready, Sets: sets, Absent: Zeros(g, shapes.Make(dtypes.Float32, runs, n, b, m)),
		WeightedCritic: c.WeightedCritic, Decay: c.Decay, ActorRate: Scalar(g, dtypes.Float32, c.ActorRate), CriticRate: Scalar(g, dtypes.Float32, c.CriticRate),
	}
	if c.Discount > 0 && h.past != nil {
		next := own(2)
		drawn.Next, drawn.Discount = h.contexts(h.chosen(next), next), own(3)
	}
	actor, critic, _ := pgcr.Update(states[0], states[1], drawn)
	return []pgcr.State{actor, critic}
}
