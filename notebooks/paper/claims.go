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
	// LinearSlope: regret grows linearly where its log-log slope over the last
	// half of the steps is above 0.9. (The slope of c*t is 1, of c*sqrt(t) 0.5;
	// what was lost early flattens it.)
	LinearSlope = 0.9
	// SameSlope: two growths are alike where their slopes differ by less.
	SameSlope = 0.1
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
// which are paired (see [Paired95]).
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
			Row: 2, Statement: "Bernoulli rewards: PGCR has the lowest regret by a large margin.",
			Source: "figure 1b", Setting: bernoulli.setting(),
			Parts: []Part{
				bernoulli.lower(PGCR, LargeMargin, GLMUCB), bernoulli.lower(PGCR, LargeMargin, Thompson), bernoulli.lower(PGCR, LargeMargin, EpsilonGreedy),
				bernoulli.finals(PGCRPaper, ThompsonWide, LinUCB, Greedy, VanillaPG, Random),
			},
		},
		{
			Row: 3, Statement: "Mixed rewards: PGCR has the lowest regret.",
			Source: "figure 1c", Setting: mixed.setting(),
			Parts: []Part{
				mixed.lower(PGCR, 1, GLMUCB), mixed.lower(PGCR, 1, Thompson), mixed.lower(PGCR, 1, EpsilonGreedy),
				mixed.finals(PGCRPaper, ThompsonWide, LinUCB, Greedy, VanillaPG, Random),
			},
		},
		{
			Row: 4, Statement: "Without Actor-Dropout PGCR's regret grows linearly like epsilon-greedy's; with dropout 0.67 it grows like GLM-UCB's.",
			Source: "figure 1d", Setting: dropout.setting(),
			Parts: []Part{
				dropout.linear(Dropout0), dropout.alike(Dropout0, EpsilonGreedy), dropout.alike(Dropout67, GLMUCB),
				dropout.finals(Dropout0, Dropout33, Dropout50, Dropout67, GLMUCB, EpsilonGreedy),
			},
		},
		{
			Row: 7, Statement: "Given the chosen context, Var[critic update] of PGCR tends to 1/N of vanilla policy gradient's.",
			Source: "section 5.3, lemma", Setting: theory.Setting, Parts: theory.critic(),
		},
		{
			Row: 8, Statement: "Var[actor update] of PGCR is no higher than vanilla policy gradient's.",
			Source: "section 5.3, theorem", Setting: theory.Setting, Parts: theory.actor(),
		},
		{
			Row: 9, Statement: "Already with N = 1 PGCR does better than vanilla policy gradient.",
			Source: "section 5.3", Setting: linear.setting(),
			Parts: []Part{linear.lower(PGCR, 1, VanillaPG), bernoulli.lower(PGCR, 1, VanillaPG), mixed.lower(PGCR, 1, VanillaPG)},
		},
		{
			Row: 10, Statement: "p_hat is an unbiased estimate of the marginal probability.",
			Source: "section 3.2", Setting: theory.Setting, Parts: []Part{theory.unbiased()},
		},
	}
	for i, c := range claims {
		parts := slices.DeleteFunc(c.Parts, func(p Part) bool { return p.Evidence == "" })
		claims[i].Parts = slices.Compact(parts) // what is missing is said once
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
	return fmt.Sprintf("%d runs of %d steps", r.Runs, r.Steps)
}

// find returns the results of contenders that can be compared run by run, or
// the part that says why there is none.
func (e evidence) find(names ...string) ([]*sim.Result, *Part) {
	var found []*sim.Result
	for _, name := range names {
		k := -1
		for i, r := range e.results {
			if r.Contender == name {
				k = i
			}
		}
		if k < 0 || e.results[k].Regret == nil {
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
		fmt.Sprintf("%s: %s %s, %s %s; %s - %s: %v", e.experiment, a, short(stat.Mean(x, nil)), b, short(stat.Mean(y, nil)), a, other, d),
		d.below(0),
	}
}

// linear is the claim that a's regret grows linearly.
func (e evidence) linear(a string) Part {
	found, missing := e.find(a)
	if missing != nil {
		return *missing
	}
	slopes, err := growth(found[0])
	if err != nil {
		return Part{fmt.Sprintf("%s: %v", e.experiment, err), Undecided}
	}
	steep := 0
	for _, s := range slopes {
		if s > LinearSlope {
			steep++
		}
	}
	s := Mean95(slopes)
	return Part{
		fmt.Sprintf("%s: log-log slope of %s in the last half: %v, limit %v; %d of %d runs are above it", e.experiment, a, s, LinearSlope, steep, len(slopes)),
		s.above(LinearSlope),
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
		fmt.Sprintf("%s: slopes %s %.2f, %s %.2f; difference: %v, limits +-%v", e.experiment, a, stat.Mean(x, nil), b, stat.Mean(y, nil), d, SameSlope),
		d.within(-SameSlope, SameSlope),
	}
}

// finals notes the final regrets of those of the named that were run; the part
// is empty when none was.
func (e evidence) finals(names ...string) Part {
	var list []string
	for _, name := range names {
		if found, missing := e.find(name); missing == nil {
			x := final(found[0])
			list = append(list, fmt.Sprintf("%s %s", name, short(stat.Mean(x, nil))))
		}
	}
	if list == nil {
		return Part{}
	}
	return Part{fmt.Sprintf("%s: final regret of %s", e.experiment, strings.Join(list, ", ")), Note}
}

// final is the regret of every run at the last step.
func final(r *sim.Result) []float64 {
	out := make([]float64, len(r.Regret))
	for run, regret := range r.Regret {
		out[run] = regret[len(regret)-1]
	}
	return out
}

// growth is the log-log slope of every run's regret by least squares over the
// checkpoints of the last half of the steps.
func growth(r *sim.Result) ([]float64, error) {
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
