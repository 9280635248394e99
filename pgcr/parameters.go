package pgcr

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Parameters holds the weights of one network for R runs, and Adam's moments,
// where the backend computes.
type Parameters struct {
	Network Network
	Updates int64 // Adam's t

	backend compute.Backend
	runs    int
	tensors []*tensors.Tensor // parameters, then m, then v
}

// NewParameters draws the initial weights of one run a seed from the stream
// of that role.
func NewParameters(backend compute.Backend, network Network, seeds []uint64, role string) *Parameters {
	dims := network.Shapes(len(seeds))
	values := make([][]float32, 3*len(dims))
	for _, seed := range seeds {
		for i, w := range network.Init(envs.NewRand(seed, role)) {
			values[i] = append(values[i], w...)
		}
	}
	p := &Parameters{Network: network, backend: backend, runs: len(seeds)}
	for i := range values {
		if values[i] == nil {
			values[i] = make([]float32, len(values[i%len(dims)]))
		}
	}
	p.restore(values)
	return p
}

// restore takes over values in the order of State.
func (p *Parameters) restore(values [][]float32) {
	dims := p.Network.Shapes(p.runs)
	p.tensors = make([]*tensors.Tensor, len(values))
	for i, v := range values {
		p.tensors[i] = tensors.FromFlatDataAndDimensions(v, dims[i%len(dims)]...)
	}
}

// Restore puts what State returned in the place of parameters and moments. It
// returns an error when it is of other networks or runs.
func (p *Parameters) Restore(values [][]float32) error {
	if len(values) != len(p.tensors) {
		return fmt.Errorf("pgcr: %d parameters and moments, the networks have %d", len(values), len(p.tensors))
	}
	for i, v := range values {
		if size := p.tensors[i].Size(); len(v) != size {
			return fmt.Errorf("pgcr: parameter or moment %d has %d values, in the networks it has %d", i, len(v), size)
		}
	}
	p.restore(values)
	return nil
}

// State returns copies of parameters and moments.
func (p *Parameters) State() ([][]float32, error) {
	values := make([][]float32, len(p.tensors))
	for i, t := range p.tensors {
		v, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// Weights returns the parameters as arguments of a graph that does not change
// them.
func (p *Parameters) Weights() []any {
	args := make([]any, len(p.tensors)/3)
	for i := range args {
		args[i] = p.tensors[i]
	}
	return args
}

// Donate returns parameters and moments as arguments of a graph that returns
// their successors, which are to be handed to Replace.
func (p *Parameters) Donate() ([]any, error) {
	args := make([]any, len(p.tensors))
	for i, t := range p.tensors {
		buffer, err := graph.DonateTensorBuffer(t, p.backend, 0)
		if err != nil {
			return nil, err
		}
		args[i] = buffer
	}
	return args, nil
}

// Replace takes the successors from the front of a graph's results and returns
// the rest.
func (p *Parameters) Replace(results []*tensors.Tensor) []*tensors.Tensor {
	copy(p.tensors, results)
	p.Updates++
	return results[len(p.tensors):]
}

// Step is the graph of one Adam update: it returns the successors of params,
// all of the nodes that Donate's arguments became.
func Step(params, grads []*graph.Node, size, eps *graph.Node) []*graph.Node {
	k := len(grads)
	p, m, v := adamStep(params[:k], params[k:2*k], params[2*k:], grads, size, eps)
	return append(append(p, m...), v...)
}

// Contexts is an input of contexts in the two layouts that Network takes, or in
// one of them.
type Contexts struct {
	n, dim, width int
	columns       *tensors.Tensor // [R, Width, n], or nil
	rows          *tensors.Tensor // [R, n, Width], or nil
}

// NewContexts makes an input of n contexts of dim features a run. withRows says
// whether a gradient is to be taken, for which Rows is needed.
func NewContexts(backend compute.Backend, runs, n, dim int, withRows bool) (*Contexts, error) {
	return newContexts(backend, runs, n, dim, Width(dim), true, withRows)
}

// newContexts makes an input of contexts, or of a part of them, that take so many
// rows, in which there is a 1 after the features if there is room.
func newContexts(backend compute.Backend, runs, n, dim, width int, withColumns, withRows bool) (*Contexts, error) {
	c := &Contexts{n: n, dim: dim, width: width}
	var err error
	if withColumns {
		if c.columns, err = NewInput(backend, runs, width, n); err != nil {
			return nil, err
		}
	}
	if withRows {
		if c.rows, err = NewInput(backend, runs, n, width); err != nil {
			return nil, err
		}
	}
	if width == dim {
		return c, nil
	}
	return c, EditInputs([]*tensors.Tensor{c.columns, c.rows}, func(values [][]float32) {
		for i := range runs * n {
			if withColumns {
				values[0][(i/n*width+dim)*n+i%n] = 1
			}
			if withRows {
				values[1][i*width+dim] = 1
			}
		}
	})
}

// Columns is the argument for Network.Forward; nil if there is none.
func (c *Contexts) Columns() *tensors.Tensor {
	if c == nil {
		return nil
	}
	return c.columns
}

// Rows is the argument for Pass.Gradient; nil if there is none.
func (c *Contexts) Rows() *tensors.Tensor {
	if c == nil {
		return nil
	}
	return c.rows
}

// Writer returns a writer to the values of Columns and of Rows, unless nil.
func (c *Contexts) Writer(columns, rows []float32) ContextWriter {
	if c == nil {
		return ContextWriter{}
	}
	return ContextWriter{n: c.n, dim: c.dim, width: c.width, columns: columns, rows: rows}
}

// A ContextWriter lays contexts out as Network takes them.
type ContextWriter struct {
	n, dim, width int
	columns, rows []float32
}

// Write sets the columns first, first+1, ... of run r to contexts, [count, D].
// Contexts that are written together cost less: their values share the lines of
// the cache that a column's values have for themselves.
func (w ContextWriter) Write(r, first int, contexts []float32) {
	count, width, stride := len(contexts)/w.dim, w.width, w.dim
	if w.rows != nil {
		rows := w.rows[(r*w.n+first)*width:]
		for i := range count {
			copy(rows[i*width:], contexts[i*w.dim:(i+1)*w.dim])
		}
		// A history is far from the processor, its copy is near.
		contexts, stride = rows, width
	}
	if w.columns == nil {
		return
	}
	columns := w.columns[r*width*w.n+first : (r+1)*width*w.n]
	for j := range w.dim {
		row := columns[j*w.n : j*w.n+count]
		for i := range row {
			row[i] = contexts[i*stride+j]
		}
	}
}

// NewInput makes a float32 input of a graph, zeros at first, where the backend
// can read it without a copy if it shares memory with the host.
func NewInput(backend compute.Backend, dims ...int) (*tensors.Tensor, error) {
	return tensors.FromShapeForBackend(backend, 0, shapes.Make(dtypes.Float32, dims...))
}

// EditInputs calls f with the values of each input, to be changed in place; nil
// for an input that is nil.
func EditInputs(inputs []*tensors.Tensor, f func(values [][]float32)) error {
	return editInputs(inputs, make([][]float32, 0, len(inputs)), f)
}

func editInputs(inputs []*tensors.Tensor, values [][]float32, f func(values [][]float32)) error {
	switch {
	case len(inputs) == 0:
		f(values)
		return nil
	case inputs[0] == nil:
		return editInputs(inputs[1:], append(values, nil), f)
	}
	var inner error
	err := tensors.MutableFlatData(inputs[0], func(flat []float32) {
		inner = editInputs(inputs[1:], append(values, flat), f)
	})
	if err != nil {
		return err
	}
	return inner
}
