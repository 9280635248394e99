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
	sessions bool // whether the problem has them
	sarsa    bool // whether targets look a step ahead (22)
	n        int  // N

	// Where sets have a state, a context belongs to its set, and all N sets of a
	// step are laid out side by side; else all are made of the same contexts.
	apart bool
	exec  *Exec
}

func newLearner(a *Agent, sessions bool) (*learner, error) {
	l := &learner{sessions: sessions, sarsa: sessions && a.config.Discount > 0, n: max(a.config.Resamples, 1)} // OwnSets is one set a step
	l.apart = sessions || a.spec.State > 0 || l.n == 1
	var err error
	l.exec, err = NewExec(a.backend, func(in []*Node) []*Node {
		actor, in := a.actor.Nodes(in)
		critic, in := a.critic.Nodes(in)
		b := Batch{Contexts: in[0], Absent: in[1], Chosen: in[2], Reward: in[3], Mask: in[4], Kappa: in[5]}
		update := Learner{Actor: a.actor.Network, Critic: a.critic.Network, ActorRate: in[6], CriticRate: in[7], UnweightedCritic: a.config.UnweightedCritic}
		t, in := in[8], in[9:]
		if !l.apart {
			b.Sets, in = in[0], in[1:]
		}
		if l.sarsa {
			b.Next, b.Discount, b.Weight = in[0], in[1], in[2]
		}
		actor, critic, m := update.Update(actor, critic, b, t)
		return append(slices.Concat(actor.all(), critic.all()), m.CriticLoss, m.ActorLoss, m.CriticGradient, m.ActorGradient)
	})
	return l, err
}

// update learns from one batch a run.
func (l *learner) update(a *Agent) error {
	a.updates++
	results, err := Call(l.exec, append(a.actor.All(), a.critic.All()...), l.draw(a)...)
	if err != nil {
		return err
	}
	if results, err = a.actor.Replace(results); err != nil {
		return err
	}
	if results, err = a.critic.Replace(results); err != nil {
		return err
	}
	var x [4]float64 // means over runs
	for i, t := range results {
		x[i] = float64(tensors.ToScalar[float32](t)) / float64(a.Runs())
	}
	d := &a.diagnostics
	d.CriticLoss, d.ActorLoss, d.CriticGradient, d.ActorGradient = x[0], x[1], math.Sqrt(x[2]), math.Sqrt(x[3])
	return nil
}

// draw draws a batch of each run and its resampled sets: the inputs of the graph
// after the parameters.
func (l *learner) draw(a *Agent) []*tensors.Tensor {
	c, rp, runs, b, m, d := a.config, a.replay, a.Runs(), a.config.BatchSize, a.spec.Candidates, a.spec.Dim
	k := b * m // contexts of a run
	if l.apart {
		k *= l.n
	}
	contexts, chosen, next := make([]float32, runs*k*d), make([]float32, runs*b*d), make([]float32, runs*b*d)
	reward, discount, weight := make([]float32, runs*b), make([]float32, runs*b), make([]float32, runs*b)
	absent := slices.Repeat([]float32{Absent}, runs*l.n*b*m)
	places := make([]int32, runs*l.n*b*m)
	mask := make([]float32, runs*a.actor.Network.last())
	steps, sets := make([]int, b), make([]offer, k)
	for r := range runs {
		s := &a.streams[r]
		drop(mask[r*len(mask)/runs:(r+1)*len(mask)/runs], c.Dropout, rand.New(s.BatchMask))
		if !rp.Draw(steps, r, rand.New(s.Batch)) {
			continue // with weight 0: the run keeps its parameters until it has a step to learn from
		}
		for i, step := range steps {
			at := r*b + i
			weight[at] = 1
			reward[at] = rp.Chosen(chosen[at*d:(at+1)*d], r, step)
			if l.sarsa {
				var following int
				discount[at], following = rp.Next(r, step)
				rp.Chosen(next[at*d:(at+1)*d], r, following)
			}
			for n := range l.n {
				first := ((r*l.n+n)*b + i) * m
				clear(absent[first : first+int(rp.step(r, step).Size)])
			}
		}
		l.resample(a, r, steps, sets, places[r*l.n*b*m:(r+1)*l.n*b*m], rand.New(s.Resample))
		for i, o := range sets {
			if at := r*k + i; o.candidate >= 0 {
				rp.joined(contexts[at*d:(at+1)*d], r, steps[i/m%b], o)
			}
		}
	}
	inputs := []*tensors.Tensor{Columns(contexts, runs, k, d), tensor(absent, runs, l.n, b, m), Columns(chosen, runs, b, d),
		tensor(reward, runs, b), tensor(mask, runs, 1, len(mask)/runs), scalar(c.Greed.At(a.steps)),
		scalar(c.ActorRate), scalar(c.CriticRate), scalar(float64(a.updates))}
	if !l.apart {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(places, runs, l.n, b*m))
	}
	if l.sarsa {
		inputs = append(inputs, Columns(next, runs, b, d), tensor(discount, runs, b), tensor(weight, runs, b))
	}
	return inputs
}

// resample draws the sets of a run's batch jointly (sections 3.2 and 5.1) into
// sets, [N or 1, B, M], with candidate -1 where a set has none. Every set has the
// size of the step that it belongs to, and its contexts stand first.
//
// In a bandit the candidates of all steps of the batch are permuted at random and
// cut into sets, N times: each context is in N sets, with M-1 others that are a
// draw from all contexts seen. places, [N, B*M], says where they stand. In sessions
// the contexts of a set are drawn without replacement from those seen in the
// session of its step and joined with the state of that step.
func (l *learner) resample(a *Agent, r int, steps []int, sets []offer, places []int32, rng *rand.Rand) {
	rp, m, b := a.replay, a.spec.Candidates, a.config.BatchSize
	var seen []offer // candidates of the batch
	var at []int     // the places of the sets, in the order of seen
	for first := 0; first < len(sets); first += m {
		step := steps[first/m%b]
		size, set := int(rp.step(r, step).Size), sets[first:first+m]
		for j := range set {
			set[j] = offer{step, -1}
		}
		switch {
		case a.config.Resamples == OwnSets:
			chosen := int(rp.step(r, step).Chosen) // stands first, as Update wants it
			for j := range size {
				set[j].candidate = j
			}
			set[0].candidate, set[chosen].candidate = set[chosen].candidate, set[0].candidate
		case l.sessions:
			rp.seen(set[:size], r, step, rng)
		default:
			for j := range size {
				seen, at = append(seen, offer{step, j}), append(at, first+j)
			}
		}
		if first/m%b == b-1 { // the last of the batch
			rng.Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
			for i, k := range at {
				sets[k] = seen[i]
			}
			if l.apart {
				seen, at = seen[:0], at[:0]
			}
		}
	}
	for i := range places {
		places[i] = int32(r*b*m + i%(b*m)) // the first sets are as they stand
	}
	from := slices.Clone(at)
	for n := 1; n < l.n && !l.apart; n++ {
		rng.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		for i, to := range at {
			places[n*b*m+to] = int32(r*b*m + from[i])
		}
	}
}

func tensor(flat []float32, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(flat, dims...)
}

func scalar(x float64) *tensors.Tensor { return tensors.FromScalar(float32(x)) }
