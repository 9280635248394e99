package figure

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Styles is the number of styles that differ in colour. A style is an index
// from 0: blue solid, vermilion dashed, green dash-dotted, purple dotted,
// orange long-dashed, sky blue dash-dot-dotted, black short-dashed, grey
// wide-dotted. From Styles on the colours return with other dashes.
const Styles = 8

// Okabe and Ito's palette (Color Universal Design, 2008) with grey in the
// place of its yellow, which cannot be read as a thin line on white.
var colours = [Styles]color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, // blue
	{0xD5, 0x5E, 0x00, 0xFF}, // vermilion
	{0x00, 0x9E, 0x73, 0xFF}, // bluish green
	{0xCC, 0x79, 0xA7, 0xFF}, // reddish purple
	{0xE6, 0x9F, 0x00, 0xFF}, // orange
	{0x56, 0xB4, 0xE9, 0xFF}, // sky blue
	{0x00, 0x00, 0x00, 0xFF}, // black
	{0x8A, 0x8A, 0x8A, 0xFF}, // grey
}

var dashes = [][]vg.Length{
	nil,
	{6, 2},
	{6, 2, 1.5, 2},
	{1.5, 1.5},
	{9, 2.5},
	{4, 1.5, 1.5, 1.5, 1.5, 1.5},
	{3, 1.5},
	{2.5, 2.5},
}

var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
	draw.RingGlyph{}, draw.BoxGlyph{}, draw.PlusGlyph{}, draw.CrossGlyph{},
}

// reference is how lines to compare with are drawn.
var reference = draw.LineStyle{Color: colours[Styles-1], Width: vg.Points(1), Dashes: []vg.Length{4, 3}}

func colour(style int) color.NRGBA { return colours[style%len(colours)] }

func line(style int) draw.LineStyle {
	return draw.LineStyle{
		Color:  colour(style),
		Width:  vg.Points(1.5),
		Dashes: dashes[(style+style/len(colours))%len(dashes)],
	}
}

func glyph(style int) draw.GlyphStyle {
	return draw.GlyphStyle{
		Color:  colour(style),
		Radius: vg.Points(3),
		Shape:  shapes[(style+style/len(colours))%len(shapes)],
	}
}

// faint is the shade of an area: light, since areas lie on each other.
func faint(c color.NRGBA) color.NRGBA {
	c.A = 0x26
	if c.R == 0 && c.G == 0 && c.B == 0 {
		c.A = 0x16 // black weighs more
	}
	return c
}

// styles gives every name its style: the one of the palette, else the lowest
// that is still free, in the order of names.
func (o Options) styles(names []string) []int {
	used := map[int]bool{}
	for _, name := range names {
		if s, ok := o.Palette[name]; ok {
			used[s] = true
		}
	}
	out := make([]int, len(names))
	next := 0
	for i, name := range names {
		s, ok := o.Palette[name]
		if !ok {
			for used[next] {
				next++
			}
			s = next
			used[s] = true
		}
		out[i] = s
	}
	return out
}
