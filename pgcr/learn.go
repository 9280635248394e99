package pgcr

import (
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// learner draws batches from an agent's history and runs Update on them.
type learner struct {
	sarsa  bool // whether targets look a step ahead (22)
	n      int  // N
	shared bool // whether the N resamplings permute the same B*M contexts, since there is no state to join them with
	exec   *Exec
}

func newLearner(a *Agent, sessions bool) (l *learner, err error) {
	l = &learner{sarsa: sessions && a.config.Discount > 0, shared: !sessions && a.spec.State == 0}
	l.n = max(a.config.Resamples, 1) // OwnSets is one set a step
	l.exec, err = NewExec(a.backend, func(in []*Node) []*Node {
		actor, in := a.actor.Nodes(in)
		critic, in := a.critic.Nodes(in)
		b := Batch{Contexts: in[0], Sets: in[1], Absent: in[2], Chosen: in[3], Reward: in[4], Ready: in[5], Mask: in[6],
			Kappa: in[7], ActorRate: in[8], CriticRate: in[9], Updates: in[10], WeightedCritic: a.config.WeightedCritic, Decay: a.config.Decay}
		if l.sarsa {
			b.Next, b.Discount = in[11], in[12]
		}
		actor, critic, measures := Update(actor, critic, b)
		return append([]*Node{actor.Params, actor.M, actor.V, critic.Params, critic.M, critic.V}, measures...)
	})
	return l, err
}

// update learns from one batch a run.
func (l *learner) update(a *Agent) error {
	a.updates++
	measures, err := Train(l.exec, []*Parameters{a.actor, a.critic}, l.draw(a)...)
	if err != nil {
		return err
	}
	d, mean := &a.diagnostics, func(i int) float64 { return measures[i] / float64(a.Runs()) }
	d.ActorGradient, d.CriticGradient = math.Sqrt(mean(0)), math.Sqrt(mean(1))
	d.ActorLoss, d.CriticLoss = mean(2), mean(3)
	return nil
}

// draw draws a batch of each run and its resampled sets: the inputs of the graph after the
// parameters, in the order of Batch.
func (l *learner) draw(a *Agent) []*tensors.Tensor {
	c, rp, runs, b, m, d := a.config, a.replay, a.Runs(), a.config.BatchSize, a.spec.Candidates, a.spec.Dim
	k := b * m // contexts of a run
	if !l.shared {
		k *= l.n
	}
	contexts, chosen := make([]float32, runs*k*d), make([]float32, runs*b*d)
	var next []float32 // its parts are nil, too, where nothing follows
	if l.sarsa {
		next = make([]float32, runs*b*d)
	}
	reward, discount, ready := make([]float32, runs*b), make([]float32, runs*b), make([]float32, runs*b)
	sets, absent := make([]int32, runs*l.n*b*m), slices.Repeat([]float32{Absent}, runs*l.n*b*m)
	mask := make([]float32, runs*a.actor.Network.last())
	steps := make([]int, b)
	for r, s := range a.streams {
		drop(part(mask, r, runs), c.Dropout, rand.New(s.BatchMask))
		if !rp.Draw(steps, r, rand.New(s.Batch)) {
			continue // not ready: the run keeps its parameters until it has a step to learn from
		}
		for i, step := range steps {
			at := r*b + i
			reward[at], discount[at] = rp.Recall(part(chosen, at, runs*b), part(next, at, runs*b), r, step)
			ready[at] = 1
		}
		offers, places := l.resample(a, r, steps, rand.New(s.Resample))
		for i, o := range offers {
			rp.joined(part(contexts, r*k+i, runs*k), r, o)
		}
		for place, i := range places {
			if i >= 0 {
				part(sets, r, runs)[place], part(absent, r, runs)[place] = int32(r*k+i), 0
			}
		}
	}
	inputs := []*tensors.Tensor{Columns(contexts, runs, k, d), tensor(sets, runs, l.n, b*m), tensor(absent, runs, l.n, b, m),
		Columns(chosen, runs, b, d), tensor(reward, runs, b), tensor(ready, runs, b), tensor(mask, runs, 1, len(mask)/runs),
		scalar(c.Greed.At(a.steps)), scalar(c.ActorRate), scalar(c.CriticRate), scalar(float64(a.updates))}
	if l.sarsa {
		inputs = append(inputs, Columns(next, runs, b, d), tensor(discount, runs, b))
	}
	return inputs
}

// resample draws the N sets of each step of a run's batch jointly (sections 3.2 and 5.1). It
// returns the contexts that they are made of and which of them stands at each place, [N, B, M]:
// every set has the size of its step, and -1 at the places beyond it.
//
// In a bandit the candidates of all steps of the batch are permuted at random and cut into sets, N
// times: each context is in N sets, with M-1 others that are a draw from all contexts seen. In
// sessions the contexts of a set are drawn without replacement from those seen in the session of
// its step and joined with the state of that step.
func (l *learner) resample(a *Agent, r int, steps []int, rng *rand.Rand) (contexts []offer, places []int) {
	rp, m := a.replay, a.spec.Candidates
	var slots []int // the places of one resampling, [B, M], that have a context
	for i, step := range steps {
		for j := range int(rp.step(r, step).Size) {
			slots = append(slots, i*m+j)
		}
	}
	places = slices.Repeat([]int{-1}, l.n*len(steps)*m)
	for n := range l.n {
		first, places := len(contexts), part(places, n, l.n)
		switch {
		case a.config.Resamples == OwnSets:
			for _, step := range steps {
				contexts = rp.offered(contexts, r, step)
			}
		case rp.runs[r].Visits != nil: // sessions
			for _, step := range steps {
				contexts = rp.seen(contexts, r, step, rng)
			}
		default:
			order := rng.Perm(len(slots))
			if n > 0 && l.shared { // the contexts are those of n = 0
				for i, slot := range slots {
					places[slot] = order[i]
				}
				continue
			}
			for i, slot := range slots { // what was on offer at another step stands here
				from := slots[order[i]]
				contexts = append(contexts, offer{state: steps[slot/m], step: steps[from/m], candidate: from % m})
			}
		}
		for i, slot := range slots {
			places[slot] = first + i
		}
	}
	return contexts, places
}

func tensor[T int32 | float32](flat []T, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(flat, dims...)
}

func scalar(x float64) *tensors.Tensor { return tensors.FromScalar(float32(x)) }
