package figure

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is Okabe and Ito's (Color Universal Design, 2008), but dark red and grey for yellow, a
// thin line of which is lost on white. Past its end come the same with other dashes.
var palette = []color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF}, {0xE6, 0x9F, 0x00, 0xFF},
	{0x56, 0xB4, 0xE9, 0xFF}, {0x00, 0x00, 0x00, 0xFF}, {0x8B, 0x00, 0x00, 0xFF}, {0x8A, 0x8A, 0x8A, 0xFF},
}

var dashes = [][]vg.Length{
	nil, {6, 2}, {6, 2, 1.5, 2}, {1.5, 1.5}, {9, 2.5}, {4, 1.5, 1.5, 1.5, 1.5, 1.5}, {3, 1.5}, {14, 2}, {2.5, 2.5},
}

// over says how high a line lies over others: a dotted one does not hide those below it.
func over(l draw.LineStyle) vg.Length {
	if l.Dashes == nil {
		return -1
	}
	return 1 / l.Dashes[0]
}

// fixed are the algorithms of the paper, and of ours beside them, in the order of the palette.
var fixed = []string{"PGCR", "epsilon-greedy", "GLM-UCB", "Thompson", "greedy", "PGCR dropout 0.5", "vanilla PG", "Lin-UCB", "random"}

// forms are those of one algorithm, in shades of a colour, each with other dashes.
var forms = map[string]draw.LineStyle{
	"PGCR, untuned": line(color.NRGBA{0x5A, 0xA5, 0xD8, 0xFF}, 1.5, dashes[3]),
	"PGCR, ours":    line(dark, 1.5, nil),
	"VW epsilon":    line(color.NRGBA{0xB3, 0x8F, 0xE0, 0xFF}, 1.5, dashes[1]),
	"VW squarecb":   line(color.NRGBA{0x8A, 0x4F, 0xC2, 0xFF}, 1.5, dashes[2]),
	"VW regcbopt":   line(color.NRGBA{0x4B, 0x0A, 0x8A, 0xFF}, 1.5, dashes[4]),
}

// The ends of a ramp, both readable on white.
var light, dark = color.NRGBA{0x8F, 0xC1, 0xE3, 0xFF}, color.NRGBA{0x08, 0x2A, 0x63, 0xFF}

func (o Options) reference(name string) bool { return slices.Contains(o.References, name) }

// styles gives every series its style: as a reference, its place in the ramp, the fixed one of an
// algorithm, that one's colour with other dashes where a comma and more follow its name, or else the
// first of the palette that is still free.
func (o Options) styles(series []Series) []draw.LineStyle {
	algorithm := func(s Series) int { // in fixed, or -1
		name, _, _ := strings.Cut(s.Name, ", ")
		if _, isForm := forms[s.Name]; isForm || s.Reference {
			return -1
		}
		return slices.Index(fixed, name)
	}
	used, others := map[int]bool{}, map[int]int{} // of the palette; how many forms of an algorithm have a style
	for _, s := range series {
		k := algorithm(s)
		used[k] = true
		if slices.Contains(fixed, s.Name) {
			others[k] = 1
		}
	}
	out := make([]draw.LineStyle, len(series))
	next := 0
	for i, s := range series {
		form, isForm := forms[s.Name]
		switch step, k := slices.Index(o.Ramp, s.Name), algorithm(s); {
		case s.Reference:
			dash := [][]vg.Length{{4, 3}, {1, 3}, {10, 3}}[max(0, slices.Index(o.References, s.Name))%3]
			out[i] = line(palette[len(palette)-1], 1, dash)
		case step >= 0:
			out[i] = line(shade(step, len(o.Ramp)), 1.5, nil)
		case isForm:
			out[i] = form
		case k >= 0:
			dash := k
			if s.Name != fixed[k] {
				dash += others[k]
				others[k]++
			}
			out[i] = line(palette[k], 1.5, dashes[dash%len(dashes)])
		default:
			for used[next] {
				next++
			}
			used[next] = true
			out[i] = line(palette[next%len(palette)], 1.5, dashes[(next+next/len(palette))%len(dashes)])
		}
	}
	return out
}

func line(c color.NRGBA, width float64, dash []vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(width), Dashes: dash}
}

// faint is the colour of one of n areas: light, since they lie on each other.
func faint(c color.Color, n int) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(0x26 * 5 / max(5, n))}
}

// shade is a step of a ramp of n.
func shade(step, n int) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*(n-1-step) + int(b)*step) / max(n-1, 1)) }
	return color.NRGBA{mix(light.R, dark.R), mix(light.G, dark.G), mix(light.B, dark.B), 0xFF}
}

// widen lengthens an axis by a share at both ends; where its values are equal or nearly
// so, by a twentieth of them, and to half and double on a logarithmic axis.
func widen(a *plot.Axis, log bool, share float64) {
	if log {
		octaves := math.Log2(a.Max) - math.Log2(a.Min)
		f := math.Exp2(share * octaves)
		if octaves < 1e-9 {
			f = 2
		}
		a.Min, a.Max = max(a.Min/f, math.SmallestNonzeroFloat64), min(a.Max*f, math.MaxFloat64)
		return
	}
	size, air := max(-a.Min, a.Max), share*a.Max-share*a.Min
	if size < 1e-300 {
		air = 1
	} else if a.Max-a.Min <= 1e-9*size {
		air = size / 20
	}
	a.Min, a.Max = max(a.Min-air, -math.MaxFloat64), min(a.Max+air, math.MaxFloat64)
}

// linear and logarithmic are the scales of package plot for all numbers: there a
// difference may overflow, and math.Log is wrong below 1e-308.
type linear struct{}
type logarithmic struct{}

func (linear) Normalize(low, high, x float64) float64 { return (x/4 - low/4) / (high/4 - low/4) }

func (logarithmic) Normalize(low, high, x float64) float64 {
	return linear{}.Normalize(math.Log2(low), math.Log2(high), math.Log2(x))
}

// linearTicks mark about five multiples of 1, 2 or 5 times a power of ten.
type linearTicks struct{}

func (linearTicks) Ticks(lo, hi float64) []plot.Tick {
	rough := (hi/4 - lo/4) / 1.25
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
		if !(v-hi <= 1e-9*step) { // or no number, where the axis cannot be divided
			break
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: number(v, step)})
	}
	return ticks
}

// logTicks mark 1, 2, ... 9 of every decade and label the decades, and 2 and 5 where
// they are few, and all that have room within one; over many they mark some decades,
// and in a part of one are linear.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	begin, end := math.Log2(lo)*math.Log10(2), math.Log2(hi)*math.Log10(2)
	first, every := math.Floor(begin), max(1, math.Ceil((end-math.Floor(begin))/10))
	few := math.Floor(end+1e-9)-math.Ceil(begin-1e-9) < 2
	labels := 0
	var ticks []plot.Tick
	for i := range 11 {
		unit := math.Pow(10, first+float64(i)*every)
		for m := 1.0; m < 10; m++ {
			t := plot.Tick{Value: m * unit}
			if m > 1 && every > 1 || t.Value < lo*(1-1e-9) || !(t.Value/hi < 1+1e-9) {
				continue
			}
			label := number(t.Value, unit)
			if m == 1 || few && (m == 2 || m == 5) || end-begin < 1 && m != 7 && m != 9 && len(label) < 4 {
				t.Label = label
				labels++
			}
			ticks = append(ticks, t)
		}
	}
	if labels < 2 && lo > 1e-300 {
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
	return message.NewPrinter(language.English).Sprintf("%.*f", digits, v)
}
