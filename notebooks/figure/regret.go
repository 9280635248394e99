package figure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"

	"github.com/contextrec/contextrec/envs/sim"
)

// Regret draws the cumulative expected regret of the results over the steps:
// the mean over runs and its spread. It is an error when there is nothing to
// draw, when results differ in problem, runs, steps or seed, when a name occurs
// twice, or when a result has no regret because its environment has no Oracle.
//
// The area is cut off at 0, below which no regret lies.
func Regret(results []*sim.Result, opt Options) (*plot.Plot, error) {
	p, err := regret(results, Axes{}, opt.spread(), opt)
	if err == nil {
		p.Y.Min = 0
	}
	return p, err
}

// RegretLogLog draws the regret on logarithmic axes, on which growth as a power
// of the step is a straight line and linear growth has slope 1: the median of the
// runs, and from the tenth to the ninetieth percentile, for a mean less a
// deviation may fall below 0. A line begins at the first checkpoint at which the
// median is above 0; a result without one has no line, and the key says so.
// Otherwise it is as Regret; Options.Interval changes nothing.
func RegretLogLog(results []*sim.Result, opt Options) (*plot.Plot, error) {
	return regret(results, Axes{LogX: true, LogY: true}, percentiles, opt)
}

func regret(results []*sim.Result, axes Axes, s spread, opt Options) (*plot.Plot, error) {
	if err := check(results); err != nil {
		return nil, err
	}
	series := make([]Series, len(results))
	for i, r := range results {
		if r.Regret == nil {
			return nil, fmt.Errorf("figure: %q of %q has no regret: its environment is no Oracle", r.Entry, r.Experiment)
		}
		x := make([]float64, len(r.Checkpoints))
		for k, step := range r.Checkpoints {
			x[k] = float64(step)
		}
		series[i] = s.series(r.Entry, x, r.Regret, axes.LogY, opt)
	}
	axes.X, axes.Y = "step", "cumulative regret, "+s.of(results[0].Runs)
	return lines(series, axes, opt)
}

// AverageReward draws the realised reward a step, averaged over episodes of the
// given number of steps, which must be at least 1. Rewards are known at a
// result's checkpoints only, so an episode ends at the first checkpoint that is
// at least that many steps after the one before, and is drawn at its end.
// Options.References are level lines. The errors are those of Regret.
func AverageReward(results []*sim.Result, episode int, opt Options) (*plot.Plot, error) {
	if episode < 1 {
		return nil, fmt.Errorf("figure: an episode of %d steps", episode)
	}
	if err := check(results); err != nil {
		return nil, err
	}
	s := opt.spread()
	series := make([]Series, len(results))
	for i, r := range results {
		var x []float64
		runs, before, last := make([][]float64, r.Runs), make([]float64, r.Runs), 0
		for k, step := range r.Checkpoints {
			if step-last < episode {
				continue
			}
			x = append(x, float64(step))
			for run, reward := range r.Reward {
				runs[run] = append(runs[run], (reward[k]-before[run])/float64(step-last))
				before[run] = reward[k]
			}
			last = step
		}
		if last == 0 {
			return nil, fmt.Errorf("figure: %q of %q has %d steps, fewer than an episode of %d", r.Entry, r.Experiment, r.Steps, episode)
		}
		if opt.reference(r.Entry) {
			x = []float64{0, float64(r.Steps)}
			for run, reward := range r.Reward {
				mean := reward[len(reward)-1] / float64(r.Steps)
				runs[run] = []float64{mean, mean}
			}
		}
		series[i] = s.series(r.Entry, x, runs, false, opt)
	}
	return lines(series, Axes{
		X: fmt.Sprintf("step, in episodes of %s", number(float64(episode), 1)),
		Y: "reward a step, " + s.of(results[0].Runs),
	}, opt)
}

// lines draws series over steps.
func lines(series []Series, axes Axes, opt Options) (*plot.Plot, error) {
	p, err := draws(series, axes, opt, true)
	if err != nil {
		return nil, err
	}
	if !axes.LogX {
		p.X.Min = 0
	}
	if axes.LogY { // areas may reach to 0; the axis begins under the lowest line
		p.Y.Min = math.Inf(1)
		for _, s := range series {
			for _, y := range s.Y {
				p.Y.Min = math.Min(p.Y.Min, y/1.5)
			}
		}
	}
	return p, nil
}

// spread is what the line and the area around it are, of one value a run.
type spread struct {
	name string
	at   func(values []float64) (middle, low, high float64)
}

var (
	deviation = spread{"mean ± s.d.", func(v []float64) (float64, float64, float64) {
		mean, sd := stat.MeanStdDev(v, nil)
		return mean, mean - sd, mean + sd
	}}
	interval = spread{"mean and 95 % interval", func(v []float64) (float64, float64, float64) {
		mean, sd := stat.MeanStdDev(v, nil)
		n := float64(len(v))
		half := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
		return mean, mean - half, mean + half
	}}
	percentiles = spread{"median and 10 to 90 %", func(v []float64) (float64, float64, float64) {
		v = slices.Sorted(slices.Values(v))
		quantile := func(q float64) float64 { // interpolates: 0 is the least, 1 the largest
			at := q * float64(len(v)-1)
			k := min(int(at), len(v)-2)
			return v[k] + (at-float64(k))*(v[k+1]-v[k])
		}
		return quantile(0.5), quantile(0.1), quantile(0.9)
	}}
)

func (o Options) spread() spread {
	if o.Interval {
		return interval
	}
	return deviation
}

func (s spread) of(runs int) string {
	if runs == 1 {
		return "one run"
	}
	return fmt.Sprintf("%s of %d runs", s.name, runs)
}

// series is the middle of the runs, [run][point], with their spread, and of
// positive values only those.
func (s spread) series(name string, x []float64, runs [][]float64, positive bool, opt Options) Series {
	out := Series{Name: name, Reference: opt.reference(name)}
	values := make([]float64, len(runs))
	for k := range x {
		for run := range runs {
			values[run] = runs[run][k]
		}
		middle, low, high := values[0], values[0], values[0]
		if len(values) > 1 {
			middle, low, high = s.at(values)
		}
		if positive && middle <= 0 {
			continue
		}
		out.X, out.Y = append(out.X, x[k]), append(out.Y, middle)
		if len(values) > 1 && !out.Reference {
			out.Low, out.High = append(out.Low, low), append(out.High, high)
		}
	}
	if positive && len(out.Y) == 0 {
		out.Name += " (0)"
	}
	return out
}

// check reports results that must not share a figure.
func check(results []*sim.Result) error {
	if len(results) == 0 {
		return errors.New("figure: no results to draw")
	}
	setting := func(r *sim.Result) string {
		return fmt.Sprintf("problem %s, %d runs, %d steps, seed %d", r.Problem, r.Runs, r.Steps, r.Seed)
	}
	first, seen := results[0], map[string]bool{}
	for _, r := range results {
		if a, b := setting(first), setting(r); a != b {
			return fmt.Errorf("figure: results of different settings: %q has %s; %q has %s", first.Entry, a, r.Entry, b)
		}
		if seen[r.Entry] {
			return fmt.Errorf("figure: two results are called %q", r.Entry)
		}
		seen[r.Entry] = true
	}
	return nil
}
