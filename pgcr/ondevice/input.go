package ondevice

import (
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/pgcr"
)

// input is what the host draws for each block of a chunk, [K, dims...]. The loop sees one block of it.
// What is drawn for each of the E steps of a block has E as its first dimension.
type input[T int32 | float32 | float64] struct {
	dims   []int
	size   int // the product of dims
	values []T
}

// array is an input of any type.
type array interface {
	shape(blocks int) shapes.Shape
	allocate(blocks int)
	tensor() *tensors.Tensor
	write(t *tensors.Tensor, block int) error
}

func newInput[T int32 | float32 | float64](dims ...int) *input[T] {
	in := &input[T]{dims: dims}
	in.size = in.shape(1).Size()
	return in
}

func (in *input[T]) shape(blocks int) shapes.Shape {
	return shapes.Make(dtypes.FromGenericsType[T](), append([]int{blocks}, in.dims...)...)
}

func (in *input[T]) allocate(blocks int) { in.values = make([]T, blocks*in.size) }

// at returns block k.
func (in *input[T]) at(k int) []T { return in.values[k*in.size:][:in.size] }

// step returns step k, counted from the first of the chunk.
func (in *input[T]) step(k int) []T { return part(in.values, k, len(in.values)/in.size*in.dims[0]) }

func (in *input[T]) tensor() *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(in.values, in.shape(len(in.values)/in.size).Dimensions...)
}

// write writes all blocks into a tensor of more, from a block on.
func (in *input[T]) write(t *tensors.Tensor, block int) error {
	return tensors.MutableFlatData(t, func(flat []T) { copy(flat[block*in.size:], in.values) })
}

// part returns part i of a slice of n equal parts.
func part[T any](all []T, i, n int) []T {
	width := len(all) / n
	return all[i*width : (i+1)*width]
}

// learner is what all players have: networks, and what is drawn of the steps that they learn from. Its
// history knows nothing of choices, which draws do not depend on.
type learner struct {
	runs, every, updates int                // R; a block is E steps, and U updates after them
	networks             []*pgcr.Parameters // as they are at first
	streams              []pgcr.Streams     // those of the host's policy
	replay               *pgcr.Replay
	inputs               []array // all that is drawn

	steps, next     *input[int32]   // [U, R, B]; the next steps of the sessions
	ready, discount *input[float32] // [U, R, B], see pgcr.Batch
	number          *input[float32] // [U], t of Adam
}

func newLearner(streams []pgcr.Streams, every, updates, size int, replay *pgcr.Replay, networks ...*pgcr.Parameters) *learner {
	runs := len(streams)
	l := &learner{runs: runs, every: every, updates: updates, networks: networks, streams: streams, replay: replay}
	l.steps, l.next = newInput[int32](updates, runs, size), newInput[int32](updates, runs, size)
	l.ready, l.discount = newInput[float32](updates, runs, size), newInput[float32](updates, runs, size)
	l.number = newInput[float32](updates)
	l.inputs = []array{l.steps, l.ready, l.next, l.discount, l.number}
	return l
}

func (l *learner) common() *learner { return l }

// of returns what an input, [U, R, ...], has in block k for update u of run r.
func of[T int32 | float32 | float64](l *learner, in *input[T], k, u, r int) []T {
	return part(in.at(k), u*l.runs+r, l.updates*l.runs)
}

// drawSteps draws the steps of run r that update u of block k learns from, and returns them: nil where
// it has none yet.
func (l *learner) drawSteps(k, u, r int) []int {
	drawn, nexts := of(l, l.steps, k, u, r), of(l, l.next, k, u, r)
	ready, discounts := of(l, l.ready, k, u, r), of(l, l.discount, k, u, r)
	steps := l.replay.Sample(len(drawn), r, rand.New(l.streams[r].Batch))
	clear(ready)
	for j, step := range steps {
		next, discount := l.replay.Next(r, step)
		drawn[j], nexts[j] = int32(step*l.runs+r), int32(next*l.runs+r)
		ready[j], discounts[j] = 1, discount
	}
	return steps
}
