// Package figure turns results into plots of publication quality.
//
// Regret, RegretLogLog and AverageReward draw the results of experiments; Lines, Scatter and Bars
// draw computed series. The key stands to the right of the data, in the order in which the lines
// end. Colours are those of Okabe and Ito, which colour-blind readers can distinguish, each with a
// dash pattern for print; an algorithm of the paper has one colour in all figures.
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/contextrec/contextrec/envs/sim"
)

// The size of a figure on a page.
const (
	Width  = 6.4 * vg.Inch
	Height = 4 * vg.Inch
)

// Options say how a figure looks. The zero value is the paper's form.
type Options struct {
	Title string // default: none

	// Interval shades sim.Interval95 of the mean over runs in place of one standard
	// deviation on either side, which is the paper's. Equal runs have no area.
	Interval bool

	// References names policies that do not learn: thin grey lines without areas, each
	// with other dashes, and level ones, of the mean over all steps, in AverageReward.
	References []string

	// Ramp names what differs in one ordered setting, from the least to the most:
	// shades of one colour, from light to dark.
	Ramp []string
}

var (
	ink  = color.Gray{0x26}
	axle = draw.LineStyle{Color: ink, Width: vg.Points(0.75)}
	rule = draw.LineStyle{Color: color.Gray{0xE4}, Width: vg.Points(0.6)}

	titleStyle = textStyle(14) // not bold, which vgpdf has no font for
	labelStyle = textStyle(11)
	keyStyle   = textStyle(10)
)

func textStyle(size float64) text.Style {
	face := font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Points(size)}
	return text.Style{Color: ink, Font: face, Handler: plot.DefaultTextHandler}
}

// newPlot is an empty plot in the style of this package.
func newPlot(axes Axes, grid plotter.Grid) *plot.Plot {
	p := plot.New()
	for axis, log := range map[*plot.Axis]bool{&p.X: axes.LogX, &p.Y: axes.LogY} {
		axis.Label.TextStyle.Font, axis.Label.TextStyle.Color = labelStyle.Font, ink
		axis.Tick.Label.Font, axis.Tick.Label.Color = keyStyle.Font, ink
		axis.Label.Padding, axis.Padding = vg.Points(3), 0
		axis.Tick.Length, axis.Tick.Color = vg.Points(4), ink
		axis.LineStyle.Width = 0 // see frame
		axis.Scale, axis.Tick.Marker = linear{}, linearTicks{}
		if log {
			axis.Scale, axis.Tick.Marker = logarithmic{}, logTicks{}
		}
	}
	p.X.Label.Text = axes.X
	p.Add(&grid)
	return p
}

// finish adds what stands around the data, and the key where there is more than
// one name, or nothing but a line to compare with.
func finish(p *plot.Plot, axes Axes, opt Options, entries []entry) *plot.Plot {
	f := &frame{title: opt.Title, label: axes.Y}
	if len(entries) > 1 || opt.reference(entries[0].name) {
		f.key = entries
	}
	p.Add(f)
	return p
}

// Write writes plots in a format, "png", "svg" or "pdf": row by row in columns, with their axes
// aligned, on a page of that size. A PNG image has 192 dots an inch. In a column of less than 5.6
// inches all is smaller, text too. It panics when there is no plot or no column.
func Write(w io.Writer, format string, width, height vg.Length, columns int, plots ...*plot.Plot) error {
	if columns < 1 || len(plots) == 0 {
		panic(fmt.Sprintf("figure: %d plots in %d columns", len(plots), columns))
	}
	var canvas vg.CanvasWriterTo
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192))}
	case "svg":
		canvas = vgsvg.New(width, height)
	case "pdf":
		canvas = pdf{vgpdf.New(width, height)}
	default:
		return fmt.Errorf("figure: format %q, want png, svg or pdf", format)
	}
	scale := min(1, width/vg.Length(columns)/(5.6*vg.Inch))
	canvas.Scale(float64(scale), float64(scale))
	empty := make([]*plot.Plot, (columns-len(plots)%columns)%columns)
	grid := slices.Collect(slices.Chunk(append(slices.Clip(plots), empty...), columns))
	tiles := draw.Tiles{
		Rows: len(grid), Cols: columns, PadX: vg.Inch / 4, PadY: vg.Inch / 4,
		PadTop: 6, PadBottom: 6, PadLeft: 6, PadRight: 10, // labels do not touch the text of a page
	}
	for i, row := range plot.Align(grid, tiles, draw.NewCanvas(canvas, width/scale, height/scale)) {
		for j, tile := range row {
			if p := grid[i][j]; p != nil {
				p.Draw(tile)
			}
		}
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	// Arial has the widths of Liberation Sans, where an SVG image finds none.
	const one, more = "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,sans-serif;"
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte(one), []byte(more)))
	return err
}

// pdf mends what vgpdf writes wrongly: text beyond ASCII, which is in Windows-1252
// there, and the colours of areas, which it multiplies by their alpha.
type pdf struct{ *vgpdf.Canvas }

