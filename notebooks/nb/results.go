package nb

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Declaration shows what an experiment declares: the problem, how long and how
// often it is played, at full scale and here, and the settings of every
// contender with their defaults.
func Declaration(e sim.Experiment) {
	here := ""
	if steps := e.Scale(ScaleOf(e)).Steps; steps != e.Steps {
		here = fmt.Sprintf(" (here %s: scale %v)", grouped(int64(steps)), ScaleOf(e))
	}
	Text(fmt.Sprintf("%s: %s\n%d runs of %s steps%s, seed %d",
		e.Name, literal(e.Problem), e.Runs, grouped(int64(e.Steps)), here, e.Seed))
	var rows [][]string
	for _, c := range e.Contenders {
		rows = append(rows, []string{c.Name, literal(c.Algorithm)})
	}
	Table([]string{"contender", "algorithm and settings"}, rows)
}

// literal writes a declaration much as Go does, from its JSON form, which has
// the defaults filled in.
func literal(v any) string {
	text := Must(json.Marshal(v))
	return fmt.Sprintf("%T", v) + strings.NewReplacer(`"`, "", ":", ": ", ",", ", ").Replace(string(text))
}

// FinalRegrets shows the regret of every contender at the last step, the lowest
// first.
func FinalRegrets(results []*sim.Result) {
	var rows [][]string
	for _, f := range paper.FinalRegrets(results) {
		rows = append(rows, []string{f.Contender, f.Mean.String(), number(f.Median), number(f.Deviation), number(f.Least) + " to " + number(f.Most)})
	}
	Table([]string{"contender", "final regret, mean [95 % interval]", "median", "s.d. of the runs", "best to worst run"}, rows)
}

// Differences shows how the final regret of a contender differs, run by run,
// from that of every other one.
func Differences(results []*sim.Result, contender string) {
	var rows [][]string
	for _, d := range Must(paper.Differences(results, contender)) {
		verdict := "not told apart"
		switch {
		case d.Mean.High < 0:
			verdict = "lower"
		case d.Mean.Low > 0:
			verdict = "higher"
		}
		rows = append(rows, []string{"less " + d.Than, d.Mean.String(), verdict, fmt.Sprintf("%d of %d", d.Lower, d.Runs)})
	}
	Table([]string{"final regret of " + contender, "mean difference [95 % interval]", "it is", "runs in which it is lower"}, rows)
}

// Growths shows how every contender's regret grows in the last half of the
// steps, the steepest first.
func Growths(results []*sim.Result) {
	var rows [][]string
	for _, g := range Must(paper.Growths(results)) {
		rows = append(rows, []string{g.Contender, g.Ratio.String(), g.Slope.String()})
	}
	Table([]string{"contender", "regret of the last quarter by that of the quarter before, mean [95 % interval]", "log-log slope of the last half"}, rows)
}

// Fits shows how well models know the rewards: for each of them its estimates
// in one run against the truth, on one picture, and a table over all runs. It
// panics when there is no such run.
func Fits(run int, fits ...*paper.ModelFit) {
	const shown = 150 // candidates; more hide each other
	axes := figure.Axes{X: "expected reward", Y: "estimate"}
	var plots []*plot.Plot
	var rows [][]string
	for _, f := range fits {
		truth := f.Expected[run][:shown]
		ends := []float64{slices.Min(truth), slices.Max(truth)}
		plots = append(plots, Must(figure.Scatter([]figure.Series{
			{Name: "a candidate", X: truth, Y: f.Estimated[run][:shown]},
			{Name: "exact", X: ends, Y: ends, Reference: true},
		}, axes, figure.Options{Title: f.Name})))
		rows = append(rows, []string{f.Name, f.Correlation().String(), f.Regret().String()})
	}
	alt := fmt.Sprintf("Estimates of %d candidates after %d steps against their expected rewards, "+
		"beside the diagonal on which they would be exact", shown, fits[0].Steps)
	if len(plots) == 1 {
		Show(plots[0], alt)
	} else {
		ShowGrid(2, alt, plots...)
	}
	Table([]string{
		fmt.Sprintf("after %s steps", grouped(int64(fits[0].Steps))),
		"correlation of estimate and truth", "regret a step of choosing by the estimate",
	}, rows)
}

