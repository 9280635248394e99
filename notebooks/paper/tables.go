package paper

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
)

// Title is the title of an experiment's figures.
func Title(e sim.Experiment) string {
	if title, ok := titles[e.Name]; ok {
		return title
	}
	return e.Name
}

// FigureOptions are the options of an experiment's figures: title, references, and
// shades for the entries that differ in one ordered setting.
func FigureOptions(e sim.Experiment) figure.Options {
	opt := figure.Options{Title: Title(e), References: References}
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

// RegretTable is the regret of every entry at the last step, the lowest mean
// first. Like the other tables it is a header and rows of as many cells, as
// WriteMarkdown takes them.
func RegretTable(results []*sim.Result) (header []string, rows [][]string) {
	for _, r := range sorted(results, func(r *sim.Result) float64 { return r.Summary().Regret.Mean }) {
		s := r.Summary().Regret
		rows = append(rows, []string{r.Entry, Interval{s.Mean, s.Low, s.High}.String(), short(s.Median), short(s.Min) + " to " + short(s.Max)})
	}
	return []string{"", "final regret, mean [95 % interval]", "median", "best to worst run"}, rows
}

// GrowthTable is the log-log slope of every entry's regret in the last half of
// the steps, the steepest first: 1 where regret grows linearly.
func GrowthTable(results []*sim.Result) (header []string, rows [][]string) {
	for _, r := range sorted(results, func(r *sim.Result) float64 { return -stat.Mean(growth(r), nil) }) {
		rows = append(rows, []string{r.Entry, Mean95(growth(r)).String()})
	}
	return []string{"", "log-log slope of the last half, mean [95 % interval]"}, rows
}

// RewardTable is what every entry earned a step, the highest mean first.
func RewardTable(results []*sim.Result) (header []string, rows [][]string) {
	for _, r := range sorted(results, func(r *sim.Result) float64 { return -r.Summary().Reward.Mean }) {
		s := r.Summary().Reward
		rows = append(rows, []string{r.Entry, Interval{s.Mean, s.Low, s.High}.String(), cents(earned(r, firstTenth)), cents(earned(r, lastTenth))})
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
	of, what, better := final, "final regret", "lower"
	if slices.ContainsFunc(results, func(r *sim.Result) bool { return r.Regret == nil || isMusic(r) }) {
		of, what, better = allSteps.earned, "reward a step", "higher"
	}
	own := Select(results, entry)[0]
	for _, r := range Without(results, entry) {
		if !paired(own, r) {
			panic(fmt.Sprintf("paper: %q and %q were run in different settings", entry, r.Entry))
		}
		x, y := of(own), of(r)
		count := lowerIn(x, y, 1)
		if better == "higher" {
			count = lowerIn(y, x, 1)
		}
		d, verdict := Paired95(x, y, 1), "no difference seen"
		switch {
		case d.High < 0:
			verdict = "lower"
		case d.Low > 0:
			verdict = "higher"
		}
		rows = append(rows, []string{"less " + r.Entry, d.String(), verdict, fmt.Sprintf("%d of %d", count, len(x))})
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
	if c.Setting == "" {
		return c.Source
	}
	return c.Source + "; " + c.Setting
}

// WriteMarkdown writes a table in GitHub's Markdown.
func WriteMarkdown(w io.Writer, header []string, rows [][]string) error {
	escape := strings.NewReplacer("|", `\|`, "_", `\_`, "*", `\*`, "<", "&lt;", ">", "&gt;", "\n", "<br>")
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + escape.Replace(cell) + " ")
		}
		b.WriteString("|\n")
	}
	line(header)
	b.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes claims as text in lines of up to width characters, a paragraph
// a claim, and below it every part with a mark of that part's verdict. A last line
// explains the marks.
func WriteText(w io.Writer, claims []Claim, width int) error {
	marks := map[Verdict]string{Reproduced: "+ ", NotReproduced: "- ", Undecided: "? ", NotRun: ". ", Note: "  "}
	var b strings.Builder
	for _, c := range claims {
		wrap(&b, fmt.Sprintf("%2d  %-18s  ", c.Row, c.Verdict), c.Statement+" ["+c.about()+"]", width)
		for _, p := range c.Parts {
			wrap(&b, strings.Repeat(" ", 22)+marks[p.Verdict], p.Evidence, width)
		}
		b.WriteByte('\n')
	}
	if len(claims) > 0 {
		b.WriteString("+ reproduced   - not reproduced   ? undecided   . not run\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap writes text after a head, the following lines below the text.
func wrap(b *strings.Builder, head, text string, width int) {
	line, indent := head, strings.Repeat(" ", len(head))
	for _, word := range strings.Fields(text) {
		if line != head && line != indent && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != head && line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
