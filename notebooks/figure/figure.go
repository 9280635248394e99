// Package figure turns results into plots of publication quality.
//
// Every function returns a *plot.Plot, which Save writes to a file and Write into
// a notebook. Regret, RegretLogLog and AverageReward draw the results of
// experiments; Lines, Scatter and Bars draw computed series.
//
// The key stands to the right of the data, where it hides no line, and lists the
// names in the order in which their lines end, the highest on top. Colours are
// those of Okabe and Ito, which colour-blind readers can distinguish, each with a
// dash pattern for print. An algorithm of the paper has one colour in all figures.
package figure

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The size of a figure on a page.
const (
	Width  = 6.4 * vg.Inch
	Height = 4 * vg.Inch
)

// Options say how a figure looks. The zero value is the paper's form.
type Options struct {
	Title string // default: none

	// Interval shades the 95 % confidence interval of the mean over runs (Student
	// t) in place of one standard deviation on either side, which is the paper's.
	// One run alone has neither and no area.
	Interval bool

	// References names what is drawn to compare with, of policies that do not
	// learn: a thin dashed grey line without an area. AverageReward draws the mean
	// over all steps, as a level line.
	References []string

	// Ramp names what differs in one ordered setting, from the least to the most:
	// shades of one colour, from light to dark.
	Ramp []string
}

var (
	ink  = color.Gray{0x26}
	axle = draw.LineStyle{Color: ink, Width: vg.Points(0.75)}
	rule = draw.LineStyle{Color: color.Gray{0xE4}, Width: vg.Points(0.6)}

	titleStyle = textStyle(12, xfont.WeightBold)
	labelStyle = textStyle(11, xfont.WeightNormal)
	keyStyle   = textStyle(10, xfont.WeightNormal)
)

func textStyle(size float64, weight xfont.Weight) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: font.Points(size)}
	return text.Style{Color: ink, Font: f, Handler: plot.DefaultTextHandler}
}

// newPlot is an empty plot in the style of this package.
func newPlot(axes Axes, grid plotter.Grid) *plot.Plot {
	p := plot.New()
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.TextStyle.Color = labelStyle.Font, ink
		axis.Tick.Label.Font, axis.Tick.Label.Color = keyStyle.Font, ink
		axis.Label.Padding, axis.Padding = vg.Points(3), 0
		axis.Tick.Length, axis.Tick.Color = vg.Points(4), ink
		axis.LineStyle.Color = color.Transparent // see frame
		axis.Tick.Marker = linearTicks{}
	}
	p.X.Label.Text = axes.X
	if axes.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if axes.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	p.Add(&grid)
	return p
}

// finish adds what stands around the data, and the key where there is more than
// one name, or nothing but a line to compare with.
func finish(p *plot.Plot, axes Axes, opt Options, entries []entry) (*plot.Plot, error) {
	if len(entries) > 1 || opt.reference(entries[0].name) {
		p.Add(key(entries))
	}
	lengthen(&p.X, axes.LogX)
	lengthen(&p.Y, axes.LogY)
	p.Add(&frame{title: opt.Title, label: axes.Y})
	return p, nil
}

// Write writes plots in a format, "png", "svg" or "pdf": row by row in so many
// columns, with their axes aligned, on a page of that size. A PNG image has 192
// dots an inch. It panics when there is no plot or no column.
func Write(w io.Writer, format string, width, height vg.Length, columns int, plots ...*plot.Plot) error {
	if columns < 1 || len(plots) == 0 {
		panic(fmt.Sprintf("figure: %d plots in %d columns", len(plots), columns))
	}
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192))}
	} else if err != nil || format != "svg" && format != "pdf" {
		return fmt.Errorf("figure: format %q, want png, svg or pdf", format)
	}
	grid := make([][]*plot.Plot, (len(plots)+columns-1)/columns)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns)
		copy(grid[i], plots[i*columns:min((i+1)*columns, len(plots))])
	}
	tiles := draw.Tiles{
		Rows: len(grid), Cols: columns, PadX: vg.Inch / 4, PadY: vg.Inch / 4,
		PadTop: 6, PadBottom: 6, PadLeft: 6, PadRight: 10, // labels do not touch the text of a page
	}
	for i, row := range plot.Align(grid, tiles, draw.New(canvas)) {
		for j, tile := range row {
			if grid[i][j] != nil {
				grid[i][j].Draw(tile)
			}
		}
	}
	_, err = canvas.WriteTo(w)
	return err
}

// Save writes a plot to a file in the format of its extension, .png, .svg or
// .pdf, and makes its folder where that is missing.
func Save(p *plot.Plot, path string, width, height vg.Length) error {
	var b bytes.Buffer
	err := Write(&b, strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."), width, height, 1, p)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, b.Bytes(), 0o666))
	}
	if err != nil {
		return fmt.Errorf("figure: saving %s: %w", path, err)
	}
	return nil
}
