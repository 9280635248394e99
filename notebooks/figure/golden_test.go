package figure_test

import (
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
// with another factor in each run.
func growing(entry string, scale, power, spread float64) *sim.Result {
	r := &sim.Result{
		Experiment: "toy", Entry: entry, Problem: "envs.Bernoulli {}", Algorithm: entry,
		Runs: 20, Steps: 20000, Seed: 1,
	}
	for s := 1.0; s < 20000; s *= 1.15 {
		if n := int(s); len(r.Checkpoints) == 0 || n > r.Checkpoints[len(r.Checkpoints)-1] {
			r.Checkpoints = append(r.Checkpoints, n)
		}
	}
	r.Checkpoints = append(r.Checkpoints, 20000)
	random := envs.NewRand(7, entry)
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

func entries() []*sim.Result {
	return []*sim.Result{
		growing("PGCR", 1, 0.55, 0.2),
		growing("epsilon-greedy", 0.09, 0.97, 0.15),
		growing("GLM-UCB", 2, 0.58, 0.08),
		growing("Thompson", 2.1, 0.6, 0.1),
		growing("greedy", 0.6, 0.72, 0.5),
		growing("PGCR dropout 0.5", 0.2, 0.81, 0.4),
		growing("vanilla PG", 1.7, 0.62, 0.25),
		growing("random", 0.11, 1, 0.05),
	}
}

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
	p, err := figure.Regret(entries(), figure.Options{Title: "Bernoulli rewards", References: []string{"random"}})
	golden(t, "regret.png", p, err)
}

func TestRegretLogLogFigure(t *testing.T) {
	ramp := []string{"PGCR", "PGCR dropout 0.5", "vanilla PG"}
	p, err := figure.RegretLogLog(entries(), figure.Options{Ramp: ramp})
	golden(t, "regret-loglog.png", p, err)
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

func TestBarsFigure(t *testing.T) {
	p, err := figure.Bars([]string{"candidate 1", "candidate 2", "candidate 3"}, []figure.Series{
		{Name: "before", Y: []float64{0.21, 0.19, 0.6}},
		{Name: "after", Y: []float64{0.02, 0.05, 0.93}, Error: []float64{0.01, 0.02, 0.05}},
	}, figure.Axes{Y: "probability"}, figure.Options{})
	golden(t, "bars.png", p, err)
}
