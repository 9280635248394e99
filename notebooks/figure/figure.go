package figure

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The size and the resolution of a figure in a notebook or a README.
const (
	Width  = 6.4 * vg.Inch
	Height = 4 * vg.Inch
	DPI    = 192
)

// Options say how a figure looks, never what it shows, but for the meaning of
// the shaded area. The zero value is the paper's form.
type Options struct {
	Title string // default: none

	// Interval shades the 95 % confidence interval of the mean over runs
	// (Student t) in place of one standard deviation of the runs on either
	// side, which is the paper's. One run alone has neither and no area.
	Interval bool

	// Palette fixes the style of contenders and series by name (see Styles),
	// so that they keep it from figure to figure. Names that it lacks take the
	// lowest free styles in the order in which they come.
	Palette map[string]int

	// References names the results that are lines to compare with, of policies
	// that do not learn: AverageReward draws their mean over all steps, thin,
	// dashed and grey.
	References []string
}

var (
	ink  = color.Gray{0x26}
	axle = draw.LineStyle{Color: ink, Width: vg.Points(0.75)}
	rule = draw.LineStyle{Color: color.Gray{0xE4}, Width: vg.Points(0.6)}
)

func textStyle(size float64, weight xfont.Weight) text.Style {
	return text.Style{
		Color:   ink,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: font.Points(size)},
		Handler: plot.DefaultTextHandler,
	}
}

// newPlot is an empty plot in the style of this package.
func newPlot(axes Axes, grid plotter.Grid) *plot.Plot {
	p := plot.New()
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = textStyle(11, xfont.WeightNormal).Font
		axis.Label.TextStyle.Color = ink
		axis.Label.Padding = vg.Points(3)
		axis.Tick.Label.Font = textStyle(10, xfont.WeightNormal).Font
		axis.Tick.Label.Color = ink
		axis.Tick.Length = vg.Points(4)
		axis.Tick.Color = ink
		axis.LineStyle.Color = color.Transparent // see frame
		axis.Padding = 0
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

// finish adds what stands around the data, and the key where there is
// something to tell apart, or nothing but a line to compare with.
func finish(p *plot.Plot, axes Axes, opt Options, entries []entry) *plot.Plot {
	if len(entries) > 1 || len(entries) == 1 && slices.Contains(opt.References, entries[0].name) {
		p.Add(key(entries))
	}
	if axes.LogX && p.X.Min == p.X.Max {
		p.X.Min, p.X.Max = p.X.Min/2, p.X.Max*2
	}
	if axes.LogY && p.Y.Min == p.Y.Max {
		p.Y.Min, p.Y.Max = p.Y.Min/2, p.Y.Max*2
	}
	p.Add(&frame{title: opt.Title, label: axes.Y})
	return p
}

// Write writes the plot as a PNG image of the given size at DPI dots an inch.
func Write(w io.Writer, p *plot.Plot, width, height vg.Length) error {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(DPI))
	// Room around the figure, so that labels do not touch a page's text.
	p.Draw(draw.Crop(draw.New(c), 6, -10, 6, -6))
	return Encode(w, c)
}

// Encode writes what is drawn as PNG. It is quick before it is small: a notebook's
// reader waits for it, and lines on white take a twentieth more bytes.
func Encode(w io.Writer, c *vgimg.Canvas) error {
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(w, c.Image()); err != nil {
		return fmt.Errorf("figure: writing a PNG image: %w", err)
	}
	return nil
}

// Save writes the plot to a PNG file as Write does and makes its folder where
// that is missing. The file is complete or, after an error, what it was
// before.
func Save(p *plot.Plot, path string, width, height vg.Length) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("figure: saving %s: %w", path, err)
		}
	}()
	err = Write(f, p, width, height)
	if err == nil {
		// CreateTemp makes files that only their owner can read.
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