func (c pdf) FillString(f font.Face, at vg.Point, text string) {
	text, _ = encoding.ReplaceUnsupported(charmap.Windows1252.NewEncoder()).String(text)
	c.Canvas.FillString(f, at, text)
}

func (c pdf) SetColor(clr color.Color) {
	if clr == nil {
		clr = ink
	}
	c.Canvas.SetColor(color.RGBA(color.NRGBAModel.Convert(clr).(color.NRGBA))) // RGBA multiplies nothing by alpha
}

// Save writes a plot to a file in the format of its extension, .png, .svg or
// .pdf, and makes its folder where that is missing. No file is half written.
func Save(p *plot.Plot, path string, width, height vg.Length) error {
	var b bytes.Buffer
	err := Write(&b, strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."), width, height, 1, p)
	if err != nil {
		return err
	}
	return sim.WriteFile(path, b.Bytes())
}

// frame writes title and name of the Y axis above the data, draws the axes over the grid, and the key
// to the right: plot.Legend would lie on the lines, and plot.Axis leaves half of a figure with a
// logarithmic axis empty.
type frame struct {
	title, label string
	key          []entry // from the top; nil: none
}

type entry struct {
	name   string
	thumbs []plot.Thumbnailer
	y      float64 // where the line ends, in data units
}

const (
	frameGap = vg.Length(8) // between the data and the text above
	keyGap   = vg.Length(7) // between the data and the samples of the key
	keyThumb = vg.Length(22)
	keySpace = vg.Length(5) // between a sample and its name
)

// Plot implements plot.Plotter: every entry of the key stands as close to the end of its
// line as its neighbours permit.
func (f *frame) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	extents := keyStyle.FontExtents()
	height := 1.25 * (extents.Ascent + extents.Descent)
	places := make([]vg.Length, len(f.key))
	for i, e := range f.key {
		places[i] = y(min(max(e.y, p.Y.Min), p.Y.Max))
	}
	separate(places, height, c.Min.Y+height/2, c.Max.Y-height/2)
	left := c.Max.X + keyGap
	for i, e := range f.key {
		sample := &draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: places[i] - 0.3*height},
			Max: vg.Point{X: left + keyThumb, Y: places[i] + 0.3*height},
		}}
		for _, t := range e.thumbs {
			t.Thumbnail(sample)
		}
		c.FillText(keyStyle, vg.Point{X: left + keyThumb + keySpace, Y: places[i] - 0.38*extents.Ascent}, e.name)
	}
	c.StrokeLine2(axle, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	c.StrokeLine2(axle, c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	at := vg.Point{X: c.Min.X, Y: c.Max.Y + frameGap}
	c.FillText(labelStyle, at, f.label)
	at.Y += 1.6 * labelStyle.FontExtents().Ascent
	c.FillText(titleStyle, at, f.title)
}

// GlyphBoxes makes the plot leave room above and to the right.
func (f *frame) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	corner := vg.Point{Y: frameGap + labelStyle.FontExtents().Ascent}
	if f.title != "" {
		corner.Y += 1.6 * titleStyle.FontExtents().Ascent
	}
	for _, e := range f.key {
		corner.X = max(corner.X, keyGap+keyThumb+keySpace+keyStyle.Width(e.name))
	}
	return []plot.GlyphBox{{X: 1, Y: 1, Rectangle: vg.Rectangle{Max: corner}}}
}

// separate moves descending places apart until neighbours are at least gap from
// each other, and keeps them within [low, high] where there is room.
func separate(y []vg.Length, gap, low, high vg.Length) {
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

// area is the shaded area around a line.
type area struct {
	plotter.XYs           // the line, ascending in X
	low, high   []float64 // one value a point of the line
	fill        color.Color
}

// Plot cuts off what lies below or above the axis of Y, so that an area which reaches
// below zero can be drawn on a logarithmic axis.
func (a *area) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var edge, back []vg.Point
	for i, xy := range a.XYs {
		edge = append(edge, vg.Point{X: x(xy.X), Y: y(min(max(a.low[i], p.Y.Min), p.Y.Max))})
		back = append(back, vg.Point{X: x(xy.X), Y: y(min(max(a.high[i], p.Y.Min), p.Y.Max))})
	}
	slices.Reverse(back)
	c.FillPolygon(a.fill, c.ClipPolygonX(append(edge, back...)))
}

func (a *area) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = plotter.XYRange(a.XYs)
	for i := range a.low {
		ymin, ymax = min(ymin, a.low[i]), max(ymax, a.high[i])
	}
	return xmin, xmax, ymin, ymax
}

func (a *area) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(a.fill, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}

// unpadded is a plotter.Line without its GlyphBoxes: it may begin and end on an axis.
type unpadded struct {
	plot.Plotter
	plot.DataRanger
	plot.Thumbnailer
}
