package nb_test

import (
	"os"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/nb"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// result is a contender's result of runs with these final regrets, which have
// grown in proportion to the step.
func result(contender string, final ...float64) *sim.Result {
	r := &sim.Result{
		Experiment: paper.ToyLinear, Contender: contender, Problem: "linear", Algorithm: contender,
		Runs: len(final), Steps: 20, Seed: 1, Checkpoints: []int{10, 15, 20},
	}
	for _, x := range final {
		r.Regret = append(r.Regret, []float64{x / 2, x * 3 / 4, x})
		r.Reward = append(r.Reward, []float64{0, 0, 0})
	}
	return r
}

func ExampleDeclaration() {
	os.Setenv("PAPER_SCALE", "0.1")
	defer os.Unsetenv("PAPER_SCALE")
	nb.Declaration(sim.Experiment{
		Name: "mine", Problem: envs.Linear{Dim: 3},
		Contenders: []sim.Contender{{Name: "Lin-UCB", Algorithm: baselines.LinUCB{}}, {Name: "random", Algorithm: baselines.Random{}}},
		Runs:       20, Steps: 20_000, Seed: 7,
	})
	// Output:
	// mine: envs.Linear{Candidates: 5, Dim: 3, RewardNoise: 0.1}
	// 20 runs of 20,000 steps (here 2,000: scale 0.1), seed 7
	// contender  algorithm and settings
	// Lin-UCB    baselines.LinUCB{Alpha: 1, Ridge: 1, Intercept: false}
	// random     baselines.Random{}
}

// Student's t for three runs is 4.303, and the standard error of 1, 2, 3 is
// 1/sqrt(3): 2 +- 2.5. That of 10, 20, 3000 is 995: 1010 +- 4281.
func ExampleFinalRegrets() {
	nb.FinalRegrets([]*sim.Result{result("b", 10, 20, 3000), result("a", 1, 2, 3)})
	// Output:
	// contender  final regret, mean [95 % interval]  median  s.d. of the runs  best to worst run
	// a          2.0 [-0.5, 4.5]                     2       1                 1 to 3
	// b          1010 [-3271, 5291]                  20      1,723             10 to 3,000
}

func ExampleDifferences() {
	nb.Differences([]*sim.Result{result("a", 1, 2, 3), result("b", 2.1, 3, 3.9), result("c", 0, 1.1, 1.9), result("d", 2, 1, 3)}, "a")
	// Output:
	// final regret of a  mean difference [95 % interval]  it is           runs in which it is lower
	// less b             -1.00 [-1.25, -0.75]             lower           3 of 3
	// less c             1.00 [0.75, 1.25]                higher          0 of 3
	// less d             0.0 [-2.5, 2.5]                  not told apart  1 of 3
}

func ExampleGrowths() {
	nb.Growths([]*sim.Result{result("a", 1, 2, 3)})
	// Output:
	// contender  regret of the last quarter by that of the quarter before, mean [95 % interval]  log-log slope of the last half
	// a          1.000 [1.000, 1.000]                                                            1.000000 [1.000000, 1.000000]
}

func ExampleClaims() {
	nb.Claims([]paper.Claim{{
		Row: 3, Statement: "It is so.", Source: "figure 1", Setting: "3 runs", Verdict: paper.Undecided,
		Parts: []paper.Part{{Evidence: "1 [-1, 3]", Verdict: paper.Undecided}, {Evidence: "by the way, 7"}},
	}})
	// Output:
	// #  the paper claims      measured       verdict
	// 3  It is so. (figure 1)  3 runs         undecided
	//                          1 [-1, 3]      undecided
	//                          by the way, 7
}

func ExampleFits() {
	truth := make([]float64, 200)
	guess := make([]float64, 200)
	for i := range truth {
		truth[i], guess[i] = float64(i), -float64(i)
	}
	nb.Fits(0, &paper.ModelFit{Name: "reversed", Steps: 1000, Candidates: 5, Expected: [][]float64{truth, truth}, Estimated: [][]float64{guess, guess}})
	// Output:
	// Estimates of 150 candidates after 1000 steps against their expected rewards, beside the diagonal on which they would be exact
	// after 1,000 steps  correlation of estimate and truth  regret a step of choosing by the estimate
	// reversed           -1.000 [-1.000, -1.000]            4.000 [4.000, 4.000]
}

func ExampleMasks() {
	nb.Masks(&paper.MaskSpread{
		Dropout: 0.5, Steps: 2000,
		Masks: [][]float64{{1, 0}, {0, 1}}, Whole: []float64{0.6, 0.4}, Expected: []float64{0.7, 0.5},
	})
	// Output:
	// For each candidate, the probabilities under 2 dropout masks in their order
	// dropout  steps  s.d. of a probability over masks  masks with another favourite
	// 0.5      2,000  0.5                               50 %
}

func ExampleCells() {
	nb.Table([]string{"x", "y"}, [][]string{nb.Cells("%.2f", 1, 2.345)})
	// Output:
	// x     y
	// 1.00  2.35
}
