package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Band draws a line and a shaded area around it: a mean and its spread. It
// implements plot.Plotter, plot.DataRanger and plot.Thumbnailer.
type Band struct {
	plotter.XYs           // the line, ascending in X
	Low, High   []float64 // the area, one value a point of the line; nil: no area

	draw.LineStyle             // of the line
	Fill           color.Color // of the area; nil: no area
}

// Plot implements plot.Plotter. What lies outside of the axes is cut off, so
// that an area which reaches below zero can be drawn on a logarithmic axis.
func (b *Band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(i int, v float64) vg.Point {
		return vg.Point{X: x(b.XYs[i].X), Y: y(math.Min(math.Max(v, p.Y.Min), p.Y.Max))}
	}
	if b.Fill != nil && b.Low != nil {
		n := len(b.XYs)
		area := make([]vg.Point, 0, 2*n)
		for i := range n {
			area = append(area, at(i, b.Low[i]))
		}
		for i := n - 1; i >= 0; i-- {
			area = append(area, at(i, b.High[i]))
		}
		c.FillPolygon(b.Fill, c.ClipPolygonX(area))
	}
	points := make([]vg.Point, len(b.XYs))
	for i := range points {
		points[i] = at(i, b.XYs[i].Y)
	}
	c.StrokeLines(b.LineStyle, c.ClipLinesX(points)...)
}

// DataRange implements plot.DataRanger.
func (b *Band) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = plotter.XYRange(b.XYs)
	for i := range b.Low {
		ymin, ymax = math.Min(ymin, b.Low[i]), math.Max(ymax, b.High[i])
	}
	return xmin, xmax, ymin, ymax
}

// Thumbnail implements plot.Thumbnailer.
func (b *Band) Thumbnail(c *draw.Canvas) {
	if b.Fill != nil && b.Low != nil {
		c.FillPolygon(b.Fill, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	}
	c.StrokeLine2(b.LineStyle, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
}
