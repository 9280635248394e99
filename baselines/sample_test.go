package baselines

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/contextrec/contextrec/envs"
)

// TestSampleMoments draws θ itself, as the scores of the unit vectors, and
// compares mean and covariance with N(θ̂, Scale²·A⁻¹). For n normal draws their
// standard errors are sqrt(S_ii/n) and sqrt((S_ii·S_jj + S_ij²)/n); the tolerance
// is 5 of them.
func TestSampleMoments(t *testing.T) {
	const n, draws, scale, ridge = 4, 40000, 0.7, 0.3
	contexts := [][]float64{{1, 2, 0, -1}, {0.5, -1, 1, 0}, {2, 2, 1, 1}, {0, 0, 3, 1}, {1, 0, 0, 2}, {-1, 1, 1, 1}}
	rewards := []float64{1, 0, 1, 1, 0, 0}

	linear := &linearThompson{
		scale:  scale,
		factor: newFactor(n, ridge),
		target: make([]float64, n),
		theta:  make([]float64, n),
		sample: envs.NewRand(1, "linear"),
	}
	logistic := &logisticThompson{
		logistic: newLogistic(n, fit{ridge: ridge, every: 1, memory: 100}),
		scale:    scale,
		drawn:    make([]float64, n),
		sample:   envs.NewRand(1, "logistic"),
	}
	for i, c := range contexts {
		if err := linear.learn(append([]float64{}, c...), rewards[i]); err != nil {
			t.Fatal(err)
		}
		if err := logistic.learn(append([]float64{}, c...), rewards[i]); err != nil {
			t.Fatal(err)
		}
	}
	// The covariances from scratch. The estimates are tested elsewhere.
	precision := func(weight func(x *mat.VecDense) float64) *mat.SymDense {
		a := mat.NewSymDense(n, nil)
		for i := range n {
			a.SetSym(i, i, ridge)
		}
		for _, c := range contexts {
			x := mat.NewVecDense(n, c)
			a.SymRankOne(a, weight(x), x)
		}
		return a
	}
	mode := mat.NewVecDense(n, append([]float64{}, logistic.estimate()...))
	for _, c := range []struct {
		name      string
		model     model
		precision *mat.SymDense
	}{
		{"linear", linear, precision(func(*mat.VecDense) float64 { return 1 })},
		{"logistic", logistic, precision(func(x *mat.VecDense) float64 {
			mu := 1 / (1 + math.Exp(-mat.Dot(x, mode)))
			return mu * (1 - mu)
		})},
	} {
		var cholesky mat.Cholesky
		if !cholesky.Factorize(c.precision) {
			t.Fatal("not positive definite")
		}
		var covariance mat.SymDense
		if err := cholesky.InverseTo(&covariance); err != nil {
			t.Fatal(err)
		}
		covariance.ScaleSym(scale*scale, &covariance)
		estimate := append([]float64{}, c.model.estimate()...)

		unit := make([]float64, n*n)
		for i := range n {
			unit[i*n+i] = 1
		}
		theta := make([]float64, n)
		sums, products := make([]float64, n), make([]float64, n*n)
		for range draws {
			c.model.score(theta, unit)
			for i := range n {
				d := theta[i] - estimate[i]
				sums[i] += d / draws
				for j := range n {
					products[i*n+j] += d * (theta[j] - estimate[j]) / draws
				}
			}
		}
		for i := range n {
			if bound := 5 * math.Sqrt(covariance.At(i, i)/draws); math.Abs(sums[i]) > bound {
				t.Errorf("%s: mean of θ_%d is off by %.4g, want less than %.4g", c.name, i, sums[i], bound)
			}
			for j := range n {
				s := covariance.At(i, j)
				bound := 5 * math.Sqrt((covariance.At(i, i)*covariance.At(j, j)+s*s)/draws)
				if got := products[i*n+j]; math.Abs(got-s) > bound {
					t.Errorf("%s: covariance %d %d is %.4g, want %.4g ± %.4g", c.name, i, j, got, s, bound)
				}
			}
		}
	}
}

// TestRefresh wants an exact inversion to change nothing but rounding, and the
// inverse to be symmetric to the last bit before and after.
func TestRefresh(t *testing.T) {
	const n = 7
	d := newDesign(n, 0.5)
	rng := envs.NewRand(2, "refresh")
	x := make([]float64, n)
	for range 1023 { // 511 updates after the last refresh
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		if _, _, err := d.add(x); err != nil {
			t.Fatal(err)
		}
	}
	before := append([]float64{}, d.inverse...)
	if err := d.refresh(); err != nil {
		t.Fatal(err)
	}
	same := true
	for i := range n {
		for j := range n {
			if before[i*n+j] != before[j*n+i] || d.inverse[i*n+j] != d.inverse[j*n+i] {
				t.Fatalf("element %d %d is not symmetric", i, j)
			}
			// The diagonal is about 1/1023.
			if math.Abs(before[i*n+j]-d.inverse[i*n+j]) > 1e-16 {
				t.Errorf("element %d %d changed from %v to %v", i, j, before[i*n+j], d.inverse[i*n+j])
			}
			same = same && before[i*n+j] == d.inverse[i*n+j]
		}
	}
	if same {
		t.Error("the refresh changed nothing at all: was there one?")
	}
}

// TestInversionsDue wants the schedule that LinUCB documents, in which stored
// results were made, and with many features no more work on inversions than on
// updates: an inversion takes n³ steps of arithmetic, an update some n².
func TestInversionsDue(t *testing.T) {
	for _, n := range []int{1, 40, 1024} {
		var when []int
		for added := 1; added <= 3072; added++ {
			if due(n, added) {
				when = append(when, added)
			}
		}
		if want := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072}; !slices.Equal(when, want) {
			t.Errorf("with %d features it is due after %v updates, want %v", n, when, want)
		}
	}
	for _, n := range []int{1025, 5000, 100_000} {
		inversions := 0
		for added := 1; added <= 3*n; added++ {
			if due(n, added) {
				inversions++
			}
			if inversions*n > added {
				t.Fatalf("with %d features %d inversions in %d updates", n, inversions, added)
			}
		}
		if inversions < 3 {
			t.Errorf("with %d features %d inversions in %d updates", n, inversions, 3*n)
		}
	}
}
