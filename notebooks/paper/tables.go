package paper

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
)

// FigureOptions are the options of an experiment's figures: title, references, and
// shades for the entries that differ in one ordered setting.
func FigureOptions(e sim.Experiment) figure.Options {
	opt := figure.Options{Title: cmp.Or(titles[e.Name], e.Name), References: References}
	for _, n := range e.Entries {
		if strings.HasPrefix(n.Name, "greed ") || e.Name == "toy-dropout" && strings.HasPrefix(n.Name, "PGCR dropout ") {
			opt.Ramp = append(opt.Ramp, n.Name)
		}
	}
	return opt
}

var titles = map[string]string{
	"toy-linear":         "Linear rewards (figure 1a)",
	"toy-bernoulli":      "Bernoulli rewards (figure 1b)",
	"toy-bernoulli-hard": "Bernoulli rewards, few weights decide",
	"toy-mixed":          "Mixed rewards (figure 1c)",
	"toy-dropout":        "Actor-Dropout, Bernoulli rewards (figure 1d)",
	"greed":              "Time-Dependent Greed, Bernoulli rewards",
	"music-stateless":    "Music without states (figure 2a)",
	"music-state":        "Music with states (figure 2b)",
}

// RegretTable is the regret of every entry at the last step, the lowest mean first. Like the other
// tables it is a header and rows of as many cells, as TableText takes them.
func RegretTable(results []*sim.Result) (header []string, rows [][]string) {
	for _, r := range sorted(results, func(r *sim.Result) float64 { return r.Summary().Regret.Mean }) {
		s := r.Summary().Regret
		rows = append(rows, []string{r.Entry, Interval{s.Mean, s.Low, s.High}.String(), short(s.Median), short(s.Min) + " to " + short(s.Max)})
	}
	return []string{"", "final regret, mean [95 % interval]", "median", "best to worst run"}, rows
}

// ResultsTable is a row an algorithm and a column an experiment with random choice: the
// mean final regret of the runs, on music the reward a step, with 95 % intervals.
func ResultsTable(experiments []sim.Experiment, results map[string][]*sim.Result) (header []string, rows [][]string) {
	experiments = slices.DeleteFunc(slices.Clone(experiments), func(e sim.Experiment) bool {
		_, missing := evidence{e, results[e.Name]}.find("random")
		return missing != nil
	})
	header = []string{"regret, of music reward a step [95 % interval]"}
	for column, e := range experiments {
		of := final
		if IsMusic(e) {
			of = allSteps.earned
		}
		header = append(header, fmt.Sprintf("%s, %d steps", e.Name, results[e.Name][0].Steps))
		for _, r := range results[e.Name] {
			at := slices.IndexFunc(rows, func(row []string) bool { return row[0] == r.Entry })
			if at < 0 {
				at, rows = len(rows), append(rows, make([]string, 1+len(experiments)))
				rows[at][0] = r.Entry
			}
			rows[at][1+column] = Mean95(of(r)).String()
		}
	}
	return header, rows
}

// RewardTable is what every entry earned a step, the highest mean first.
func RewardTable(results []*sim.Result) (header []string, rows [][]string) {
	for _, r := range sorted(results, func(r *sim.Result) float64 { return -r.Summary().Reward.Mean }) {
		s := r.Summary().Reward
		rows = append(rows, []string{r.Entry, Interval{s.Mean, s.Low, s.High}.String(), cents(firstTenth.earned(r)), cents(lastTenth.earned(r))})
	}
	return []string{"", "reward a step, mean [95 % interval]", "in the first tenth", "in the last tenth"}, rows
}

// sorted are the results in ascending order, without those that lack the number.
func sorted(results []*sim.Result, by func(*sim.Result) float64) []*sim.Result {
	results = slices.DeleteFunc(slices.Clone(results), func(r *sim.Result) bool { return by(r) != by(r) })
	slices.SortStableFunc(results, func(a, b *sim.Result) int { return cmp.Compare(by(a), by(b)) })
	return results
}

