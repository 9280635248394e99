package paper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// FinalRegret is the regret of one contender at the last step.
type FinalRegret struct {
	Contender   string
	Mean        Interval // over runs
	Deviation   float64  // of the runs; NaN when there is one
	Median      float64  // of the runs
	Least, Most float64  // of the runs
}

// FinalRegrets returns the final regret of every result that has a regret, the
// lowest mean first.
func FinalRegrets(results []*sim.Result) []FinalRegret {
	var all []FinalRegret
	for _, r := range results {
		if r.Regret == nil {
			continue
		}
		x := final(r)
		all = append(all, FinalRegret{r.Contender, Mean95(x), stat.StdDev(x, nil), median(x), slices.Min(x), slices.Max(x)})
	}
	slices.SortStableFunc(all, func(a, b FinalRegret) int { return cmp.Compare(a.Mean.Mean, b.Mean.Mean) })
	return all
}

// Difference compares the final regrets of two contenders that met the same
// problem streams, run by run.
type Difference struct {
	Contender, Than string
	Mean            Interval // of Contender's regret less Than's, see [Paired95]
	Lower, Runs     int      // in how many of the runs Contender's is the lower one
}

// Differences compares a contender with every other one of the results, in their
// order. It is an error when there is no result of the contender, and when two
// of the results cannot be compared run by run.
func Differences(results []*sim.Result, contender string) ([]Difference, error) {
	var all []Difference
	for _, r := range results {
		if r.Contender == contender {
			continue
		}
		found, missing := evidence{r.Experiment, results}.find(contender, r.Contender)
		if missing != nil {
			return nil, errors.New("paper: " + missing.Evidence)
		}
		x, y := final(found[0]), final(found[1])
		all = append(all, Difference{Contender: contender, Than: r.Contender, Mean: Paired95(x, y, 1), Lower: lowerIn(x, y, 1), Runs: len(x)})
	}
	if all == nil {
		return nil, fmt.Errorf("paper: there is nothing to compare %s with", contender)
	}
	return all, nil
}

// Growth is how a contender's regret grows in the last half of the steps.
type Growth struct {
	Contender string
	Ratio     Interval // over runs, of the last quarter's regret by that of the quarter before: 1 where regret grows linearly, see [LinearGrowth]
	Slope     Interval // over runs, of log regret over log step by least squares in the last half
}

// Growths returns the growth of every result, the steepest first. It is an error
// when a run has too few checkpoints with regret for it.
func Growths(results []*sim.Result) ([]Growth, error) {
	var all []Growth
	for _, r := range results {
		ratios, err := growth(r)
		if err != nil {
			return nil, fmt.Errorf("paper: %w", err)
		}
		slopes, err := slope(r)
		if err != nil {
			return nil, fmt.Errorf("paper: %w", err)
		}
		all = append(all, Growth{r.Contender, Mean95(ratios), Mean95(slopes)})
	}
	slices.SortStableFunc(all, func(a, b Growth) int { return cmp.Compare(b.Ratio.Mean, a.Ratio.Mean) })
	return all, nil
}

// Select returns the results of the named contenders, in the order of the
// names. It is an error when there is none of a name.
func Select(results []*sim.Result, names ...string) ([]*sim.Result, error) {
	var selected []*sim.Result
	for _, name := range names {
		k := slices.IndexFunc(results, func(r *sim.Result) bool { return r.Contender == name })
		if k < 0 {
			return nil, fmt.Errorf("paper: there is no result of %s", name)
		}
		selected = append(selected, results[k])
	}
	return selected, nil
}

// Without returns the results of all but the named contenders.
func Without(results []*sim.Result, names ...string) []*sim.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *sim.Result) bool { return slices.Contains(names, r.Contender) })
}

// AlgorithmOf returns the algorithm of an experiment's contender. It is an error
// when there is none of that name.
func AlgorithmOf(e sim.Experiment, contender string) (envs.Algorithm, error) {
	for _, c := range e.Contenders {
		if c.Name == contender {
			return c.Algorithm, nil
		}
	}
	return nil, fmt.Errorf("paper: no contender of %s is called %q", e.Name, contender)
}

// ClaimsOn judges, as [Claims] does, what the results of one experiment say by
// themselves: of every claim the parts that rest on them, and the verdict of
// these parts alone. Claims that do not rest on them are left out.
func ClaimsOn(results []*sim.Result) []Claim {
	if len(results) == 0 {
		return nil
	}
	e := evidence{results[0].Experiment, results}
	var all []Claim
	for _, c := range Claims(map[string][]*sim.Result{e.experiment: results}, nil) {
		c.Parts = slices.DeleteFunc(c.Parts, func(p Part) bool { return p.Verdict == NotRun })
		if !slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Verdict != Note }) {
			continue
		}
		c.Setting, c.Verdict = e.setting(), conclude(c.Parts)
		all = append(all, c)
	}
	return all
}
