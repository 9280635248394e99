package paper_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Three runs of 1, 2, 3 have mean 2 and standard deviation 1.
func TestFinalRegrets(t *testing.T) {
	blind := plain(paper.ToyLinear, "blind", 1, 1, 1)
	blind.Regret = nil
	got := paper.FinalRegrets([]*sim.Result{plain(paper.ToyLinear, "b", 5, 5, 8), blind, plain(paper.ToyLinear, "a", 1, 3, 2)})
	if len(got) != 2 || got[0].Contender != "a" || got[1].Contender != "b" {
		t.Fatalf("the order is %+v, want a, b", got)
	}
	a := got[0]
	if a.Mean != paper.Mean95([]float64{1, 3, 2}) || a.Deviation != 1 || a.Least != 1 || a.Most != 3 {
		t.Errorf("a is %+v", a)
	}
}

func TestDifferences(t *testing.T) {
	a, b, c := plain(paper.ToyLinear, "a", 1, 4, 3), plain(paper.ToyLinear, "b", 2, 3, 5), plain(paper.ToyLinear, "c", 1, 1, 1)
	got, err := paper.Differences([]*sim.Result{b, a, c}, "a")
	got = must(t, got, err)
	if len(got) != 2 || got[0].Than != "b" || got[1].Than != "c" {
		t.Fatalf("the differences are %+v, want those to b and c", got)
	}
	// 1-2, 4-3, 3-5; a is lower in the first and the last run.
	if d := got[0]; d.Contender != "a" || d.Mean != paper.Mean95([]float64{-1, 1, -2}) || d.Lower != 2 || d.Runs != 3 {
		t.Errorf("to b it is %+v", d)
	}
	if d := got[1]; d.Lower != 0 {
		t.Errorf("equal regret counts as lower: %+v", d)
	}
}

func TestDifferencesThatCannotBe(t *testing.T) {
	a, b := plain(paper.ToyLinear, "a", 1, 2), plain(paper.ToyLinear, "b", 1, 2)
	other := plain(paper.ToyLinear, "b", 1, 2)
	other.Seed++
	for what, c := range map[string]struct {
		results []*sim.Result
		want    string
	}{
		"nobody of that name": {[]*sim.Result{b}, "no result of a"},
		"nobody else":         {[]*sim.Result{a}, "nothing to compare"},
		"another seed":        {[]*sim.Result{a, other}, "different settings"},
	} {
		if _, err := paper.Differences(c.results, "a"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// Regret that is a power of the step has that power as slope; that of a square
// root grows by (1-sqrt(3/4))/(sqrt(3/4)-sqrt(1/2)) = 0.843.
func TestGrowths(t *testing.T) {
	got, err := paper.Growths([]*sim.Result{
		growing(paper.ToyDropout, "root", 0.5, 1, 2),
		growing(paper.ToyDropout, "straight", 1, 1, 5),
	})
	got = must(t, got, err)
	if got[0].Contender != "straight" || math.Abs(got[0].Ratio.Mean-1) > 1e-9 || math.Abs(got[0].Slope.Mean-1) > 1e-9 {
		t.Errorf("the steepest is %+v", got[0])
	}
	if math.Abs(got[1].Ratio.Mean-0.843) > 1e-3 || math.Abs(got[1].Slope.Mean-0.5) > 1e-9 {
		t.Errorf("the other is %+v", got[1])
	}
	if _, err := paper.Growths([]*sim.Result{plain(paper.ToyDropout, "nothing", 0, 0)}); err == nil {
		t.Error("no regret has a slope")
	}
	without := plain(paper.ToyDropout, "without", 1, 2)
	without.Regret = nil
	if _, err := paper.Growths([]*sim.Result{without}); err == nil {
		t.Error("a result without regret grows")
	}
}

func TestSelect(t *testing.T) {
	a, b, c := plain("x", "a", 1), plain("x", "b", 1), plain("x", "c", 1)
	all := []*sim.Result{a, b, c}
	got, err := paper.Select(all, "c", "a")
	if got = must(t, got, err); !slices.Equal(got, []*sim.Result{c, a}) {
		t.Error("the results are not those named, in the order of the names")
	}
	if _, err := paper.Select(all, "a", "d"); err == nil || !strings.Contains(err.Error(), "no result of d") {
		t.Errorf("of a missing one it says %v", err)
	}
	if got := paper.Without(all, "b", "d"); !slices.Equal(got, []*sim.Result{a, c}) || all[1] != b {
		t.Error("the results are not the others, or the argument has changed")
	}
}

// What rests on one experiment is judged as if it were all there is; what needs
// others, or the theory study, is left out.
func TestClaimsOn(t *testing.T) {
	results := []*sim.Result{
		plain(paper.ToyLinear, paper.PGCR, 10, 11, 12), plain(paper.ToyLinear, paper.LinUCB, 10, 11, 12),
		plain(paper.ToyLinear, paper.Thompson, 20, 21, 22), plain(paper.ToyLinear, paper.EpsilonGreedy, 30, 31, 33),
		plain(paper.ToyLinear, paper.VanillaPG, 5, 5, 6),
	}
	claims := paper.ClaimsOn(results)
	if len(claims) != 2 || claims[0].Row != 1 || claims[1].Row != 9 {
		t.Fatalf("the claims are %+v, want rows 1 and 9", claims)
	}
	if claims[0].Verdict != paper.Reproduced {
		t.Errorf("row 1 is %+v", claims[0])
	}
	if c := claims[1]; c.Verdict != paper.NotReproduced || len(c.Parts) != 1 || c.Setting != "3 runs of 1600 steps" {
		t.Errorf("row 9 is %+v", c)
	}
	if got := paper.ClaimsOn([]*sim.Result{plain(paper.GreedStudy, "greed off", 1, 2)}); len(got) != 0 {
		t.Errorf("the paper claims nothing of greed, but: %+v", got)
	}
	if got := paper.ClaimsOn(nil); got != nil {
		t.Errorf("nothing proves %+v", got)
	}
}

func TestAlgorithmOf(t *testing.T) {
	e := sim.Experiment{Name: "x", Contenders: []sim.Contender{
		{Name: "a", Algorithm: baselines.Random{}}, {Name: "b", Algorithm: baselines.LinUCB{Alpha: 2}},
	}}
	got, err := paper.AlgorithmOf(e, "b")
	if got = must(t, got, err); got != (baselines.LinUCB{Alpha: 2}) {
		t.Errorf("b is %v", got)
	}
	if _, err := paper.AlgorithmOf(e, "c"); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("of a missing one it says %v", err)
	}
}
