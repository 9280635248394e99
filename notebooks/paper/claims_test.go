package paper_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// growing is a result at full scale of one run a scale, whose regret is scale *
// (step/20,000)^power, with a power that is a little larger where the scale is.
func growing(experiment, entry string, power float64, scale ...float64) *sim.Result {
	r := &sim.Result{
		Experiment: experiment, Entry: entry, Problem: "a {}", Algorithm: entry,
		Runs: len(scale), Steps: 20_000, Seed: 3, Checkpoints: []int{1000, 5000, 10_000, 15_000, 20_000},
	}
	for _, s := range scale {
		var regret []float64
		for _, step := range r.Checkpoints {
			regret = append(regret, s*math.Pow(float64(step)/20_000, power+0.01*math.Log(s/scale[0])))
		}
		r.Regret, r.Reward = append(r.Regret, regret), append(r.Reward, regret)
	}
	return r
}

func plain(experiment, entry string, final ...float64) *sim.Result {
	return growing(experiment, entry, 0.5, final...)
}

func judge(t *testing.T, n int, want paper.Verdict, theory *paper.Theory, results ...*sim.Result) paper.Claim {
	t.Helper()
	byName := map[string][]*sim.Result{}
	for _, r := range results {
		byName[r.Experiment] = append(byName[r.Experiment], r)
	}
	claims := paper.Claims(byName, theory)
	c := claims[slices.IndexFunc(claims, func(c paper.Claim) bool { return c.Row == n })]
	if c.Verdict != want {
		t.Errorf("row %d is %q, want %q: %+v", n, c.Verdict, want, c.Parts)
	}
	return c
}

func TestNothingRun(t *testing.T) {
	claims := paper.Claims(nil, nil)
	if len(claims) != 11 {
		t.Errorf("%d claims, want rows 1 to 11", len(claims))
	}
	for i, c := range claims {
		if c.Row != i+1 || c.Verdict != paper.NotRun || c.Statement == "" || c.Source == "" {
			t.Errorf("without results: %+v", c)
		}
	}
}

// PGCR at 110 +- 1 beside Lin-UCB's 100 is comparable, 140 is not, and 125 +-
// 10 may lie on either side of the limit of 125.
func TestLinearClaim(t *testing.T) {
	const e = "toy-linear"
	ucb := plain(e, "Lin-UCB", 100, 100, 100, 100)
	thompson := plain(e, "Thompson", 300, 310, 290, 300)
	greedy := plain(e, "epsilon-greedy", 500, 520, 480, 500)
	good := plain(e, "PGCR", 109, 111, 110, 110)
	c := judge(t, 1, paper.Reproduced, nil, good, ucb, thompson, greedy)
	if c.Setting != "4 runs of 20000 steps" {
		t.Errorf("the setting is %q", c.Setting)
	}
	judge(t, 1, paper.NotReproduced, nil, plain(e, "PGCR", 139, 141, 140, 140), ucb, thompson, greedy)
	judge(t, 1, paper.Undecided, nil, plain(e, "PGCR", 115, 135, 120, 130), ucb, thompson, greedy)
	// One refuted part refutes the claim, whatever the others are.
	judge(t, 1, paper.NotReproduced, nil, good, ucb, plain(e, "Thompson", 90, 91, 89, 90))
	judge(t, 1, "partly run", nil, good, ucb, thompson)
	// Other seeds are other problems: there are no pairs.
	other := plain(e, "epsilon-greedy", 500, 520, 480, 500)
	other.Seed++
	c = judge(t, 1, "partly run", nil, good, ucb, thompson, other)
	if text := c.Parts[2].Evidence; !strings.Contains(text, "different settings") {
		t.Errorf("other seeds: %s", text)
	}
	// Fewer steps than declared are too few, whatever the numbers say.
	short := []*sim.Result{good, ucb, thompson, greedy}
	for _, r := range short {
		r.Steps, r.Checkpoints = 2000, []int{100, 500, 1000, 1500, 2000}
	}
	c = judge(t, 1, paper.TooShort, nil, short...)
	if c.Parts[0].Verdict != paper.Reproduced || c.Setting != "4 runs of 2000 steps, 10 % of 20000" {
		t.Errorf("a short run: %+v", c)
	}
	if on := paper.ClaimsOn(short); len(on) != 1 || on[0].Row != 1 || on[0].Verdict != paper.TooShort {
		t.Errorf("by itself: %+v", on)
	}
	// A reader's problem under that name may have no Oracle.
	for _, r := range short {
		r.Regret = nil
	}
	if on := paper.ClaimsOn(short); on != nil {
		t.Errorf("without regret: %+v", on)
	}
}

