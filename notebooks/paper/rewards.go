package paper

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs/sim"
)

// AverageReward is what one contender earned a step.
type AverageReward struct {
	Contender   string
	First, Last Interval // over runs, in the first and in the last tenth of the steps
	All         Interval // over runs, in all steps
	Deviation   float64  // of the runs, in all steps; NaN when there is one
}

// AverageRewards returns what the contenders earned, the highest mean over all
// steps first.
func AverageRewards(results []*sim.Result) []AverageReward {
	var all []AverageReward
	for _, r := range results {
		x := earned(r, allSteps)
		all = append(all, AverageReward{r.Contender, Mean95(earned(r, firstTenth)), Mean95(earned(r, lastTenth)), Mean95(x), stat.StdDev(x, nil)})
	}
	slices.SortStableFunc(all, func(a, b AverageReward) int { return cmp.Compare(b.All.Mean, a.All.Mean) })
	return all
}

// RewardDifference compares the average rewards of two contenders that met the
// same problem streams, run by run.
type RewardDifference struct {
	Contender, Than  string
	First, Last, All Interval // of Contender's reward a step less Than's, as in AverageReward
	Higher, Runs     int      // in how many of the runs Contender's is the higher one, in all steps
}

// RewardDifferences compares a contender with every other one of the results, in
// their order. Its errors are those of [Differences].
func RewardDifferences(results []*sim.Result, contender string) ([]RewardDifference, error) {
	var all []RewardDifference
	for _, r := range results {
		if r.Contender == contender {
			continue
		}
		found, missing := evidence{r.Experiment, results}.paired(contender, r.Contender)
		if missing != nil {
			return nil, errors.New("paper: " + missing.Evidence)
		}
		all = append(all, rewardDifference(found[0], found[1], r.Contender))
	}
	if all == nil {
		return nil, fmt.Errorf("paper: there is nothing to compare %s with", contender)
	}
	return all, nil
}

// rewardDifference compares r with the result that is told by the name than.
func rewardDifference(r, other *sim.Result, than string) RewardDifference {
	difference := func(s span) Interval { return Paired95(earned(r, s), earned(other, s), 1) }
	return RewardDifference{
		Contender: r.Contender, Than: than, Runs: r.Runs,
		First: difference(firstTenth), Last: difference(lastTenth), All: difference(allSteps),
		Higher: lowerIn(earned(other, allSteps), earned(r, allSteps), 1),
	}
}

// span is a part of a run, from and to fractions of its steps.
type span struct {
	from, to float64
	name     string
}

var (
	firstTenth  = span{0, 0.1, "first tenth of the steps"}
	middleTenth = span{0.45, 0.55, "middle tenth"}
	lastTenth   = span{0.9, 1, "last tenth"}
	allSteps    = span{0, 1, "all steps"}
)

// earned is the reward a step of every run in a part of it. Results are kept at
// every hundredth of the steps, so parts of a few steps may be shifted by one.
func earned(r *sim.Result, s span) []float64 {
	at := func(fraction float64) int { // the checkpoint, -1 before the first
		step := int(math.Round(fraction * float64(r.Steps)))
		if step < r.Checkpoints[0] {
			return -1
		}
		k, _ := slices.BinarySearch(r.Checkpoints, step)
		return min(k, len(r.Checkpoints)-1)
	}
	from, to := at(s.from), max(at(s.to), 0)
	if from == to { // fewer than 10 steps
		from--
	}
	out := make([]float64, len(r.Reward))
	for run, reward := range r.Reward {
		gained, steps := reward[to], r.Checkpoints[to]
		if from >= 0 {
			gained, steps = gained-reward[from], steps-r.Checkpoints[from]
		}
		out[run] = gained / float64(steps)
	}
	return out
}

// RewardGains compares what the contenders of an experiment earn a step with
// what those of the same names earn in another one that has the same streams,
// run by run: MusicState with MusicStateless. Contender is that of both, and Than
// the other experiment. Contenders that are in one of them only are left out. It
// is an error when data, seeds, runs or steps differ.
func RewardGains(results, other []*sim.Result) ([]RewardDifference, error) {
	if len(results) == 0 || len(other) == 0 {
		return nil, errors.New("paper: no results to compare")
	}
	a, b := evidence{results[0].Experiment, results}, evidence{other[0].Experiment, other}
	var all []RewardDifference
	for _, r := range results {
		k := slices.IndexFunc(other, func(o *sim.Result) bool { return o.Contender == r.Contender })
		if k < 0 {
			continue
		}
		if part := comparable(a, b, r.Contender); part != nil {
			return nil, errors.New("paper: " + part.Evidence)
		}
		all = append(all, rewardDifference(r, other[k], b.experiment))
	}
	return all, nil
}
