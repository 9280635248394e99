package figure

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/contextrec/contextrec/envs/sim"
)

// Regret draws the cumulative expected regret of the results over the steps:
// the mean over runs and its spread. It is an error when there is nothing to
// draw, when results differ in problem, runs, steps or seed, when a name occurs
// twice, or when a result has no regret because its environment has no Oracle.
//
// The area is cut off at 0, below which no regret lies, and a line that ends above five times the
// median of all ends would flatten the others: it leaves the figure, and the key says where it ends.
func Regret(results []*sim.Result, opt Options) (*plot.Plot, error) {
	return curves(results, Axes{X: "step", Y: "cumulative regret", cut: true}, opt, regret)
}

// RegretLogLog draws the regret on logarithmic axes, on which growth as a power of the step is a
// straight line and linear growth has slope 1: the median of the runs, and from the tenth to the
// ninetieth percentile, for a mean less a deviation may fall below 0. It shows the last two decades
// of the steps; before them regrets are those of a few choices. A line begins at the first
// checkpoint at which the median is above 0; a result without one has no line, and the key says so.
// Otherwise it is as Regret; Options.Interval changes nothing.
func RegretLogLog(results []*sim.Result, opt Options) (*plot.Plot, error) {
	return curves(results, Axes{X: "step", Y: "cumulative regret", LogX: true, LogY: true}, opt, regret)
}

// Difference draws the regret of the results less that of the named one, run by run, for lines that
// coincide in Regret: the mean of the differences and its sim.Interval95. The errors are those of
// Regret, and that there is no result of the name with a regret.
func Difference(results []*sim.Result, name string, opt Options) (*plot.Plot, error) {
	at := slices.IndexFunc(results, func(r *sim.Result) bool { return r.Entry == name })
	if at < 0 || results[at].Regret == nil {
		return nil, fmt.Errorf("figure: no result of %q that has a regret", name)
	}
	opt.Interval, opt.References = true, nil
	axes := Axes{X: "step", Y: "regret less that of " + name}
	return curves(results, axes, opt, func(r *sim.Result) (steps []int, runs [][]float64) {
		for run, values := range r.Regret {
			runs = append(runs, sim.Differences(values, results[at].Regret[run], 1))
		}
		return r.Checkpoints, runs
	})
}

func regret(r *sim.Result) (steps []int, runs [][]float64) { return r.Checkpoints, r.Regret }

// AverageReward draws the realised reward a step, averaged over episodes of the given number of
// steps, at least 1. Rewards are known at a result's checkpoints only, so an episode ends at the
// first checkpoint that is at least that many steps after the one before, and is drawn at its end.
// Options.References are level lines. The errors are those of Regret.
func AverageReward(results []*sim.Result, episode int, opt Options) (*plot.Plot, error) {
	episode = max(episode, 1)
	if len(results) > 0 && results[0].Steps < episode {
		return nil, fmt.Errorf("figure: %q has %d steps, fewer than an episode of %d", results[0].Entry, results[0].Steps, episode)
	}
	axes := Axes{X: fmt.Sprintf("step, in episodes of %s", number(float64(episode), 1)), Y: "reward a step"}
	return curves(results, axes, opt, func(r *sim.Result) (steps []int, runs [][]float64) {
		runs = make([][]float64, r.Runs)
		before, last := make([]float64, r.Runs), 0
		for k, step := range r.Checkpoints {
			if step-last < episode {
				continue
			}
			steps = append(steps, step)
			for run, reward := range r.Reward {
				runs[run] = append(runs[run], (reward[k]-before[run])/float64(step-last))
				before[run] = reward[k]
			}
			last = step
		}
		if opt.reference(r.Entry) {
			steps = []int{0, r.Steps}
			for run, reward := range r.Reward {
				mean := reward[len(reward)-1] / float64(r.Steps)
				runs[run] = []float64{mean, mean}
			}
		}
		return steps, runs
	})
}