// The runs differ by 200 from each other, but PGCR is 8 to 12 better in each. A
// mean that rests on one run that went wrong has its median beside it.
func TestPairs(t *testing.T) {
	const e = "toy-mixed"
	pgcr := plain(e, "PGCR", 100, 200, 300, 400)
	c := judge(t, 3, paper.Reproduced, nil, pgcr, plain(e, "GLM-UCB", 110, 208, 312, 410), plain(e, "Thompson", 500, 500, 500, 600), plain(e, "epsilon-greedy", 500, 500, 500, 600))
	if want := "PGCR - GLM-UCB: -10.0 [-12.6, -7.4], lower in 4 of 4 runs"; !strings.HasSuffix(c.Parts[0].Evidence, want) {
		t.Errorf("the evidence is %q, want %q at its end", c.Parts[0].Evidence, want)
	}
	c = judge(t, 9, "partly run", nil, plain(e, "PGCR, ours", 100, 200, 300, 400), plain(e, "vanilla PG", 30, 40, 50, 7000))
	if want := "toy-mixed: PGCR, ours 250, vanilla PG 1780 (median 45); "; !strings.HasPrefix(c.Parts[2].Evidence, want) {
		t.Errorf("the evidence is %q, want %q", c.Parts[2].Evidence, want)
	}
}

// Powers of the step have that log-log slope.
func TestDropoutClaim(t *testing.T) {
	const e = "toy-dropout"
	with := func(power0, power67 float64) []*sim.Result {
		return []*sim.Result{
			growing(e, "PGCR dropout 0", power0, 400, 410, 390), growing(e, "epsilon-greedy", 1, 500, 510, 490),
			growing(e, "PGCR dropout 0.67", power67, 100, 101, 99), growing(e, "GLM-UCB", 0.5, 200, 203, 197),
			plain(e, "PGCR dropout 0.33", 300, 301, 299), plain(e, "PGCR dropout 0.5", 200, 201, 199),
		}
	}
	judge(t, 4, paper.Reproduced, nil, with(0.95, 0.55)...)
	judge(t, 4, paper.NotReproduced, nil, with(0.8, 0.55)...) // no linear growth
	judge(t, 4, paper.NotReproduced, nil, with(0.95, 0.8)...) // not like GLM-UCB's
}

// earning is a result of three runs that differ by about a thousandth, by another
// number in each result, and earn so much a step in ten tenths of the steps.
func earning(experiment, entry string, tenths ...float64) *sim.Result {
	r := &sim.Result{Experiment: experiment, Entry: entry, Problem: "kkbox." + experiment + " {}", Runs: 3, Steps: 5_000_000, Reward: make([][]float64, 3)}
	own := 1e-8 * math.Pow(float64(len(experiment+entry)), 2)
	for k := range 20 {
		r.Checkpoints = append(r.Checkpoints, 250_000*(k+1))
		for run := range r.Reward {
			before := 0.0
			if k > 0 {
				before = r.Reward[run][k-1]
			}
			r.Reward[run] = append(r.Reward[run], before+250_000*(tenths[k/2]+(0.001+own)*float64(run)-own))
		}
	}
	return r
}

