package pgcr

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Parameters holds the weights of one network for R runs, and Adam's moments, where the backend
// computes.
type Parameters struct {
	Network Network
	Tensors []*tensors.Tensor // weights, m and v, [R, P] each, see State

	runs int
}

// NewParameters draws the initial weights of one run a seed, with Network.Init and the random
// stream of that role.
func NewParameters(network Network, scale float64, seeds []uint64, role string) *Parameters {
	runs := len(seeds)
	var weights []float32
	for _, seed := range seeds {
		weights = append(weights, slices.Concat(network.Init(envs.NewRand(seed, role), scale)...)...)
	}
	p := &Parameters{Network: network, runs: runs}
	for _, flat := range [][]float32{weights, make([]float32, len(weights)), make([]float32, len(weights))} {
		p.Tensors = append(p.Tensors, tensor(flat, runs, len(flat)/runs))
	}
	return p
}

// Values returns copies of the weights and of both moments, in the order of Network.Shapes each.
func (p *Parameters) Values() (values [][]float32, err error) {
	for _, t := range p.Tensors {
		flat, err2 := tensors.CopyFlatData[float32](t)
		if err = errors.Join(err, err2); err != nil {
			return nil, err
		}
		at := 0
		for _, dims := range p.Network.Shapes(1) {
			var v []float32
			for r := range p.runs {
				v = append(v, part(flat, r, p.runs)[at:at+dims[1]*dims[2]]...)
			}
			values, at = append(values, v), at+dims[1]*dims[2]
		}
	}
	return values, nil
}

// Restore takes over what Values returned.
func (p *Parameters) Restore(values [][]float32) {
	p.Tensors = nil
	for i := range 3 {
		var flat []float32
		for r := range p.runs {
			for _, v := range part(values, i, 3) {
				flat = append(flat, part(v, r, p.runs)...)
			}
		}
		p.Tensors = append(p.Tensors, tensor(flat, p.runs, len(flat)/p.runs))
	}
}

// Nodes takes weights and moments from the front of the inputs of a graph that Train runs, and
// returns the rest.
func (p *Parameters) Nodes(inputs []*graph.Node) (s State, rest []*graph.Node) {
	return State{p.Network, inputs[0], inputs[1], inputs[2]}, inputs[3:]
}

// Evaluate runs a graph that takes the weights, the candidates of a step as Columns, 0 beyond the
// size of a set, and further inputs. It returns the result, [R, K, M]. Where that is not finite the
// error is an envs.RunError with the number of updates and what the history knows of the cause.
func (p *Parameters) Evaluate(exec *graph.Exec, obs envs.Observation, history *Replay, updates int64,
	more ...*tensors.Tensor) ([]float32, error) {
	m, d := obs.Candidates, obs.Dim
	rows := make([]float32, m*d)
	contexts := columns(obs.Runs, m, d, func(r int) []float32 {
		clear(rows[copy(rows, part(obs.Contexts, r, obs.Runs)[:obs.Size(r)*d]):])
		return rows
	})
	_, results, err := run(exec, p.Tensors[:1], append([]*tensors.Tensor{contexts}, more...), 0)
	if err != nil {
		return nil, err
	}
	x := results[0]
	for i, xi := range x {
		if r := i / (len(x) / obs.Runs); xi-xi != 0 && i%m < obs.Size(r) {
			err := &envs.RunError{Run: r, Err: fmt.Errorf("the network returns %v for candidate %d", xi, i%m)}
			return nil, history.Explain(err, updates, obs)
		}
	}
	return x, nil
}

