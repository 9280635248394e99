package ondevice

import (
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
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
	allocate(blocks int)
	tensor() *tensors.Tensor
	bytes() int // of a block
	zeros(blocks int) *tensors.Tensor
	write(t *tensors.Tensor, block int) error
}

func newInput[T int32 | float32 | float64](dims ...int) *input[T] {
	in := &input[T]{dims: dims, size: 1}
	for _, n := range dims {
		in.size *= n
	}
	return in
}

func (in *input[T]) allocate(blocks int) { in.values = make([]T, blocks*in.size) }

// at returns block k.
func (in *input[T]) at(k int) []T { return in.values[k*in.size:][:in.size] }

// step returns step k, counted from the first of the chunk.
func (in *input[T]) step(k int) []T { return part(in.values, k, len(in.values)/in.size*in.dims[0]) }

func (in *input[T]) tensor() *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(in.values, append([]int{len(in.values) / in.size}, in.dims...)...)
}

func (in *input[T]) zeros(blocks int) *tensors.Tensor {
	return tensors.FromShape(shapes.Make(dtypes.FromGenericsType[T](), append([]int{blocks}, in.dims...)...))
}

// write writes all blocks into a tensor of more, from a block on.
func (in *input[T]) write(t *tensors.Tensor, block int) error {
	return tensors.MutableFlatData(t, func(flat []T) { copy(flat[block*in.size:], in.values) })
}

func (in *input[T]) bytes() int { return in.size * int(unsafe.Sizeof(*new(T))) }

// part returns part i of a slice of n equal parts.
func part[T any](all []T, i, n int) []T {
	width := len(all) / n
	return all[i*width : (i+1)*width]
}
