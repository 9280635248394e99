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

	// sets is how many resampled sets a step of the batch are laid out side by
	// side. Where sets have a state, a context belongs to its set, and sets is N;
	// else all N sets are made of the same contexts, and sets is 1.
	sets int

	contexts, chosen, next *Columns // K = sets*B*M, B, B (sarsa)
	absent, mask           *tensors.Tensor
	reward, weight         *tensors.Tensor // weight: sarsa
	discount               *tensors.Tensor // sarsa
	places                 []int32         // [R, N, B*M], Batch.Sets; nil where contexts stand in their sets

	steps  [][]int   // [R][B], the batch
	ready  []bool    // [R], whether there is a batch
	offers [][]offer // [R][K], what stands at each place of the sets; candidate -1: nothing
	exec   *Exec
}

func newLearner(a *Agent, sessions bool) (*learner, error) {
	c, runs, m, d := a.config, a.Runs(), a.spec.Candidates, a.spec.Dim
	b, n := c.BatchSize, max(c.Resamples, 1) // OwnSets is one set a step
	l := &learner{sessions: sessions, sarsa: sessions && c.Discount > 0, sets: 1, ready: make([]bool, runs)}
	if sessions || a.spec.State > 0 {
		l.sets = n
	} else if n > 1 {
		l.places = make([]int32, runs*n*b*m)
	}
	for range runs {
		l.steps = append(l.steps, make([]int, b))
		l.offers = append(l.offers, make([]offer, l.sets*b*m))
	}
	for _, input := range []struct {
		columns **Columns
		n       int
	}{{&l.contexts, l.sets * b * m}, {&l.chosen, b}, {&l.next, b}} {
		var err error
		if *input.columns, err = NewColumns(a.backend, runs, input.n, d); err != nil {
			return nil, err
		}
	}
	for _, input := range []struct {
		tensor **tensors.Tensor
		dims   []int
	}{
		{&l.absent, []int{runs, n, b, m}}, {&l.mask, []int{runs, 1, a.actor.Network.last()}},
		{&l.reward, []int{runs, b}}, {&l.weight, []int{runs, b}}, {&l.discount, []int{runs, b}},
	} {
		var err error
		if *input.tensor, err = NewInput(a.backend, input.dims...); err != nil {
			return nil, err
		}
	}
	var err error
	l.exec, err = NewExec(a.backend, func(in []*Node) []*Node {
		actor, in := a.actor.Nodes(in)
		critic, in := a.critic.Nodes(in)
		batch := Batch{Contexts: in[0], Absent: in[1], Chosen: in[2], Reward: in[3], Mask: in[4], Kappa: in[5]}
		learner := Learner{Actor: a.actor.Network, Critic: a.critic.Network,
			ActorRate: in[6], CriticRate: in[7], UnweightedCritic: c.UnweightedCritic}
		t, in := in[8], in[9:]
		if l.places != nil {
			batch.Sets, in = in[0], in[1:]
		}
		if l.sarsa {
			batch.Next, batch.Discount, batch.Weight = in[0], in[1], in[2]
		}
		actor, critic, measures := learner.Update(actor, critic, batch, t)
		return append(append(actor.all(), critic.all()...), measures.CriticLoss, measures.ActorLoss, measures.CriticGradient, measures.ActorGradient)
	})
	return l, err
}

// update learns from one batch a run. A run that has no step to draw yet keeps
// its parameters.
func (l *learner) update(a *Agent) error {
	if err := l.draw(a); err != nil {
		return err
	}
	actor, err := a.actor.Donate()
	if err != nil {
		return err
	}
	critic, err := a.critic.Donate()
	if err != nil {
		return err
	}
	a.updates++
	args := append(append(actor, critic...), l.contexts.Tensor, l.absent, l.chosen.Tensor, l.reward, l.mask,
		scalar(a.config.Greed.At(a.steps)), scalar(a.config.ActorRate), scalar(a.config.CriticRate), scalar(float64(a.updates)))
	if l.places != nil {
		args = append(args, tensors.FromFlatDataAndDimensions(l.places, a.Runs(), a.config.Resamples, len(l.places)/a.Runs()/a.config.Resamples))
	}
	if l.sarsa {
		args = append(args, l.next.Tensor, l.discount, l.weight)
	}
	results, err := l.exec.Call(args...)
	if err != nil {
		return err
	}
	runs := float64(a.Runs())
	for i, t := range a.critic.Replace(a.actor.Replace(results)) {
		x := float64(tensors.ToScalar[float32](t)) / runs
		switch i {
		case 0:
			a.diagnostics.CriticLoss = x
		case 1:
			a.diagnostics.ActorLoss = x
		case 2:
			a.diagnostics.CriticGradient = math.Sqrt(x)
		case 3:
			a.diagnostics.ActorGradient = math.Sqrt(x)
		}
		if err := t.FinalizeAll(); err != nil {
			return err
		}
	}
	return nil
}

