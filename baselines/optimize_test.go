package baselines_test

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/optimize"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// TestLogisticOptimize compares the estimates with the minimum of the penalised
// negative log-likelihood that gonum/optimize finds.
func TestLogisticOptimize(t *testing.T) {
	for _, algorithm := range []envs.Algorithm{
		baselines.GLMUCB{RefitEvery: 1, Ridge: 0.5},
		baselines.LogisticThompson{RefitEvery: 1, Ridge: 0.5},
	} {
		for _, problem := range []envs.Problem{envs.Bernoulli{Dim: 6}, envs.Mixed{Dim: 6}} {
			follow(t, problem, algorithm, true, 0.5, 300, func(n int, theta []float64, h *history) {
				if n > 3 && n%33 != 0 {
					return
				}
				result, err := optimize.Minimize(
					optimize.Problem{Func: h.value, Grad: h.gradient, Hess: h.hessian},
					make([]float64, len(theta)),
					&optimize.Settings{GradientThreshold: 1e-6},
					&optimize.Newton{},
				)
				if err != nil {
					t.Fatal(err)
				}
				for i, got := range theta {
					// With a curvature of at least 0.5, a slope of 1e-6 leaves
					// an error of at most 2e-6.
					wantClose(t, fmt.Sprintf("%T on %T, step %d: estimate", algorithm, problem, n), got, result.X[i], 2e-6)
				}
			})
		}
	}
}
