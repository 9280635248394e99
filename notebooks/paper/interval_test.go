package paper_test

import (
	"math"
	"testing"

	"github.com/contextrec/contextrec/notebooks/paper"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The quantiles of Student's t at 0.975 are those of printed tables.
func TestMean95(t *testing.T) {
	// 1, 2, 3: mean 2, deviation 1, t(2) = 4.303.
	i := paper.Mean95([]float64{1, 2, 3})
	near(t, "mean", i.Mean, 2, 1e-12)
	near(t, "low", i.Low, 2-4.303/math.Sqrt(3), 1e-3)
	near(t, "high", i.High, 2+4.303/math.Sqrt(3), 1e-3)

	// -1, 1: mean 0, deviation sqrt(2), t(1) = 12.706: +-12.706.
	i = paper.Mean95([]float64{-1, 1})
	near(t, "high", i.High, 12.706, 1e-3)

	// 20 values, 10 of them 0 and 10 of them 2: mean 1, deviation
	// sqrt(20/19), t(19) = 2.093: 1 +- 2.093/sqrt(19).
	values := make([]float64, 20)
	for r := range 10 {
		values[r] = 2
	}
	i = paper.Mean95(values)
	near(t, "mean", i.Mean, 1, 1e-12)
	near(t, "low", i.Low, 1-2.093/math.Sqrt(19), 1e-3)

	// One value says nothing about its spread.
	i = paper.Mean95([]float64{5})
	if i.Mean != 5 || !math.IsInf(i.Low, -1) || !math.IsInf(i.High, 1) {
		t.Errorf("one value has the interval %v", i)
	}
}

// 10 - 2*4, 11 - 2*5, 15 - 2*6 are 2, 1, 3. Unpaired, the interval would be
// much wider: the deviations of 10, 11, 15 alone are 2.65.
func TestPaired95(t *testing.T) {
	i := paper.Paired95([]float64{10, 11, 15}, []float64{4, 5, 6}, 2)
	near(t, "mean", i.Mean, 2, 1e-12)
	near(t, "high", i.High, 2+4.303/math.Sqrt(3), 1e-3)
	defer func() {
		if recover() == nil {
			t.Error("2 runs were paired with 1")
		}
	}()
	paper.Paired95([]float64{1, 2}, []float64{1}, 1)
}

func TestIntervalString(t *testing.T) {
	for _, c := range []struct {
		i    paper.Interval
		want string
	}{
		{paper.Interval{Mean: -123.456, Low: -151.2, High: -95.7}, "-123 [-151, -96]"},
		{paper.Interval{Mean: 1.2345, Low: 1.11, High: 1.36}, "1.23 [1.11, 1.36]"},
		{paper.Interval{Mean: 0.00123, Low: -0.00311, High: 0.00557}, "0.0012 [-0.0031, 0.0056]"},
		{paper.Interval{Mean: 2, Low: 2, High: 2}, "2.000 [2.000, 2.000]"},
		{paper.Mean95([]float64{5}), "5.000 [-Inf, +Inf]"},
	} {
		if got := c.i.String(); got != c.want {
			t.Errorf("%#v is written %q, want %q", c.i, got, c.want)
		}
	}
}
