package ondevice

import (
	"math/rand/v2"
	"unsafe"

	"github.com/gomlx/gomlx/core/tensors"
)

// input is what the host draws for each step of a chunk, [K, dims...]. The loop sees one step of it.
type input[T int32 | float32 | float64] struct {
	dims   []int
	size   int // the product of dims
	values []T
}

// array is an input of any type.
type array interface {
	allocate(steps int)
	tensor() *tensors.Tensor
	bytes() int // of a step
}

func newInput[T int32 | float32 | float64](dims ...int) *input[T] {
	in := &input[T]{dims: dims, size: 1}
	for _, n := range dims {
		in.size *= n
	}
	return in
}

func (in *input[T]) allocate(steps int) { in.values = make([]T, steps*in.size) }

// at returns step k.
func (in *input[T]) at(k int) []T { return in.values[k*in.size:][:in.size] }

func (in *input[T]) tensor() *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(in.values, append([]int{len(in.values) / in.size}, in.dims...)...)
}

func (in *input[T]) bytes() int { return in.size * int(unsafe.Sizeof(*new(T))) }

// part returns part i of a slice of n equal parts.
func part[T any](all []T, i, n int) []T {
	width := len(all) / n
	return all[i*width : (i+1)*width]
}

// drawSteps draws the steps of a batch from those up to t that are kept, as a Replay does. Those of a
// run are counted from first on.
func drawSteps(dst []int32, first, t, capacity int, rng *rand.Rand) {
	n := t + 1
	if capacity > 0 {
		n = min(n, capacity)
	}
	for i := range dst {
		dst[i] = int32(first + t + 1 - n + rng.IntN(n))
	}
}
