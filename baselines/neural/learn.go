package neural

import (
	"errors"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// learner keeps the history of chosen contexts and makes the updates.
type learner struct {
	sessions bool // whether the problem has them
	history  *pgcr.Replay
	chosen   envs.Transition // scratch: a step with the chosen candidate alone
	items    []int32         // scratch: the codes of the chosen candidates, [R]
	order    []int           // of one candidate
	batch    []int           // scratch: the steps of one run's batch

	contexts *pgcr.Contexts  // the chosen contexts of the batch, B
	reward   *tensors.Tensor // [R, B]
	mask     *tensors.Tensor // [R, 1, H]
	exec     *Exec

	// Nil unless targets look a step ahead.
	next     *pgcr.Contexts  // the contexts chosen at the next step, B
	discount *tensors.Tensor // [R, B]
	ready    *tensors.Tensor // 1 where a run learns, else 0; [R, 1]
}

// updateInputs are the nodes of the update graph.
type updateInputs struct {
	params          []*Node // parameters and moments
	contexts, rows  *Node   // [R, W, B], nil on a device, and [R, B, W]
	reward          *Node   // [R, B]
	mask            *Node   // [R, 1, H]
	size, eps       *Node   // scalars of Adam
	next, nextRows  *Node   // [R, W, B], nil on a device, and [R, B, W], nil on the host; both unless targets look a step ahead
	discount, ready *Node   // [R, B], [R, 1]; nil unless targets look a step ahead
}

// updateGraph is one update of the value network. It returns the successors of
// parameters and moments.
func updateGraph(network pgcr.Network, in updateInputs) []*Node {
	k := len(in.params) / 3
	value := network.Apply(in.params[:k], in.contexts, in.rows, in.mask)
	target := in.reward
	if in.discount != nil {
		target = pgcr.SarsaTarget(in.reward, in.discount, network.Apply(in.params[:k], in.next, in.nextRows, in.mask).Output)
	}
	slope := pgcr.ValueSlope(target, value.Output)
	if in.ready != nil {
		slope = Mul(slope, in.ready)
	}
	return pgcr.Step(in.params, value.Gradient(slope, in.rows), in.size, in.eps)
}

func newLearner(p *Policy, sessions bool) (*learner, error) {
	runs, dim, b := p.Runs(), p.spec.Dim, p.settings.BatchSize
	l := &learner{
		sessions: sessions,
		// Nothing but the chosen candidate is learned from: a history of steps
		// with one candidate each takes an M-th of the memory.
		history: pgcr.NewReplay(envs.Spec{Candidates: 1, Dim: dim}, runs, p.settings.Discount),
		chosen: envs.Transition{
			Observation: envs.Observation{Runs: runs, Candidates: 1, Dim: dim, Contexts: make([]float32, runs*dim)},
			Actions:     make([]int, runs),
		},
		items: make([]int32, runs),
		order: []int{0},
		batch: make([]int, b),
	}
	network := p.network.Network
	in := inputs{backend: p.backend, runs: runs}
	l.contexts, l.reward, l.mask = in.contexts(b, dim, true), in.tensor(b), in.mask(network)
	if sessions && p.settings.Discount > 0 {
		l.next, l.discount, l.ready = in.contexts(b, dim, false), in.tensor(b), in.tensor(1)
	}
	if in.err != nil {
		return nil, in.err
	}
	k := 3 * len(p.network.Weights())
	var err error
	l.exec, err = NewExec(p.backend, func(n []*Node) []*Node {
		in := updateInputs{params: n[:k], contexts: n[k], rows: n[k+1], reward: n[k+2], mask: n[k+3], size: n[k+4], eps: n[k+5]}
		if l.next != nil {
			in.next, in.discount, in.ready = n[k+6], n[k+7], n[k+8]
		}
		return updateGraph(network, in)
	})
	return l, err
}

// add appends one step of every run to the history.
func (l *learner) add(tr envs.Transition) error {
	if l.sessions != (tr.Session != nil) {
		panic("neural: a transition with sessions among others without")
	}
	l.chosen.Session, l.chosen.Outcome = tr.Session, tr.Outcome
	defer func() { // the environment's, not to be kept
		l.chosen.Session, l.chosen.Outcome, l.chosen.Codes = nil, envs.Outcome{}, nil
	}()
	if tr.Codes != nil {
		codes := *tr.Codes
		codes.Items = l.items
		l.chosen.Codes = &codes
	}
	if err := l.history.Accept(l.chosen); err != nil {
		return err
	}
	for r, action := range tr.Actions {
		if tr.Codes != nil {
			l.items[r] = tr.Codes.Items[r*tr.Candidates+action]
		} else {
			copy(l.chosen.Contexts[r*tr.Dim:(r+1)*tr.Dim], tr.Contexts[(r*tr.Candidates+action)*tr.Dim:])
		}
		l.history.Add(r, l.chosen, l.order)
	}
	return nil
}

// update learns from one batch a run. A run that has no step to draw yet keeps
// its parameters, whatever the runs beside it do.
func (l *learner) update(p *Policy) error {
	if err := l.fill(p); err != nil {
		return err
	}
	args, err := p.network.Donate()
	if err != nil {
		return err
	}
	size, eps := pgcr.Adam{Rate: p.settings.Rate}.Scalars(p.network.Updates + 1)
	args = append(args, l.contexts.Columns(), l.contexts.Rows(), l.reward, l.mask,
		tensors.FromScalar(float32(size)), tensors.FromScalar(float32(eps)))
	if l.next != nil {
		args = append(args, l.next.Columns(), l.discount, l.ready)
	}
	results, err := l.exec.Call(args...)
	if err != nil {
		return err
	}
	p.network.Replace(results)
	return nil
}

// fill draws a batch of each run into the inputs.
func (l *learner) fill(p *Policy) error {
	in := []*tensors.Tensor{l.contexts.Columns(), l.contexts.Rows(), l.reward, l.mask, l.next.Columns(), l.discount, l.ready}
	return pgcr.EditInputs(in, func(v [][]float32) {
		reward, mask, discount, ready := v[2], v[3], v[5], v[6]
		contexts, next := l.contexts.Writer(v[0], v[1]), l.next.Writer(v[4], nil)
		b, units := len(l.batch), len(mask)/p.Runs()
		for r, s := range p.streams {
			if l.history.Steps(r) == 0 {
				continue
			}
			pgcr.DropUnits(mask[r*units:(r+1)*units], p.dropout, s.batchMask)
			l.history.Draw(l.batch, r, s.batch)
			for i, step := range l.batch {
				contexts.Write(r, i, l.history.Chosen(r, step))
				reward[r*b+i] = l.history.Reward(r, step)
			}
			if l.next == nil {
				continue
			}
			ready[r] = 1
			for i, step := range l.batch {
				gamma, chosen := l.history.Next(r, step)
				discount[r*b+i] = gamma
				if chosen != nil {
					next.Write(r, i, chosen)
				}
			}
		}
	})
}

// inputs makes the inputs of graphs and keeps the errors for later.
type inputs struct {
	backend compute.Backend
	runs    int
	err     error
}

// contexts makes an input of n contexts a run.
func (in *inputs) contexts(n, dim int, withRows bool) *pgcr.Contexts {
	c, err := pgcr.NewContexts(in.backend, in.runs, n, dim, withRows)
	in.err = errors.Join(in.err, err)
	return c
}

// tensor makes an input of those dimensions a run.
func (in *inputs) tensor(dims ...int) *tensors.Tensor {
	t, err := pgcr.NewInput(in.backend, append([]int{in.runs}, dims...)...)
	in.err = errors.Join(in.err, err)
	return t
}

// mask makes an input for a dropout mask a run.
func (in *inputs) mask(network pgcr.Network) *tensors.Tensor {
	return in.tensor(1, network.MaskUnits())
}
