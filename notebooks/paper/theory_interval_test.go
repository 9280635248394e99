package paper

import (
	"math"
	"testing"
)

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %.8g, want %.8g", name, got, want)
	}
}

// Three points (0,0), (3,0), (0,3) have the mean (1,1) and squared distances 2,
// 5, 5 from it; the trace of their covariance is 12/2.
func TestDeviations(t *testing.T) {
	for i, d := range deviations([]float32{0, 0, 3, 0, 0, 3}, 2) {
		near(t, "deviation", d, []float64{2, 5, 5}[i]*3/2)
	}
}

// The logarithms of 1, 4, 16 are 0, 1, 2 times log 4: their mean is log 4, their
// standard deviation log 4 as well, and the interval's half length 4.302653/sqrt 3
// times that (Student's t with 2 degrees of freedom, table).
func TestGeometric95(t *testing.T) {
	got := geometric95([]float64{1, 4, 16})
	half := 4.302653 / math.Sqrt(3)
	near(t, "mean", got.Mean, 4)
	near(t, "low", got.Low, math.Pow(4, 1-half))
	near(t, "high", got.High, math.Pow(4, 1+half))
}

// With a twice b nothing is uncertain. With a = 1, 3 and b = 1, 1 the ratio
// is 2, the differences a-2b are -1 and 1, and their mean's interval is
// 12.706205 (Student's t with 1 degree of freedom, table) times sqrt(2)/sqrt(2).
func TestRatio95(t *testing.T) {
	got := ratio95([]float64{2, 6}, []float64{1, 3})
	near(t, "low", got.Low, 2)
	near(t, "high", got.High, 2)
	got = ratio95([]float64{1, 3}, []float64{1, 1})
	near(t, "mean", got.Mean, 2)
	near(t, "high", got.High, 2+12.706205)
}

// Wilson's interval at no hit in n is [0, z^2/(n+z^2)], z = 1.959964; at as many
// as misses it lies around 1/2.
func TestShare95(t *testing.T) {
	none, half := share95(0, 100), share95(50, 100)
	near(t, "low", none.Low, 0)
	near(t, "high", none.High, 3.841459/103.841459)
	near(t, "middle", (half.Low+half.High)/2, 0.5)
	near(t, "share", half.Mean, 0.5)
}
