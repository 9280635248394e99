package paper

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// deviations returns the squared distance of every row of vectors, [S, size],
// from their mean, times S/(S-1). The mean of what it returns is the unbiased
// estimate of the trace of the rows' covariance.
func deviations(vectors []float32, size int) []float64 {
	rows := len(vectors) / size
	mean := make([]float64, size)
	for i, v := range vectors {
		mean[i%size] += float64(v) / float64(rows)
	}
	out := make([]float64, rows)
	for i, v := range vectors {
		d := float64(v) - mean[i%size]
		out[i/size] += d * d * float64(rows) / float64(rows-1)
	}
	return out
}

// geometric95 is the geometric mean of positive values with the interval of
// Mean95 of their logarithms.
func geometric95(values []float64) Interval {
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	m := Mean95(logs)
	return Interval{math.Exp(m.Mean), math.Exp(m.Low), math.Exp(m.High)}
}

// share95 is the share of hits with Wilson's 95 % interval (1927), which is
// sound for few hits, and none, too.
func share95(hits, of int) Interval {
	n, p := float64(of), float64(hits)/float64(of)
	z := distuv.UnitNormal.Quantile(0.975)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{p, math.Max(0, middle-half), math.Min(1, middle+half)}
}

// ratio95 is the ratio of the means of a and b with the 95 % interval of the
// delta method: to first order it errs by the mean of a - ratio*b over that of b.
// a[i] and b[i] belong together and may depend on each other.
func ratio95(a, b []float64) Interval {
	mean := stat.Mean(b, nil)
	ratio := stat.Mean(a, nil) / mean
	d := Paired95(a, b, ratio)
	return Interval{ratio, ratio + d.Low/mean, ratio + d.High/mean}
}
