package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// lengthen makes an axis long enough to be drawn: where all values are equal, or
// differ by little more than their rounding, it reaches a twentieth below and
// above them.
func lengthen(a *plot.Axis, log bool) {
	size := max(math.Abs(a.Min), math.Abs(a.Max))
	switch air := size / 20; {
	case a.Max-a.Min > 1e-9*size && size > 1e-300:
	case log:
		a.Min, a.Max = a.Min/1.05, a.Max*1.05
	case size > 1e-300:
		a.Min, a.Max = a.Min-air, a.Max+air
	default:
		a.Min, a.Max = -1, 1
	}
}

// widen gives the points at the ends of an axis some air.
func widen(a *plot.Axis, log bool) {
	if log {
		f := math.Pow(a.Max/a.Min, 0.04)
		a.Min, a.Max = a.Min/f, a.Max*f
		return
	}
	d := 0.04 * (a.Max - a.Min)
	a.Min, a.Max = a.Min-d, a.Max+d
}

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
	var ticks []plot.Tick
	first := math.Ceil(lo/step-1e-9) + 0 // adding 0 turns a negative zero into zero
	for i := range 20 {
		v := (first + float64(i)) * step
		if !(v <= hi+1e-9*step) { // or no number, where the axis cannot be divided
			break
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: number(v, step)})
	}
	return ticks
}

// logTicks mark 1, 2, ... 9 of every decade and label the decades, and 2 and 5
// where fewer than three decades would be labelled. Over many decades they mark
// every second one, or fewer; within a part of one they are linear.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	first, last := math.Floor(math.Log10(lo)), math.Log10(hi)
	few := math.Floor(last+1e-9)-math.Ceil(math.Log10(lo)-1e-9) < 2
	every := math.Ceil((last - first) / 10)
	labels := 0
	var ticks []plot.Tick
	for e := first; e <= last; e += every {
		for m := 1.0; m < 10; m++ {
			t := plot.Tick{Value: m * math.Pow(10, e)}
			if m > 1 && every > 1 || t.Value < lo*(1-1e-9) || t.Value > hi*(1+1e-9) {
				continue
			}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = number(t.Value, math.Pow(10, e))
				labels++
			}
			ticks = append(ticks, t)
		}
	}
	if labels < 2 {
		return linearTicks{}.Ticks(lo, hi)
	}
	return ticks
}

// number writes a tick with the digits that distinguish it from the next one,
// a step away, and commas between thousands.
func number(v, step float64) string {
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	size := math.Abs(v)
	if digits > 5 || size >= 1e9 {
		if size < step/2 {
			return "0"
		}
		return strconv.FormatFloat(v, 'g', max(3, int(math.Ceil(math.Log10(size/step)))+1), 64)
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