// draw draws a batch of each run and its resampled sets into the inputs.
func (l *learner) draw(a *Agent) error {
	rp, b, m, d := a.replay, a.config.BatchSize, a.spec.Candidates, a.spec.Dim
	for r := range l.ready {
		s := &a.streams[r]
		if l.ready[r] = rp.Draw(l.steps[r], r, rand.New(s.Batch)); l.ready[r] {
			l.resample(a, r, rand.New(s.Resample))
		}
	}
	// columns fills an input with a context of each step of the batch.
	columns := func(c *Columns, step func(r, step int) int) error {
		return c.Fill(func(r int, rows []float32) {
			for i := 0; i < b && l.ready[r]; i++ {
				at := step(r, l.steps[r][i])
				rp.Context(rows[i*d:(i+1)*d], r, at, rp.Chosen(r, at))
			}
		})
	}
	// each fills an input with a number of each step of the batch.
	each := func(t *tensors.Tensor, value func(r, step int) float32) error {
		return fill(t, a.Runs(), func(r int, values []float32) {
			clear(values)
			for i := 0; i < b && l.ready[r]; i++ {
				values[i] = value(r, l.steps[r][i])
			}
		})
	}
	err := l.contexts.Fill(func(r int, rows []float32) {
		for k, o := range l.offers[r] {
			if o.candidate >= 0 && l.ready[r] {
				rp.joined(rows[k*d:(k+1)*d], r, l.steps[r][k/m%b], o.step, o.candidate)
			}
		}
	})
	if err == nil {
		err = columns(l.chosen, func(_, step int) int { return step })
	}
	if err == nil {
		err = each(l.reward, rp.Reward)
	}
	if err == nil {
		err = fill(l.absent, a.Runs(), func(r int, places []float32) {
			for k := 0; k < len(places); k += m {
				size := 1 // of a run that does not learn yet
				if l.ready[r] {
					size = rp.Size(r, l.steps[r][k/m%b])
				}
				markAbsent(places[k:k+m], size)
			}
		})
	}
	if err == nil {
		err = fill(l.mask, a.Runs(), func(r int, mask []float32) {
			drop(mask, a.config.Dropout, rand.New(a.streams[r].BatchMask))
		})
	}
	if err == nil && l.sarsa {
		err = columns(l.next, func(r, step int) int { _, next := rp.Next(r, step); return next })
		if err == nil {
			err = each(l.discount, func(r, step int) float32 { discount, _ := rp.Next(r, step); return discount })
		}
		if err == nil {
			err = each(l.weight, func(int, int) float32 { return 1 })
		}
	}
	return err
}

// resample draws the sets of a run's batch jointly (section 3.2 and 5.1). Every
// set has the size of the step that it belongs to, and its contexts stand first.
//
// In a bandit the candidates of all steps of the batch are permuted at random and
// cut into sets, N times: each context is in N sets, with M-1 others that are a
// draw from all contexts seen. In sessions the contexts of a set are drawn without
// replacement from those seen in the session of its step and joined with the state
// of that step.
func (l *learner) resample(a *Agent, r int, rng *rand.Rand) {
	rp, m, b := a.replay, a.spec.Candidates, a.config.BatchSize
	var seen []offer // candidates of the batch
	var at []int     // the places of its sets, in the order of seen
	for n := range l.sets {
		seen, at = seen[:0], at[:0]
		for i, step := range l.steps[r] {
			first, size := (n*b+i)*m, rp.Size(r, step)
			set := l.offers[r][first : first+m]
			for j := range set {
				set[j] = offer{step, -1}
			}
			switch {
			case a.config.Resamples == OwnSets:
				ownSet(set[:size], rp.Chosen(r, step))
			case l.sessions:
				rp.seen(set[:size], r, step, rng)
			default:
				for j := range size {
					seen, at = append(seen, offer{step, j}), append(at, first+j)
				}
			}
		}
		rng.Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
		for i, k := range at {
			l.offers[r][k] = seen[i]
		}
	}
	if l.places == nil {
		return
	}
	k, n := b*m, a.config.Resamples
	places := l.places[r*n*k : (r+1)*n*k]
	for i := range places {
		places[i] = int32(r*k + i%k) // the first sets are as they stand
	}
	from := slices.Clone(at)
	for i := 1; i < n; i++ {
		rng.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		for j, to := range at {
			places[i*k+to] = int32(r*k + from[j])
		}
	}
}

// ownSet puts the candidates of a step into its set, the chosen one first, where
// Update looks for the others of the chosen context after it.
func ownSet(set []offer, chosen int) {
	for j := range set {
		switch {
		case j == 0:
			set[j].candidate = chosen
		case j <= chosen:
			set[j].candidate = j - 1
		default:
			set[j].candidate = j
		}
	}
}
