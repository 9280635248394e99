package figure

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is Okabe and Ito's (Color Universal Design, 2008), but grey for yellow, a
// thin line of which is lost on white. Past its end come the same with other dashes.
var palette = []color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF},
	{0xE6, 0x9F, 0x00, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, {0x00, 0x00, 0x00, 0xFF}, {0x8A, 0x8A, 0x8A, 0xFF},
}

var dashes = [][]vg.Length{
	nil, {6, 2}, {6, 2, 1.5, 2}, {1.5, 1.5}, {9, 2.5}, {4, 1.5, 1.5, 1.5, 1.5, 1.5}, {3, 1.5}, {2.5, 2.5},
}

// fixed are the styles of the algorithms of the paper, and of ours beside them.
var fixed = map[string]int{
	"PGCR": 0, "epsilon-greedy": 1, "GLM-UCB": 2, "Thompson": 3, "greedy": 4, "PGCR dropout 0.5": 5, "vanilla PG": 6, "random": 7,
	"Lin-UCB": 10, // the colour of GLM-UCB
}

// The ends of a ramp, both readable on white.
var light, dark = color.NRGBA{0x8F, 0xC1, 0xE3, 0xFF}, color.NRGBA{0x08, 0x2A, 0x63, 0xFF}

func (o Options) reference(name string) bool { return slices.Contains(o.References, name) }

// styles gives every series its style: as a reference, its place in the ramp, the
// fixed one of an algorithm, or else the lowest that is still free.
func (o Options) styles(series []Series) []draw.LineStyle {
	used := map[int]bool{}
	for _, s := range series {
		if k, ok := fixed[s.Name]; ok && !s.Reference {
			used[k] = true
		}
	}
	out := make([]draw.LineStyle, len(series))
	next := 0
	for i, s := range series {
		k, isFixed := fixed[s.Name]
		for ; !isFixed && used[next]; next++ {
		}
		switch step := slices.Index(o.Ramp, s.Name); {
		case s.Reference:
			out[i] = line(palette[7], 1, []vg.Length{4, 3})
			continue
		case step >= 0:
			out[i] = line(shade(step, len(o.Ramp)), 1.5, nil)
			continue
		case !isFixed:
			k, used[next] = next, true
		}
		out[i] = line(palette[k%len(palette)], 1.5, dashes[(k+k/len(palette))%len(dashes)])
	}
	return out
}

func line(c color.NRGBA, width float64, dash []vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(width), Dashes: dash}
}

// faint is the colour of an area: light, since areas lie on each other.
func faint(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0x26}
}

// shade is a step of a ramp of n.
func shade(step, n int) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*(n-1-step) + int(b)*step) / max(n-1, 1)) }
	return color.NRGBA{mix(light.R, dark.R), mix(light.G, dark.G), mix(light.B, dark.B), 0xFF}
}

// widen lengthens an axis by a share at both ends, and by a twentieth of its
// values where these are equal or nearly so, so that it can be divided.
func widen(a *plot.Axis, log bool, share float64) {
	size := max(math.Abs(a.Min), math.Abs(a.Max))
	equal := a.Max-a.Min <= 1e-9*size || size < 1e-300
	if log {
		f := math.Pow(a.Max/a.Min, share)
		if equal {
			f = 1.05
		}
		a.Min, a.Max = a.Min/f, a.Max*f
		return
	}
	d := share * (a.Max - a.Min)
	if equal {
		d = size / 20
	}
	if size < 1e-300 {
		d = 1
	}
	a.Min, a.Max = a.Min-d, a.Max+d
}

// linearTicks mark about five multiples of 1, 2 or 5 times a power of ten.
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
// where they are few; over many they mark some decades, and within one are linear.
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
	if size := math.Abs(v); size > step/2 && (digits > 5 || size >= 1e9) {
		return strconv.FormatFloat(v, 'g', max(3, int(math.Ceil(math.Log10(size/step)))+1), 64)
	} else if digits > 5 {
		return "0"
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
