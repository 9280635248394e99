package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs/sim"
)

// The limits of the verdicts. The paper's claims are words; these are what we
// take them to mean, fixed before the reported runs.
const (
	// Comparable: PGCR's final regret is less than 1.25 times the other's.
	Comparable = 1.25
	// LargeMargin: PGCR's final regret is less than 0.8 times the other's.
	LargeMargin = 0.8
	// LinearGrowth: regret grows linearly where what is lost in the last quarter
	// of the steps is more than 0.92 of what is lost in the quarter before. The
	// ratio is 1 where regret is a+c*t, whatever was lost early, 0.84 where it is
	// c*sqrt(t), and 0.71 where it is c*log(t); the limit is halfway between the
	// first two. A log-log slope would be below 1 for a+c*t as well.
	LinearGrowth = 0.92
	// SameGrowth: two growths are alike where their ratios differ by less, a third
	// of the way from linear growth to that of a square root.
	SameGrowth = 0.05
	// VarianceMargin: "-> 1/N" holds where N times the ratio of the variances
	// lies within 1 +- VarianceMargin.
	VarianceMargin = 0.1
	// NoHigher: a variance is "no higher" where the ratio is at most that, to
	// leave equality, which the theorem permits, a chance to be confirmed; and
	// it is higher where the ratio's interval is above 1.
	NoHigher = 1.05
	// SmallBias: "unbiased" needs estimates this precise: 95 % intervals of
	// the bias of a probability that are at most this far from 0.
	SmallBias = 0.01
)

// Claim is one row of the claims table.
type Claim struct {
	Row       int
	Statement string // the paper's words, abridged
	Source    string // where the paper says so
	Setting   string // how long and how often it was run; empty when it was not
	Parts     []Part
	Verdict   Verdict // reproduced: all parts are; not reproduced: one is refuted
}

// Part is one comparison that a claim rests on.
type Part struct {
	Evidence string
	Verdict  Verdict
}

// Claims judges the claims of the paper by results, which are the contenders of
// each experiment by its name, and by the theory study. Where some are missing
// (theory may be nil) the claims that need them are not run.
//
// Lower regret is read off the differences over runs of the final regrets,
// which are paired (see [Paired95]), and higher reward in the same way off the
// differences of rewards a step. An experiment that was run at a smaller scale is
// judged by the steps that it has; Setting tells how many.
func Claims(results map[string][]*sim.Result, theory *TheoryResult) []Claim {
	if theory == nil {
		theory = &TheoryResult{}
	}
	in := func(experiment string) evidence { return evidence{experiment, results[experiment]} }
	linear, bernoulli, mixed, dropout := in(ToyLinear), in(ToyBernoulli), in(ToyMixed), in(ToyDropout)
	claims := []Claim{
		{
			Row: 1, Statement: "Linear rewards: PGCR is comparable with Lin-UCB and better than Thompson sampling and epsilon-greedy.",
			Source: "figure 1a", Setting: linear.setting(),
			Parts: []Part{
				linear.lower(PGCR, Comparable, LinUCB), linear.lower(PGCR, 1, Thompson), linear.lower(PGCR, 1, EpsilonGreedy),
				linear.finals(PGCRPaper, ThompsonWide, Greedy, VanillaPG, Random),
			},
		},
		{
			Row: 2, Statement: "Bernoulli rewards: of the paper's contenders, PGCR has the lowest regret, by a large margin.",
			Source: "figure 1b", Setting: bernoulli.setting(),
			Parts: []Part{
				bernoulli.lower(PGCR, LargeMargin, GLMUCB), bernoulli.lower(PGCR, LargeMargin, Thompson), bernoulli.lower(PGCR, LargeMargin, EpsilonGreedy),
				bernoulli.finals(PGCRPaper, ThompsonWide, LinUCB, Greedy, VanillaPG, Random),
			},
		},
		{
			Row: 3, Statement: "Mixed rewards: of the paper's contenders, PGCR has the lowest regret.",
			Source: "figure 1c", Setting: mixed.setting(),
			Parts: []Part{
				mixed.lower(PGCR, 1, GLMUCB), mixed.lower(PGCR, 1, Thompson), mixed.lower(PGCR, 1, EpsilonGreedy),
				mixed.finals(PGCRPaper, ThompsonWide, LinUCB, Greedy, VanillaPG, Random),
			},
		},
		{
			Row: 4, Statement: "Without Actor-Dropout PGCR's regret grows linearly like epsilon-greedy's; with it regrets are smaller, and with dropout 0.67 grow like GLM-UCB's and become lower.",
			Source: "figure 1d", Setting: dropout.setting(),
			Parts: []Part{
				dropout.linear(Dropout0), dropout.alike(Dropout0, EpsilonGreedy), dropout.alike(Dropout67, GLMUCB),
				dropout.lower(Dropout33, 1, Dropout0), dropout.lower(Dropout50, 1, Dropout0), dropout.lower(Dropout67, 1, Dropout0), dropout.lower(Dropout67, 1, GLMUCB),
				dropout.slopes(Dropout0, Dropout33, Dropout50, Dropout67, GLMUCB, EpsilonGreedy),
				dropout.finals(Dropout0, Dropout33, Dropout50, Dropout67, GLMUCB, EpsilonGreedy),
			},
		},
		{
			Row: 7, Statement: "Given the chosen context, Var[critic update] of PGCR tends to 1/N of vanilla policy gradient's.",
			Source: "section 5.3, lemma 4", Setting: theory.Setting, Parts: theory.critic(),
		},
		{
			Row: 8, Statement: "Var[actor update] of PGCR is no higher than vanilla policy gradient's.",
			Source: "section 5.3, theorem 5", Setting: theory.Setting, Parts: theory.actor(),
		},
		{
			Row: 9, Statement: "Already with N = 1 PGCR does better than vanilla policy gradient.",
			Source: "section 5.3", Setting: linear.setting(),
			Parts: []Part{linear.lower(PGCR, 1, VanillaPG), bernoulli.lower(PGCR, 1, VanillaPG), mixed.lower(PGCR, 1, VanillaPG)},
		},
		{
			Row: 10, Statement: "p_hat is an unbiased estimate of the marginal probability.",
			Source: "section 3.2", Setting: theory.Setting, Parts: theory.unbiased(),
		},
	}
	claims = slices.Insert(claims, 4, musicClaims(in(MusicStatelessName), in(MusicStateName))...)
	for i, c := range claims {
		claims[i].Parts = nil
		for _, p := range c.Parts {
			// What is missing is said once.
			if p.Evidence != "" && !slices.Contains(claims[i].Parts, p) {
				claims[i].Parts = append(claims[i].Parts, p)
			}
		}
		claims[i].Verdict = conclude(claims[i].Parts)
	}
	return claims
}

