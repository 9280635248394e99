package ondevice

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// program is the graph that plays one piece of the tape.
type program struct {
	script pgcr.Script
	spec   envs.Spec
	size   pgcr.TapeSize
	runs   int
	slices bool // whether the backend has dynamic slices, as the Go backend has not
}

// state is what goes from step to step.
type state struct {
	step   *Node   // number of the step in the history, int32
	hist   *Node   // [R, T, 2], slot and reward of what was chosen
	params []*Node // of the script
}

// tape is what does not change, [K, ...] but for the contexts.
type tape struct {
	contexts *Node // [R, T, M*Width], all steps so far and those of the tape
	batch    *Node // [K, R, B] int32, rows of the history, r*T + step
	floats   *Node // [K, R, F], those of the script, then the slot of each candidate, if any, then the rewards by candidate
	shared   *Node // [K, S]
}

// hasSlices tells whether a backend has dynamic slices.
func hasSlices(backend compute.Backend) bool {
	ops := backend.Capabilities().Operations
	return ops[compute.OpTypeDynamicSlice] && ops[compute.OpTypeDynamicUpdateSlice]
}

// build is the graph, a loop over the tape. Inputs: first (the number of the
// tape's first step, scalar), contexts of the tape [R, K, M*D] (of the history,
// where the backend has no dynamic slices), batch, floats, shared, contexts of the
// history, hist, params. Results: the slots that were chosen, [R, K], hist, params, and the
// contexts of the history, where the backend has dynamic slices.
func (p program) build(in []*Node) []*Node {
	g := in[0].Graph()
	first, piece, history := in[0], in[1], in[5]
	k := in[2].Shape().Dimensions[0]
	// First of all the body: GoMLX keeps one node for all scalars of the same value
	// in a graph, and the body must not use any of another function.
	body := NewClosure(g, func(g *Graph) []*Node { return p.loopBody(g, in) })
	cond := NewClosure(g, func(g *Graph) []*Node {
		nodes := p.loopParameters(g, in)
		return []*Node{LessThan(nodes[0], number(g, k))}
	})
	if p.slices {
		history = p.appendContexts(history, piece, first)
	}
	initial := append([]*Node{number(g, 0), first, history}, in[2:5]...)
	results := While(cond, body, append(initial, in[6:]...)...)
	hist, params := results[6], results[7:]
	slots := Reshape(Slice(p.take(hist, 1, first, k), AxisRange(), AxisRange(), AxisRange(0, 1)), p.runs, k)
	results = append([]*Node{slots, hist}, params...)
	if p.slices {
		results = append(results, history)
	}
	return results
}

// take returns n of x from start on along the leading or the second axis.
func (p program) take(x *Node, axis int, start *Node, n int) *Node {
	dims := x.Shape().Dimensions
	if p.slices {
		starts, size := make([]*Node, len(dims)), append([]int{}, dims...)
		for i := range starts {
			starts[i] = number(x.Graph(), 0)
		}
		starts[axis], size[axis] = start, n
		return DynamicSlice(x, starts, size)
	}
	places := Add(Iota(x.Graph(), shapes.Make(dtypes.Int32, n, 1), 0), start)
	if axis == 0 {
		return Gather(x, places)
	}
	rows := Iota(x.Graph(), shapes.Make(dtypes.Int32, dims[0], n, 1), 0)
	rows = Add(Mul(rows, number(x.Graph(), dims[1])), Reshape(places, 1, n, 1))
	return Gather(Reshape(x, append([]int{dims[0] * dims[1]}, dims[2:]...)...), rows)
}

// number is a constant of its own. GoMLX keeps one node for all scalars of the
// same value in a graph, in whichever function it was made first, and those of
// one closure are unknown outside.
func number(g *Graph, x int) *Node { return Reshape(Const(g, []int32{int32(x)})) }

// loopParameters declares the parameters of the closures: the number of the step
// on the tape, that in the history, contexts, batch, floats, shared, hist,
// params.
func (p program) loopParameters(g *Graph, in []*Node) []*Node {
	nodes := []*Node{
		Parameter(g, "i", shapes.Make(dtypes.Int32)),
		Parameter(g, "step", shapes.Make(dtypes.Int32)),
		Parameter(g, "contexts", in[5].Shape()),
	}
	for i, x := range append(append([]*Node{}, in[2:5]...), in[6:]...) {
		nodes = append(nodes, Parameter(g, fmt.Sprintf("x%d", i), x.Shape()))
	}
	return nodes
}

func (p program) loopBody(g *Graph, in []*Node) []*Node {
	nodes := p.loopParameters(g, in)
	i, t := nodes[0], tape{contexts: nodes[2], batch: nodes[3], floats: nodes[4], shared: nodes[5]}
	s := state{step: nodes[1], hist: nodes[6], params: nodes[7:]}
	s = p.stretch(i, t, s)
	return append([]*Node{AddScalar(i, float64(p.script.UpdateEvery())), s.step, t.contexts, t.batch, t.floats, t.shared, s.hist}, s.params...)
}

