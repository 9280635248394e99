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
	networks() []*pgcr.Parameters // as they are at first
	inputs() []array              // what draw draws
	draw(k, t, steps int)         // for step k of a chunk, which is step t of steps, from 0 on

	// act returns the actions, [R] int32, for contexts in columns, [R, D+1, M]; in has the inputs of
	// the step.
	act(states []pgcr.State, contexts *Node, in []*Node) *Node
	// update returns the successors of the networks.
	update(states []pgcr.State, h history, in []*Node) []pgcr.State
}

// history is what has been on offer and what was chosen in T steps of R runs. Step t of run r is
// r*T+t, and candidate i of a step stands at place step*M+i.
type history struct {
	m        int
	features *Node // [R*T*M, D+1]
	reward   *Node // [R*T*M]
	action   *Node // [R*T] int32
}

// take takes places from the leading axis of x: [places..., ...].
func take(x, places *Node) *Node { return Gather(x, InsertAxes(places, -1)) }

// contexts returns those at places, [R, n], as columns, [R, D+1, n].
func (h history) contexts(places *Node) *Node { return Transpose(take(h.features, places), 1, 2) }

// rewards returns those at places, [R, n].
func (h history) rewards(places *Node) *Node { return take(h.reward, places) }

// actions returns those at steps, [R, n].
func (h history) actions(steps *Node) *Node { return take(h.action, steps) }

// chosen returns the places of the candidates that were chosen at steps, [R, n].
func (h history) chosen(steps *Node) *Node { return Add(MulScalar(steps, h.m), h.actions(steps)) }

// program is the loop, and all that stays on the device from one chunk to the next.
type program struct {
	sizes
	backend compute.Backend
	player  player

	loop, grow       *Exec
	state            []*tensors.Tensor // of each network the weights, then both moments; the actions
	features, reward *tensors.Tensor   // see history
}

func newProgram(backend compute.Backend, p player, s sizes) (*program, error) {
	places := s.runs * s.steps * s.spec.Candidates
	prog := &program{sizes: s, backend: backend, player: p,
		features: tensors.FromShape(shapes.Make(dtypes.Float32, places, s.spec.Dim+1)),
		reward:   tensors.FromShape(shapes.Make(dtypes.Float32, places)),
	}
	for _, network := range p.networks() {
		prog.state = append(prog.state, network.Tensors()...)
	}
	prog.state = append(prog.state, tensors.FromShape(shapes.Make(dtypes.Int32, s.runs*s.steps)))
	var err, err2 error
	prog.loop, err = NewExec(backend, prog.build)
	prog.grow, err2 = NewExec(backend, prog.append)
	return prog, errors.Join(err, err2)
}

// append is the graph that writes the contexts, [R, K*M, D+1], and the rewards, [R, K*M], of a chunk
// into the history from a place of each run on.
func (p *program) append(features, reward, newFeatures, newReward, place *Node) (features2, reward2 *Node) {
	zero := ZerosLike(place)
	features2 = DynamicUpdateSlice(p.byRun(features), newFeatures, []*Node{zero, place, zero})
	reward2 = DynamicUpdateSlice(p.byRun(reward), newReward, []*Node{zero, place})
	return Reshape(features2, features.Shape().Dimensions...), Reshape(reward2, reward.Shape().Dimensions...)
}

// byRun splits the leading axis of an array of a history.
func (p *program) byRun(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(x, append([]int{p.runs, dims[0] / p.runs}, dims[1:]...)...)
}

// build makes the graph of a chunk. Its inputs are the state, whose successor it returns, contexts
// and rewards of the history, 0, the number of steps of the chunk, the number of steps before it, and
// what the player draws.
func (p *program) build(in []*Node) []*Node {
	return loop(in, len(p.state)+2, p.step)[:len(p.state)]
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

// step is the body of the loop.
func (p *program) step(in []*Node) (next []*Node) {
	m, rest := p.spec.Candidates, in
	var states []pgcr.State
	for _, network := range p.player.networks() {
		var s pgcr.State
		s, rest = network.Nodes(rest)
		states = append(states, s)
	}
	h := history{m, rest[1], rest[2], rest[0]}
	k, before, chunk := rest[3], rest[5], rest[6:]
	zero, t := ZerosLike(k), Add(before, k)
	var drawn []*Node
	for _, all := range chunk {
		dims := all.Shape().Dimensions
		start := slices.Repeat([]*Node{zero}, len(dims))
		start[0] = k
		drawn = append(drawn, Reshape(DynamicSlice(all, start, append([]int{1}, dims[1:]...)), dims[1:]...))
	}

	contexts := DynamicSlice(p.byRun(h.features), []*Node{zero, MulScalar(t, m), zero}, []int{p.runs, m, p.spec.Dim + 1})
	actions := p.player.act(states, Transpose(contexts, 1, 2), drawn)
	kept := DynamicUpdateSlice(p.byRun(h.action), InsertAxes(actions, -1), []*Node{zero, t})
	h.action = Reshape(kept, p.runs*p.steps)

	for _, s := range p.player.update(states, h, drawn) {
		next = append(next, s.Params, s.M, s.V)
	}
	next = append(next, h.action, h.features, h.reward, AddScalar(k, 1))
	return append(next, in[len(next):]...)
}

// play draws and plays n steps after the first done and returns the actions of all steps, [R, T].
func (p *program) play(done, n int, w *world) (actions []int32, err error) {
	if err := w.draw(n); err != nil {
		return nil, err
	}
	for k := range n {
		p.player.draw(k, done+k, p.steps)
	}
	if actions, err = p.run(done, n, w); err != nil {
		return nil, err
	}
	return actions, cmp.Or(p.finite(done+n), w.verify(n, done, actions))
}

// run plays n steps after the first done and returns the actions of all steps, [R, T].
func (p *program) run(done, n int, w *world) ([]int32, error) {
	number := func(i int) *tensors.Tensor { return tensors.FromScalar(int32(i)) }
	if err := p.extend(done, w); err != nil {
		return nil, err
	}
	fresh := []*tensors.Tensor{number(0), number(n), number(done)}
	for _, in := range p.player.inputs() {
		fresh = append(fresh, in.tensor())
	}
	var err error
	if p.state, err = p.call(p.loop, p.state, []*tensors.Tensor{p.features, p.reward}, fresh...); err != nil {
		return nil, err
	}
	return tensors.CopyFlatData[int32](p.state[len(p.state)-1])
}

// extend adds the contexts and rewards of a chunk to the history: where host and device share memory
// in place, else by a program of the device, which copies the history.
func (p *program) extend(done int, w *world) error {
	if !p.backend.HasSharedBuffers() {
		contexts, rewards := w.tensors()
		place := tensors.FromScalar(int32(done * p.spec.Candidates))
		results, err := p.call(p.grow, []*tensors.Tensor{p.features, p.reward}, nil, contexts, rewards, place)
		if err == nil {
			p.features, p.reward = results[0], results[1]
		}
		return err
	}
	write := func(t *tensors.Tensor, chunk []float32) error {
		return tensors.MutableFlatData(t, func(flat []float32) {
			for r := range p.runs {
				fresh := part(chunk, r, p.runs)
				copy(part(flat, r, p.runs)[done/p.chunk*len(fresh):], fresh)
			}
		})
	}
	return errors.Join(write(p.features, w.contexts), write(p.reward, w.rewards))
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
	for _, t := range append(p.state, p.features, p.reward) {
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
