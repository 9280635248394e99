package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// linearTicks mark about five multiples of 1, 2 or 5 times a power of ten and
// write them as 20,000: gonum's own are fewer and begin anywhere.
type linearTicks struct{}

func (linearTicks) Ticks(lo, hi float64) []plot.Tick {
	rough := (hi - lo) / 5
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, m := range []float64{5, 2, 1} {
		if 1.2*m*power >= rough {
			step = m * power
		}
	}
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	// Adding 0 turns a negative zero into zero.
	for i := math.Ceil(lo/step-1e-9) + 0; i*step <= hi+1e-9*step; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: number(i*step, digits)})
	}
	return ticks
}

// logTicks mark 1, 2, ... 9 of every decade and label the decades, and 2 and 5
// where fewer than three decades would be labelled.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	first, last := math.Floor(math.Log10(lo)), math.Log10(hi)
	few := math.Floor(last+1e-9)-math.Ceil(math.Log10(lo)-1e-9) < 2
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for m := 1.0; m < 10; m++ {
			t := plot.Tick{Value: m * math.Pow(10, e)}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = number(t.Value, max(0, -int(e)))
			}
			if t.Value >= lo*(1-1e-9) && t.Value <= hi*(1+1e-9) {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// number writes v with the digits after the point and commas between thousands.
func number(v float64, digits int) string {
	if digits > 4 || math.Abs(v) >= 1e9 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if digits > 0 {
		return whole + "." + rest
	}
	return whole
}
