package figure_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/cmpimg"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
)

// growing is a result of 20 runs whose regret grows as scale * step^power,
// with a factor of its own a run.
func growing(contender string, scale, power, spread float64) *sim.Result {
	r := &sim.Result{
		Experiment: "toy", Contender: contender, Problem: "envs.Bernoulli {}", Algorithm: contender,
		Runs: 20, Steps: 20000, Seed: 1,
	}
	for s := 1.0; s < 20000; s *= 1.15 {
		if n := int(s); len(r.Checkpoints) == 0 || n > r.Checkpoints[len(r.Checkpoints)-1] {
			r.Checkpoints = append(r.Checkpoints, n)
		}
	}
	r.Checkpoints = append(r.Checkpoints, 20000)
	random := envs.NewRand(7, contender)
	for range r.Runs {
		factor := scale * math.Exp(spread*random.NormFloat64())
		rate := 0.5 - 0.1*random.Float64()
		var regret, reward []float64
		for _, s := range r.Checkpoints {
			regret = append(regret, factor*math.Pow(float64(s), power))
			reward = append(reward, rate*float64(s)-scale*math.Pow(float64(s), power))
		}
		r.Regret, r.Reward = append(r.Regret, regret), append(r.Reward, reward)
	}
	return r
}

func contenders() []*sim.Result {
	return []*sim.Result{
		growing("PGCR", 1, 0.55, 0.2),
		growing("epsilon-greedy", 0.09, 0.97, 0.15),
		growing("GLM-UCB", 2, 0.58, 0.08),
		growing("Thompson", 2.1, 0.6, 0.1),
		growing("greedy", 0.6, 0.72, 0.5),
		growing("PGCR (paper)", 0.2, 0.81, 0.4),
		growing("vanilla PG", 1.7, 0.62, 0.25),
		growing("random", 0.11, 1, 0.05),
	}
}

var palette = map[string]int{"PGCR": 0, "epsilon-greedy": 1, "GLM-UCB": 2, "Thompson": 3, "greedy": 4, "PGCR (paper)": 5, "vanilla PG": 6, "random": 7}

// golden compares the figure with testdata/NAME_golden.png; `go test -regen`
// writes that file anew. The tolerance leaves room for the rounding of another
// processor, which moves the shade of single pixels at edges.
func golden(t *testing.T, name string, p *plot.Plot, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			os.Remove(filepath.Join("testdata", name))
		}
	})
	cmpimg.CheckPlotApprox(func() {
		if err := figure.Save(p, filepath.Join("testdata", name), figure.Width, figure.Height); err != nil {
			t.Fatal(err)
		}
	}, t, 0.05, name)
}

func TestRegretFigure(t *testing.T) {
	p, err := figure.Regret(contenders(), figure.Options{Title: "Bernoulli rewards", Palette: palette})
	golden(t, "regret.png", p, err)
}

func TestRegretIntervalFigure(t *testing.T) {
	p, err := figure.Regret(contenders()[:4], figure.Options{Interval: true, Palette: palette})
	golden(t, "regret-interval.png", p, err)
}

func TestRegretLogLogFigure(t *testing.T) {
	p, err := figure.RegretLogLog(contenders(), figure.Options{Title: "Bernoulli rewards", Palette: palette})
	golden(t, "regret-loglog.png", p, err)
}

func TestAverageRewardFigure(t *testing.T) {
	p, err := figure.AverageReward(contenders(), 500, figure.Options{Palette: palette})
	golden(t, "average-reward.png", p, err)
}

func TestLinesFigure(t *testing.T) {
	n := []float64{1, 2, 4, 8, 16, 32, 64}
	ratio, reference, bars := make([]float64, len(n)), make([]float64, len(n)), make([]float64, len(n))
	for i, v := range n {
		reference[i] = 1 / v
		ratio[i] = (1 + 0.1*math.Sin(3*v)) / v
		bars[i] = 0.12 / v
	}
	p, err := figure.Lines([]figure.Series{
		{Name: "measured", X: n, Y: ratio, Error: bars},
		{Name: "1/N", X: n, Y: reference, Reference: true},
	}, figure.Axes{X: "resamplings N", Y: "variance of the critic update, PGCR / PG", LogX: true, LogY: true}, figure.Options{Title: "Variance of the critic update"})
	golden(t, "lines.png", p, err)
}

func TestScatterFigure(t *testing.T) {
	random := envs.NewRand(3, "scatter")
	var exact, estimate []float64
	for range 40 {
		x := random.Float64()
		exact = append(exact, x)
		estimate = append(estimate, x+0.02*random.NormFloat64())
	}
	p, err := figure.Scatter([]figure.Series{
		{Name: "contexts", X: exact, Y: estimate},
		{Name: "equal", X: []float64{0, 1}, Y: []float64{0, 1}, Reference: true},
	}, figure.Axes{X: "exact marginal probability", Y: "mean of estimates"}, figure.Options{})
	golden(t, "scatter.png", p, err)
}

func TestBarsFigure(t *testing.T) {
	var labels []string
	for i := range 5 {
		labels = append(labels, fmt.Sprintf("candidate %d", i))
	}
	p, err := figure.Bars(labels, []figure.Series{
		{Name: "before", Y: []float64{0.21, 0.19, 0.2, 0.18, 0.22}},
		{Name: "after", Y: []float64{0.02, 0.05, 0.78, 0.11, 0.04}, Error: []float64{0.01, 0.02, 0.05, 0.03, 0.01}},
	}, figure.Axes{Y: "probability"}, figure.Options{})
	golden(t, "bars.png", p, err)
}
