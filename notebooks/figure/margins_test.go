package figure

import (
	"math"
	"testing"
)

// Positions that are too near are moved apart by the same amount each:
// 10 and 9.5 with a gap of 2 become 10.75 and 8.75, of the same mean.
func TestSpread(t *testing.T) {
	for _, c := range []struct{ y, want []float64 }{
		{[]float64{10, 9.5, 0}, []float64{10.75, 8.75, 0}},
		{[]float64{10, 7, 4}, []float64{10, 7, 4}},
		{[]float64{5, 5, 5}, []float64{7, 5, 3}},
		{[]float64{12, 12}, []float64{12, 10}},       // the upper limit
		{[]float64{-9, -9, -9}, []float64{2, 0, -2}}, // the lower limit
		{[]float64{20, 6, 5, 1}, []float64{12, 6.5, 4.5, 1}},
	} {
		got := spread(c.y, 2, -2, 12)
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("spread(%v) = %v, want %v", c.y, got, c.want)
				break
			}
		}
	}
}
