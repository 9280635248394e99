package baselines

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// The kernels are gonum's: of the ways to form cᵀA⁻¹c, Gemv on the full matrix
// was measured fastest, ahead of Gemm over all candidates and far ahead of half
// the work on one triangle. Kernels that order a sum by memory alignment
// (floats.Sum) are not used: a run must not depend on its neighbours.

var errPrecision = errors.New("baselines: precision matrix is not positive definite to working accuracy; " +
	"raise Ridge or scale the contexts down")

// design is a precision matrix A = ridge·I + Σ x xᵀ and its inverse.
type design struct {
	n       int
	added   int
	matrix  []float64 // A, [N, N]
	inverse []float64 // A⁻¹, [N, N], both triangles
	gain    []float64 // scratch, [N]
}

// refreshEvery bounds the updates between two exact inversions, of up to so many
// features.
const refreshEvery = 1024

// due reports whether the inverse of n features is recomputed after so many
// updates: after 1, 2, 4, ..., 1024 and every 1024 from there. An inversion takes
// the time of some n updates, so with more than 1024 features it is due after
// every n alone: else the first steps would take minutes.
func due(n, added int) bool {
	if n > refreshEvery {
		return added%n == 0
	}
	return added%refreshEvery == 0 || added < refreshEvery && added&(added-1) == 0
}

func newDesign(n int, ridge float64) design {
	d := design{
		n:       n,
		matrix:  make([]float64, n*n),
		inverse: make([]float64, n*n),
		gain:    make([]float64, n),
	}
	for i := range n {
		d.matrix[i*n+i] = ridge
		d.inverse[i*n+i] = 1 / ridge
	}
	return d
}

// add adds x xᵀ to A. It returns A⁻¹x of the new A, valid until the next call
// of a method, and whether the inverse was recomputed.
func (d *design) add(x []float64) (gain []float64, refreshed bool, err error) {
	rankOne(d.matrix, x)
	d.added++
	if due(d.n, d.added) {
		if err := d.refresh(); err != nil {
			return nil, false, err
		}
		d.solve(d.gain, x)
		return d.gain, true, nil
	}
	// Sherman and Morrison: A⁻¹ loses vvᵀ/(1 + x·v) with v = A⁻¹x. Both factors
	// of the outer product get half of the divisor, which keeps A⁻¹ symmetric
	// to the last bit.
	d.solve(d.gain, x)
	variance := max(floats.Dot(d.gain, x), 0)
	if d.n > refreshEvery && variance > 1e15 {
		return nil, false, errPrecision // nothing is left of it, and no inversion is near that would tell
	}
	scale := 1 / math.Sqrt(1+variance)
	floats.Scale(scale, d.gain)
	blas64.Ger(-1, vector(d.gain), vector(d.gain), square(d.n, d.inverse))
	floats.Scale(scale, d.gain)
	return d.gain, false, nil
}

// refresh recomputes the inverse from A by Cholesky.
func (d *design) refresh() error {
	copy(d.inverse, d.matrix)
	triangle, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: d.n, Stride: d.n, Data: d.inverse})
	if ok {
		_, ok = lapack64.Potri(triangle)
	}
	if !ok {
		return errPrecision
	}
	for i := range d.n {
		for j := range i {
			d.inverse[i*d.n+j] = d.inverse[j*d.n+i]
		}
	}
	return nil
}

// solve writes A⁻¹x to dst.
func (d *design) solve(dst, x []float64) {
	blas64.Gemv(blas.NoTrans, 1, square(d.n, d.inverse), vector(x), 0, vector(dst))
}

// variance returns xᵀA⁻¹x.
func (d *design) variance(x []float64) float64 {
	d.solve(d.gain, x)
	return max(floats.Dot(d.gain, x), 0)
}

// factor is the upper triangular U of a precision matrix A = UᵀU.
type factor struct {
	n     int
	upper []float64 // [N, N]; what is below the diagonal is not read
}

func newFactor(n int, ridge float64) factor {
	f := factor{n: n, upper: make([]float64, n*n)}
	for i := range n {
		f.upper[i*n+i] = math.Sqrt(ridge)
	}
	return f
}

// rotate adds x xᵀ to A by Givens rotations, which are backward stable: no
// rounding builds up. It rotates (value, y) along where target = U⁻ᵀb is not
// nil, and so adds y·x to b. It overwrites x.
func (f *factor) rotate(x, target []float64, y float64) {
	for i, xi := range x {
		row := f.upper[i*f.n+i : (i+1)*f.n]
		r := math.Hypot(row[0], xi)
		c, s := row[0]/r, xi/r
		row[0] = r
		rest, row := x[i+1:], row[1:]
		row = row[:len(rest)]
		for j, v := range rest {
			u := row[j]
			row[j] = float64(c*u) + float64(s*v)
			rest[j] = float64(c*v) - float64(s*u)
		}
		if target != nil {
			t := target[i]
			target[i] = float64(c*t) + float64(s*y)
			y = float64(c*y) - float64(s*t)
		}
	}
}

// factorize sets A from the upper triangle of a, [N, N].
func (f *factor) factorize(a []float64) error {
	copy(f.upper, a)
	if _, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: f.n, Stride: f.n, Data: f.upper}); !ok {
		return errPrecision
	}
	return nil
}

// solveUpper replaces x by U⁻¹x.
func (f *factor) solveUpper(x []float64) {
	for i := f.n - 1; i >= 0; i-- {
		row := f.upper[i*f.n+i : (i+1)*f.n]
		x[i] = (x[i] - floats.Dot(row[1:], x[i+1:])) / row[0]
	}
}

// solve replaces x by A⁻¹x.
func (f *factor) solve(x []float64) {
	for i := range x {
		row := f.upper[i*f.n+i : (i+1)*f.n]
		x[i] /= row[0]
		floats.AddScaled(x[i+1:], -x[i], row[1:])
	}
	f.solveUpper(x)
}

// rankOne adds x xᵀ to a, [N, N].
func rankOne(a, x []float64) {
	blas64.Ger(1, vector(x), vector(x), square(len(x), a))
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func square(n int, a []float64) blas64.General {
	return blas64.General{Rows: n, Cols: n, Stride: n, Data: a}
}