// appendContexts writes the contexts of the tape, [R, K, M*D], into the history,
// each with the 1 and the zeros that pgcr.Width speaks of.
func (p program) appendContexts(history, piece, first *Node) *Node {
	k, d, m := piece.Shape().Dimensions[1], p.spec.Dim, p.spec.Candidates
	rest := make([]float32, pgcr.Width(d)-d)
	rest[0] = 1
	g := piece.Graph()
	wide := Concatenate([]*Node{
		Reshape(piece, p.runs, k, m, d),
		BroadcastToDims(Reshape(Const(g, rest), 1, 1, 1, len(rest)), p.runs, k, m, len(rest)),
	}, 3)
	zero := number(g, 0)
	return DynamicUpdateSlice(history, Reshape(wide, p.runs, k, m*pgcr.Width(d)), []*Node{zero, first, zero})
}

// stretch is the steps up to an update, from step i of the tape on, and the
// update.
func (p program) stretch(i *Node, t tape, s state) state {
	at := func(x *Node, j int) *Node {
		return Reshape(p.take(x, 0, Add(i, number(i.Graph(), j)), 1), x.Shape().Dimensions[1:]...)
	}
	m, steps := p.spec.Candidates, p.script.UpdateEvery()
	var nodes pgcr.TapeNodes
	for j := range steps {
		floats := at(t.floats, j)
		nodes = pgcr.TapeNodes{Floats: floats, Shared: at(t.shared, j)}
		rewards := Slice(floats, AxisRange(), AxisRange(floats.Shape().Dimensions[1]-m))
		if p.size.Slots {
			nodes.Slot = Slice(floats, AxisRange(), AxisRange(p.size.Floats, p.size.Floats+m))
		}
		slot := p.script.Decide(s.params, nodes, p.current(t.contexts, s.step))
		hot := pgcr.OneHotSlots(slot, m)
		reward := ReduceSum(Mul(pgcr.ByCandidate(hot, nodes.Slot), rewards), 1)
		s.hist = p.put(s.hist, Concatenate([]*Node{Reshape(slot, p.runs, 1, 1), Reshape(reward, p.runs, 1, 1)}, 2), s.step)
		s.step = OnePlus(s.step)
	}
	s.params = p.script.Learn(s.params, nodes, &drawn{p, t.contexts, s.hist, at(t.batch, steps-1), nil})
	return s
}

// current is the contexts of a step, [R, M, Width].
func (p program) current(contexts, step *Node) *Node {
	dims := contexts.Shape().Dimensions
	row := p.take(contexts, 1, step, 1)
	return Reshape(row, dims[0], p.spec.Candidates, dims[2]/p.spec.Candidates)
}

// put writes x, [R, 1, 2], at a step.
func (p program) put(hist, x, step *Node) *Node {
	if p.slices {
		return DynamicUpdateSlice(hist, x, []*Node{ZerosLike(step), step, ZerosLike(step)})
	}
	dims := hist.Shape().Dimensions
	here := Equal(Iota(hist.Graph(), shapes.Make(dtypes.Int32, dims...), 1), step)
	return Where(here, BroadcastToDims(x, dims...), hist)
}

// drawn is the batch of a step. It implements pgcr.DeviceHistory.
type drawn struct {
	program
	contexts, hist *Node
	rows           *Node // [R, B], rows of the history
	chosen         *Node // [R, B, 2], slots and rewards, once asked for
}

func (d *drawn) gather(from, rows *Node) *Node {
	dims := from.Shape().Dimensions
	return Gather(Reshape(from, dims[0]*dims[1], -1), Reshape(rows, append(append([]int{}, rows.Shape().Dimensions...), 1)...))
}

// Contexts implements pgcr.DeviceHistory.
func (d *drawn) Contexts() *Node {
	return Reshape(d.gather(d.contexts, d.rows), d.runs, -1, pgcr.Width(d.spec.Dim))
}

// Chosen implements pgcr.DeviceHistory.
func (d *drawn) Chosen() *Node {
	m, width := d.spec.Candidates, pgcr.Width(d.spec.Dim)
	dims := d.contexts.Shape().Dimensions
	rows := Add(MulScalar(d.rows, float64(m)), ConvertDType(d.Slot(), dtypes.Int32))
	return d.gather(Reshape(d.contexts, dims[0], dims[1]*m, width), rows)
}

// Slot implements pgcr.DeviceHistory.
func (d *drawn) Slot() *Node { return d.outcome(0) }

// Reward implements pgcr.DeviceHistory.
func (d *drawn) Reward() *Node { return d.outcome(1) }

func (d *drawn) outcome(i int) *Node {
	if d.chosen == nil {
		d.chosen = d.gather(d.hist, d.rows)
	}
	b := d.rows.Shape().Dimensions[1]
	return Reshape(Slice(d.chosen, AxisRange(), AxisRange(), AxisRange(i, i+1)), d.runs, b)
}