// evidence is what an experiment has to say.
type evidence struct {
	experiment string
	results    []*sim.Result
}

func (e evidence) setting() string {
	if len(e.results) == 0 {
		return ""
	}
	r := e.results[0]
	text := fmt.Sprintf("%d runs of %d steps", r.Runs, r.Steps)
	if (e.experiment == MusicStatelessName || e.experiment == MusicStateName) && r.Steps != musicSteps {
		text += fmt.Sprintf(", %.3g %% of the paper's", 100*float64(r.Steps)/musicSteps)
	}
	return text
}

// find returns the results of contenders that have a regret and can be compared
// run by run, or the part that says why there is none.
func (e evidence) find(names ...string) ([]*sim.Result, *Part) {
	found, missing := e.paired(names...)
	for _, r := range found {
		if r.Regret == nil {
			return nil, &Part{fmt.Sprintf("%s: no regret of %s", e.experiment, r.Contender), NotRun}
		}
	}
	return found, missing
}

// paired is find, with or without regret.
func (e evidence) paired(names ...string) ([]*sim.Result, *Part) {
	var found []*sim.Result
	for _, name := range names {
		k := -1
		for i, r := range e.results {
			if r.Contender == name {
				k = i
			}
		}
		if k < 0 {
			return nil, &Part{fmt.Sprintf("%s: no result of %s", e.experiment, name), NotRun}
		}
		r := e.results[k]
		if len(found) > 0 {
			if f := found[0]; f.Problem != r.Problem || f.Seed != r.Seed || f.Runs != r.Runs || f.Steps != r.Steps {
				return nil, &Part{fmt.Sprintf("%s: %s and %s were run in different settings", e.experiment, f.Contender, name), NotRun}
			}
		}
		found = append(found, r)
	}
	return found, nil
}

// lower is the claim that a's final regret is below factor times b's.
func (e evidence) lower(a string, factor float64, b string) Part {
	found, missing := e.find(a, b)
	if missing != nil {
		return *missing
	}
	x, y := final(found[0]), final(found[1])
	d := Paired95(x, y, factor)
	other := b
	if factor != 1 {
		other = fmt.Sprintf("%v x %s", factor, b)
	}
	return Part{
		fmt.Sprintf("%s: %s %s, %s %s; %s - %s: %v, lower in %d of %d runs",
			e.experiment, a, centre(x), b, centre(y), a, other, d, lowerIn(x, y, factor), len(x)),
		d.below(0),
	}
}

// linear is the claim that a's regret grows linearly.
func (e evidence) linear(a string) Part {
	found, missing := e.find(a)
	if missing != nil {
		return *missing
	}
	ratios, err := growth(found[0])
	if err != nil {
		return Part{fmt.Sprintf("%s: %v", e.experiment, err), Undecided}
	}
	g := Mean95(ratios)
	return Part{
		fmt.Sprintf("%s: regret of %s in the last quarter by that in the quarter before: %v, limit %v", e.experiment, a, g, LinearGrowth),
		g.above(LinearGrowth),
	}
}