// The figures of the paper: PGCR ahead, bandits that rise and stop, epsilon-greedy
// that passes them; with states a larger lead, and the same bandits.
func TestMusicClaims(t *testing.T) {
	pg := earning("music-stateless", "PGCR", .6, .7, .7, .7, .7, .7, .7, .7, .7, .69)
	var results []*sim.Result
	for experiment, lead := range map[string]float64{"music-stateless": 0, "music-state": 0.1} {
		ahead := []float64{.6 + lead}
		for range 9 {
			ahead = append(ahead, .7+lead)
		}
		results = append(results,
			earning(experiment, "PGCR", ahead...),
			earning(experiment, "GLM-UCB", .5, .6, .6, .6, .6, .6, .6, .6, .6, .6),
			earning(experiment, "Thompson", .5, .6, .6, .6, .6, .6, .6, .6, .6, .6),
			earning(experiment, "epsilon-greedy", .45, .5, .55, .6, .61, .62, .63, .64, .65, .66),
			earning(experiment, "vanilla PG", .5, .6, .65, .65, .65, .65, .65, .65, .65, .65),
			earning(experiment, "random", .4, .4, .4, .4, .4, .4, .4, .4, .4, .4))
	}
	c := judge(t, 5, paper.Reproduced, nil, results...)
	if want := "music-stateless, last tenth: PGCR 0.701, the best other epsilon-greedy 0.661; difference: "; !strings.HasPrefix(c.Parts[2].Evidence, want) {
		t.Errorf("the evidence is %q, want %q", c.Parts[2].Evidence, want)
	}
	judge(t, 6, paper.Reproduced, nil, results...)
	for _, r := range results {
		if r.Experiment == "music-stateless" {
			r.Steps *= 2
		}
	}
	if c := judge(t, 6, "partly run", nil, results...); !strings.Contains(c.Parts[3].Evidence, "music-stateless") { // played longer
		t.Errorf("the evidence is %q", c.Parts[3].Evidence)
	}
	for _, r := range results {
		if r.Experiment == "music-stateless" {
			r.Steps /= 2
		}
	}
	results = slices.DeleteFunc(results, func(r *sim.Result) bool { return r.Experiment == "music-state" && r.Entry == "PGCR" })
	pg.Experiment = "music-state"
	pg.Problem = "kkbox.music-state {}"
	judge(t, 6, paper.NotReproduced, nil, append(results, pg)...) // no larger lead
}

func TestTheoryClaims(t *testing.T) {
	i := func(mean, half float64) paper.Interval {
		return paper.Interval{Mean: mean, Low: mean - half, High: mean + half}
	}
	ratio := func(n int, mean, half float64) paper.Ratio {
		return paper.Ratio{Problem: "p", N: n, Ratio: i(mean, half)}
	}
	independently := ratio(1, 40, 10)
	independently.Independently = true
	good := &paper.Theory{
		Critic: []paper.Ratio{ratio(1, 1, 0.05), ratio(4, 0.25, 0.01)},
		Actor:  []paper.Ratio{ratio(1, 0.95, 0.05), ratio(4, 0.3, 0.05), independently},
		Bias:   slices.Repeat([]paper.Interval{i(0.001, 0.003)}, 40),
	}
	for _, row := range []int{7, 8, 10, 11} {
		judge(t, row, paper.Reproduced, good)
	}
	bad := &paper.Theory{
		Critic: []paper.Ratio{ratio(4, 0.5, 0.01)},
		Actor:  []paper.Ratio{ratio(1, 2, 0.5), ratio(4, 3, 0.5)},
		Bias:   slices.Repeat([]paper.Interval{i(0.005, 0.003)}, 40),
	}
	for _, row := range []int{7, 8, 10, 11} {
		judge(t, row, paper.NotReproduced, bad)
	}
	good.Bias = slices.Repeat([]paper.Interval{i(0.001, 0.03)}, 40)
	judge(t, 10, paper.Undecided, good)
}

