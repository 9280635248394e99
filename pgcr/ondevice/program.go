package ondevice

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/pgcr"
)

// program is the graph that plays one piece of the tape.
type program struct {
	*table
	slices bool // whether the backend has dynamic slices, as the Go backend has not
}

// The inputs of the graph.
const (
	inLimit   = iota // how many stretches are played, scalar: all of the tape's, or 0
	inFirst          // number of the tape's first step, scalar
	inPiece          // contexts of the tape, [R, K, M*D], or codes, [R, K, S+M]
	inFloats         // [K, R, F]
	inShared         // [K, S]
	inDraws          // [U, R, I]
	inUpdates        // [U, R, G]
	inHistory        // contexts, [R, T, M*Width], or codes, [R, T, S+M], all steps so far and those of the tape
	inHist           // [R, T, 2 or 4], what was chosen: slot and reward; where contexts depend on it, feedback and row of features
	inRest           // the rows of features, [n+1, columns], if there are codes; params of the script
)

// state is what goes from step to step.
type state struct {
	step   *Node   // number of the step in the history, int32
	hist   *Node   // as inHist
	params []*Node // of the script
}

// tape is what does not change.
type tape struct {
	history, features              *Node // as inHistory; the rows of features, or nil
	floats, shared, draws, updates *Node
}

// hasSlices tells whether a backend has dynamic slices.
func hasSlices(backend compute.Backend) bool {
	ops := backend.Capabilities().Operations
	return ops[compute.OpTypeDynamicSlice] && ops[compute.OpTypeDynamicUpdateSlice]
}

