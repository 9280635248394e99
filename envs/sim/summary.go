package sim

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Summary is what the runs of a result have in common.
type Summary struct {
	Regret Statistics // of the regret after the last step; all NaN where there is no Oracle
	Reward Statistics // of the reward a step
}

// Statistics describe one number a run.
type Statistics struct {
	Mean, Median float64
	Low, High    float64 // 95 % interval of the mean by Student's t; infinite where there is one run
	Min, Max     float64
}

// Summary describes the final regret and the reward a step over the runs.
func (r *Result) Summary() Summary {
	return Summary{Regret: describe(r.Regret, 1), Reward: describe(r.Reward, float64(r.Steps))}
}

// String is the summary in one line.
func (r *Result) String() string {
	s, regret := r.Summary(), ""
	if r.Regret != nil {
		regret = fmt.Sprintf("regret %.4g [%.4g, %.4g], ", s.Regret.Mean, s.Regret.Low, s.Regret.High)
	}
	return fmt.Sprintf("%s, %s: %d runs of %d steps, %sreward a step %.4g [%.4g, %.4g]",
		r.Experiment, r.Entry, r.Runs, r.Steps, regret, s.Reward.Mean, s.Reward.Low, s.Reward.High)
}

// describe describes the last values of curves, divided.
func describe(curves [][]float64, divisor float64) Statistics {
	n := len(curves)
	if n == 0 {
		nan := math.NaN()
		return Statistics{nan, nan, nan, nan, nan, nan}
	}
	x := make([]float64, n)
	for i, curve := range curves {
		x[i] = curve[len(curve)-1] / divisor
	}
	slices.Sort(x)
	mean, half := stat.Mean(x, nil), math.Inf(1)
	if n > 1 {
		half = distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) * stat.StdDev(x, nil) / math.Sqrt(float64(n))
	}
	return Statistics{mean, (x[(n-1)/2] + x[n/2]) / 2, mean - half, mean + half, x[0], x[n-1]}
}