// alike is the claim that the regrets of a and b grow alike.
func (e evidence) alike(a, b string) Part {
	found, missing := e.find(a, b)
	if missing != nil {
		return *missing
	}
	x, err := growth(found[0])
	if err != nil {
		return Part{fmt.Sprintf("%s: %v", e.experiment, err), Undecided}
	}
	y, err := growth(found[1])
	if err != nil {
		return Part{fmt.Sprintf("%s: %v", e.experiment, err), Undecided}
	}
	d := Paired95(x, y, 1)
	return Part{
		fmt.Sprintf("%s: growth of %s %.2f, of %s %.2f; difference: %v, limits +-%v", e.experiment, a, stat.Mean(x, nil), b, stat.Mean(y, nil), d, SameGrowth),
		d.within(-SameGrowth, SameGrowth),
	}
}

// slopes notes the log-log slopes over the last half of the steps; the part is
// empty when none of the named was run.
func (e evidence) slopes(names ...string) Part {
	var list []string
	for _, name := range names {
		if found, missing := e.find(name); missing == nil {
			if s, err := slope(found[0]); err == nil {
				list = append(list, fmt.Sprintf("%s %.2f", name, stat.Mean(s, nil)))
			}
		}
	}
	if list == nil {
		return Part{}
	}
	return Part{fmt.Sprintf("%s: log-log slope in the last half of %s", e.experiment, strings.Join(list, ", ")), Note}
}

// finals notes the final regrets of those of the named that were run; the part
// is empty when none was.
func (e evidence) finals(names ...string) Part {
	var list []string
	for _, name := range names {
		if found, missing := e.find(name); missing == nil {
			x := final(found[0])
			list = append(list, fmt.Sprintf("%s %s", name, centre(x)))
		}
	}
	if list == nil {
		return Part{}
	}
	return Part{fmt.Sprintf("%s: final regret of %s", e.experiment, strings.Join(list, ", ")), Note}
}

// lowerIn is in how many of the runs x is lower than factor times y.
func lowerIn(x, y []float64, factor float64) (runs int) {
	for run := range x {
		if x[run] < factor*y[run] {
			runs++
		}
	}
	return runs
}

// centre is the mean of the runs, and their median where it is another: a mean
// may rest on a few runs that went wrong.
func centre(x []float64) string {
	mean, middle := stat.Mean(x, nil), median(x)
	if math.Abs(mean-middle) <= 0.1*math.Abs(mean) {
		return short(mean)
	}
	return fmt.Sprintf("%s (median %s)", short(mean), short(middle))
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// final is the regret of every run at the last step.
func final(r *sim.Result) []float64 {
	out := make([]float64, len(r.Regret))
	for run, regret := range r.Regret {
		out[run] = regret[len(regret)-1]
	}
	return out
}

// growth is every run's regret in the last quarter of the steps by its regret in
// the quarter before, see LinearGrowth.
func growth(r *sim.Result) ([]float64, error) {
	if r.Regret == nil {
		return nil, fmt.Errorf("%s has no regret", r.Contender)
	}
	at := func(fraction float64) int {
		k, _ := slices.BinarySearch(r.Checkpoints, int(math.Round(fraction*float64(r.Steps))))
		return k
	}
	half, most, last := at(0.5), at(0.75), len(r.Checkpoints)-1
	ratios := make([]float64, len(r.Regret))
	for run, regret := range r.Regret {
		before := regret[most] - regret[half]
		if half == most || most == last || before <= 0 {
			return nil, fmt.Errorf("run %d of %s has no regret in the third quarter of the steps, to which the last could be compared", run, r.Contender)
		}
		// The checkpoints stand at the quarters but for a few steps.
		perStep := before / float64(r.Checkpoints[most]-r.Checkpoints[half])
		ratios[run] = (regret[last] - regret[most]) / float64(r.Checkpoints[last]-r.Checkpoints[most]) / perStep
	}
	return ratios, nil
}

// slope is the log-log slope of every run's regret by least squares over the
// checkpoints of the last half of the steps.
func slope(r *sim.Result) ([]float64, error) {
	if r.Regret == nil {
		return nil, fmt.Errorf("%s has no regret", r.Contender)
	}
	slopes := make([]float64, len(r.Regret))
	for run, regret := range r.Regret {
		var x, y []float64
		for k, step := range r.Checkpoints {
			if 2*step >= r.Steps && regret[k] > 0 {
				x = append(x, math.Log(float64(step)))
				y = append(y, math.Log(regret[k]))
			}
		}
		if len(x) < 2 {
			return nil, fmt.Errorf("run %d of %s has regret at %d checkpoints of the last half, which is too few for a slope", run, r.Contender, len(x))
		}
		_, slopes[run] = stat.LinearRegression(x, y, nil, false)
	}
	return slopes, nil
}

// short writes a regret with three digits or all before the point.
func short(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
