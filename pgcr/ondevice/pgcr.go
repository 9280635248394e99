package ondevice

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// PGCR is the algorithm of package pgcr, and with Resamples pgcr.OwnSets vanilla policy gradient.
type PGCR pgcr.Config

// agent is a live PGCR.
type agent struct {
	config        pgcr.Config // with the defaults filled in
	m             int         // candidates
	actor, critic *pgcr.Parameters
	streams       []agentStreams

	uniform                        *input[float64] // [E, R], for the E steps before the U updates of a block
	actMask, updateMask            *input[float32] // [E, R, 1, H] and [U, R, 1, H]
	steps                          *input[int32]   // [U, R, B], the batch
	places                         *input[int32]   // [U, R, B*M]: where its contexts stand in the history
	sets                           *input[int32]   // [U, R, N, B*M], see pgcr.Batch; nil where N is 1
	actKappa, updateKappa, updates *input[float32] // [E], [U], [U]
}

// agentStreams are those of a pgcr.Agent.
type agentStreams struct{ act, actMask, batch, batchMask, resample *rand.Rand }

func (a PGCR) player(spec envs.Spec, seeds []uint64, backend compute.Backend) (player, error) {
	a.Backend = backend
	if _, err := pgcr.Config(a).New(spec, seeds); err != nil { // validates
		return nil, err
	}
	text, err := json.Marshal(pgcr.Config(a)) // fills in the defaults
	if err != nil {
		return nil, err
	}
	p := &agent{m: spec.Candidates}
	if err := json.Unmarshal(text, &p.config); err != nil {
		return nil, err
	}
	c, runs := p.config, len(seeds)
	network := pgcr.Network{Dim: spec.Dim, Hidden: c.Hidden}
	p.actor = pgcr.NewParameters(network, c.InitScale, seeds, "pgcr/actor")
	network.Bias = true
	p.critic = pgcr.NewParameters(network, c.InitScale, seeds, "pgcr/critic")
	for _, seed := range seeds {
		source := func(role string) *rand.Rand { return envs.NewRand(seed, "pgcr/"+role) }
		p.streams = append(p.streams, agentStreams{source("act"), source("act-dropout"), source("replay"), source("update-dropout"), source("resample")})
	}
	units, e, u := append([]int{1}, c.Hidden...)[len(c.Hidden)], c.UpdateEvery, c.UpdatesPerStep
	p.uniform = newInput[float64](e, runs)
	p.actMask, p.updateMask = newInput[float32](e, runs, 1, units), newInput[float32](u, runs, 1, units)
	p.steps, p.places = newInput[int32](u, runs, c.BatchSize), newInput[int32](u, runs, c.BatchSize*p.m)
	if c.Resamples > 1 {
		p.sets = newInput[int32](u, runs, c.Resamples, c.BatchSize*p.m)
	}
	p.actKappa, p.updateKappa, p.updates = newInput[float32](e), newInput[float32](u), newInput[float32](u)
	return p, nil
}

func (p *agent) block() (every, updates int) { return p.config.UpdateEvery, p.config.UpdatesPerStep }

func (p *agent) networks() []*pgcr.Parameters { return []*pgcr.Parameters{p.actor, p.critic} }

func (p *agent) inputs() []array {
	all := []array{p.uniform, p.actMask, p.updateMask, p.steps, p.places, p.actKappa, p.updateKappa, p.updates}
	if p.sets != nil {
		all = append(all, p.sets)
	}
	return all
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
		drawn, places := part(p.steps.at(k), i, n), part(p.places.at(k), i, n)
		drawSteps(drawn, r, runs, t, c.Capacity, s.batch)
		for j := range c.Resamples { // none of OwnSets
			for place, from := range s.resample.Perm(width) {
				if j == 0 { // the contexts are put together in this order
					places[place] = drawn[from/p.m]*int32(p.m) + int32(from%p.m)
					from = place
				}
				if p.sets != nil {
					part(part(p.sets.at(k), i, n), j, c.Resamples)[place] = int32(r*width + from)
				}
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
	mask, steps, places, kappa, updates := own(2), own(3), own(4), own(6), own(7)
	c, g := p.config, steps.Graph()
	runs, b := steps.Shape().Dimensions[0], c.BatchSize
	chosen := h.chosen(steps)
	if c.Resamples == pgcr.OwnSets { // the chosen candidate stands first
		action := InsertAxes(take(h.action, steps), -1)
		candidate := Iota(g, shapes.Make(dtypes.Int32, runs, b, p.m), -1)
		first := Equal(candidate, ZerosLike(candidate))
		candidate = Where(Equal(candidate, action), ZerosLike(candidate), candidate)
		candidate = Where(first, BroadcastToDims(action, runs, b, p.m), candidate)
		places = Reshape(Add(InsertAxes(MulScalar(steps, p.m), -1), candidate), runs, b*p.m)
	}
	n := max(c.Resamples, 1)
	batch := pgcr.Batch{
		Contexts: h.contexts(places), Chosen: h.contexts(chosen), Reward: take(h.reward, chosen), Mask: mask,
		Sets: Reshape(Iota(g, shapes.Make(dtypes.Int32, runs*b*p.m), 0), runs, 1, b*p.m), Absent: Zeros(g, shapes.Make(dtypes.Float32, runs, n, b, p.m)),
		Ready: Ones(g, shapes.Make(dtypes.Float32, runs, b)), WeightedCritic: c.WeightedCritic, Decay: c.Decay,
		Kappa: kappa, ActorRate: Scalar(g, dtypes.Float32, c.ActorRate), CriticRate: Scalar(g, dtypes.Float32, c.CriticRate), Updates: updates,
	}
	if n > 1 {
		batch.Sets = own(8)
	}
	actor, critic, _ := pgcr.Update(states[0], states[1], batch)
	return []pgcr.State{actor, critic}
}