// DifferenceTable compares an entry with every other one, run by run: their final
// regrets or, on music and where there are none, their rewards a step. It panics when there is
// no result of the entry, and when results cannot be paired.
func DifferenceTable(results []*sim.Result, entry string) (header []string, rows [][]string) {
	of, what, better, sign := final, "final regret", "lower", 1.0
	if slices.ContainsFunc(results, func(r *sim.Result) bool { return r.Regret == nil || isMusic(r.Problem) }) {
		of, what, better, sign = allSteps.earned, "reward a step", "higher", -1
	}
	own := Select(results, entry)[0]
	for _, r := range Without(results, entry) {
		if !paired(own, r) {
			panic(fmt.Sprintf("paper: %q and %q were run in different settings", entry, r.Entry))
		}
		runs := sim.Differences(of(own), of(r), 1)
		count := floats.Count(func(d float64) bool { return sign*d < 0 }, runs)
		d, verdict := Mean95(runs), "no difference seen"
		switch {
		case d.High < 0:
			verdict = "lower"
		case d.Low > 0:
			verdict = "higher"
		}
		rows = append(rows, []string{"less " + r.Entry, d.String(), verdict, fmt.Sprintf("%d of %d", count, len(runs))})
	}
	return []string{what + " of " + entry, "mean difference [95 % interval]", "it is", "runs in which it is " + better}, rows
}

// ClaimTable is a row a claim, with a line of the third cell for each part.
func ClaimTable(claims []Claim) (header []string, rows [][]string) {
	for _, c := range claims {
		var parts []string
		for _, p := range c.Parts {
			if p.Verdict != Note {
				p.Evidence += ": " + string(p.Verdict)
			}
			parts = append(parts, p.Evidence)
		}
		rows = append(rows, []string{strconv.Itoa(c.Row), c.Statement + " (" + c.about() + ")", strings.Join(parts, "\n"), string(c.Verdict)})
	}
	return []string{"#", "the paper claims", "measured: means, and differences with 95 % intervals", "verdict"}, rows
}

func (c Claim) about() string {
	return strings.TrimSuffix(c.Source+"; "+c.Setting, "; ")
}

// TableText is a table in a format: "text", whose columns are aligned with spaces, "markdown", which is
// GitHub's, "latex" or "csv". Where LaTeX's columns are paragraphs it wants the package longtable.
func TableText(format string, header []string, rows [][]string) (string, error) {
	var b strings.Builder
	line := func(escape *strings.Replacer, begin string, cells []string, end string) {
		b.WriteString(begin + escape.Replace(strings.Join(cells, "\t")) + end)
	}
	switch format {
	case "text":
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{header}, rows...) {
			fmt.Fprintln(w, strings.ReplaceAll(strings.Join(row, "\t"), "\n", "; "))
		}
		w.Flush()
	case "csv":
		c := csv.NewWriter(&b)
		c.WriteAll(append([][]string{header}, rows...)) // to memory
	case "markdown":
		escape := strings.NewReplacer("\t", " | ", "|", `\|`, "_", `\_`, "*", `\*`, "<", "&lt;", ">", "&gt;", "\n", "<br>")
		line(escape, "| ", header, " |\n"+strings.Repeat("|---", len(header))+"|\n")
		for _, row := range rows {
			line(escape, "| ", row, " |\n")
		}
	case "latex":
		escape := strings.NewReplacer("\t", " & ", `\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
			"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", "$<$", ">", "$>$", "[", "{[}", "\n", ` \newline `)
		environment, columns := "tabular", ""
		for i := range header {
			if slices.ContainsFunc(rows, func(row []string) bool { return len(row[i]) > 60 }) {
				environment, columns = "longtable", columns+"p" // a paragraph: they share most of the page
			} else {
				columns += "l"
			}
		}
		width := fmt.Sprintf(`p{%.2f\textwidth}`, 0.75/float64(strings.Count(columns, "p")))
		fmt.Fprintf(&b, "\\begin{%s}{%s}\n\\hline\n", environment, strings.ReplaceAll(columns, "p", width))
		line(escape, "", header, " \\\\\n\\hline\n")
		for _, row := range rows {
			line(escape, "", row, " \\\\\n")
		}
		fmt.Fprintf(&b, "\\hline\n\\end{%s}\n", environment)
	default:
		return "", fmt.Errorf("paper: a table in format %q, want text, markdown, latex or csv", format)
	}
	return b.String(), nil
}

// ClaimText is claims as text, a line a claim, and below it every part with a
// mark of that part's verdict. A last line explains the marks.
func ClaimText(claims []Claim) string {
	marks := map[Verdict]string{Reproduced: "+", NotReproduced: "-", Undecided: "?", NotRun: ".", Note: " "}
	var b strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&b, "%2d  %s: %s [%s]\n", c.Row, c.Verdict, c.Statement, c.about())
		for _, p := range c.Parts {
			fmt.Fprintf(&b, "    %s %s\n", marks[p.Verdict], p.Evidence)
		}
		b.WriteByte('\n')
	}
	return b.String() + "+ reproduced   - not reproduced   ? undecided   . not run\n"
}
