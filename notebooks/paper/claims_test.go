package paper_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// growing is a result of four runs whose regret is scale[run] * step^power.
func growing(experiment, contender string, power float64, scale ...float64) *sim.Result {
	r := &sim.Result{
		Experiment: experiment, Contender: contender, Problem: experiment, Algorithm: contender,
		Runs: len(scale), Steps: 1600, Seed: 3, Checkpoints: []int{100, 200, 400, 800, 1200, 1600},
	}
	for _, s := range scale {
		var regret []float64
		for _, step := range r.Checkpoints {
			regret = append(regret, s*math.Pow(float64(step)/1600, power))
		}
		r.Regret, r.Reward = append(r.Regret, regret), append(r.Reward, regret)
	}
	return r
}

// plain is a result whose final regrets are given.
func plain(experiment, contender string, final ...float64) *sim.Result {
	return growing(experiment, contender, 0.5, final...)
}

func row(t *testing.T, claims []paper.Claim, n int) paper.Claim {
	t.Helper()
	for _, c := range claims {
		if c.Row == n {
			return c
		}
	}
	t.Fatalf("there is no row %d", n)
	return paper.Claim{}
}

func judge(t *testing.T, n int, want paper.Verdict, theory *paper.TheoryResult, results ...*sim.Result) paper.Claim {
	t.Helper()
	byName := map[string][]*sim.Result{}
	for _, r := range results {
		byName[r.Experiment] = append(byName[r.Experiment], r)
	}
	c := row(t, paper.Claims(byName, theory), n)
	if c.Verdict != want {
		t.Errorf("row %d is %q, want %q: %+v", n, c.Verdict, want, c.Parts)
	}
	return c
}

// A mean that rests on one run that went wrong is told with the median, and in
// how many runs who was lower.
func TestCollapsedRun(t *testing.T) {
	const e = paper.ToyLinear
	c := judge(t, 9, paper.NotRun, nil, plain(e, paper.PGCR, 100, 101, 99, 100), plain(e, paper.VanillaPG, 30, 40, 50, 7000))
	if want := "toy-linear: PGCR 100, vanilla PG 1780 (median 45); "; !strings.HasPrefix(c.Parts[0].Evidence, want) || !strings.HasSuffix(c.Parts[0].Evidence, "lower in 1 of 4 runs") {
		t.Errorf("the evidence is %q", c.Parts[0].Evidence)
	}
}

func TestNothingRun(t *testing.T) {
	claims := paper.Claims(nil, nil)
	if len(claims) != 10 {
		t.Errorf("there are %d claims, want rows 1 to 10", len(claims))
	}
	for _, c := range claims {
		if c.Verdict != paper.NotRun || c.Statement == "" || c.Source == "" {
			t.Errorf("without results: %+v", c)
		}
	}
}

// PGCR at 110 +- 1 beside Lin-UCB's 100 is comparable, 140 is not, and 125 +-
// 10 cannot be told from the limit of 125.
func TestLinear(t *testing.T) {
	const e = paper.ToyLinear
	ucb := plain(e, paper.LinUCB, 100, 100, 100, 100)
	thompson := plain(e, paper.Thompson, 300, 310, 290, 300)
	greedy := plain(e, paper.EpsilonGreedy, 500, 520, 480, 500)
	good := plain(e, paper.PGCR, 109, 111, 110, 110)
	c := judge(t, 1, paper.Reproduced, nil, good, ucb, thompson, greedy)
	if c.Setting != "4 runs of 1600 steps" {
		t.Errorf("the setting is %q", c.Setting)
	}
	judge(t, 1, paper.NotReproduced, nil, plain(e, paper.PGCR, 139, 141, 140, 140), ucb, thompson, greedy)
	judge(t, 1, paper.Undecided, nil, plain(e, paper.PGCR, 115, 135, 120, 130), ucb, thompson, greedy)
	// One refuted part refutes the claim, whatever the others are.
	judge(t, 1, paper.NotReproduced, nil, good, ucb, plain(e, paper.Thompson, 90, 91, 89, 90), greedy)
	judge(t, 1, paper.NotReproduced, nil, good, ucb, plain(e, paper.Thompson, 90, 91, 89, 90))
	judge(t, 1, paper.NotRun, nil, good, ucb, thompson)
	judge(t, 1, paper.NotRun, nil, ucb, thompson, greedy)
	// Other seeds are other problems: there are no pairs.
	other := plain(e, paper.EpsilonGreedy, 500, 520, 480, 500)
	other.Seed++
	c = judge(t, 1, paper.NotRun, nil, good, ucb, thompson, other)
	if text := c.Parts[2].Evidence; !strings.Contains(text, "different settings") {
		t.Errorf("other seeds: %s", text)
	}
	// One run alone proves nothing.
	judge(t, 1, paper.Undecided, nil, plain(e, paper.PGCR, 1), plain(e, paper.LinUCB, 100), plain(e, paper.Thompson, 100), plain(e, paper.EpsilonGreedy, 100))
}

