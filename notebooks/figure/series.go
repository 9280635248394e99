package figure

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

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
	Name      string
	X, Y      []float64 // of one length; X nil: 0, 1, 2, ...
	Error     []float64 // length of the error bar of every point on either side, 0 for no bar; nil: no bars
	Low, High []float64 // a shaded area around the line; nil: no area
	Reference bool      // a line to compare with, such as 1/N: thin and grey, without points
}

// Lines draws every series as a line through its points, with points where there
// are few. It is an error when there is nothing to draw, when lengths differ, when
// a value is not finite, when X or Y is not above 0 on a logarithmic axis, or when
// an error bar is below 0.
func Lines(series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	return points(series, axes, opt, true)
}

// Scatter draws every series as points and only references as lines. Its
// errors are those of Lines.
func Scatter(series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	return points(series, axes, opt, false)
}

func points(series []Series, axes Axes, opt Options, joined bool) (*plot.Plot, error) {
	for _, s := range series {
		if len(s.Y) == 0 {
			return nil, fmt.Errorf("figure: series %q is empty", s.Name)
		}
	}
	p, err := draws(series, axes, opt, joined)
	if err == nil {
		widen(&p.X, axes.LogX)
		widen(&p.Y, axes.LogY)
	}
	return p, err
}

// draws is Lines and Scatter with axes that end at the data. A series without
// points is in the key only.
func draws(series []Series, axes Axes, opt Options, joined bool) (*plot.Plot, error) {
	series, styles, err := fill(series, axes, opt)
	if err != nil {
		return nil, err
	}
	p := newPlot(axes, plotter.Grid{Vertical: rule, Horizontal: rule})
	entries := make([]entry, len(series))
	// Areas lie below lines, references below other lines, and the line that ends
	// lowest on top.
	order := make([]int, len(series))
	for i, s := range series {
		order[i], entries[i] = i, entry{name: s.Name, y: math.Inf(-1)}
		if len(s.Y) > 0 {
			entries[i].y = s.Y[len(s.Y)-1]
		}
		if s.Low != nil {
			area := &Band{XYs: s.xys(), Low: s.Low, High: s.High, Fill: styles[i].fill}
			p.Add(area)
			entries[i].thumbs = []plot.Thumbnailer{area}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if series[a].Reference != series[b].Reference {
			return map[bool]int{true: -1, false: 1}[series[a].Reference]
		}
		return cmp.Compare(entries[b].y, entries[a].y)
	})
	for _, i := range order {
		s, e := series[i], &entries[i]
		if len(s.Y) == 0 {
			continue
		}
		addErrorBars(p, s, axes.LogY, styles[i].line.Color)
		if joined || s.Reference {
			b := &Band{XYs: s.xys(), LineStyle: styles[i].line}
			p.Add(b)
			e.thumbs = append(e.thumbs, b)
		}
		// Points of a line that has many of them would only thicken it.
		if !s.Reference && (!joined || len(s.Y) <= 25 && s.Low == nil) {
			g := &plotter.Scatter{XYs: s.xys(), GlyphStyle: styles[i].glyph}
			p.Add(g)
			e.thumbs = append(e.thumbs, g)
		}
		if !joined {
			e.y = math.Inf(1)
		}
	}
	return finish(p, axes, opt, entries)
}

// Bars draws a group of bars, one a series, for every label. The series' X are
// not used; the axis of Y begins at 0 and is linear. Its errors are those of
// Lines.
func Bars(labels []string, series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	axes.LogX, axes.LogY = false, false
	series, styles, err := fill(series, axes, opt)
	if err != nil {
		return nil, err
	}
	p := newPlot(axes, plotter.Grid{Horizontal: rule})
	entries := make([]entry, len(series))
	const group = 0.75 // of the distance between labels
	width := group / float64(len(series))
	for i, s := range series {
		if len(s.Y) != len(labels) {
			return nil, fmt.Errorf("figure: series %q has %d values for %d labels", s.Name, len(s.Y), len(labels))
		}
		bars := make([]plotter.XYer, len(labels))
		for k, y := range s.Y {
			left := float64(k) - group/2 + float64(i)*width
			s.X[k] = left + width/2
			bars[k] = plotter.XYs{{X: left, Y: 0}, {X: left + 0.94*width, Y: 0}, {X: left + 0.94*width, Y: y}, {X: left, Y: y}}
		}
		b, err := plotter.NewPolygon(bars...)
		if err != nil {
			return nil, fmt.Errorf("figure: series %q: %w", s.Name, err)
		}
		b.Color, b.LineStyle.Width = styles[i].line.Color, 0
		p.Add(b)
		addErrorBars(p, s, false, ink)
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
	return finish(p, axes, opt, entries)
}

// fill checks the series, gives each X of its own, and returns the styles.
func fill(series []Series, axes Axes, opt Options) ([]Series, []style, error) {
	if len(series) == 0 {
		return nil, nil, errors.New("figure: no series to draw")
	}
	series = slices.Clone(series)
	for i, s := range series {
		series[i].X = slices.Clone(s.X)
		for k := range s.Y {
			if s.X == nil {
				series[i].X = append(series[i].X, float64(k))
			}
		}
		for _, f := range []struct {
			name   string
			values []float64
			least  float64
		}{
			{"X", series[i].X, least(axes.LogX)}, {"Y", s.Y, least(axes.LogY)}, {"Error", s.Error, 0},
			{"Low", s.Low, math.Inf(-1)}, {"High", s.High, math.Inf(-1)},
		} {
			if f.values != nil && len(f.values) != len(s.Y) {
				return nil, nil, fmt.Errorf("figure: series %q has %d values of %s for %d of Y", s.Name, len(f.values), f.name, len(s.Y))
			}
			for k, v := range f.values {
				if !(v >= f.least) || math.IsInf(v, 0) {
					return nil, nil, fmt.Errorf("figure: series %q cannot be drawn: %s of point %d is %v", s.Name, f.name, k, v)
				}
			}
		}
	}
	return series, opt.styles(series), nil
}

// least is the smallest value that an axis has a place for.
func least(log bool) float64 {
	if log {
		return math.SmallestNonzeroFloat64
	}
	return math.Inf(-1)
}

func (s Series) xys() plotter.XYs {
	xys := make(plotter.XYs, len(s.Y))
	for i := range xys {
		xys[i] = plotter.XY{X: s.X[i], Y: s.Y[i]}
	}
	return xys
}

func addErrorBars(p *plot.Plot, s Series, log bool, c color.Color) {
	bars := &plotter.YErrorBars{CapWidth: vg.Points(4), LineStyle: draw.LineStyle{Color: c, Width: vg.Points(1)}}
	for i, e := range s.Error {
		low := -e
		if log && e >= s.Y[i] {
			low = -0.9 * s.Y[i] // a logarithmic axis has no place for what is not above 0
		}
		if e > 0 {
			bars.XYs = append(bars.XYs, plotter.XY{X: s.X[i], Y: s.Y[i]})
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{low, e})
		}
	}
	if bars.XYs != nil {
		p.Add(bars)
	}
}