func TestTexts(t *testing.T) {
	claims := []paper.Claim{{
		Row: 3, Statement: "PGCR is best of all algorithms.", Source: "figure 1c", Verdict: paper.NotReproduced,
		Parts: []paper.Part{{Evidence: "a is lower than b", Verdict: paper.NotReproduced}, {Evidence: "c", Verdict: paper.Note}},
	}}
	const want = `
 3  not reproduced: PGCR is best of all algorithms. [figure 1c]
    - a is lower than b
      c

+ reproduced   - not reproduced   ? undecided   . not run
`
	if text := paper.ClaimText(claims); text != want[1:] {
		t.Errorf("the text is\n%s", text)
	}
	header, rows := paper.ClaimTable(claims)
	for format, table := range map[string]string{
		"markdown": "|---|---|---|---|\n| 3 | PGCR is best of all algorithms. (figure 1c) | a is lower than b: not reproduced<br>c | not reproduced |\n",
		"csv":      "3,PGCR is best of all algorithms. (figure 1c),\"a is lower than b: not reproduced\nc\",not reproduced\n",
		"latex":    "\\hline\n3 & PGCR is best of all algorithms. (figure 1c) & a is lower than b: not reproduced \\newline c & not reproduced \\\\\n\\hline\n\\end{tabular}\n",
		"html":     "",
	} {
		if text, err := paper.TableText(format, header, rows); !strings.HasSuffix(text, table) || (err != nil) != (format == "html") {
			t.Errorf("%s: the table is %v\n%s", format, err, text)
		}
	}
	text, _ := paper.TableText("latex", []string{"a_b", `100 % of #1 & {x}`}, [][]string{{strings.Repeat("long ", 20), "[1, 2] < $3"}})
	for _, part := range []string{`\begin{longtable}{p{0.75\textwidth}l}`, `a\_b & 100 \% of \#1 \& \{x\} \\`, `{[}1, 2] $<$ \$3`} {
		if !strings.Contains(text, part) {
			t.Errorf("LaTeX lacks %s:\n%s", part, text)
		}
	}
}

func TestTables(t *testing.T) {
	const e = "toy-linear"
	results := []*sim.Result{growing(e, "b", 1, 10, 20, 30), growing(e, "a", 0.5, 1, 2, 3), earning(e, "no regret", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}
	same := func(want string, header []string, rows [][]string) {
		t.Helper()
		var lines []string
		for _, row := range rows {
			if len(row) != len(header) {
				t.Errorf("a row of %d cells under %d", len(row), len(header))
			}
			lines = append(lines, strings.Join(row, "|"))
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("the table is\n%s\nwant\n%s", got, want)
		}
	}
	// Student's t with 2 degrees of freedom is 4.303: 2 +- 4.303/sqrt(3).
	h, r := paper.RegretTable(results)
	same("a|2.0 [-0.5, 4.5]|2|1 to 3\nb|20 [-5, 45]|20|10 to 30", h, r)
	if got := paper.Mean95(paper.Growth(results[0])).String(); got != "1.006 [0.992, 1.020]" { // powers of 1, 1.0069 and 1.0110
		t.Errorf("growth %s", got)
	}
	h, r = paper.DifferenceTable(results[:2], "b")
	same("less a|18 [-4, 40]|no difference seen|0 of 3", h, r)
	h, r = paper.DifferenceTable([]*sim.Result{growing(e, "c", 1, 10*(1-1e-14), 20*(1-1e-14), 30), results[0]}, "c")
	same("less b|0.000 [no interval]|no difference seen|0 of 3", h, r) // rounding is no difference
	h, r = paper.RewardTable(results[2:])
	same("no regret|1.0010 [0.9985, 1.0035]|1.001|1.001", h, r)
	defer func() {
		if recover() == nil {
			t.Error("results of other steps were paired")
		}
	}()
	paper.DifferenceTable(results, "a")
}
