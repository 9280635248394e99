package nb

import (
	"fmt"
	"math"

	"github.com/contextrec/contextrec/envs/logged"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Evaluations shows what policies would have earned in place of the one that made
// a log, beside what that one earned: a figure with 95 % intervals, and a table.
// All are evaluated on the same log. expected, [N, M], is the truth where there
// is one, in a simulation; else nil. It panics when there is not a name for every
// evaluation.
//
// What the log tells no interval of has none, [-] in the table, and no bar: a
// policy that agrees with the log in the decisions of one user only, and rewards
// that are all equal, whose spread nobody has seen.
func Evaluations(names []string, found []*logged.Evaluation, expected []float64) {
	if len(names) != len(found) || len(found) == 0 {
		panic(fmt.Sprintf("nb: %d names for %d evaluations", len(names), len(found)))
	}
	header := []string{"policy", "mean reward a decision [95 % interval]", "less the log's", "where policy and log agree", "mean weight", "effective decisions"}
	estimates, truths := figure.Series{Name: "estimate"}, figure.Series{Name: "truth"}
	var rows [][]string
	add := func(name string, e logged.Estimate, truth func([]float64) float64, more ...string) {
		if spreadKnown(e) {
			estimates.Y, estimates.Error = append(estimates.Y, e.Mean), append(estimates.Error, e.High-e.Mean)
		} else {
			estimates.Y, estimates.Error = append(estimates.Y, 0), append(estimates.Error, 0)
		}
		row := append(append([]string{name, interval(e, spreadKnown(e))}, more...), fmt.Sprintf("%.0f", e.Effective))
		if expected != nil {
			truths.Y = append(truths.Y, truth(expected))
			row = append(row, number(truth(expected)))
		}
		rows = append(rows, row)
	}
	log := found[0].Logged()
	for i, f := range found {
		e := f.SelfNormalised()
		add(names[i], e, f.Value, interval(e.Minus(log), spreadKnown(e) && spreadKnown(log)), number(f.Agreeing().Mean), interval(f.MeanWeight(), true))
	}
	add("the log", log, found[0].LoggedValue, "", "", "")
	shown, alt := []figure.Series{estimates}, "Mean reward a decision of every policy as the log tells it, with 95 % intervals"
	if expected != nil {
		header, shown, alt = append(header, "truth"), append(shown, truths), alt+", beside the truth"
	}
	labels := append(append([]string(nil), names...), "the log")
	p := Must(figure.Bars(labels, shown, figure.Axes{Y: "mean reward a decision"}, figure.Options{}))
	ShowSize(p, alt, 8*72, Height)
	Table(header, rows)
}

// spreadKnown is whether rewards have been seen to differ from unit to unit.
func spreadKnown(e logged.Estimate) bool { return e.Error > 0 && !math.IsInf(e.Error, 1) }

func interval(e logged.Estimate, known bool) string {
	if !known || math.IsInf(e.Error, 1) {
		return number(e.Mean) + " [-]"
	}
	return paper.Interval{Mean: e.Mean, Low: e.Low, High: e.High}.String()
}
