package pgcr

import (
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// learner makes the updates of section 5.1: it draws batches and runs the
// update graph.
type learner struct {
	sessions bool // whether the problem has them
	sarsa    bool // whether targets look a step ahead

	split    int       // S, where the contexts are taken apart, or 0
	units    int       // H, of the last hidden layer
	steps    []int     // scratch: the steps of one run's batch
	rival    []float32 // scratch: one context
	state    *Contexts // the states of the batch, B; nil unless the contexts are taken apart
	contexts *Contexts // all candidates of the batch, B*M, or their items, slot by slot
	chosen   *Contexts // the chosen ones, B
	next     *Contexts // those chosen at the next step, B; nil unless sarsa
	rivals   *Contexts // those from the same session, C*B, rival by rival, or their items; nil without sessions
	picked   *tensors.Tensor
	reward   *tensors.Tensor
	mask     *tensors.Tensor
	discount *tensors.Tensor // nil unless sarsa
	ready    *tensors.Tensor // nil unless sarsa

	exec *Exec
}

// updateInputs are the nodes of the update graph, in the order of the arguments.
// On a device, contexts come in rows only: columns, chosen, chosenRows, next and
// rivals are nil. Columns and rivals are so too where products with them are large.
type updateInputs struct {
	actor, critic          []*Node // parameters and moments
	state, stateRows       *Node   // [R, S, B], [R, B, S], where contexts and rivals are taken apart, or nil
	columns, rows          *Node   // contexts of the batch, [R, W, B*M], [R, B*M, W], or what StateItems has of them
	chosen, chosenRows     *Node   // [R, W, B], [R, B, W]
	picked                 *Node   // 1 where a context is the chosen one, else 0; [R, B*M]
	reward                 *Node   // [R, B]
	mask                   *Node   // [R, 1, H]
	kappa                  *Node   // scalar
	actorSize, actorEps    *Node   // scalars of Adam
	criticSize, criticEps  *Node   // scalars of Adam
	next, nextRows         *Node   // [R, W, B], [R, B, W], or nil
	discount               *Node   // [R, B], or nil
	ready                  *Node   // 1 where a run learns, else 0; [R, 1], or nil
	rivals, rivalRows      *Node   // [R, W, C*B], [R, C*B, W], or nil
	batch, candidates, run int
}

// updateGraph is one update of critic and actor. It returns the successors of
// all parameters and moments.
//
// As in the paper the actor learns from the critic that has already been
// updated, f_{phi_{t+1}} in (25), and both from the marginals before the update.
func updateGraph(c Config, estimator Estimator, actor, critic Network, in updateInputs) []*Node {
	b, m := in.batch, in.candidates
	ka, kc := len(in.actor)/3, len(in.critic)/3

	var scores, value Pass
	if in.chosen == nil && fuses(in.rows) {
		scores, value = forwardTogether(actor, critic, in.actor[:ka], in.critic[:kc], in.rows, in.mask)
	} else {
		scores = in.apply(actor, in.actor[:ka], in.columns, in.rows, in.mask)
		value = critic.Apply(in.critic[:kc], in.chosen, in.rows, nil)
	}
	var rivals Pass
	var rivalScores *Node
	if in.rivalRows != nil {
		rivals = in.apply(actor, in.actor[:ka], in.rivals, in.rivalRows, in.mask)
		rivalScores = Reshape(rivals.Output, in.run, -1, b)
	}
	marginal, pull := estimator.Estimate(in.byStep(scores.Output), rivalScores, in.kappa, m)
	marginalChosen := in.pick(marginal)

	chosenValue := value.Output
	if in.chosen == nil { // the values are those of all contexts
		chosenValue = in.pick(chosenValue)
	}
	target := in.reward
	if in.discount != nil {
		target = SarsaTarget(in.reward, in.discount, critic.Apply(in.critic[:kc], in.next, in.nextRows, nil).Output)
	}
	slope := criticSlope(marginalChosen, target, chosenValue)
	var criticGrads []*Node
	if in.chosen != nil {
		criticGrads = value.Gradient(slope, in.chosenRows)
	} else {
		criticGrads = value.Gradient(in.unpick(slope), in.rows)
	}
	criticNext := Step(in.critic, criticGrads, in.criticSize, in.criticEps)

	actionValue := in.byStep(in.apply(critic, criticNext[:kc], in.columns, in.rows, nil).Output)
	if c.ControlVariate {
		actionValue = ControlVariate(actionValue)
	}
	if in.ready != nil {
		actionValue = Mul(actionValue, in.ready)
	}
	dScores, dRivals := pull(actorSlope(actionValue, b))
	actorGrads := scores.Gradient(in.byContext(dScores), in.rows)
	if rivalScores != nil && dRivals != nil {
		for i, g := range rivals.Gradient(Reshape(dRivals, in.run, -1), in.rivalRows) {
			actorGrads[i] = Add(actorGrads[i], g)
		}
	}
	return append(Step(in.actor, actorGrads, in.actorSize, in.actorEps), criticNext...)
}

// apply is a forward pass over contexts or rivals.
func (in updateInputs) apply(n Network, params []*Node, columns, rows, mask *Node) Pass {
	if in.state != nil {
		return n.ForwardStateItems(params, StateItems{in.state, in.stateRows, columns, rows}, mask)
	}
	return n.Apply(params, columns, rows, mask)
}

// byStep puts values of all contexts in the order of the steps, in which they
// stand already unless they are taken apart.
func (in updateInputs) byStep(x *Node) *Node {
	if in.state != nil {
		return byStep(x, in.batch)
	}
	return x
}

// byContext is the inverse of byStep.
func (in updateInputs) byContext(x *Node) *Node {
	if in.state != nil {
		return byContext(x, in.batch)
	}
	return x
}

// pick takes the chosen ones out of values of all contexts: [R, B*M] becomes
// [R, B].
func (in updateInputs) pick(x *Node) *Node {
	return ReduceSum(Reshape(Mul(x, in.picked), in.run, in.batch, in.candidates), 2)
}

// unpick puts values of the chosen contexts, [R, B], in their places among zeros,
// [R, B*M].
func (in updateInputs) unpick(x *Node) *Node {
	picked := Reshape(in.picked, in.run, in.batch, in.candidates)
	return Reshape(Mul(Reshape(x, in.run, in.batch, 1), picked), in.run, in.batch*in.candidates)
}

// largeProduct is how many multiplications a product of a run needs for the Go
// backend's kernel for large matrices. That one packs what it multiplies, and takes
// contexts from rows as fast as from columns, which then need not be laid out. The
// kernel for small ones takes ten times as long with rows. Tests set it.
var largeProduct = 4_194_304

func newLearner(a *Agent, sessions bool) (*learner, error) {
	c, runs, dim := a.config, a.Runs(), a.spec.Dim
	b, m, last := c.BatchSize, a.spec.Candidates, a.actor.Network.MaskUnits()
	l := &learner{sessions: sessions, sarsa: sessions && c.Discount > 0, units: last, steps: make([]int, b), rival: make([]float32, dim)}
	count := 0
	if sessions {
		count = a.estimator.Rivals(m)
	} else if err := a.estimator.Check(b, m); err != nil {
		return nil, err
	}
	if a.spec.State >= minState {
		l.split = a.spec.State
	}
	small := func(n int) bool { return lanes(c.Hidden[0])*(Width(dim)-l.split)*n < largeProduct }
	for _, input := range []struct {
		contexts   **Contexts
		n          int
		dim, width int
		columns    bool
		rows       bool
	}{
		{&l.state, b, l.split, l.split, true, true},
		{&l.contexts, b * m, dim - l.split, Width(dim) - l.split, small(b * m), true},
		{&l.chosen, b, dim, Width(dim), true, true},
		{&l.next, b, dim, Width(dim), true, false},
		{&l.rivals, count * b, dim - l.split, Width(dim) - l.split, small(count * b), true},
	} {
		if input.contexts == &l.next && !l.sarsa || input.n*input.dim == 0 {
			continue
		}
		var err error
		if *input.contexts, err = newContexts(a.backend, runs, input.n, input.dim, input.width, input.columns, input.rows); err != nil {
			return nil, err
		}
	}
	for _, input := range []struct {
		tensor **tensors.Tensor
		dims   []int
	}{
		{&l.picked, []int{runs, b * m}},
		{&l.reward, []int{runs, b}},
		{&l.mask, []int{runs, 1, last}},
		{&l.discount, []int{runs, b}},
		{&l.ready, []int{runs, 1}},
	} {
		if !l.sarsa && (input.tensor == &l.discount || input.tensor == &l.ready) {
			continue
		}
		var err error
		if *input.tensor, err = NewInput(a.backend, input.dims...); err != nil {
			return nil, err
		}
	}
	ka, kc := len(a.actor.tensors), len(a.critic.tensors)
	var err error
	l.exec, err = NewExec(a.backend, func(n []*Node) []*Node {
		in := updateInputs{actor: n[:ka], critic: n[ka : ka+kc], batch: b, candidates: m, run: runs}
		rest := n[ka+kc:]
		take := func(c *Contexts, columns, rows **Node) {
			if c.columns != nil {
				*columns, rest = rest[0], rest[1:]
			}
			*rows, rest = rest[0], rest[1:]
		}
		take(l.contexts, &in.columns, &in.rows)
		take(l.chosen, &in.chosen, &in.chosenRows)
		for i, to := range []**Node{&in.picked, &in.reward, &in.mask, &in.kappa, &in.actorSize, &in.actorEps, &in.criticSize, &in.criticEps} {
			*to = rest[i]
		}
		rest = rest[8:]
		if l.sarsa {
			in.next, in.discount, in.ready, rest = rest[0], rest[1], rest[2], rest[3:]
		}
		if l.rivals != nil {
			take(l.rivals, &in.rivals, &in.rivalRows)
		}
		if l.state != nil {
			take(l.state, &in.state, &in.stateRows)
		}
		return updateGraph(c, a.estimator, a.actor.Network, a.critic.Network, in)
	})
	return l, err
}

// update learns from one batch a run. A run that has no step to draw yet keeps
// its parameters, whatever the runs beside it do.
func (l *learner) update(a *Agent) error {
	if err := l.fill(a); err != nil {
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
	actorSize, actorEps := Adam{a.config.ActorRate}.Scalars(a.actor.Updates + 1)
	criticSize, criticEps := Adam{a.config.CriticRate}.Scalars(a.critic.Updates + 1)
	args := append(actor, critic...)
	give := func(c *Contexts) {
		if c.columns != nil {
			args = append(args, c.columns)
		}
		args = append(args, c.rows)
	}
	give(l.contexts)
	give(l.chosen)
	args = append(args, l.picked, l.reward, l.mask, scalar(a.config.Greed.At(a.steps)),
		scalar(actorSize), scalar(actorEps), scalar(criticSize), scalar(criticEps))
	if l.sarsa {
		args = append(args, l.next.Columns(), l.discount, l.ready)
	}
	if l.rivals != nil {
		give(l.rivals)
	}
	if l.state != nil {
		give(l.state)
	}
	results, err := l.exec.Call(args...)
	if err != nil {
		return err
	}
	a.critic.Replace(a.actor.Replace(results))
	return nil
}

// fill draws a batch of each run into the inputs.
func (l *learner) fill(a *Agent) error {
	b, m, d := a.config.BatchSize, a.spec.Candidates, a.spec.Dim
	return l.edit(func(in batchValues) {
		clear(in.picked)
		for r := range a.Runs() {
			s := &a.streams[r]
			if in.ready != nil {
				in.ready[r] = 0
			}
			if a.replay.Steps(r) == 0 {
				continue
			}
			a.replay.Draw(l.steps, r, rand.New(s.batch))
			for i, step := range l.steps {
				contexts, at := a.replay.Contexts(r, step)
				if l.state == nil {
					in.contexts.Write(r, i*m, contexts)
				} else {
					in.state.Write(r, i, contexts[:l.split])
					for slot := range m {
						in.contexts.Write(r, slot*b+i, contexts[slot*d+l.split:(slot+1)*d])
					}
				}
				in.chosen.Write(r, i, contexts[at*d:(at+1)*d])
				in.picked[(r*b+i)*m+at] = 1
				in.reward[r*b+i] = a.replay.Reward(r, step)
			}
			if l.sarsa {
				in.ready[r] = 1
				for i, step := range l.steps {
					gamma, chosen := a.replay.Next(r, step)
					in.discount[r*b+i] = gamma
					if chosen != nil {
						in.next.Write(r, i, chosen)
					}
				}
			}
			if l.rivals != nil {
				rng := rand.New(s.rivals)
				for i, step := range l.steps {
					for j := range a.estimator.Rivals(m) {
						a.replay.Rival(l.rival, r, step, rng)
						in.rivals.Write(r, j*b+i, l.rival[l.split:])
					}
				}
			}
			DropUnits(in.mask[r*l.units:(r+1)*l.units], a.config.Dropout, rand.New(s.batchMask))
		}
	})
}

// batchValues gives access to the values of the inputs.
type batchValues struct {
	contexts, chosen, next, rivals, state ContextWriter
	picked, reward, discount, ready, mask []float32
}

// edit calls f with the values of all inputs, to be changed in place.
func (l *learner) edit(f func(in batchValues)) error {
	inputs := []*tensors.Tensor{l.picked, l.reward, l.discount, l.ready, l.mask}
	for _, c := range []*Contexts{l.contexts, l.chosen, l.next, l.rivals, l.state} {
		inputs = append(inputs, c.Columns(), c.Rows())
	}
	return EditInputs(inputs, func(v [][]float32) {
		f(batchValues{
			picked: v[0], reward: v[1], discount: v[2], ready: v[3], mask: v[4],
			contexts: l.contexts.Writer(v[5], v[6]), chosen: l.chosen.Writer(v[7], v[8]),
			next: l.next.Writer(v[9], v[10]), rivals: l.rivals.Writer(v[11], v[12]),
			state: l.state.Writer(v[13], v[14]),
		})
	})
}
