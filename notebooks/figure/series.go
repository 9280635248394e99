package figure

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Axes names both axes, with units, and chooses their scales.
type Axes struct {
	X, Y       string
	LogX, LogY bool
}

// Series is a named sequence of points.
type Series struct {
	Name string
	X, Y []float64 // of one length; X nil: 0, 1, 2, ...

	// Error is the length of every point's error bar above the point, and Below
	// that below it, none of them below 0; Below nil: Error, and Error nil: no
	// bars. A point where both are 0 has no bar.
	Error, Below []float64

	// Reference marks a line to compare with, such as 1/N: a thin grey line
	// without points.
	Reference bool
}

// Lines draws every series as a line through its points; a reference line is
// drawn first, under the others. It is an error when there is nothing to draw,
// when lengths differ, or when a value is not finite, is not above 0 on a
// logarithmic axis, or is below 0 as the length of an error bar.
func Lines(series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	return points(series, axes, opt, true)
}

// Scatter draws every series as points and only references as lines. Its
// errors are those of Lines.
func Scatter(series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	return points(series, axes, opt, false)
}

func points(series []Series, axes Axes, opt Options, joined bool) (*plot.Plot, error) {
	series, err := fill(series, axes)
	if err != nil {
		return nil, err
	}
	p := newPlot(axes, plotter.Grid{Vertical: rule, Horizontal: rule})
	styles := opt.styles(names(series))
	entries := make([]entry, len(series))
	for i, s := range series {
		last := len(s.Y) - 1
		entries[i] = entry{name: s.Name, y: s.Y[last]}
		if !joined {
			entries[i].y = math.Inf(1)
		}
		xys := s.xys()
		if s.Reference {
			b := &Band{XYs: xys, LineStyle: reference}
			p.Add(b)
			entries[i].thumbs = []plot.Thumbnailer{b}
		}
	}
	for i, s := range series {
		if s.Reference {
			continue
		}
		xys := s.xys()
		if s.Error != nil {
			if err := addErrorBars(p, s, axes.LogY, colour(styles[i])); err != nil {
				return nil, err
			}
		}
		if joined {
			b := &Band{XYs: xys, LineStyle: line(styles[i])}
			p.Add(b)
			entries[i].thumbs = append(entries[i].thumbs, b)
		}
		// Points of a line that has many of them would only thicken it.
		if !joined || len(xys) <= 25 {
			g := &plotter.Scatter{XYs: xys, GlyphStyle: glyph(styles[i])}
			p.Add(g)
			entries[i].thumbs = append(entries[i].thumbs, g)
		}
	}
	widen(&p.X, axes.LogX)
	widen(&p.Y, axes.LogY)
	return finish(p, axes, opt, entries), nil
}

// Bars draws a group of bars, one a series, for every label. The series' X are
// not used; the axis of Y begins at 0 and is linear. Its errors are those of
// Lines.
func Bars(labels []string, series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	axes.LogX, axes.LogY = false, false
	series, err := fill(series, axes)
	if err != nil {
		return nil, err
	}
	p := newPlot(axes, plotter.Grid{Horizontal: rule})
	styles := opt.styles(names(series))
	entries := make([]entry, len(series))
	const group = 0.75 // of the distance between labels
	width := group / float64(len(series))
	for i, s := range series {
		if len(s.Y) != len(labels) {
			return nil, fmt.Errorf("figure: series %q has %d values for %d labels", s.Name, len(s.Y), len(labels))
		}
		bars := make([]plotter.XYer, len(labels))
		s.X = make([]float64, len(labels))
		for k, y := range s.Y {
			left := float64(k) - group/2 + float64(i)*width
			s.X[k] = left + width/2
			bars[k] = plotter.XYs{{X: left, Y: 0}, {X: left + 0.94*width, Y: 0}, {X: left + 0.94*width, Y: y}, {X: left, Y: y}}
		}
		b, err := plotter.NewPolygon(bars...)
		if err != nil {
			return nil, fmt.Errorf("figure: series %q: %w", s.Name, err)
		}
		b.Color, b.LineStyle.Width = colour(styles[i]), 0
		p.Add(b)
		if s.Error != nil {
			if err := addErrorBars(p, s, false, ink); err != nil {
				return nil, err
			}
		}
		entries[i] = entry{s.Name, []plot.Thumbnailer{b}, math.Inf(1)}
	}
	ticks := make(plot.ConstantTicks, len(labels))
	for k, label := range labels {
		ticks[k] = plot.Tick{Value: float64(k), Label: label}
	}
	p.X.Tick.Marker, p.X.Tick.Color = ticks, color.Transparent
	p.X.Min, p.X.Max = -0.5, float64(len(labels))-0.5
	p.Y.Min = math.Min(p.Y.Min, 0)
	p.Y.Max += 0.04 * (p.Y.Max - p.Y.Min)
	return finish(p, axes, opt, entries), nil
}

