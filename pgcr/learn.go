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

	// apart says that each of the N sets of a step has contexts that no other set
	// has, because they are joined with its state; else all N are made of the same.
	apart bool
	exec  *Exec
}

func newLearner(a *Agent, sessions bool) (*learner, error) {
	l := &learner{sessions: sessions, sarsa: sessions && a.config.Discount > 0, n: max(a.config.Resamples, 1)} // OwnSets is one set a step
	l.apart = sessions || a.spec.State > 0
	var err error
	l.exec, err = NewExec(a.backend, func(in []*Node) []*Node {
		actor, in := a.actor.Nodes(in)
		critic, in := a.critic.Nodes(in)
		b := Batch{Contexts: in[0], Sets: in[1], Absent: in[2], Chosen: in[3], Reward: in[4], Mask: in[5], Kappa: in[6]}
		update := Learner{Actor: a.actor.Network, Critic: a.critic.Network, ActorRate: in[7], CriticRate: in[8], UnweightedCritic: a.config.UnweightedCritic}
		t := in[9]
		if l.sarsa {
			b.Next, b.Discount, b.Weight = in[10], in[11], in[12]
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
	steps := make([]int, b)
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
		offers := l.resample(a, r, k, steps, places[r*l.n*b*m:(r+1)*l.n*b*m], rand.New(s.Resample))
		for i, o := range offers {
			at := r*k + i
			rp.joined(contexts[at*d:(at+1)*d], r, o)
		}
	}
	inputs := []*tensors.Tensor{Columns(contexts, runs, k, d), tensors.FromFlatDataAndDimensions(places, runs, l.n, b*m),
		tensor(absent, runs, l.n, b, m), Columns(chosen, runs, b, d),
		tensor(reward, runs, b), tensor(mask, runs, 1, len(mask)/runs), scalar(c.Greed.At(a.steps)),
		scalar(c.ActorRate), scalar(c.CriticRate), scalar(float64(a.updates))}
	if l.sarsa {
		inputs = append(inputs, Columns(next, runs, b, d), tensor(discount, runs, b), tensor(weight, runs, b))
	}
	return inputs
}

// resample draws the sets of a run's batch jointly (sections 3.2 and 5.1): it
// returns the contexts that they are made of and writes to places, [N, B*M], which
// of them stands where, counted over all runs, of which each has k. Every set has
// the size of the step that it belongs to, and its contexts stand first.
//
// In a bandit the candidates of all steps of the batch are permuted at random and
// cut into sets, N times: each context is in N sets, with M-1 others that are a
// draw from all contexts seen. In sessions the contexts of a set are drawn without
// replacement from those seen in the session of its step and joined with the state
// of that step.
func (l *learner) resample(a *Agent, r, k int, steps []int, places []int32, rng *rand.Rand) (offers []offer) {
	rp, m, own := a.replay, a.spec.Candidates, a.config.Resamples == OwnSets
	for n := range l.n {
		first, at, state := len(offers), []int(nil), []int(nil) // at: the places of the sets, and the steps that they belong to
		for i, step := range steps {
			s := rp.step(r, step)
			for j := range int(s.Size) {
				at, state = append(at, (n*len(steps)+i)*m+j), append(state, step)
			}
			switch {
			case l.sessions && !own:
				offers = rp.seen(offers, int(s.Size), r, step, rng)
			case n == 0 || l.apart:
				for j := range int(s.Size) {
					offers = append(offers, offer{step, step, j})
				}
				if own { // the chosen one stands first, as Update wants it
					set := offers[len(offers)-int(s.Size):]
					set[0].candidate, set[s.Chosen].candidate = set[s.Chosen].candidate, set[0].candidate
				}
			}
		}
		from := make([]int, len(at)) // which of the contexts stands at each place
		for i := range from {
			from[i] = len(offers) - len(at) + i
		}
		if permuted := !l.sessions && !own; permuted && len(offers) > first {
			rng.Shuffle(len(at), func(i, j int) { offers[first+i], offers[first+j] = offers[first+j], offers[first+i] })
			for i := range at {
				offers[first+i].state = state[i]
			}
		} else if permuted {
			rng.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		}
		for i, place := range at {
			places[place] = int32(r*k + from[i])
		}
	}
	return offers
}

func tensor(flat []float32, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(flat, dims...)
}

func scalar(x float64) *tensors.Tensor { return tensors.FromScalar(float32(x)) }
