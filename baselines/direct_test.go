package baselines_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// direct is ridge regression from scratch: what the policies keep up step by
// step, solved anew from sums by gonum.
type direct struct {
	intercept bool
	precision *mat.SymDense // A
	target    *mat.VecDense // b
}

func newDirect(dim int, ridge float64, intercept bool) *direct {
	if intercept {
		dim++
	}
	d := &direct{intercept, mat.NewSymDense(dim, nil), mat.NewVecDense(dim, nil)}
	for i := range dim {
		d.precision.SetSym(i, i, ridge)
	}
	return d
}

// features returns a context as the models see it.
func (d *direct) features(c []float32) *mat.VecDense {
	x := mat.NewVecDense(d.target.Len(), nil)
	for i, v := range c {
		x.SetVec(i, float64(v))
	}
	if d.intercept {
		x.SetVec(len(c), 1)
	}
	return x
}

func (d *direct) add(c []float32, reward float32) {
	x := d.features(c)
	d.precision.SymRankOne(d.precision, 1, x)
	d.target.AddScaledVec(d.target, float64(reward), x)
}

func (d *direct) estimate() *mat.VecDense {
	var theta mat.VecDense
	if err := theta.SolveVec(d.precision, d.target); err != nil {
		panic(err)
	}
	return &theta
}

// width returns sqrt(xᵀA⁻¹x).
func (d *direct) width(x *mat.VecDense) float64 { return width(d.precision, x) }

func width(precision *mat.SymDense, x *mat.VecDense) float64 {
	var solved mat.VecDense
	if err := solved.SolveVec(precision, x); err != nil {
		panic(err)
	}
	return math.Sqrt(mat.Dot(x, &solved))
}

// wantClose compares numbers that are equal but for rounding.
func wantClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// TestLinear compares LinUCB and LinearThompson with a direct solution after
// every one of 300 steps.
func TestLinear(t *testing.T) {
	const steps, runs, ridge, alpha = 300, 2, 0.7, 1.3
	problem := envs.Mixed{Dim: 9}
	for _, intercept := range []bool{false, true} {
		for name, c := range map[string]struct {
			algorithm envs.Algorithm
			alpha     float64
		}{
			"LinUCB":         {baselines.LinUCB{Alpha: alpha, Ridge: ridge, Intercept: intercept}, alpha},
			"LinearThompson": {baselines.LinearThompson{Ridge: ridge, Intercept: intercept}, 0},
		} {
			env, p := start(t, problem, c.algorithm, 1, 2)
			var references []*direct
			for range runs {
				references = append(references, newDirect(9, ridge, intercept))
			}
			actions := make([]int, runs)
			for range steps {
				tr := step(t, env, p, actions)
				scores := scoresOf(t, p, tr.Observation)
				for r, d := range references {
					d.add(tr.Context(r, actions[r]), tr.Reward[r])
					theta := d.estimate()
					for i, got := range p.(baselines.Estimator).Estimate(r) {
						wantClose(t, name+": estimate", got, theta.AtVec(i), 1e-11)
					}
					for m := range 5 {
						x := d.features(tr.Context(r, m))
						wantClose(t, name+": score", scores[r*5+m], mat.Dot(theta, x)+c.alpha*d.width(x), 1e-11)
					}
				}
			}
		}
	}
}
