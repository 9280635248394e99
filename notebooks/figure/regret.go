package figure

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/contextrec/contextrec/envs/sim"
)

// Regret draws the cumulative expected regret of the results over the steps:
// the mean over runs and its spread. It is an error when there is nothing to
// draw, when results differ in problem, runs, steps or seed, when a contender
// occurs twice, or when one has no regret because its environment has no
// Oracle.
//
// The area is cut off at 0, below which no regret lies.
func Regret(results []*sim.Result, opt Options) (*plot.Plot, error) {
	p, err := regret(results, Axes{}, opt)
	if err != nil {
		return nil, err
	}
	p.Y.Min = 0
	return p, nil
}

// RegretLogLog is Regret with logarithmic axes, on which growth as a power of
// the step is a straight line and linear growth has slope 1. A line begins at
// the first checkpoint at which its mean is above 0; a contender whose mean is
// never above 0 has no line, and the key says so.
func RegretLogLog(results []*sim.Result, opt Options) (*plot.Plot, error) {
	return regret(results, Axes{LogX: true, LogY: true}, opt)
}

func regret(results []*sim.Result, axes Axes, opt Options) (*plot.Plot, error) {
	if err := check(results); err != nil {
		return nil, err
	}
	curves := make([]curve, len(results))
	for i, r := range results {
		if r.Regret == nil {
			return nil, fmt.Errorf("figure: contender %q of %q has no regret: its environment is no Oracle", r.Contender, r.Experiment)
		}
		curves[i].runs = r.Regret
		for _, s := range r.Checkpoints {
			curves[i].x = append(curves[i].x, float64(s))
		}
	}
	axes.X, axes.Y = "step", "cumulative regret"
	return bands(results, curves, axes, opt)
}

// AverageReward draws the realised reward a step, averaged over episodes of
// the given number of steps, which must be at least 1. Rewards are known at a
// result's checkpoints only, so an episode ends at the first checkpoint that
// is at least that many steps after the one before, and is drawn at its end.
// Options.References are drawn as level lines, and have a key even where one of
// them is all that there is. The errors are those of Regret.
func AverageReward(results []*sim.Result, episode int, opt Options) (*plot.Plot, error) {
	if episode < 1 {
		return nil, fmt.Errorf("figure: an episode of %d steps", episode)
	}
	if err := check(results); err != nil {
		return nil, err
	}
	curves := make([]curve, len(results))
	for i, r := range results {
		curves[i].runs = make([][]float64, len(r.Reward))
		curves[i].level = slices.Contains(opt.References, r.Contender)
		last, at := 0, -1
		for k, s := range r.Checkpoints {
			if s-last < episode {
				continue
			}
			curves[i].x = append(curves[i].x, float64(s))
			for run, reward := range r.Reward {
				gained := reward[k]
				if at >= 0 {
					gained -= reward[at]
				}
				curves[i].runs[run] = append(curves[i].runs[run], gained/float64(s-last))
			}
			last, at = s, k
		}
		if at < 0 {
			return nil, fmt.Errorf("figure: contender %q of %q has %d steps, fewer than an episode of %d", r.Contender, r.Experiment, r.Steps, episode)
		}
	}
	p, err := bands(results, curves, Axes{X: fmt.Sprintf("step, in episodes of %s", number(float64(episode), 0)), Y: "reward a step"}, opt)
	if err == nil && len(opt.References) > 0 {
		// A level line is not to lie on the frame, nor to be alone between numbers
		// that have nothing to do with it.
		air := 0.03 * (p.Y.Max - p.Y.Min)
		if air == 0 {
			air = cmp.Or(0.1*math.Abs(p.Y.Max), 1)
		}
		p.Y.Min, p.Y.Max = p.Y.Min-air, p.Y.Max+air
	}
	return p, err
}

// curve is one contender: values [run][point] at the places x.
type curve struct {
	x     []float64
	runs  [][]float64
	level bool // draw their mean as a reference
}

