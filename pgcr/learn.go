package pgcr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// updateGraph is Update with the parameters of both networks and the inputs that draw returns.
func (a *Agent) updateGraph(in []*Node) []*Node {
	actor, in := a.actor.Nodes(in)
	critic, in := a.critic.Nodes(in)
	c := a.config
	b := Batch{Contexts: in[0], Sets: in[1], Absent: in[2], Mask: in[3], Kappa: in[4], Updates: in[5], Chosen: in[6], Reward: in[7], Ready: in[8],
		WeightedCritic: c.WeightedCritic, ActorRate: c.ActorRate, CriticRate: c.CriticRate, Decay: c.Decay}
	if len(in) > 9 {
		b.Next, b.Discount = in[9], in[10]
	}
	actor, critic, measures := Update(actor, critic, b)
	return append([]*Node{actor.Params, actor.M, actor.V, critic.Params, critic.M, critic.V}, measures...)
}

// learn makes one update of each run.
func (a *Agent) learn() error {
	a.updates++
	measures, err := Train(a.update, []*Parameters{a.actor, a.critic}, a.draw()...)
	if err != nil {
		return err
	}
	d, mean := &a.diagnostics, func(i int) float64 { return measures[i] / float64(a.Runs()) }
	d.ActorGradient, d.CriticGradient = math.Sqrt(mean(0)), math.Sqrt(mean(1))
	d.ActorLoss, d.CriticLoss = mean(2), mean(3)
	return nil
}

// draw draws a batch of each run and its resampled sets, in the order of Batch.
func (a *Agent) draw() []*tensors.Tensor {
	c, runs, n, b, m, d := a.config, a.Runs(), max(a.config.Resamples, 1), a.config.BatchSize, a.spec.Candidates, a.spec.Dim
	steps, critic := a.replay.Draw(b, a.streams)
	k := n * b * m // K, contexts of a run
	if a.replay.shared() {
		k = b * m
	}
	rows, sets, absent := make([]float32, k*d), make([]int32, runs*n*b*m), slices.Repeat([]float32{Absent}, runs*n*b*m)
	contexts := columns(runs, k, d, func(r int) []float32 {
		offers, places := a.replay.Resample(r, steps[r], c.Resamples, rand.New(a.streams[r].Resample))
		for i, o := range offers {
			a.replay.join(part(rows, i, k), r, o)
		}
		for place, i := range places {
			if i >= 0 {
				part(sets, r, runs)[place], part(absent, r, runs)[place] = int32(r*k+i), 0
			}
		}
		return rows // what is beyond the offers, of another run perhaps, stands in no set
	})
	mask := a.drawMasks(func(s Streams) *rand.PCG { return s.BatchMask })
	return append([]*tensors.Tensor{contexts, tensor(sets, runs, n, b*m), tensor(absent, runs, n, b, m), mask,
		scalar(c.Greed.At(a.steps)), scalar(float64(a.updates))}, critic...)
}

// Improve makes one step of the actor alone, up the gradient of the mean over B sets of
//
//	sum_i p_theta(c_i) g_i
//
// which is (25) with gains in place of the critic's values. It is not in the paper: package logged
// learns from logs with it, where gains are rewards by propensities. With likelihood, log p is in
// place of p, and gains are at least 0.
//
// The runs of sets are the R*B sets, those of run 0 first; gains is [R*B, M]. The rate is ActorRate,
// and kappa is that of the first step.
func (a *Agent) Improve(sets envs.Observation, gains []float32, likelihood bool) error {
	runs, m, b := a.Runs(), a.spec.Candidates, sets.Runs/a.Runs()
	if len(gains) != runs*b*m {
		panic(fmt.Sprintf("pgcr: got %d gains, want %d", len(gains), runs*b*m))
	}
	if err := sets.Check(a.spec, runs*b); err != nil {
		return err
	}
	if a.improve == nil || a.likelihood != likelihood {
		a.improve, a.likelihood = MustNewExec(a.config.Backend, a.improveGraph), likelihood
	}
	a.updates++
	mask := a.drawMasks(func(s Streams) *rand.PCG { return s.BatchMask })
	_, err := Train(a.improve, []*Parameters{a.actor}, Columns(sets.Contexts, runs, b*m, a.spec.Dim), tensor(absent(sets), runs, 1, b, m),
		tensor(gains, runs, 1, b, m), mask, scalar(a.config.Greed.At(0)), scalar(float64(a.updates)))
	return err
}

// improveGraph is the step of Improve.
func (a *Agent) improveGraph(in []*Node) []*Node {
	actor, in := a.actor.Nodes(in)
	contexts, absent, gains, mask, kappa, t := in[0], in[1], in[2], in[3], in[4], in[5]
	p := Probabilities(Add(Reshape(actor.Forward(contexts, mask), absent.Shape().Dimensions...), absent), kappa)
	if a.likelihood {
		p = Log(AddScalar(p, 1e-30))
	}
	actor, squared := actor.Descend(ActorLoss(p, gains), a.config.ActorRate, a.config.Decay, t, OnesLike(ReduceMax(absent, 1, 3)))
	return []*Node{actor.Params, actor.M, actor.V, squared}
}

// shared says whether the N sets of a step are made of the same B*M contexts of the batch. Where there
// are states they are not, since a context is joined with the state of the step whose set it is in.
func (rp *Replay) shared() bool { return rp.spec.State == 0 && !rp.sessions() }

// Resample draws N sets for each step of a run's batch, jointly (sections 3.2 and 5.1). It returns
// the contexts that the sets are made of, and which of them stands at each place of the sets, [N, B,
// M]. A set has the size of its step, and -1 at the places beyond it. N may be OwnSets.
//
// In a bandit the candidates of all steps of the batch are permuted at random and cut into sets, N
// times: each context is in N sets, with M-1 others that are a draw from all contexts seen. In
// sessions a set is drawn without replacement from the contexts seen in the session of its step,
// each joined with the state of that step.
func (rp *Replay) Resample(r int, steps []int, resamples int, rng *rand.Rand) (contexts []Offer, places []int) {
	m, n := rp.spec.Candidates, max(resamples, 1)
	filled := make([]int, 0, len(steps)*m) // the places of B sets, [B, M], that have a context
	for i, step := range steps {
		for j := range int(rp.step(r, step).Size) {
			filled = append(filled, i*m+j)
		}
	}
	places = slices.Repeat([]int{-1}, n*len(steps)*m)
	contexts = make([]Offer, 0, n*len(filled))
	for i := range n {
		first, places := len(contexts), part(places, i, n)
		switch {
		case resamples == OwnSets:
			for _, step := range steps {
				contexts = rp.offered(contexts, r, step)
			}
		case rp.sessions():
			for _, step := range steps {
				contexts = rp.seen(contexts, r, step, rng)
			}
		default:
			order := rng.Perm(len(filled))
			if i > 0 && rp.shared() { // the contexts are there
				for j, place := range filled {
					places[place] = order[j]
				}
				continue
			}
			for j, place := range filled {
				from := filled[order[j]]
				contexts = append(contexts, Offer{State: steps[place/m], Step: steps[from/m], Candidate: from % m})
			}
		}
		for j, place := range filled {
			places[place] = first + j
		}
	}
	return contexts, places
}