// run runs a graph. It returns the first results as they are, as many as stay where the backend computes,
// and reads the others. Then the inputs are spare, not before: XLA may compute until a result is read.
func run(exec *graph.Exec, parameters, inputs []*tensors.Tensor, stay int) (there []*tensors.Tensor, read [][]float32, err error) {
	var args []any
	here, _ := parameters[0].Backend() // nil at the first call
	for _, t := range slices.Concat(parameters, inputs) {
		if b, err2 := t.Backend(); err2 == nil && b != here { // it may have been an input on another backend
			err = errors.Join(err, t.ToLocal())
		}
		args = append(args, t)
	}
	results, err2 := exec.Call(args...)
	if err = errors.Join(err, err2); err != nil {
		return nil, nil, err
	}
	for _, t := range results[stay:] {
		x, err2 := tensors.CopyFlatData[float32](t)
		err, read = errors.Join(err, err2, t.FinalizeAll()), append(read, x)
	}
	for _, t := range inputs {
		spares(t.Shape()).Put(t)
	}
	return results[:stay], read, err
}

// Train makes an update of some networks by a graph that takes their weights and moments, and then the
// inputs. The graph returns their successors, which take their places, and then measures: first the
// squared norm of each network's gradient, [R]. Train returns the sums of the measures over runs.
// Where a norm is not finite, the error is an envs.RunError, and the networks stay as they were. Train
// takes the inputs over: their memory is used again.
func Train(exec *graph.Exec, networks []*Parameters, inputs ...*tensors.Tensor) (measures []float64, err error) {
	var parameters []*tensors.Tensor
	for _, p := range networks {
		parameters = append(parameters, p.Tensors...)
	}
	successors, results, err := run(exec, parameters, inputs, len(parameters))
	if err != nil {
		return nil, err
	}
	measures = make([]float64, len(results))
	for i, values := range results {
		for r, x := range values {
			if measures[i] += float64(x); i < len(networks) && x-x != 0 {
				return nil, &envs.RunError{Run: r, Err: fmt.Errorf("the squared norm of a gradient is %v", x)}
			}
		}
	}
	for _, p := range networks {
		for i, t := range p.Tensors {
			err = errors.Join(err, t.FinalizeAll())
			p.Tensors[i], successors = successors[0], successors[1:]
		}
	}
	return measures, err
}

// Columns turns contexts in rows, [R, n, D], into the input of Network.Forward, [R, D+1, n].
func Columns(rows []float32, runs, n, dim int) *tensors.Tensor {
	return columns(runs, n, dim, func(r int) []float32 { return part(rows, r, runs) })
}

// columns is Columns of the rows of each run, [n, D].
func columns(runs, n, dim int, rows func(r int) []float32) *tensors.Tensor {
	return filled(func(flat []float32) {
		for r := range runs {
			run, columns := rows(r), part(flat, r, runs)
			for j := range dim {
				column := part(columns, j, dim+1)
				for i := range column {
					column[i] = run[i*dim+j]
				}
			}
			for i := range n { // the last feature carries the bias
				columns[dim*n+i] = 1
			}
		}
	}, runs, dim+1, n)
}

func tensor[T int32 | float32](flat []T, dims ...int) *tensors.Tensor {
	return filled(func(dst []T) { copy(dst, flat) }, dims...)
}

// filled returns a tensor of which fill writes every number.
func filled[T int32 | float32](fill func(flat []T), dims ...int) *tensors.Tensor {
	shape := shapes.Make(dtypes.FromGenericsType[T](), dims...)
	t, ok := spares(shape).Get().(*tensors.Tensor)
	if !ok {
		t = tensors.FromShape(shape)
	}
	tensors.MustMutableFlatData(t, fill)
	return t
}

// spares has tensors that were inputs of a graph. New memory for those of each update would take up to
// a fifth of its time.
func spares(shape shapes.Shape) *sync.Pool {
	key := [5]int{int(shape.DType)}
	copy(key[1:], shape.Dimensions)
	pool, _ := pools.LoadOrStore(key, new(sync.Pool))
	return pool.(*sync.Pool)
}

var pools sync.Map // by type and up to four dimensions

func scalar(x float64) *tensors.Tensor { return tensor([]float32{float32(x)}) }

// part returns part i of a slice of n equal parts.
func part[T any](all []T, i, n int) []T {
	width := len(all) / n
	return all[i*width : (i+1)*width]
}