// fill checks the series and gives those without X their indices.
func fill(series []Series, axes Axes) ([]Series, error) {
	if len(series) == 0 {
		return nil, errors.New("figure: no series to draw")
	}
	filled := make([]Series, len(series))
	for i, s := range series {
		if s.X == nil {
			s.X = make([]float64, len(s.Y))
			for k := range s.X {
				s.X[k] = float64(k)
			}
		}
		if len(s.Y) == 0 {
			return nil, fmt.Errorf("figure: series %q is empty", s.Name)
		}
		if s.Below == nil {
			s.Below = s.Error
		}
		switch {
		case len(s.X) != len(s.Y):
			return nil, fmt.Errorf("figure: series %q has %d values of X for %d of Y", s.Name, len(s.X), len(s.Y))
		case s.Error != nil && len(s.Error) != len(s.Y):
			return nil, fmt.Errorf("figure: series %q has %d error bars for %d points", s.Name, len(s.Error), len(s.Y))
		case len(s.Below) != len(s.Error):
			return nil, fmt.Errorf("figure: series %q has %d lengths below for %d error bars", s.Name, len(s.Below), len(s.Error))
		}
		for k := range s.Y {
			if err := s.check(k, axes); err != nil {
				return nil, fmt.Errorf("figure: series %q cannot be drawn at point %d: %w", s.Name, k, err)
			}
		}
		filled[i] = s
	}
	return filled, nil
}

// check says what is wrong with a point.
func (s Series) check(point int, axes Axes) error {
	for _, f := range []struct {
		name   string
		values []float64
		log    bool
		length bool
	}{{"X", s.X, axes.LogX, false}, {"Y", s.Y, axes.LogY, false}, {"Error", s.Error, false, true}, {"Below", s.Below, false, true}} {
		if f.values == nil {
			continue
		}
		switch v := f.values[point]; {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("%s is %v", f.name, v)
		case f.log && v <= 0:
			return fmt.Errorf("%s is %v, and its axis is logarithmic", f.name, v)
		case f.length && v < 0:
			return fmt.Errorf("%s is %v, want a length", f.name, v)
		}
	}
	return nil
}

func names(series []Series) []string {
	out := make([]string, len(series))
	for i, s := range series {
		out[i] = s.Name
	}
	return out
}

func (s Series) xys() plotter.XYs {
	xys := make(plotter.XYs, len(s.Y))
	for i := range xys {
		xys[i] = plotter.XY{X: s.X[i], Y: s.Y[i]}
	}
	return xys
}

func addErrorBars(p *plot.Plot, s Series, log bool, c color.Color) error {
	var at plotter.XYs
	var errs plotter.YErrors
	for i, xy := range s.xys() {
		e, low := s.Error[i], -s.Below[i]
		if e == 0 && low == 0 {
			continue
		}
		if log && -low >= xy.Y {
			// A logarithmic axis has no place for what is not above 0.
			low = -0.9 * xy.Y
		}
		at = append(at, xy)
		errs = append(errs, struct{ Low, High float64 }{low, e})
	}
	if len(at) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(struct {
		plotter.XYs
		plotter.YErrors
	}{at, errs})
	if err != nil {
		return fmt.Errorf("figure: series %q: %w", s.Name, err)
	}
	bars.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1)}
	bars.CapWidth = vg.Points(4)
	p.Add(bars)
	return nil
}

// widen gives the points at the ends of an axis some air.
func widen(a *plot.Axis, log bool) {
	if log {
		f := math.Pow(a.Max/a.Min, 0.04)
		a.Min, a.Max = a.Min/f, a.Max*f
		return
	}
	d := 0.04 * (a.Max - a.Min)
	a.Min, a.Max = a.Min-d, a.Max+d
}