// build is the graph, a loop over the tape. Where the backend has no dynamic
// slices, the tape is in the history already, and inPiece is not used. Results:
// the slots that were chosen, [R, K], hist, params, and the history where the
// backend has dynamic slices.
func (p program) build(in []*Node) []*Node {
	g := in[0].Graph()
	k := in[inFloats].Shape().Dimensions[0]
	// First of all the body: GoMLX keeps one node for all scalars of the same value
	// in a graph, and the body must not use any of another function. The condition
	// uses none at all.
	body := NewClosure(g, func(g *Graph) []*Node { return p.loopBody(g, in) })
	cond := NewClosure(g, func(g *Graph) []*Node {
		nodes := p.loopParameters(g, in)
		return []*Node{LessThan(nodes[inPiece], nodes[inLimit])}
	})
	initial := append([]*Node{}, in...)
	initial[inPiece] = number(g, 0)
	if p.slices {
		initial[inHistory] = p.append(in[inHistory], in[inPiece], in[inFirst])
	}
	results := While(cond, body, initial...)
	hist, params := results[inHist], results[inRest:]
	if p.catalogue != nil {
		params = params[1:]
	}
	slots := Reshape(Slice(p.take(hist, 1, in[inFirst], k), AxisRange(), AxisRange(), AxisRange(0, 1)), p.runs(), k)
	out := append([]*Node{slots, hist}, params...)
	if p.slices {
		out = append(out, results[inHistory])
	}
	return out
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

// loopParameters declares the parameters of the closures: those of the graph,
// with the number of the stretch in the place of the piece, and that of the step
// in the place of the first one.
func (p program) loopParameters(g *Graph, in []*Node) []*Node {
	nodes := make([]*Node, len(in))
	for i, x := range in {
		shape := x.Shape()
		if i == inPiece {
			shape = shapes.Make(dtypes.Int32)
		}
		nodes[i] = Parameter(g, fmt.Sprintf("x%d", i), shape)
	}
	return nodes
}

func (p program) loopBody(g *Graph, in []*Node) []*Node {
	n := p.loopParameters(g, in)
	t := tape{history: n[inHistory], floats: n[inFloats], shared: n[inShared], draws: n[inDraws], updates: n[inUpdates]}
	params := n[inRest:]
	if p.catalogue != nil {
		t.features, params = params[0], params[1:]
	}
	s := p.stretch(n[inPiece], t, state{n[inFirst], n[inHist], params})
	out := append([]*Node{}, n[:len(n)-len(params)]...)
	out[inPiece], out[inFirst], out[inHist] = OnePlus(n[inPiece]), s.step, s.hist
	return append(out, s.params...)
}

// append writes the tape's contexts, each with the 1 and the zeros that
// pgcr.Width speaks of, or its codes into the history.
func (p program) append(history, piece, first *Node) *Node {
	g := piece.Graph()
	k, d, m := piece.Shape().Dimensions[1], p.spec.Dim, p.spec.Candidates
	if p.catalogue == nil {
		rest := make([]float32, pgcr.Width(d)-d)
		rest[0] = 1
		wide := Concatenate([]*Node{
			Reshape(piece, p.runs(), k, m, d),
			BroadcastToDims(Reshape(Const(g, rest), 1, 1, 1, len(rest)), p.runs(), k, m, len(rest)),
		}, 3)
		piece = Reshape(wide, p.runs(), k, m*pgcr.Width(d))
	}
	zero := number(g, 0)
	return DynamicUpdateSlice(history, piece, []*Node{zero, first, zero})
}

// stretch is the steps up to an update, the i-th of the tape, and the update.
func (p program) stretch(i *Node, t tape, s state) state {
	at := func(x, i *Node) *Node {
		return Reshape(p.take(x, 0, i, 1), x.Shape().Dimensions[1:]...)
	}
	columns := func(x *Node, from, to int) *Node { return Slice(x, AxisRange(), AxisRange(from, to)) }
	m, steps := p.spec.Candidates, p.script.UpdateEvery()
	contexts := p.contextsOf(t)
	first := Mul(i, number(i.Graph(), steps))
	var nodes pgcr.TapeNodes
	for j := range steps {
		floats := at(t.floats, Add(first, number(i.Graph(), j)))
		nodes = pgcr.TapeNodes{Floats: columns(floats, 0, p.size.Floats), Shared: at(t.shared, Add(first, number(i.Graph(), j)))}
		tail := p.size.Floats
		if p.size.Slots {
			nodes.Slot = columns(floats, tail, tail+m)
		}
		now := p.take(t.history, 1, s.step, 1)
		slot := p.script.Decide(s.params, nodes, contexts.candidates(now, s.hist))
		hot := pgcr.OneHotSlots(slot, m)
		chosen := pgcr.ByCandidate(hot, nodes.Slot)
		end := p.shape.floats
		outcome := []*Node{slot, ReduceSum(Mul(chosen, columns(floats, end-m, end)), 1)}
		if p.stateful() {
			rows := ConvertDType(Slice(Reshape(now, p.runs(), p.shape.history), AxisRange(), AxisRange(p.catalogue.state)), hot.DType())
			outcome = append(outcome, ReduceSum(Mul(chosen, columns(floats, end-2*m, end-m)), 1), ReduceSum(Mul(hot, rows), 1))
		}
		for c, x := range outcome {
			outcome[c] = Reshape(x, p.runs(), 1, 1)
		}
		s.hist = p.put(s.hist, Concatenate(outcome, 2), s.step)
		s.step = OnePlus(s.step)
	}
	batch := &drawn{program: p, from: contexts, history: t.history, hist: s.hist, draws: at(t.draws, i), updates: at(t.updates, i)}
	nodes.Floats, nodes.Slot = nil, nil
	if p.size.Update > 0 {
		nodes.Floats = columns(batch.updates, 0, p.size.Update)
	}
	s.params = p.script.Learn(s.params, nodes, batch)
	return s
}

// put writes x, [R, 1, n], at a step.
func (p program) put(hist, x, step *Node) *Node {
	if p.slices {
		return DynamicUpdateSlice(hist, x, []*Node{ZerosLike(step), step, ZerosLike(step)})
	}
	dims := hist.Shape().Dimensions
	here := Equal(Iota(hist.Graph(), shapes.Make(dtypes.Int32, dims...), 1), step)
	return Where(here, BroadcastToDims(x, dims...), hist)
}

// gather returns rows of the history, or of what runs parallel to it: from is
// [R, T, n], rows [...], the result [..., n].
func gather(from, rows *Node) *Node {
	dims := from.Shape().Dimensions
	return gatherRows(Reshape(from, dims[0]*dims[1], -1), rows)
}

// gatherRows returns rows of a matrix.
func gatherRows(from, rows *Node) *Node {
	return Gather(from, Reshape(rows, append(append([]int{}, rows.Shape().Dimensions...), 1)...))
}

// drawn is the batch of an update. It implements pgcr.DeviceHistory.
type drawn struct {
	program
	from          contexts
	history, hist *Node
	draws         *Node // [R, I]
	updates       *Node // [R, G]
	batch         *Node // [R, B, n], the history's rows of the batch, once asked for
	outcomes      *Node // [R, B, 2 or 4], what was chosen there, once asked for
}

// rows are those of the history in the batch, [R, B], or a further part of the draws.
func (d *drawn) rows(part int) *Node {
	b := d.size.Batch
	return Slice(d.draws, AxisRange(), AxisRange(part*b, (part+1)*b))
}

func (d *drawn) steps() *Node {
	if d.batch == nil {
		d.batch = gather(d.history, d.rows(0))
	}
	return d.batch
}

// Contexts implements pgcr.DeviceHistory.
func (d *drawn) Contexts() *Node {
	return d.from.candidates(d.steps(), d.hist)
}

// Chosen implements pgcr.DeviceHistory.
func (d *drawn) Chosen() *Node { return d.from.chosen(d.rows(0), d.Slot(), d.hist) }

// Slot implements pgcr.DeviceHistory.
func (d *drawn) Slot() *Node { return d.outcome(0) }

// Reward implements pgcr.DeviceHistory.
func (d *drawn) Reward() *Node { return d.outcome(1) }

func (d *drawn) outcome(i int) *Node {
	if d.outcomes == nil {
		d.outcomes = gather(d.hist, d.rows(0))
	}
	return Reshape(Slice(d.outcomes, AxisRange(), AxisRange(), AxisRange(i, i+1)), d.runs(), d.size.Batch)
}

// Rivals implements pgcr.DeviceHistory.
func (d *drawn) Rivals() *Node {
	if d.size.Rivals == 0 {
		return nil
	}
	from := d.shape.draws - d.size.Rivals*d.size.Batch
	return d.from.rivals(d.steps(), Slice(d.draws, AxisRange(), AxisRange(from)), d.hist)
}

// Ready implements pgcr.DeviceHistory.
func (d *drawn) Ready() *Node {
	if !d.size.Sarsa {
		return nil
	}
	return Slice(d.updates, AxisRange(), AxisRange(d.size.Update, d.size.Update+1))
}

// Discount implements pgcr.DeviceHistory.
func (d *drawn) Discount() *Node {
	if !d.size.Sarsa {
		return nil
	}
	return Slice(d.updates, AxisRange(), AxisRange(d.size.Update+1))
}

// Next implements pgcr.DeviceHistory.
func (d *drawn) Next() *Node {
	if !d.size.Sarsa {
		return nil
	}
	rows := d.rows(1)
	slot := Reshape(Slice(gather(d.hist, rows), AxisRange(), AxisRange(), AxisRange(0, 1)), d.runs(), d.size.Batch)
	return d.from.chosen(rows, slot, d.hist)
}