// The runs differ by 200 from each other, but PGCR is 8 to 12 better in each.
func TestPairingDecides(t *testing.T) {
	const e = paper.ToyMixed
	c := judge(t, 3, paper.Reproduced, nil,
		plain(e, paper.PGCR, 90, 292, 488, 690),
		plain(e, paper.GLMUCB, 100, 300, 500, 700),
		plain(e, paper.Thompson, 101, 301, 501, 701),
		plain(e, paper.EpsilonGreedy, 102, 302, 502, 702),
		plain(e, paper.Random, 9000, 9000, 9000, 9000))
	// Differences -10, -8, -12, -10: deviation sqrt(8/3), t(3) = 3.182, half
	// length 3.182*1.633/2 = 2.598.
	if want := "toy-mixed: PGCR 390, GLM-UCB 400; PGCR - GLM-UCB: -10.0 [-12.6, -7.4], lower in 4 of 4 runs"; c.Parts[0].Evidence != want {
		t.Errorf("the evidence is %q, want %q", c.Parts[0].Evidence, want)
	}
	if note := c.Parts[len(c.Parts)-1]; note.Verdict != paper.Note || !strings.Contains(note.Evidence, "random 9000") {
		t.Errorf("the note is %+v", note)
	}
}

// "By a large margin" is less than 0.8 times the regret of every other.
func TestBernoulli(t *testing.T) {
	const e = paper.ToyBernoulli
	others := []*sim.Result{
		plain(e, paper.GLMUCB, 100, 101, 99, 100),
		plain(e, paper.Thompson, 110, 111, 109, 110),
		plain(e, paper.EpsilonGreedy, 200, 210, 190, 200),
	}
	for _, c := range []struct {
		final float64
		want  paper.Verdict
	}{{70, paper.Reproduced}, {80, paper.Undecided}, {90, paper.NotReproduced}} {
		judge(t, 2, c.want, nil, append(others, plain(e, paper.PGCR, c.final, c.final+1, c.final-1, c.final))...)
	}
}

func TestGrowth(t *testing.T) {
	const e = paper.ToyDropout
	one := []float64{9, 10, 11, 10}
	greedy := growing(e, paper.EpsilonGreedy, 0.97, one...)
	ucb := growing(e, paper.GLMUCB, 0.55, one...)
	less := []float64{8, 9, 10, 9}
	rest := []*sim.Result{greedy, ucb, growing(e, paper.Dropout33, 0.6, less...), growing(e, paper.Dropout50, 0.6, less...)}
	with := func(results ...*sim.Result) []*sim.Result { return slices.Concat(rest, results) }
	c := judge(t, 4, paper.Reproduced, nil, with(growing(e, paper.Dropout0, 0.95, one...), growing(e, paper.Dropout67, 0.6, less...))...)
	if text := c.Parts[0].Evidence; !strings.Contains(text, "0.98") {
		t.Errorf("regret like t^0.95, whose last quarter is 0.98 of the one before, is told so: %s", text)
	}
	// A constant rate is linear growth, however much was lost before.
	late := growing(e, paper.Dropout0, 1, one...)
	for _, regret := range late.Regret {
		for k := range regret {
			regret[k] += 5
		}
	}
	judge(t, 4, paper.Reproduced, nil, with(late, growing(e, paper.Dropout67, 0.6, less...))...)
	// Without dropout it is sublinear.
	judge(t, 4, paper.NotReproduced, nil, with(growing(e, paper.Dropout0, 0.7, one...), growing(e, paper.Dropout67, 0.6, less...))...)
	// Dropout does not help: t^0.8 grows by 0.93, t^0.55 by 0.86.
	judge(t, 4, paper.NotReproduced, nil, with(growing(e, paper.Dropout0, 0.95, one...), growing(e, paper.Dropout67, 0.8, less...))...)
	judge(t, 4, paper.NotRun, nil, with(growing(e, paper.Dropout67, 0.6, less...))...)
	// It costs regret, or leaves more than UCB has.
	sure := growing(e, paper.Dropout0, 0.95, one...)
	judge(t, 4, paper.NotReproduced, nil, with(sure, growing(e, paper.Dropout67, 0.6, 11, 12, 13, 12))...)
	low := growing(e, paper.GLMUCB, 0.55, 7, 8, 9, 8)
	judge(t, 4, paper.NotReproduced, nil, greedy, low, rest[2], rest[3], sure, growing(e, paper.Dropout67, 0.6, less...))
	// One run in four grows linearly, the others do not: the mean decides nothing.
	mixed := growing(e, paper.Dropout0, 0.8, one...)
	mixed.Regret[0] = growing(e, "", 1.5, 10).Regret[0]
	judge(t, 4, paper.Undecided, nil, with(mixed, growing(e, paper.Dropout67, 0.6, less...))...)
	// No regret, no growth.
	zero := growing(e, paper.Dropout0, 0.95, 9, 0, 11, 10)
	c = judge(t, 4, paper.Undecided, nil, with(zero, growing(e, paper.Dropout67, 0.6, less...))...)
	if text := c.Parts[0].Evidence; !strings.Contains(text, "run 1") {
		t.Errorf("a run without regret is not named: %s", text)
	}
}

