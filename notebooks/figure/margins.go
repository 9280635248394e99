package figure

import (
	"cmp"
	"math"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// key is a legend in a margin right of the data. plot.Legend cannot be used
// there: it reserves no room and would lie on the lines.
type key []entry

type entry struct {
	name   string
	thumbs []plot.Thumbnailer
	y      float64 // where the line ends, in data units
}

var keyStyle = textStyle(10, xfont.WeightNormal)

const (
	keyGap   = vg.Length(7)  // between the data and the samples
	keyThumb = vg.Length(22) // width of a sample
	keySpace = vg.Length(5)  // between a sample and its name
)

// Plot implements plot.Plotter: every entry stands as close to the end of its
// line as its neighbours permit.
func (k key) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	entries := slices.Clone(k)
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.y, a.y) })
	extents := keyStyle.FontExtents()
	height := 1.25 * (extents.Ascent + extents.Descent)
	wanted := make([]float64, len(entries))
	for i, e := range entries {
		wanted[i] = float64(y(math.Min(math.Max(e.y, p.Y.Min), p.Y.Max)))
	}
	centres := spread(wanted, float64(height), float64(c.Min.Y+height/2), float64(c.Max.Y-height/2))
	left := c.Max.X + keyGap
	for i, e := range entries {
		mid := vg.Length(centres[i])
		sample := &draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: mid - 0.3*height},
			Max: vg.Point{X: left + keyThumb, Y: mid + 0.3*height},
		}}
		for _, t := range e.thumbs {
			t.Thumbnail(sample)
		}
		c.FillText(keyStyle, vg.Point{X: left + keyThumb + keySpace, Y: mid - 0.38*extents.Ascent}, e.name)
	}
}

// GlyphBoxes implements plot.GlyphBoxer: it is what makes the plot leave the
// margin free.
func (k key) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	var widest vg.Length
	for _, e := range k {
		widest = max(widest, keyStyle.Width(e.name))
	}
	return []plot.GlyphBox{{X: 1, Rectangle: vg.Rectangle{
		Max: vg.Point{X: keyGap + keyThumb + keySpace + widest},
	}}}
}

// frame writes title and name of the Y axis above the data, where they can be
// read without turning one's head, and draws the axes over the grid.
// (plot.Axis would write the name along the axis and, where that is
// logarithmic, leave half of the figure empty.)
type frame struct{ title, label string }

var (
	titleStyle = textStyle(12, xfont.WeightBold)
	labelStyle = textStyle(11, xfont.WeightNormal)
)

const frameGap = vg.Length(8) // between the data and the text

// Plot implements plot.Plotter.
func (f *frame) Plot(c draw.Canvas, _ *plot.Plot) {
	c.StrokeLine2(axle, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	c.StrokeLine2(axle, c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	y := c.Max.Y + frameGap
	if f.label != "" {
		c.FillText(labelStyle, vg.Point{X: c.Min.X, Y: y}, f.label)
		y += 1.6 * labelStyle.FontExtents().Ascent
	}
	c.FillText(titleStyle, vg.Point{X: c.Min.X, Y: y}, f.title)
}

// GlyphBoxes implements plot.GlyphBoxer: it is what makes the plot leave room.
func (f *frame) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	height := frameGap
	if f.label != "" {
		height += labelStyle.FontExtents().Ascent
	}
	if f.title != "" {
		height += 1.6 * titleStyle.FontExtents().Ascent
	}
	return []plot.GlyphBox{{Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: height}}}}
}

// spread moves the descending positions y apart until neighbours are at least
// gap from each other, with the least squared displacement, and keeps them
// within [low, high] where there is room: isotonic regression by pooling
// adjacent violators.
func spread(y []float64, gap, low, high float64) []float64 {
	type pool struct {
		sum float64
		n   int
	}
	mean := func(p pool) float64 { return p.sum / float64(p.n) }
	var pools []pool
	for i, v := range y {
		pools = append(pools, pool{v + float64(i)*gap, 1})
		for n := len(pools); n > 1 && mean(pools[n-1]) > mean(pools[n-2]); n = len(pools) {
			pools[n-2] = pool{pools[n-2].sum + pools[n-1].sum, pools[n-2].n + pools[n-1].n}
			pools = pools[:n-1]
		}
	}
	out := make([]float64, 0, len(y))
	low += float64(len(y)-1) * gap
	for _, p := range pools {
		z := math.Min(math.Max(mean(p), low), high)
		for range p.n {
			out = append(out, z-float64(len(out))*gap)
		}
	}
	return out
}
