package figure

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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
	places := make([]vg.Length, len(entries))
	for i, e := range entries {
		places[i] = y(min(max(e.y, p.Y.Min), p.Y.Max))
	}
	spread(places, height, c.Min.Y+height/2, c.Max.Y-height/2)
	left := c.Max.X + keyGap
	for i, e := range entries {
		sample := &draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: places[i] - 0.3*height},
			Max: vg.Point{X: left + keyThumb, Y: places[i] + 0.3*height},
		}}
		for _, t := range e.thumbs {
			t.Thumbnail(sample)
		}
		c.FillText(keyStyle, vg.Point{X: left + keyThumb + keySpace, Y: places[i] - 0.38*extents.Ascent}, e.name)
	}
}

// GlyphBoxes implements plot.GlyphBoxer: it is what makes the plot leave the
// margin free.
func (k key) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	var widest vg.Length
	for _, e := range k {
		widest = max(widest, keyStyle.Width(e.name))
	}
	corner := vg.Point{X: keyGap + keyThumb + keySpace + widest}
	return []plot.GlyphBox{{X: 1, Rectangle: vg.Rectangle{Max: corner}}}
}

// spread moves descending places apart until neighbours are at least gap from
// each other, and keeps them within [low, high] where there is room.
func spread(y []vg.Length, gap, low, high vg.Length) {
	for range 100 { // halves what overlaps each time
		for i := range y {
			y[i] = min(max(y[i], low+vg.Length(len(y)-1-i)*gap), high-vg.Length(i)*gap)
			if i > 0 {
				if over := gap - (y[i-1] - y[i]); over > 0 {
					y[i-1], y[i] = y[i-1]+over/2, y[i]-over/2
				}
			}
		}
	}
}

// frame writes title and name of the Y axis above the data, where they can be
// read without turning one's head, and draws the axes over the grid.
// (plot.Axis would write the name along the axis and, where that is
// logarithmic, leave half of the figure empty.)
type frame struct{ title, label string }

const frameGap = vg.Length(8) // between the data and the text

// Plot implements plot.Plotter.
func (f *frame) Plot(c draw.Canvas, _ *plot.Plot) {
	c.StrokeLine2(axle, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	c.StrokeLine2(axle, c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	at := vg.Point{X: c.Min.X, Y: c.Max.Y + frameGap}
	c.FillText(labelStyle, at, f.label)
	if f.label != "" {
		at.Y += 1.6 * labelStyle.FontExtents().Ascent
	}
	c.FillText(titleStyle, at, f.title)
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

// Band draws a line and a shaded area around it: a mean and its spread. It
// implements plot.Plotter, plot.DataRanger and plot.Thumbnailer.
type Band struct {
	plotter.XYs           // the line, ascending in X
	Low, High   []float64 // the area, one value a point of the line; nil: no area

	draw.LineStyle             // of the line; zero: no line
	Fill           color.Color // of the area
}

// Plot implements plot.Plotter. What lies outside of the axes is cut off, so
// that an area which reaches below zero can be drawn on a logarithmic axis.
func (b *Band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(i int, v float64) vg.Point {
		return vg.Point{X: x(b.XYs[i].X), Y: y(min(max(v, p.Y.Min), p.Y.Max))}
	}
	var area, back, points []vg.Point
	for i, xy := range b.XYs {
		points = append(points, at(i, xy.Y))
		if b.Low != nil {
			area, back = append(area, at(i, b.Low[i])), append(back, at(i, b.High[i]))
		}
	}
	if b.Low != nil {
		slices.Reverse(back)
		c.FillPolygon(b.Fill, c.ClipPolygonX(append(area, back...)))
	}
	c.StrokeLines(b.LineStyle, c.ClipLinesX(points)...)
}

// DataRange implements plot.DataRanger.
func (b *Band) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = plotter.XYRange(b.XYs)
	for i := range b.Low {
		ymin, ymax = min(ymin, b.Low[i]), max(ymax, b.High[i])
	}
	return xmin, xmax, ymin, ymax
}

// Thumbnail implements plot.Thumbnailer.
func (b *Band) Thumbnail(c *draw.Canvas) {
	if b.Low != nil {
		c.FillPolygon(b.Fill, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	}
	c.StrokeLine2(b.LineStyle, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
}
