package baselines

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

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
		blas64.Rot(vector(row[1:]), vector(x[i+1:]), c, s)
		if target != nil {
			t := target[i]
			target[i], y = c*t+s*y, c*y-s*t
		}
	}
}

// solveLower replaces x by U⁻ᵀx, whose length is sqrt(xᵀA⁻¹x).
func (f *factor) solveLower(x []float64) {
	for i := range x {
		row := f.Upper[i*len(x)+i : (i+1)*len(x)]
		x[i] /= row[0]
		floats.AddScaled(x[i+1:], -x[i], row[1:])
	}
}

// solveUpper replaces x by U⁻¹x.
func (f *factor) solveUpper(x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		row := f.Upper[i*len(x)+i : (i+1)*len(x)]
		x[i] = (x[i] - floats.Dot(row[1:], x[i+1:])) / row[0]
	}
}

// score draws θ ~ N(mean, scale²·A⁻¹), the mean with scale 0 or without rng, and writes θ·x of all
// features to dst.
func (f *factor) score(dst, features, mean []float64, scale float64, rng *rand.Rand) {
	theta := mean
	if scale > 0 && rng != nil {
		theta = f.scratch
		for i := range theta {
			theta[i] = scale * rng.NormFloat64()
		}
		f.solveUpper(theta)
		floats.Add(theta, mean)
	}
	for i, n := 0, len(theta); i < len(dst); i++ {
		dst[i] = floats.Dot(features[i*n:(i+1)*n], theta)
	}
}

// addWidths adds alpha·sqrt(xᵀA⁻¹x) of every row x of features to dst.
func (f *factor) addWidths(dst, features []float64, alpha float64) {
	for i, n := 0, len(f.scratch); alpha > 0 && i < len(dst); i++ {
		copy(f.scratch, features[i*n:])
		f.solveLower(f.scratch)
		dst[i] += alpha * math.Sqrt(floats.Dot(f.scratch, f.scratch))
	}
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

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
