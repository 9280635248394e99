package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// style is how a name is drawn.
type style struct {
	line  draw.LineStyle
	glyph draw.GlyphStyle
	fill  color.NRGBA // of an area, light, since areas lie on each other
}

// palette is Okabe and Ito's (Color Universal Design, 2008) with grey in the
// place of its yellow, which cannot be read as a thin line on white. Past its end
// the colours return with other dashes.
var palette = []color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF},
	{0xE6, 0x9F, 0x00, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, {0x00, 0x00, 0x00, 0xFF}, {0x8A, 0x8A, 0x8A, 0xFF},
}

var dashes = [][]vg.Length{
	nil, {6, 2}, {6, 2, 1.5, 2}, {1.5, 1.5}, {9, 2.5}, {4, 1.5, 1.5, 1.5, 1.5, 1.5}, {3, 1.5}, {2.5, 2.5},
}

var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
	draw.RingGlyph{}, draw.BoxGlyph{}, draw.PlusGlyph{}, draw.CrossGlyph{},
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
func (o Options) styles(series []Series) []style {
	used := map[int]bool{}
	for _, s := range series {
		if k, ok := fixed[s.Name]; ok && !s.Reference {
			used[k] = true
		}
	}
	out := make([]style, len(series))
	next := 0
	for i, s := range series {
		k, isFixed := fixed[s.Name]
		switch step := slices.Index(o.Ramp, s.Name); {
		case s.Reference:
			out[i].line = draw.LineStyle{Color: palette[7], Width: vg.Points(1), Dashes: []vg.Length{4, 3}}
			continue
		case step >= 0:
			out[i] = newStyle(shade(step, len(o.Ramp)), nil, shapes[step%len(shapes)])
			continue
		case !isFixed:
			for used[next] {
				next++
			}
			k, used[next] = next, true
		}
		turn := k + k/len(palette)
		out[i] = newStyle(palette[k%len(palette)], dashes[turn%len(dashes)], shapes[turn%len(shapes)])
	}
	return out
}

func newStyle(c color.NRGBA, dash []vg.Length, shape draw.GlyphDrawer) style {
	fill := c
	fill.A = 0x26
	return style{
		line:  draw.LineStyle{Color: c, Width: vg.Points(1.5), Dashes: dash},
		glyph: draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: shape},
		fill:  fill,
	}
}

// shade is a step of a ramp of n.
func shade(step, n int) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*(n-1-step) + int(b)*step) / max(n-1, 1)) }
	return color.NRGBA{mix(light.R, dark.R), mix(light.G, dark.G), mix(light.B, dark.B), 0xFF}
}