// Masks shows the probabilities of one step under all dropout masks: a picture
// for each spread, with a line for each candidate on which the masks stand in
// the order of their probabilities, and a table of how much they differ.
func Masks(spreads ...*paper.MaskSpread) {
	axes := figure.Axes{X: "share of the masks", Y: "probability is at most"}
	var plots []*plot.Plot
	var rows [][]string
	for _, s := range spreads {
		lines := make([]figure.Series, len(s.Whole))
		for i := range lines {
			lines[i].Name = fmt.Sprintf("pays %.3f", s.Expected[i])
			for k, p := range s.Masks {
				lines[i].X = append(lines[i].X, (float64(k)+0.5)/float64(len(s.Masks)))
				lines[i].Y = append(lines[i].Y, p[i])
			}
			slices.Sort(lines[i].Y)
		}
		p := Must(figure.Lines(lines, axes, figure.Options{Title: fmt.Sprintf("dropout %v, after %s steps", s.Dropout, grouped(int64(s.Steps)))}))
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		plots = append(plots, p)
		rows = append(rows, []string{
			fmt.Sprint(s.Dropout), grouped(int64(s.Steps)),
			number(s.Deviation()), fmt.Sprintf("%.0f %%", 100*s.Disagreement()),
		})
	}
	ShowGrid(2, fmt.Sprintf("For each candidate, the probabilities under %d dropout masks in their order", len(spreads[0].Masks)), plots...)
	Table([]string{"dropout", "steps", "s.d. of a probability over masks", "masks with another favourite"}, rows)
}

// Claims shows claims of the paper with what they rest on. The verdict of a
// claim stands in its first line, and below it those of its parts.
func Claims(claims []paper.Claim) {
	var rows [][]string
	for _, c := range claims {
		rows = append(rows, []string{strconv.Itoa(c.Row), c.Statement + " (" + c.Source + ")", c.Setting, string(c.Verdict)})
		for _, p := range c.Parts {
			rows = append(rows, []string{"", "", p.Evidence, string(p.Verdict)})
		}
	}
	Table([]string{"#", "the paper claims", "measured", "verdict"}, rows)
}

// Cells formats numbers as a row of a table, or a part of one.
func Cells(format string, values ...float64) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprintf(format, v)
	}
	return row
}

// number writes three digits, or all before the point.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case math.Abs(v) >= 100:
		return grouped(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// AverageRewards shows what every contender earned a step, the highest first.
func AverageRewards(results []*sim.Result) {
	var rows [][]string
	for _, r := range paper.AverageRewards(results) {
		rows = append(rows, []string{r.Contender, r.All.String(), fmt.Sprintf("%.3f", r.First.Mean), fmt.Sprintf("%.3f", r.Last.Mean)})
	}
	Table([]string{"contender", "reward a step, mean [95 % interval]", "in the first tenth", "in the last tenth"}, rows)
}

// RewardDifferences shows how the rewards of a contender differ, run by run,
// from those of every other one.
func RewardDifferences(results []*sim.Result, contender string) {
	var rows [][]string
	for _, d := range Must(paper.RewardDifferences(results, contender)) {
		rows = append(rows, []string{"less " + d.Than, d.First.String(), d.All.String(), d.Last.String(), fmt.Sprintf("%d of %d", d.Higher, d.Runs)})
	}
	Table([]string{"reward a step of " + contender, "first tenth, mean [95 % interval]", "all steps", "last tenth", "runs in which it is higher"}, rows)
}

// DataFacts shows statistics of the KKBox data beside the published ones.
func DataFacts(facts []paper.DataFact) {
	var rows [][]string
	for _, f := range facts {
		rows = append(rows, []string{f.Name, fmt.Sprintf("%.4g", f.Published), fmt.Sprintf("%.4g", f.Here)})
	}
	Table([]string{"", "published", "here"}, rows)
}

// RewardGains shows what the contenders earn more in an experiment than in
// another one, run by run.
func RewardGains(results, other []*sim.Result) {
	var rows [][]string
	for _, d := range Must(paper.RewardGains(results, other)) {
		rows = append(rows, []string{d.Contender, d.First.String(), d.All.String(), d.Last.String(), fmt.Sprintf("%d of %d", d.Higher, d.Runs)})
	}
	Table([]string{
		fmt.Sprintf("reward a step in %s less that in %s", results[0].Experiment, other[0].Experiment),
		"first tenth, mean [95 % interval]", "all steps", "last tenth", "runs in which it is higher",
	}, rows)
}

// States shows how estimates depend on the state: for every name a picture of
// its estimates, [states, M], with a line a state. It panics when there is
// another number of names.
func States(names []string, estimates ...[][]float64) {
	if len(names) != len(estimates) {
		panic(fmt.Sprintf("nb: %d names for the estimates of %d models", len(names), len(estimates)))
	}
	var plots []*plot.Plot
	for i, states := range estimates {
		lines := make([]figure.Series, len(states))
		for k, y := range states {
			lines[k] = figure.Series{Name: fmt.Sprintf("state %d", k+1), Y: y}
			for item := range y {
				lines[k].X = append(lines[k].X, float64(item+1))
			}
		}
		axes := figure.Axes{X: "item", Y: "estimate less the mean"}
		plots = append(plots, Must(figure.Lines(lines, axes, figure.Options{Title: names[i]})))
	}
	ShowGrid(2, "Estimates of a step's items in several states, less their mean, one line a state: of the "+strings.Join(names, ", and of the "), plots...)
}
