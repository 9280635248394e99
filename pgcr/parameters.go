package pgcr

import (
	"errors"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Parameters holds the weights of one network for R runs, and Adam's moments,
// where the backend computes.
type Parameters struct {
	Network Network

	runs    int
	tensors []*tensors.Tensor // parameters, then m, then v
}

// NewParameters draws the initial weights of one run a seed from the stream of
// that role, with a scale as in Network.Init.
func NewParameters(network Network, scale float64, seeds []uint64, role string) *Parameters {
	p := &Parameters{Network: network, runs: len(seeds)}
	count := len(network.Shapes(1))
	values := make([][]float32, 3*count)
	for _, seed := range seeds {
		for i, w := range network.Init(envs.NewRand(seed, role), scale) {
			values[i] = append(values[i], w...)
		}
	}
	for i := range values[count:] {
		values[count+i] = make([]float32, len(values[i%count]))
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
// them, and All parameters and moments for one that returns their successors.
func (p *Parameters) Weights() []any { return arguments(p.tensors[:len(p.tensors)/3]) }

// All: see Weights.
func (p *Parameters) All() []any { return arguments(p.tensors) }

func arguments(all []*tensors.Tensor) (args []any) {
	for _, t := range all {
		args = append(args, t)
	}
	return args
}

// Nodes takes the nodes that All became from the front of a graph's inputs and
// returns the rest.
func (p *Parameters) Nodes(inputs []*graph.Node) (State, []*graph.Node) {
	n := len(p.tensors) / 3
	return State{Params: inputs[:n], M: inputs[n : 2*n], V: inputs[2*n : 3*n]}, inputs[3*n:]
}

// Replace takes the successors of All from the front of a graph's results and
// returns the rest.
func (p *Parameters) Replace(results []*tensors.Tensor) (rest []*tensors.Tensor, err error) {
	for i, t := range p.tensors {
		err = errors.Join(err, t.FinalizeAll())
		p.tensors[i] = results[i]
	}
	return results[len(p.tensors):], err
}

// Columns makes the input of a graph that Network takes, [R, D+1, n], of contexts
// in rows, [R, n, D].
func Columns(rows []float32, runs, n, dim int) *tensors.Tensor {
	flat := make([]float32, runs*(dim+1)*n)
	for r := range runs {
		run, to := rows[r*n*dim:], flat[r*(dim+1)*n:]
		for j := range dim {
			column := to[j*n : (j+1)*n]
			for i := range column {
				column[i] = run[i*dim+j]
			}
		}
		for i := dim * n; i < (dim+1)*n; i++ {
			to[i] = 1
		}
	}
	return tensors.FromFlatDataAndDimensions(flat, runs, dim+1, n)
}

// Call runs a graph and frees the arguments that were made for the call.
func Call(exec *graph.Exec, kept []any, made ...*tensors.Tensor) (results []*tensors.Tensor, err error) {
	results, err = exec.Call(append(kept, arguments(made)...)...)
	for _, t := range made {
		err = errors.Join(err, t.FinalizeAll())
	}
	return results, err
}
