package ondevice

import (
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// agent is a live pgcr.Config, and with Resamples pgcr.OwnSets vanilla policy gradient.
type agent struct {
	*learner
	config pgcr.Config
	spec   envs.Spec

	uniform               *input[float64] // [E, R]
	actMask, updateMask   *input[float32] // [E, R, 1, H] and [U, R, 1, H]
	actKappa, updateKappa *input[float32] // [E] and [U]
	places                *input[int32]   // [U, R, K]: where the contexts of a batch stand in the history
	sets                  *input[int32]   // [U, R, N, B*M], see pgcr.Batch
}

func newAgent(c pgcr.Config, spec envs.Spec, seeds []uint64) player {
	runs, e, u := len(seeds), c.UpdateEvery, c.UpdatesPerStep
	actor, critic, streams := c.Start(spec, seeds)
	replay := pgcr.NewReplay(envs.Spec{Candidates: spec.Candidates, State: spec.State}, runs, c.Capacity, c.Discount)
	p := &agent{config: c, spec: spec, learner: newLearner(streams, e, u, c.BatchSize, replay, actor, critic)}
	units := append([]int{1}, c.Hidden...)[len(c.Hidden)]
	p.uniform, p.actMask, p.actKappa = newInput[float64](e, runs), newInput[float32](e, runs, 1, units), newInput[float32](e)
	p.updateMask, p.updateKappa = newInput[float32](u, runs, 1, units), newInput[float32](u)
	n, width := max(c.Resamples, 1), c.BatchSize*spec.Candidates
	k := width
	if spec.State > 0 { // the N sets of a step are made of contexts of their own
		k = n * width
	}
	p.places, p.sets = newInput[int32](u, runs, k), newInput[int32](u, runs, n, width)
	p.inputs = append(p.inputs, p.uniform, p.actMask, p.actKappa, p.updateMask, p.updateKappa, p.places, p.sets)
	return p
}

// draw draws for step k of a chunk, which is step t of all, what an Agent draws.
func (p *agent) draw(k, t int, tr envs.Transition) error {
	for r, s := range p.streams {
		p.uniform.step(k)[r] = rand.New(s.Act).Float64()
		pgcr.DrawMask(part(p.actMask.step(k), r, p.runs), p.config.Dropout, rand.New(s.ActMask))
	}
	p.actKappa.step(k)[0] = float32(p.config.Greed.At(int64(t)))
	return p.replay.Add(tr)
}

func (p *agent) drawUpdate(k, u, t int) {
	c, m := p.config, p.spec.Candidates
	p.updateKappa.at(k)[u] = float32(c.Greed.At(int64(t + 1)))
	for r, s := range p.streams {
		pgcr.DrawMask(of(p.learner, p.updateMask, k, u, r), c.Dropout, rand.New(s.BatchMask))
		steps := p.drawSteps(k, u, r)
		if steps == nil {
			continue
		}
		contexts, drawn := p.replay.Resample(r, steps, c.Resamples, rand.New(s.Resample))
		places, sets := of(p.learner, p.places, k, u, r), of(p.learner, p.sets, k, u, r)
		for j, o := range contexts {
			places[j] = int32((o.Step*p.runs+r)*m + o.Candidate)
		}
		for j, context := range drawn {
			sets[j] = int32(r*len(contexts) + context)
		}
	}
}

func (p *agent) act(states []pgcr.State, contexts *Node, own func(array) *Node) *Node {
	uniform := own(p.uniform)
	scores := states[0].Forward(contexts, own(p.actMask))
	probabilities := ConvertDType(pgcr.Probabilities(scores, own(p.actKappa)), dtypes.Float64) // (13)
	// The first candidate with which they sum to more than the uniform number.
	below := LessOrEqual(CumSum(probabilities, -1), InsertAxes(uniform, -1))
	return MinScalar(ReduceSum(ConvertDType(below, dtypes.Int32), -1), float64(p.spec.Candidates-1))
}

func (p *agent) update(states []pgcr.State, h history, own func(array) *Node) []pgcr.State {
	steps, places, sets := own(p.steps), own(p.places), own(p.sets)
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
		Contexts: h.contexts(places, Concatenate(slices.Repeat([]*Node{steps}, n), -1)),
		Sets:     sets, Absent: Zeros(g, shapes.Make(dtypes.Float32, runs, n, b, m)), Mask: own(p.updateMask),
		Kappa: own(p.updateKappa), Updates: own(p.number),
		Chosen: h.contexts(chosen, steps), Reward: take(h.reward, chosen), Ready: own(p.ready),
		WeightedCritic: c.WeightedCritic, ActorRate: c.ActorRate, CriticRate: c.CriticRate, Decay: c.Decay,
	}
	if c.Discount > 0 && h.past != nil {
		next := own(p.next)
		drawn.Next, drawn.Discount = h.contexts(h.chosen(next), next), own(p.discount)
	}
	actor, critic, _ := pgcr.Update(states[0], states[1], drawn)
	return []pgcr.State{actor, critic}
}
