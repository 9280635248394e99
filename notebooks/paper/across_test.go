package paper_test

import (
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// The numbers come from an independent computation by rliable's definitions.
func TestAcross(t *testing.T) {
	x, y := make(paper.Scores, 4), make(paper.Scores, 4)
	for j := range 4 {
		for i := range 10 {
			x[j] = append(x[j], float64((7*i*i+13*j+5*i*j)%23)/23)
			y[j] = append(y[j], float64((11*i+3*j*j+2*i*j)%23)/23)
		}
	}
	near(t, "IQM of x", x.IQM(), .445652173913, 1e-12)
	near(t, "IQM of y", y.IQM(), .491304347826, 1e-12)
	near(t, "optimality gap", x.OptimalityGap(), .535869565217, 1e-12)
	near(t, "P(x > y)", x.Improvement(y), .47375, 1e-12)
	near(t, "P(x > y) + P(y > x)", x.Improvement(y)+y.Improvement(x), 1, 1e-12)
	near(t, "runs above every score", x.Above(-1), 1, 1e-12)
	near(t, "runs above half", paper.Scores{{.4, .5, .6, .7}, {0, 1}}.Above(.5), .5, 1e-12)
	// The samples are of runs within problems: equal ones tell nothing of their spread, nor does one.
	mean := func(s []paper.Scores) float64 { return s[0].IQM() }
	for _, s := range []paper.Scores{{{1, 1}, {3, 3}}, {{.3, .1 + .2}, {2}}, {{1}}} {
		if i := paper.Bootstrap95([]paper.Scores{s}, mean)[0]; !strings.HasSuffix(i.String(), " [no interval]") {
			t.Errorf("of equal runs the interval is %v", i)
		}
	}
	// The mean of 40 scores with a deviation of about .29 has an error of about .29/sqrt(40).
	gap := func(s []paper.Scores) float64 { return s[0].OptimalityGap() }
	both := paper.Bootstrap95([]paper.Scores{x}, mean, gap)
	near(t, "length of the interval", both[1].High-both[1].Low, 2*1.96*.29/6.32, .03)
	// A statistic has one interval, whichever others are asked for.
	if alone := paper.Bootstrap95([]paper.Scores{x}, gap)[0]; alone != both[1] {
		t.Errorf("the interval is %v, alone %v", both[1], alone)
	}
}

// Random choice scores 0 on average, no regret 1; what a problem lacks is left out.
func TestAcrossProblems(t *testing.T) {
	results := map[string][]*sim.Result{
		"toy-linear": {plain("toy-linear", "PGCR", 0, 100), plain("toy-linear", "Lin-UCB", 50, 50), plain("toy-linear", "random", 150, 250)},
		"toy-mixed":  {plain("toy-mixed", "PGCR", 0, 0), plain("toy-mixed", "random", 1, 1), plain("toy-mixed", "GLM-UCB", 1, 1)},
	}
	header, rows := paper.AcrossTable(results)
	if len(rows) != 1 || len(rows[0]) != len(header) || !strings.HasPrefix(strings.Join(rows[0], "|"), "PGCR|1.00 [") || rows[0][2] != "0.875" {
		t.Errorf("the table is %q of %q", rows, header) // of 1, 0.5 and 1, 1 the middle two are 1
	}
	results["toy-mixed"] = append(results["toy-mixed"], plain("toy-mixed", "Lin-UCB", 1, 1))
	if _, rows = paper.AcrossTable(results); len(rows) != 2 || rows[1][0] != "Lin-UCB" || rows[1][2] != "0.375" || rows[1][3] != "0.625" {
		t.Errorf("the table is %q", rows)
	}
	if _, _, err := paper.AcrossFigures(results); err != nil {
		t.Error(err)
	}
	header, rows = paper.ResultsTable(paper.Experiments(), results)
	if len(header) != 3 || len(rows) != 4 || rows[3][0] != "GLM-UCB" || rows[3][1] != "" || rows[1][2] != "1.000 [no interval]" || len(rows[2]) != 3 {
		t.Errorf("the table is %q of %q", rows, header)
	}
	equal := map[string][]*sim.Result{}
	for _, name := range []string{"toy-linear", "toy-mixed"} {
		equal[name] = []*sim.Result{plain(name, "PGCR", .5, .5), plain(name, "random", 1, 1)}
	}
	if p, _, err := paper.AcrossFigures(equal); p == nil || err != nil {
		t.Errorf("of equal runs: %v", err)
	}
	delete(results, "toy-mixed")
	if p, _, err := paper.AcrossFigures(results); p != nil || err != nil {
		t.Errorf("across one problem: %v, %v", p, err)
	}
}
