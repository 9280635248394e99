package ondevice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// player is a live algorithm, whose graphs are parts of the loop.
type player interface {
	common() *learner

	// draw draws for step k of a chunk, which is step t of all, from 0 on. Actions and rewards of the
	// transition are none of the player's.
	draw(k, t int, tr envs.Transition) error
	drawUpdate(k, u, t int) // for update u of block k of a chunk, after step t

	// act returns the actions, [R] int32, for contexts in columns, [R, D+1, M]. own(in) is what was
	// drawn for the step into an input.
	act(states []pgcr.State, contexts *Node, own func(in array) *Node) *Node
	// update returns the successors of the networks; own(in) is what was drawn for the update.
	update(states []pgcr.State, h history, own func(in array) *Node) []pgcr.State
}

// program is the loop, and all that stays on the device from one chunk to the next.
type program struct {
	*world
	loop   *Exec
	state  []*tensors.Tensor // of each network the weights, then both moments; the actions
	offers []*tensors.Tensor // what the world draws, of all steps
	items  []*tensors.Tensor // the table, where there is one
}

func newProgram(backend compute.Backend, w *world) *program {
	prog := &program{world: w}
	for _, in := range w.drawn {
		prog.offers = append(prog.offers, tensors.FromShape(in.shape(w.steps)))
	}
	if w.table != nil {
		prog.items = []*tensors.Tensor{tensors.FromFlatDataAndDimensions(w.table, len(w.table))}
	}
	for _, network := range w.networks {
		prog.state = append(prog.state, network.Tensors...)
	}
	prog.state = append(prog.state, tensors.FromShape(shapes.Make(dtypes.Int32, w.steps*w.runs)))
	prog.loop = MustNewExec(backend, prog.build)
	return prog
}

// build makes the graph of a chunk. Its inputs are the state, whose successor it returns, what the
// world has drawn and its table, 0, the number of blocks of the chunk, the number of steps before it,
// and what the player has drawn.
func (p *program) build(in []*Node) []*Node {
	return loop(in, len(p.state)+len(p.offers)+len(p.items), p.block)[:len(p.state)]
}

// loop replaces the values in by what step makes of them as long as in[k] is less than in[k+1].
//
// GoMLX keeps constants by graph, and one that was made in another closure cannot be used: so the
// body comes first, and the condition has none.
func loop(in []*Node, k int, step func(in []*Node) []*Node) []*Node {
	parameters := func(g *Graph) (all []*Node) {
		for i, n := range in {
			all = append(all, Parameter(g, fmt.Sprint("loop ", i), n.Shape()))
		}
		return all
	}
	body := NewClosure(in[0].Graph(), func(g *Graph) []*Node { return step(parameters(g)) })
	more := NewClosure(in[0].Graph(), func(g *Graph) []*Node {
		now := parameters(g)
		return []*Node{LessThan(now[k], now[k+1])}
	})
	return While(more, body, in...)
}

// block is the body of the loop: some steps, and the updates after them.
func (p *program) block(in []*Node) (next []*Node) {
	rest := in
	var states []pgcr.State
	for _, network := range p.networks {
		var s pgcr.State
		s, rest = network.Nodes(rest)
		states = append(states, s)
	}
	m, offers := p.spec.Candidates, rest[1:]
	h := history{m: m, action: rest[0], reward: Reshape(offers[0], -1), features: offers[1]}
	if p.table != nil {
		h.item, h.features = Reshape(offers[1], -1), offers[len(p.offers)]
	}
	if p.past != nil {
		h.past = Reshape(offers[2], p.steps*p.runs, -1)
	}
	h.features = Reshape(h.features, -1, p.spec.Dim-p.spec.State)
	rest = offers[len(p.offers)+len(p.items):]
	k, before := rest[0], rest[2]
	drawn := map[array]*Node{}
	for i, input := range p.inputs {
		drawn[input] = take(rest[3+i], k)
	}
	for e := range p.every {
		first := MulScalar(AddScalar(Add(before, MulScalar(k, p.every)), e), p.runs)
		steps := Add(first, Iota(k.Graph(), shapes.Make(dtypes.Int32, p.runs, 1), 0))
		places := Add(MulScalar(steps, m), Iota(k.Graph(), shapes.Make(dtypes.Int32, p.runs, m), 1))
		chosen := p.act(states, h.contexts(places, steps), elements(drawn, e))
		h.action = DynamicUpdateSlice(h.action, chosen, []*Node{first})
	}
	for u := range p.updates {
		states = p.update(states, h, elements(drawn, u))
	}
	for _, s := range states {
		next = append(next, s.Params, s.M, s.V)
	}
	next = append(next, h.action)
	next = append(next, in[len(next):]...)
	next[len(in)-len(rest)] = AddScalar(k, 1)
	return next
}

// elements returns element j of the leading axis of an input.
func elements(drawn map[array]*Node, j int) func(in array) *Node {
	return func(in array) *Node { return Squeeze(Slice(drawn[in], AxisElem(j)), 0) }
}

// play draws and plays n steps, whole blocks, after the first done and returns their actions, [n, R].
func (p *program) play(done, n int) (actions []int32, err error) {
	for k := range n {
		tr, err := p.offer(k, done+k)
		if err != nil {
			return nil, err
		}
		if err := p.draw(k, done+k, tr); err != nil {
			return nil, err
		}
		for u := 0; (k+1)%p.every == 0 && u < p.updates; u++ {
			p.number.at(k / p.every)[u] = float32((done+k)/p.every*p.updates + u + 1)
			p.drawUpdate(k/p.every, u, done+k)
		}
	}
	for i, in := range p.drawn {
		if err := in.write(p.offers[i], done); err != nil {
			return nil, err
		}
	}
	fresh := []*tensors.Tensor{tensors.FromScalar(int32(0)), tensors.FromScalar(int32(n / p.every)), tensors.FromScalar(int32(done))}
	for _, in := range p.inputs {
		fresh = append(fresh, in.tensor())
	}
	if err := p.call(fresh); err != nil {
		return nil, err
	}
	if actions, err = tensors.CopyFlatData[int32](p.state[len(p.state)-1]); err != nil {
		return nil, err
	}
	actions = actions[done*p.runs:]
	return actions, cmp.Or(p.finite(done+n), p.verify(n, actions))
}

// call runs the loop, and frees the state, whose successor takes its place, and what is fresh.
func (p *program) call(fresh []*tensors.Tensor) error {
	var args []any
	for _, t := range slices.Concat(p.state, p.offers, p.items, fresh) {
		args = append(args, t)
	}
	results, err := p.loop.Call(args...)
	for _, t := range slices.Concat(p.state, fresh) {
		err = errors.Join(err, t.FinalizeAll())
	}
	p.state = results
	return err
}

// free frees the program and what is on the device, which may be gigabytes.
func (p *program) free() {
	for _, t := range slices.Concat(p.state, p.offers, p.items) {
		t.FinalizeAll() // an error is one of a chunk that has failed
	}
	p.loop.Finalize()
}

// finite returns an envs.RunError when a weight is not finite. It stays so, so that looking once a
// chunk is enough.
func (p *program) finite(done int) error {
	for _, t := range p.state[:len(p.state)-1] {
		values, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(values, func(x float32) bool { return x-x != 0 }); i >= 0 {
			return &envs.RunError{Run: i / (len(values) / p.runs), Err: fmt.Errorf("a weight is %v after step %d", values[i], done)}
		}
	}
	return nil
}
