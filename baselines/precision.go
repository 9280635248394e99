package baselines

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

var errPrecision = errors.New("the precision matrix is not positive definite to working accuracy")

// design is a precision matrix A = ridge·I + Σ x xᵀ and its inverse. Of the ways to form xᵀA⁻¹x,
// Gemv on a full inverse was measured fastest.
type design struct {
	Matrix, Inverse []float64 // A and A⁻¹, [N, N]
	gain            []float64 // scratch, [N]
}

func newDesign(n int, ridge float64) design {
	return design{diagonal(n, ridge), diagonal(n, 1/ridge), make([]float64, n)}
}

// add adds x xᵀ to A at a step, and leaves A⁻¹x of the new A in gain.
func (d *design) add(step int, x []float64) error {
	rankOne(d.Matrix, 1, x)
	variance := d.variance(x)
	// An inversion takes the time of some N updates. Above 1e15 nothing would be left of the prior.
	const every = 1024
	early := len(x) <= every && step < every && step&(step-1) == 0 // a power of 2
	if early || step%max(len(x), every) == 0 || variance > 1e15 {
		err := d.refresh()
		d.variance(x)
		return err
	}
	// Sherman and Morrison: A⁻¹ loses vvᵀ/(1 + x·v) with v = A⁻¹x. Both factors of the outer product
	// get half of the divisor, which keeps A⁻¹ symmetric to the last bit.
	scale := 1 / math.Sqrt(1+variance)
	floats.Scale(scale, d.gain)
	rankOne(d.Inverse, -1, d.gain)
	floats.Scale(scale, d.gain)
	return nil
}

// refresh recomputes the inverse from A by Cholesky.
func (d *design) refresh() error {
	n := len(d.gain)
	copy(d.Inverse, d.Matrix)
	triangle, ok := cholesky(n, d.Inverse)
	if ok {
		_, ok = lapack64.Potri(triangle)
	}
	if !ok {
		return errPrecision
	}
	for i := range n {
		for j := range i {
			d.Inverse[i*n+j] = d.Inverse[j*n+i]
		}
	}
	return nil
}

// variance returns xᵀA⁻¹x, and leaves A⁻¹x in gain.
func (d *design) variance(x []float64) float64 {
	n := len(x)
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: n, Cols: n, Stride: n, Data: d.Inverse}, vector(x), 0, vector(d.gain))
	return max(floats.Dot(d.gain, x), 0)
}

// addWidths adds alpha·sqrt(xᵀA⁻¹x) of every row x of features to dst.
func (d *design) addWidths(dst, features []float64, alpha float64) {
	for i, n := 0, len(d.gain); alpha > 0 && i < len(dst); i++ {
		dst[i] += alpha * math.Sqrt(d.variance(features[i*n:(i+1)*n]))
	}
}

// factor is the upper triangular U of a precision matrix A = UᵀU.
type factor struct {
	Upper   []float64 // [N, N]; what is below the diagonal is not read
	scratch []float64 // [N]
}

func newFactor(n int, ridge float64) factor {
	return factor{diagonal(n, math.Sqrt(ridge)), make([]float64, n)}
}

// rotate adds x xᵀ to A, and y·x to b where target = U⁻ᵀb is not nil, by Givens rotations, which are
// backward stable: no rounding builds up. It overwrites x.
func (f *factor) rotate(x, target []float64, y float64) {
	for i, xi := range x {
		row := f.Upper[i*len(x)+i : (i+1)*len(x)]
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
			target[i], y = float64(c*t)+float64(s*y), float64(c*y)-float64(s*t)
		}
	}
}

// solve replaces x by A⁻¹x.
func (f *factor) solve(x []float64) {
	for i := range x {
		row := f.Upper[i*len(x)+i : (i+1)*len(x)]
		x[i] /= row[0]
		floats.AddScaled(x[i+1:], -x[i], row[1:])
	}
	f.solveUpper(x)
}

// solveUpper replaces x by U⁻¹x.
func (f *factor) solveUpper(x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		row := f.Upper[i*len(x)+i : (i+1)*len(x)]
		x[i] = (x[i] - floats.Dot(row[1:], x[i+1:])) / row[0]
	}
}

// score draws θ ~ N(mean, scale²·A⁻¹), the mean without rng, and writes θ·x of all features to dst.
func (f *factor) score(dst, features, mean []float64, scale float64, rng *rand.Rand) {
	theta := f.scratch
	clear(theta)
	for i := 0; rng != nil && i < len(theta); i++ {
		theta[i] = scale * rng.NormFloat64()
	}
	f.solveUpper(theta)
	floats.Add(theta, mean)
	dotRows(dst, features, theta)
}

// diagonal returns a matrix, [n, n].
func diagonal(n int, value float64) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = value
	}
	return a
}

// rankOne adds weight·x xᵀ to a, [N, N]. Of gonum's kernels, those that order a sum by memory
// alignment (floats.Sum) are not used: a run must not depend on its neighbours.
func rankOne(a []float64, weight float64, x []float64) {
	blas64.Ger(weight, vector(x), vector(x), blas64.General{Rows: len(x), Cols: len(x), Stride: len(x), Data: a})
}

// cholesky replaces the upper triangle of a, [n, n], by its factor U.
func cholesky(n int, a []float64) (blas64.Triangular, bool) {
	return lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: n, Data: a})
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
