package ondevice

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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
// an update of all runs in each of so many turns, 1 or more. A turn is a call of as
// many updates as take about the given time, and of one update at least; the calls
// before the turns, one with compilation and some to find that number, do not
// count. It reads ctx between the calls.
//
// The script's parameters are those of all these updates afterwards.
func TimeUpdate(ctx context.Context, script pgcr.Script, spec envs.Spec, turns int, turn time.Duration) ([]time.Duration, error) {
	if turns < 1 {
		return nil, fmt.Errorf("ondevice: an update is timed in %d turns, want 1 or more", turns)
	}
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
	contexts := func(n int) *tensors.Tensor {
		rows := make([]float32, runs*n*width)
		for i := range rows {
			switch at := i % width; {
			case at < spec.Dim:
				rows[i] = rng.Float32()
			case at == spec.Dim:
				rows[i] = 1
			}
		}
		return tensors.FromFlatDataAndDimensions(rows, runs, n, width)
	}
	shared := make([]float32, size.Shared)
	script.LayShared(0, shared)
	fixed := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(shared, size.Shared),
		uniform(runs, max(size.Update, 1)),
		contexts(b * m),
		tensors.FromFlatDataAndDimensions(places(runs*b, m), runs, b),
		uniform(runs, b),
	}
	if size.Rivals > 0 {
		fixed = append(fixed, contexts(size.Rivals*b))
	}
	if size.Sarsa {
		fixed = append(fixed, tensors.FromFlatDataAndDimensions(slices.Repeat([]float32{1}, runs), runs, 1), uniform(runs, b), contexts(b))
	}
	learn := func(n []*Node) []*Node { // fixed, params
		batch := timedBatch{contexts: n[2], slot: n[3], reward: n[4]}
		tape := pgcr.TapeNodes{Shared: n[0]}
		if size.Update > 0 {
			tape.Floats = n[1]
		}
		rest := n[5:]
		if size.Rivals > 0 {
			batch.rivals, rest = rest[0], rest[1:]
		}
		if size.Sarsa {
			batch.ready, batch.discount, batch.next, rest = rest[0], rest[1], rest[2], rest[3:]
		}
		return script.Learn(rest, tape, batch)
	}
	exec, err := NewExec(backend, func(in []*Node) []*Node { // updates, fixed, params
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
			return append(append([]*Node{OnePlus(n[0])}, n[1:2+len(fixed)]...), learn(n[2:])...)
		})
		cond := NewClosure(g, func(*Graph) []*Node {
			n := declare()
			return []*Node{LessThan(n[0], n[1])}
		})
		return While(cond, body, append([]*Node{number(g, 0)}, in...)...)[2+len(fixed):]
	})
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	call := func(updates int) (time.Duration, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		args := []any{tensors.FromScalar(int32(updates))}
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
	if _, err := call(1); err != nil { // compilation
		return nil, err
	}
	const most = 1 << 30
	updates := 1
	for ; ; updates *= 2 {
		took, err := call(updates)
		if err != nil {
			return nil, err
		}
		if took > turn/4 || updates == most {
			each := float64(took) / float64(updates)
			updates = int(min(max(1, float64(turn)/each), most))
			break
		}
	}
	each := make([]time.Duration, turns)
	for i := range each {
		took, err := call(updates)
		if err != nil {
			return nil, err
		}
		each[i] = took / time.Duration(updates)
	}
	return each, nil
}

// timedBatch implements pgcr.DeviceHistory.
type timedBatch struct{ contexts, slot, reward, rivals, ready, discount, next *Node }

func (t timedBatch) Contexts() *Node { return t.contexts }
func (t timedBatch) Slot() *Node     { return t.slot }
func (t timedBatch) Reward() *Node   { return t.reward }
func (t timedBatch) Rivals() *Node   { return t.rivals }
func (t timedBatch) Ready() *Node    { return t.ready }
func (t timedBatch) Discount() *Node { return t.discount }
func (t timedBatch) Next() *Node     { return t.next }
func (t timedBatch) Chosen() *Node {
	dims := t.contexts.Shape().Dimensions
	runs, b, width := dims[0], t.slot.Shape().Dimensions[1], dims[2]
	return Reshape(Slice(Reshape(t.contexts, runs, b, -1), AxisRange(), AxisRange(), AxisRange(0, width)), runs, b, width)
}
