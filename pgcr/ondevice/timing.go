package ondevice

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// TimeUpdate measures an update alone, without deciding and drawing: the script's
// Learn on one batch of random contexts, again and again. It returns the time of
// an update of all runs, the shortest in three calls of so many updates, and what
// the first call took, compilation included.
//
// The script's parameters are those of so many updates afterwards.
func TimeUpdate(script pgcr.Script, spec envs.Spec, updates int) (update, first time.Duration, err error) {
	backend, size := script.Backend(), script.Tape()
	runs := script.Runs()
	rng := rand.New(rand.NewPCG(1, 2))
	uniform := func(dims ...int) *tensors.Tensor {
		n := 1
		for _, d := range dims {
			n *= d
		}
		flat := make([]float32, n)
		for i := range flat {
			flat[i] = rng.Float32()
		}
		return tensors.FromFlatDataAndDimensions(flat, dims...)
	}
	places := func(n, below int) []float32 {
		flat := make([]float32, n)
		for i := range flat {
			flat[i] = float32(rng.IntN(below))
		}
		return flat
	}
	b, m, width := size.Batch, spec.Candidates, pgcr.Width(spec.Dim)
	rows := make([]float32, runs*b*m*width)
	for i := range rows {
		switch at := i % width; {
		case at < spec.Dim:
			rows[i] = rng.Float32()
		case at == spec.Dim:
			rows[i] = 1
		}
	}
	shared := make([]float32, size.Shared)
	script.LayShared(0, shared)
	fixed := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(rows, runs, b*m, width),
		tensors.FromFlatDataAndDimensions(places(runs*b, m), runs, b),
		uniform(runs, b),
		uniform(runs, size.Floats),
		tensors.FromFlatDataAndDimensions(shared, size.Shared),
	}
	learn := func(n []*Node) []*Node { // fixed, params
		batch := timedBatch{n[0], n[1], n[2]}
		return script.Learn(n[len(fixed):], pgcr.TapeNodes{Floats: n[3], Shared: n[4]}, batch)
	}
	exec, err := NewExec(backend, func(in []*Node) []*Node {
		g := in[0].Graph()
		declare := func() []*Node {
			nodes := []*Node{Parameter(g, "i", shapes.Make(dtypes.Int32))}
			for i, x := range in {
				nodes = append(nodes, Parameter(g, fmt.Sprintf("x%d", i), x.Shape()))
			}
			return nodes
		}
		body := NewClosure(g, func(*Graph) []*Node {
			n := declare()
			return append(append([]*Node{OnePlus(n[0])}, n[1:1+len(fixed)]...), learn(n[1:])...)
		})
		cond := NewClosure(g, func(*Graph) []*Node {
			return []*Node{LessThan(declare()[0], number(g, updates))}
		})
		return While(cond, body, append([]*Node{number(g, 0)}, in...)...)[1+len(fixed):]
	})
	if err != nil {
		return 0, 0, err
	}
	defer exec.Finalize()
	call := func() (time.Duration, error) {
		var args []any
		for _, x := range fixed {
			args = append(args, x)
		}
		for _, p := range script.Parameters() {
			donated, err := p.Donate()
			if err != nil {
				return 0, err
			}
			args = append(args, donated...)
		}
		begin := time.Now()
		results, err := exec.Call(args...)
		if err != nil {
			return 0, err
		}
		// Reading a result waits for the device.
		if _, err := tensors.CopyFlatData[float32](results[len(results)-1]); err != nil {
			return 0, err
		}
		took := time.Since(begin)
		for _, p := range script.Parameters() {
			results = p.Replace(results)
		}
		return took, nil
	}
	if first, err = call(); err != nil {
		return 0, 0, err
	}
	for range 3 {
		took, err := call()
		if err != nil {
			return 0, 0, err
		}
		if each := took / time.Duration(updates); update == 0 || each < update {
			update = each
		}
	}
	return update, first, nil
}

// timedBatch implements pgcr.DeviceHistory.
type timedBatch struct{ contexts, slot, reward *Node }

func (t timedBatch) Contexts() *Node { return t.contexts }
func (t timedBatch) Slot() *Node     { return t.slot }
func (t timedBatch) Reward() *Node   { return t.reward }
func (t timedBatch) Chosen() *Node {
	dims := t.contexts.Shape().Dimensions
	runs, b, width := dims[0], t.slot.Shape().Dimensions[1], dims[2]
	return Reshape(Slice(Reshape(t.contexts, runs, b, -1), AxisRange(), AxisRange(), AxisRange(0, width)), runs, b, width)
}