// middle returns what the line and the area around it are, of one value a run.
func (o Options) middle(median bool, runs int) (name string, at func(values []float64) (middle, low, high float64)) {
	switch of := fmt.Sprintf(" of %d runs", runs); {
	case runs == 1:
		return "one run", func(v []float64) (float64, float64, float64) { return v[0], v[0], v[0] }
	case median:
		return "median and 10 to 90 %" + of, func(v []float64) (float64, float64, float64) {
			var quantile interp.PiecewiseLinear // 0 is the least, 1 the largest
			quantile.Fit(floats.Span(make([]float64, runs), 0, 1), slices.Sorted(slices.Values(v)))
			return quantile.Predict(0.5), quantile.Predict(0.1), quantile.Predict(0.9)
		}
	case o.Interval:
		return "mean and 95 % interval" + of, sim.Interval95
	default:
		return "mean ± s.d." + of, func(v []float64) (float64, float64, float64) {
			mean, sd := stat.MeanStdDev(v, nil)
			return mean, mean - sd, mean + sd
		}
	}
}

// curves draws results by what of returns for each: values [run][point] at steps; nil: there is no regret.
func curves(results []*sim.Result, axes Axes, opt Options, of func(*sim.Result) (steps []int, runs [][]float64)) (*plot.Plot, error) {
	if len(results) == 0 {
		return nil, errors.New("figure: no results to draw")
	}
	first := results[0]
	name, at := opt.middle(axes.LogY, first.Runs)
	axes.Y += ", " + name
	setting := func(r *sim.Result) string {
		return fmt.Sprintf("problem %s, %d runs, %d steps, seed %d", r.Problem, r.Runs, r.Steps, r.Seed)
	}
	for i, r := range results {
		if a, b := setting(first), setting(r); a != b {
			return nil, fmt.Errorf("figure: results of different settings: %q has %s; %q has %s", first.Entry, a, r.Entry, b)
		}
		if slices.ContainsFunc(results[:i], func(before *sim.Result) bool { return before.Entry == r.Entry }) {
			return nil, fmt.Errorf("figure: two results are called %q", r.Entry)
		}
	}
	series := make([]Series, len(results))
	for i, r := range results {
		steps, runs := of(r)
		if runs == nil {
			return nil, fmt.Errorf("figure: %q of %q has no regret: its environment is no Oracle", r.Entry, r.Experiment)
		}
		line := Series{Name: r.Entry, Reference: opt.reference(r.Entry)}
		values := make([]float64, len(runs))
		for k, step := range steps {
			for run := range runs {
				values[run] = runs[run][k]
			}
			middle, low, high := at(values)
			if axes.LogY && (middle <= 0 || 100*step < first.Steps) {
				continue
			}
			line.X, line.Y = append(line.X, float64(step)), append(line.Y, middle)
			if !line.Reference {
				line.Low, line.High = append(line.Low, low), append(line.High, high)
			}
		}
		if line.Y == nil {
			line.Name += " (0)"
		}
		series[i] = line
	}
	return points(series, axes, opt, true, true)
}

// Axes names both axes, with units, and chooses their scales.
type Axes struct {
	X, Y       string
	LogX, LogY bool
	cut        bool // see Regret
}

// Series is a named sequence of points.
type Series struct {
	Name      string
	X, Y      []float64 // of one length; X nil: 0, 1, 2, ...
	Error     []float64 // length of the error bar of every point on either side; nil: no bars
	Low, High []float64 // a shaded area around the line, or the ends of error bars on Bars; nil: none
	Reference bool      // a line to compare with, such as 1/N: thin and grey, without points
}

// Lines draws every series as a line through its points, with points where there are few. There is
// no bar where Error is 0 or infinite, and no area where Low or High is infinite: that much is not
// known. It is an error when there is nothing to draw, when lengths differ, when another value is
// not finite, when X or Y is not above 0 on a logarithmic axis, or when an error bar is below 0.
func Lines(series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	return points(series, axes, opt, true, false)
}

