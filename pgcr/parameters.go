package pgcr

import (
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

	backend compute.Backend
	runs    int
	tensors []*tensors.Tensor // parameters, then m, then v
}

// NewParameters draws the initial weights of one run a seed from the stream of
// that role, with a scale as in Network.Init.
func NewParameters(backend compute.Backend, network Network, scale float64, seeds []uint64, role string) *Parameters {
	p := &Parameters{Network: network, backend: backend, runs: len(seeds)}
	values := make([][]float32, 3*len(network.Shapes(1)))
	for _, seed := range seeds {
		for i, w := range network.Init(envs.NewRand(seed, role), scale) {
			values[i] = append(values[i], w...)
		}
	}
	for i := range values {
		if values[i] == nil {
			values[i] = make([]float32, len(values[i%len(network.Shapes(1))]))
		}
	}
	p.Restore(values)
	return p
}

// Values returns copies of the parameters and of both moments, in the order of
// Network.Shapes each.
func (p *Parameters) Values() ([][]float32, error) {
	values := make([][]float32, len(p.tensors))
	for i, t := range p.tensors {
		var err error
		if values[i], err = tensors.CopyFlatData[float32](t); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Restore takes over what Values returned.
func (p *Parameters) Restore(values [][]float32) {
	dims := p.Network.Shapes(p.runs)
	p.tensors = make([]*tensors.Tensor, len(values))
	for i, v := range values {
		p.tensors[i] = tensors.FromFlatDataAndDimensions(v, dims[i%len(dims)]...)
	}
}

// Weights returns the parameters as arguments of a graph that does not change
// them.
func (p *Parameters) Weights() (args []any) {
	for _, t := range p.tensors[:len(p.tensors)/3] {
		args = append(args, t)
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

// Nodes takes the nodes that Donate's arguments became from the front of a
// graph's inputs and returns the rest.
func (p *Parameters) Nodes(inputs []*graph.Node) (State, []*graph.Node) {
	n := len(p.tensors) / 3
	return State{Params: inputs[:n], M: inputs[n : 2*n], V: inputs[2*n : 3*n]}, inputs[3*n:]
}

// Replace takes the successors from the front of a graph's results and returns
// the rest.
func (p *Parameters) Replace(results []*tensors.Tensor) []*tensors.Tensor {
	copy(p.tensors, results)
	return results[len(p.tensors):]
}

// Columns is an input of a graph: n contexts of each run side by side, as Network
// takes them, [R, D+1, n].
type Columns struct {
	Tensor *tensors.Tensor

	n, dim int
	rows   []float32 // the contexts of one run, [n, D]
}

// NewColumns makes an input of n contexts of dim features a run.
func NewColumns(backend compute.Backend, runs, n, dim int) (*Columns, error) {
	t, err := NewInput(backend, runs, dim+1, n)
	return &Columns{Tensor: t, n: n, dim: dim, rows: make([]float32, n*dim)}, err
}

// Fill sets the contexts of all runs: write is given each run's, [n, D], all 0.
func (c *Columns) Fill(write func(r int, rows []float32)) error {
	return tensors.MutableFlatData(c.Tensor, func(flat []float32) {
		for r := 0; len(flat) > 0; r++ {
			clear(c.rows)
			write(r, c.rows)
			for j := range c.dim {
				column := flat[j*c.n : (j+1)*c.n]
				for i := range column {
					column[i] = c.rows[i*c.dim+j]
				}
			}
			for i := c.dim * c.n; i < (c.dim+1)*c.n; i++ {
				flat[i] = 1
			}
			flat = flat[(c.dim+1)*c.n:]
		}
	})
}

// NewInput makes a float32 input of a graph where the backend can read it without
// a copy if it shares memory with the host.
func NewInput(backend compute.Backend, dims ...int) (*tensors.Tensor, error) {
	return tensors.FromShapeForBackend(backend, 0, shapes.Make(dtypes.Float32, dims...))
}