func bands(results []*sim.Result, curves []curve, axes Axes, opt Options) (*plot.Plot, error) {
	if runs := results[0].Runs; runs == 1 {
		axes.Y += ", one run"
	} else if !slices.ContainsFunc(curves, func(c curve) bool { return !c.level }) {
		axes.Y += fmt.Sprintf(", mean of %d runs", runs)
	} else if opt.Interval {
		axes.Y += fmt.Sprintf(", mean and 95 %% interval of %d runs", runs)
	} else {
		axes.Y += fmt.Sprintf(", mean ± s.d. of %d runs", runs)
	}
	p := newPlot(axes, plotter.Grid{Vertical: rule, Horizontal: rule})
	names := make([]string, len(results))
	for i, r := range results {
		names[i] = r.Contender
	}
	styles := opt.styles(names)
	entries := make([]entry, len(results))
	lowest := math.Inf(1)
	for i, c := range curves {
		area, err := c.band(axes.LogY, opt.Interval)
		if err != nil {
			return nil, fmt.Errorf("figure: contender %q of %q: %w", names[i], results[i].Experiment, err)
		}
		if len(area.XYs) == 0 {
			entries[i] = entry{name: names[i] + " (0)", y: math.Inf(-1)}
			continue
		}
		if c.level {
			b := level(area.XYs)
			p.Add(b)
			entries[i] = entry{names[i], []plot.Thumbnailer{b}, b.XYs[0].Y}
			lowest = math.Min(lowest, b.XYs[0].Y)
			continue
		}
		area.Fill = faint(colour(styles[i]))
		p.Add(area)
		line := &Band{XYs: area.XYs, LineStyle: line(styles[i])}
		entries[i] = entry{names[i], []plot.Thumbnailer{area, line}, line.XYs[len(line.XYs)-1].Y}
		for _, xy := range line.XYs {
			lowest = math.Min(lowest, xy.Y)
		}
	}
	// The best line lies on top, and all lines on all areas.
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.y, a.y) })
	for _, e := range entries {
		if len(e.thumbs) == 2 {
			p.Add(e.thumbs[1].(*Band))
		}
	}
	if math.IsInf(lowest, 1) {
		return nil, errors.New("figure: nothing is above 0, so there is nothing to draw on a logarithmic axis")
	}
	if axes.LogY {
		// The areas may reach to 0 or below; the axis begins under the lowest mean.
		p.Y.Min = lowest / 1.5
	}
	if !axes.LogX {
		p.X.Min = 0
	}
	return finish(p, axes, opt, entries), nil
}

// level is a reference line at the mean of the points.
func level(points plotter.XYs) *Band {
	mean := 0.
	for _, xy := range points {
		mean += xy.Y / float64(len(points))
	}
	ends := plotter.XYs{{X: 0, Y: mean}, {X: points[len(points)-1].X, Y: mean}}
	return &Band{XYs: ends, LineStyle: reference}
}

// band is the mean over runs with its spread.
func (c curve) band(positive, interval bool) (*Band, error) {
	b := &Band{}
	n := len(c.runs)
	at := make([]float64, n)
	for k, x := range c.x {
		for run, values := range c.runs {
			at[run] = values[k]
			if math.IsNaN(at[run]) || math.IsInf(at[run], 0) {
				return nil, fmt.Errorf("run %d is %v at step %v", run, at[run], x)
			}
		}
		mean := stat.Mean(at, nil)
		if positive && mean <= 0 {
			continue
		}
		b.XYs = append(b.XYs, plotter.XY{X: x, Y: mean})
		if n > 1 {
			half := stat.StdDev(at, nil)
			if interval {
				t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
				half *= t / math.Sqrt(float64(n))
			}
			b.Low, b.High = append(b.Low, mean-half), append(b.High, mean+half)
		}
	}
	return b, nil
}

// check reports results that must not share a figure, or cannot be drawn.
func check(results []*sim.Result) error {
	if len(results) == 0 {
		return errors.New("figure: no results to draw")
	}
	first := results[0]
	for i, r := range results {
		for _, s := range []struct{ setting, a, b string }{
			{"problem", first.Problem, r.Problem},
			{"runs", fmt.Sprint(first.Runs), fmt.Sprint(r.Runs)},
			{"steps", fmt.Sprint(first.Steps), fmt.Sprint(r.Steps)},
			{"seed", fmt.Sprint(first.Seed), fmt.Sprint(r.Seed)},
		} {
			if s.a != s.b {
				return fmt.Errorf("figure: results of different configurations: contender %q of %q has %s %s, %q of %q has %s",
					first.Contender, first.Experiment, s.setting, s.a, r.Contender, r.Experiment, s.b)
			}
		}
		for _, other := range results[:i] {
			if other.Contender == r.Contender {
				return fmt.Errorf("figure: two results of contender %q: %s of %q and %s of %q",
					r.Contender, other.Algorithm, other.Experiment, r.Algorithm, r.Experiment)
			}
		}
		for _, table := range [][][]float64{r.Reward, r.Regret} {
			if table == nil {
				continue
			}
			if len(table) != r.Runs {
				return fmt.Errorf("figure: contender %q of %q: %d runs of values for %d runs", r.Contender, r.Experiment, len(table), r.Runs)
			}
			for run, values := range table {
				if len(values) != len(r.Checkpoints) || len(values) == 0 {
					return fmt.Errorf("figure: contender %q of %q: run %d has %d values for %d checkpoints",
						r.Contender, r.Experiment, run, len(values), len(r.Checkpoints))
				}
			}
		}
	}
	return nil
}