// Scatter draws every series as points and only references as lines. Its errors are those of Lines.
func Scatter(series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	return points(series, axes, opt, false, false)
}

// points draws series, joined by lines or not. Over steps the axis of X ends where the lines do,
// and on a logarithmic axis areas below all lines are cut off, as are those that reach 0.
func points(series []Series, axes Axes, opt Options, joined, steps bool) (*plot.Plot, error) {
	series, styles, err := fill(series, axes, opt)
	if err != nil {
		return nil, err
	}
	p := newPlot(axes, plotter.Grid{Vertical: rule, Horizontal: rule})
	entries, order, lowest := make([]entry, len(series)), make([]int, len(series)), math.Inf(1)
	add := func(i int, d interface {
		plot.Plotter
		plot.Thumbnailer
	}) {
		p.Add(d)
		entries[i].thumbs = append(entries[i].thumbs, d)
	}
	for i, s := range series {
		order[i], entries[i] = i, entry{name: s.Name, y: math.Inf(-1)}
		if len(s.Y) > 0 && (joined || s.Reference) {
			entries[i].y = s.Y[len(s.Y)-1]
		}
		if s.Low != nil {
			add(i, &area{s.xys(), s.Low, s.High, faint(styles[i].Color, len(series))})
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(over(styles[a]), over(styles[b])) })
	for _, i := range order {
		s := series[i]
		if len(s.Y) == 0 {
			continue
		}
		lowest = min(lowest, slices.Min(s.Y))
		if s.Low == nil {
			addErrorBars(p, s, axes, styles[i].Color)
		}
		if joined || s.Reference {
			l := &plotter.Line{XYs: s.xys(), LineStyle: styles[i]}
			add(i, unpadded{l, l, l})
		}
		if !s.Reference && (!joined || len(s.Y) <= 25 && s.Low == nil) { // more would only thicken a line
			dot := draw.GlyphStyle{Color: styles[i].Color, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
			add(i, &plotter.Scatter{XYs: s.xys(), GlyphStyle: dot})
		}
	}
	if math.IsInf(lowest, 1) {
		return nil, errors.New("figure: there is nothing to draw, or nothing above 0 on a logarithmic axis")
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.y, a.y) })
	for i, e := range entries {
		if most := 5 * entries[(len(entries)-1)/2].y; axes.cut && most > 0 && e.y > most {
			entries[i].name += " (to " + number(e.y, e.y/100) + ")"
			p.Y.Max = most
		}
	}
	if axes.LogY && (steps || p.Y.Min <= 0) {
		p.Y.Min = lowest / 1.5
	}
	x, y := 0.04, 0.04
	switch {
	case steps && axes.LogY:
		x, y = 0, 0
	case steps:
		p.X.Min, x = 0, 0
	}
	widen(&p.X, axes.LogX, x)
	widen(&p.Y, axes.LogY, y)
	if axes.cut {
		p.Y.Min = 0
	}
	return finish(p, axes, opt, entries), nil
}

// Bars draws a group of bars, one a series, for every label. The series' X are not used; the axis
// of Y begins at 0 and is linear. Its errors are those of Lines.
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
		bars := &plotter.Polygon{XYs: make([]plotter.XYs, len(labels)), Color: styles[i].Color}
		for k, y := range s.Y {
			left := float64(k) - group/2 + float64(i)*width
			s.X[k] = left + width/2
			bars.XYs[k] = plotter.XYs{{X: left, Y: 0}, {X: left + 0.94*width, Y: 0}, {X: left + 0.94*width, Y: y}, {X: left, Y: y}}
		}
		p.Add(bars)
		entries[i] = entry{s.Name, []plot.Thumbnailer{bars}, math.Inf(1)}
		addErrorBars(p, s, axes, ink)
	}
	ticks := make(plot.ConstantTicks, len(labels))
	for k, label := range labels {
		ticks[k] = plot.Tick{Value: float64(k), Label: label}
	}
	p.X.Tick.Marker, p.X.Tick.Color = ticks, color.Transparent
	p.X.Min, p.X.Max = -0.5, float64(len(labels))-0.5
	below := min(p.Y.Min, 0)
	widen(&p.Y, false, 0.04)
	p.Y.Min = below
	return finish(p, axes, opt, entries), nil
}

