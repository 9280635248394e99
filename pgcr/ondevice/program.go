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
	block() (every, updates int)  // E steps and U updates
	networks() []*pgcr.Parameters // as they are at first
	inputs() []array              // what draw draws
	draw(k, t int)                // for step k of a chunk, which is step t of all, from 0 on
	drawUpdate(k, u, t int)       // for update u of block k of a chunk, after step t

	// act returns the actions, [R] int32, for contexts in columns, [R, D+1, M]. own(i) is what was
	// drawn for the step into input i.
	act(states []pgcr.State, contexts *Node, own func(i int) *Node) *Node
	// update returns the successors of the networks; own(i) is what was drawn for the update.
	update(states []pgcr.State, h history, own func(i int) *Node) []pgcr.State
}

// history is what has been on offer and what was chosen in T steps of R runs. Step t of run r is
// t*R+r, and candidate i of a step stands at place step*M+i.
type history struct {
	m        int
	features *Node // [T*R*M, D+1]
	reward   *Node // [T*R*M]
	action   *Node // [T*R] int32
}

// take takes places from the leading axis of x: [places..., ...].
func take(x, places *Node) *Node { return Gather(x, InsertAxes(places, -1)) }

// contexts returns those at places, [R, n], as columns, [R, D+1, n].
func (h history) contexts(places *Node) *Node { return Transpose(take(h.features, places), 1, 2) }

// chosen returns the places of the candidates that were chosen at steps, [R, n].
func (h history) chosen(steps *Node) *Node { return Add(MulScalar(steps, h.m), take(h.action, steps)) }

// program is the loop, and all that stays on the device from one chunk to the next.
type program struct {
	sizes
	backend compute.Backend
	player  player

	loop, grow *Exec
	state      []*tensors.Tensor // of each network the weights, then both moments; the actions
	offers     []*tensors.Tensor // what the world draws, of all steps
}

func newProgram(backend compute.Backend, p player, w *world) *program {
	prog := &program{sizes: w.sizes, backend: backend, player: p}
	for _, in := range w.inputs() {
		prog.offers = append(prog.offers, in.zeros(w.steps))
	}
	for _, network := range p.networks() {
		prog.state = append(prog.state, network.Tensors()...)
	}
	prog.state = append(prog.state, tensors.FromShape(shapes.Make(dtypes.Int32, w.steps, w.runs)))
	prog.loop, prog.grow = MustNewExec(backend, prog.build), MustNewExec(backend, appended)
	return prog
}

// appended is the graph that writes what was drawn in a chunk into that of all steps. Its inputs are
// all, the chunk's, and the step where it begins.
func appended(in []*Node) (all []*Node) {
	n := len(in) / 2
	for i, x := range in[:n] {
		all = append(all, DynamicUpdateSlice(x, in[n+i], place(x, in[2*n])))
	}
	return all
}

// place is that of element i of the leading axis of x.
func place(x, i *Node) []*Node {
	start := slices.Repeat([]*Node{ZerosLike(i)}, x.Rank())
	start[0] = i
	return start
}

// at is element i of the leading axis of x.
func at(x, i *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(DynamicSlice(x, place(x, i), append([]int{1}, dims[1:]...)), dims[1:]...)
}

// build makes the graph of a chunk. Its inputs are the state, whose successor it returns, contexts
// and rewards of all steps, 0, the number of blocks of the chunk, the number of steps before it, and
// what the player draws.
func (p *program) build(in []*Node) []*Node {
	return loop(in, len(p.state)+2, p.block)[:len(p.state)]
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
	for _, network := range p.player.networks() {
		var s pgcr.State
		s, rest = network.Nodes(rest)
		states = append(states, s)
	}
	action, features, reward, k, before := rest[0], rest[1], rest[2], rest[3], rest[5]
	var drawn []*Node
	for _, all := range rest[6:] {
		drawn = append(drawn, at(all, k))
	}
	for e := range p.every {
		t := AddScalar(Add(before, MulScalar(k, p.every)), e)
		chosen := p.player.act(states, Transpose(at(features, t), 1, 2), elements(drawn, e))
		action = DynamicUpdateSlice(action, InsertAxes(chosen, 0), place(action, t))
	}
	h := history{p.spec.Candidates, Reshape(features, -1, p.spec.Dim+1), Reshape(reward, -1), Reshape(action, -1)}
	for u := range p.updates {
		states = p.player.update(states, h, elements(drawn, u))
	}
	for _, s := range states {
		next = append(next, s.Params, s.M, s.V)
	}
	next = append(next, action, features, reward, AddScalar(k, 1))
	return append(next, in[len(next):]...)
}

// elements returns element j of the leading axis of an input.
func elements(in []*Node, j int) func(i int) *Node {
	return func(i int) *Node { return Squeeze(Slice(in[i], AxisElem(j)), 0) }
}

// play draws and plays n steps, whole blocks, after the first done and returns the actions of all
// steps, [T, R].
func (p *program) play(done, n int, w *world) (actions []int32, err error) {
	for k := range n {
		if err := w.draw(k); err != nil {
			return nil, err
		}
		p.player.draw(k, done+k)
		for u := 0; (k+1)%p.every == 0 && u < p.updates; u++ {
			p.player.drawUpdate(k/p.every, u, done+k)
		}
	}
	if err := p.extend(done, w); err != nil {
		return nil, err
	}
	var fresh []*tensors.Tensor
	for _, number := range []int{0, n / p.every, done} {
		fresh = append(fresh, tensors.FromScalar(int32(number)))
	}
	for _, in := range p.player.inputs() {
		fresh = append(fresh, in.tensor())
	}
	if p.state, err = p.call(p.loop, p.state, p.offers, fresh...); err != nil {
		return nil, err
	}
	if actions, err = tensors.CopyFlatData[int32](p.state[len(p.state)-1]); err != nil {
		return nil, err
	}
	return actions, cmp.Or(p.finite(done+n), w.verify(n, done, actions))
}

// extend adds what was drawn in a chunk to that of all steps: where host and device share memory in
// place, else by a program of the device, which copies all.
func (p *program) extend(done int, w *world) (err error) {
	var chunk []*tensors.Tensor
	for i, in := range w.inputs() {
		if p.backend.HasSharedBuffers() {
			err = errors.Join(err, in.write(p.offers[i], done))
		} else {
			chunk = append(chunk, in.tensor())
		}
	}
	if chunk != nil {
		p.offers, err = p.call(p.grow, p.offers, nil, append(chunk, tensors.FromScalar(int32(done)))...)
	}
	return err
}

// call runs a graph. The first arguments are used up, the last are freed.
func (p *program) call(exec *Exec, used, kept []*tensors.Tensor, fresh ...*tensors.Tensor) ([]*tensors.Tensor, error) {
	var args []any
	for _, t := range used {
		donated, err := DonateTensorBuffer(t, p.backend, 0)
		if err != nil {
			return nil, err
		}
		args = append(args, donated)
	}
	for _, t := range append(slices.Clone(kept), fresh...) {
		args = append(args, t)
	}
	results, err := exec.Call(args...)
	for _, t := range fresh {
		err = errors.Join(err, t.FinalizeAll())
	}
	return results, err
}

// free frees the programs and what is on the device, which may be gigabytes.
func (p *program) free() {
	for _, t := range append(p.state, p.offers...) {
		t.FinalizeAll() // an error is one of a chunk that has failed
	}
	p.loop.Finalize()
	p.grow.Finalize()
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