func TestVanilla(t *testing.T) {
	var results []*sim.Result
	for _, e := range []string{paper.ToyLinear, paper.ToyBernoulli, paper.ToyMixed} {
		results = append(results, plain(e, paper.PGCR, 10, 11, 9, 10), plain(e, paper.VanillaPG, 20, 21, 19, 20))
	}
	judge(t, 9, paper.Reproduced, nil, results...)
	results[3] = plain(paper.ToyBernoulli, paper.VanillaPG, 5, 5, 4, 5)
	judge(t, 9, paper.NotReproduced, nil, results...)
	judge(t, 9, paper.NotRun, nil, results[:2]...)
}

func TestTheory(t *testing.T) {
	ratio := func(n int, mean, half float64) paper.VarianceRatio {
		return paper.VarianceRatio{N: n, Ratio: paper.Interval{Mean: mean, Low: mean - half, High: mean + half}}
	}
	for _, c := range []struct {
		row    int
		want   paper.Verdict
		theory paper.TheoryResult
	}{
		{7, paper.NotRun, paper.TheoryResult{}},
		{7, paper.Reproduced, paper.TheoryResult{Critic: []paper.VarianceRatio{ratio(1, 1, 0.05), ratio(8, 0.125, 0.01)}}},
		{7, paper.NotReproduced, paper.TheoryResult{Critic: []paper.VarianceRatio{ratio(1, 1, 0.05), ratio(8, 0.2, 0.01)}}},
		{7, paper.Undecided, paper.TheoryResult{Critic: []paper.VarianceRatio{ratio(1, 1, 0.05), ratio(8, 0.125, 0.05)}}},
		{8, paper.NotRun, paper.TheoryResult{}},
		{8, paper.Reproduced, paper.TheoryResult{Actor: []paper.VarianceRatio{ratio(1, 1, 0.03), ratio(4, 0.3, 0.1)}}},
		{8, paper.NotReproduced, paper.TheoryResult{Actor: []paper.VarianceRatio{ratio(1, 1.03, 0.01), ratio(4, 0.3, 0.1)}}},
		{8, paper.Undecided, paper.TheoryResult{Actor: []paper.VarianceRatio{ratio(1, 1.03, 0.1)}}},
		{10, paper.NotRun, paper.TheoryResult{}},
	} {
		judge(t, c.row, c.want, &c.theory)
	}
}

// Of 100 intervals of 95 %, 5 leave out 0 by chance. By the binomial
// distribution (tables of its tail at 100, 0.05) 9 or more of them have the
// probability 0.063, 10 or more 0.028 and 14 or more 0.00046.
func TestUnbiased(t *testing.T) {
	contexts := func(out int, half float64) *paper.TheoryResult {
		r := &paper.TheoryResult{Bias: make([]paper.Interval, 100)}
		for k := range r.Bias {
			r.Bias[k] = paper.Interval{Mean: 0, Low: -half, High: half}
			if k < out {
				r.Bias[k] = paper.Interval{Mean: -half, Low: -1.5 * half, High: -0.5 * half}
			}
		}
		return r
	}
	judge(t, 10, paper.Reproduced, contexts(0, 0.001))
	judge(t, 10, paper.Reproduced, contexts(9, 0.001))
	judge(t, 10, paper.Undecided, contexts(10, 0.001))
	judge(t, 10, paper.NotReproduced, contexts(14, 0.001))
	judge(t, 10, paper.Undecided, contexts(0, 0.02)) // nothing known
}