// fill checks the series, adds missing X, leaves out infinite bars and areas, and
// returns the styles.
func fill(series []Series, axes Axes, opt Options) ([]Series, []draw.LineStyle, error) {
	if len(series) == 0 {
		return nil, nil, errors.New("figure: no series to draw")
	}
	least := map[bool]float64{true: math.SmallestNonzeroFloat64, false: -math.MaxFloat64} // by whether the axis is logarithmic
	series = slices.Clone(series)
	for i := range series {
		s := &series[i]
		s.X, s.Error, s.Low, s.High = slices.Clone(s.X), slices.Clone(s.Error), slices.Clone(s.Low), slices.Clone(s.High)
		if s.X == nil {
			for k := range s.Y {
				s.X = append(s.X, float64(k))
			}
		}
		if (s.Low == nil) != (s.High == nil) {
			return nil, nil, fmt.Errorf("figure: series %q has one of Low and High, want both or none", s.Name)
		}
		check := func(name string, values []float64, least, most float64) error {
			if values != nil && len(values) != len(s.Y) {
				return fmt.Errorf("figure: series %q has %d values of %s for %d of Y", s.Name, len(values), name, len(s.Y))
			}
			for k, v := range values {
				if !(v >= least && v <= most) {
					return fmt.Errorf("figure: series %q cannot be drawn: %s of point %d is %v", s.Name, name, k, v)
				}
			}
			return nil
		}
		if err := cmp.Or(check("X", s.X, least[axes.LogX], math.MaxFloat64), check("Y", s.Y, least[axes.LogY], math.MaxFloat64),
			check("Error", s.Error, 0, math.Inf(1)), check("Low", s.Low, math.Inf(-1), math.Inf(1)), check("High", s.High, math.Inf(-1), math.Inf(1))); err != nil {
			return nil, nil, err
		}
		for k, y := range s.Y {
			if s.Error != nil && math.IsInf(math.Abs(y)+s.Error[k], 0) {
				s.Error[k] = 0
			}
			if s.Low != nil && math.IsInf(math.Abs(s.Low[k])+math.Abs(s.High[k]), 0) {
				s.Low[k], s.High[k] = y, y
			}
		}
	}
	return series, opt.styles(series), nil
}

func (s Series) xys() plotter.XYs {
	xys := make(plotter.XYs, len(s.Y))
	for i := range xys {
		xys[i] = plotter.XY{X: s.X[i], Y: s.Y[i]}
	}
	return xys
}

// addErrorBars adds bars of the length Error on either side, or from Low to High.
func addErrorBars(p *plot.Plot, s Series, axes Axes, c color.Color) {
	bars := &plotter.YErrorBars{CapWidth: vg.Points(4), LineStyle: draw.LineStyle{Color: c, Width: vg.Points(1)}}
	for i, y := range s.Y {
		low, high := 0.0, 0.0
		if s.Error != nil {
			low, high = s.Error[i], s.Error[i]
		} else if s.Low != nil {
			low, high = y-s.Low[i], s.High[i]-y
		}
		if axes.LogY && low >= y {
			low = min(0.9*y, y-math.SmallestNonzeroFloat64) // a logarithmic axis has no place for what is not above 0
		}
		if low > 0 || high > 0 {
			bars.XYs = append(bars.XYs, plotter.XY{X: s.X[i], Y: y})
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{-low, high})
		}
	}
	p.Add(bars)
}
