package paper

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// The search for settings is the same for all algorithms, and on seeds that no
// reported run has: tries settings of each are drawn at random and play a fifth of
// the steps in a quarter of the runs; the finalists play all steps, with other seeds. Few steps do
// not tell what falling learning rates are worth, so they come in there: half of the finalists of
// an algorithm that has them are the other half with decay.
const (
	tries     = 32
	finalists = 8
	falling   = "+decay" // behind the name of a try
	tuneSeed  = 101
)

// Tuning is the first round of the search for an experiment's settings, an experiment whose entries
// are the tries, such as "PGCR 07": all are stored like other results.
func Tuning(e sim.Experiment) sim.Experiment {
	return sim.Experiment{Name: "tuning-" + e.Name, Problem: e.Problem, Entries: triesOn(e.Problem, 0), Runs: max(e.Runs/4, 2), Steps: e.Steps / 5, Seed: tuneSeed}
}

// triesOn are the tries on a problem, the algorithms that can have falling learning rates with that decay.
func triesOn(problem envs.Problem, decay float64) (entries []sim.Entry) {
	var networks []network
	for d := (draws{envs.NewRand(tuneSeed, "networks")}); len(networks) < tries; {
		networks = append(networks, network{decay, d.between(5e-5, 0.05), d.between(5e-5, 0.05), d.between(0.03, 1),
			int(d.oneOf(1, 2, 4)), d.oneOf(0, 1) == 1, d.oneOf(0, 0, 0, 1) == 1})
	}
	for _, name := range []string{"PGCR", "PGCR, ours", "vanilla PG", "epsilon-greedy", "greedy", "Lin-UCB", "GLM-UCB", "Thompson"} {
		if gaussian(problem) && name == "GLM-UCB" {
			continue // as in the paper
		}
		d := draws{envs.NewRand(tuneSeed, name)}
		for i, n := range networks {
			entries = append(entries, sim.Entry{Name: fmt.Sprintf("%s %02d", name, i+1), Algorithm: d.algorithm(name, problem, n)})
		}
	}
	return entries
}

// Finals is the second round: five times the steps of the first and other seeds,
// for the best finalists of each algorithm by the results of the first.
func Finals(round sim.Experiment, first []*sim.Result) sim.Experiment {
	entries, decaying := triesOn(round.Problem, 0), triesOn(round.Problem, 0.0001)
	round.Name, round.Seed, round.Entries = "finals-"+round.Name, round.Seed+1, nil
	round.Steps *= 5
	for _, ranked := range ranking(first) {
		for i, r := range ranked[:min(finalists, len(ranked))] {
			k := slices.IndexFunc(entries, func(n sim.Entry) bool { return n.Name == r.Entry })
			n, other := entries[k], sim.Entry{Name: r.Entry + falling, Algorithm: decaying[k].Algorithm}
			switch {
			case reflect.DeepEqual(n.Algorithm, other.Algorithm): // no falling rates, as in the paper's form
				round.Entries = append(round.Entries, n)
			case i < finalists/2:
				round.Entries = append(round.Entries, n, other)
			}
		}
	}
	return round
}

// TuningTable is a row an algorithm: what its best setting got in the finals and in the first
// round, where it was chosen for that, and the median of all tries, the price of not tuning.
func TuningTable(first, finals []*sim.Result) (header []string, rows [][]string) {
	tried := ranking(first)
	for i, ranked := range ranking(finals) {
		best := ranked[0]
		chosen, s := Select(tried[i], strings.TrimSuffix(best.Entry, falling)), outcome(best)
		rows = append(rows, []string{best.Entry, Interval{s.Mean, s.Low, s.High}.String(), short(outcome(chosen[0]).Mean),
			short(outcome(tried[i][len(tried[i])/2]).Mean), best.Algorithm})
	}
	return []string{"best setting", "in the finals, mean [95 % interval]", "in the first round", "median try there", "settings"}, rows
}

// TriesTable is a row a try, those of an algorithm together and the best first.
func TriesTable(first, finals []*sim.Result) (header []string, rows [][]string) {
	last := map[string]string{}
	for _, r := range finals {
		last[r.Entry] = short(outcome(r).Mean)
	}
	for _, ranked := range ranking(first) {
		for _, r := range ranked {
			rows = append(rows, []string{r.Entry, short(outcome(r).Mean), last[r.Entry], last[r.Entry+falling], r.Algorithm})
		}
	}
	return []string{"try", "in the first round", "in the finals", "there with decay", "settings"}, rows
}

// outcome is what a try is judged by: its final regret or, on music, its reward a step.
func outcome(r *sim.Result) sim.Statistics {
	if isMusic(r.Problem) {
		return r.Summary().Reward
	}
	return r.Summary().Regret
}

// ranking groups the results of a round by algorithm, in the order in which they
// first occur, each with the best setting first: that of the lowest mean regret or,
// on music, of the highest mean reward.
func ranking(results []*sim.Result) (ranked [][]*sim.Result) {
	name := func(r *sim.Result) string { return r.Entry[:strings.LastIndex(r.Entry, " ")] }
	for _, r := range results {
		at := slices.IndexFunc(ranked, func(group []*sim.Result) bool { return name(group[0]) == name(r) })
		if at < 0 {
			at, ranked = len(ranked), append(ranked, nil)
		}
		ranked[at] = append(ranked[at], r)
	}
	for _, group := range ranked {
		slices.SortStableFunc(group, func(a, b *sim.Result) int {
			if isMusic(a.Problem) {
				a, b = b, a
			}
			return cmp.Compare(outcome(a).Mean, outcome(b).Mean)
		})
	}
	return ranked
}

// network is what all algorithms that learn by networks have. Their tries of one
// number have the same, so that what one of them finds is not its luck.
type network struct {
	decay, actorRate, criticRate, initScale float64
	updates                                 int
	weighted, standardised                  bool
}

// algorithm is a try of an algorithm on a problem: all that decides, and the same ranges for the
// settings that algorithms share. "PGCR" keeps to the paper's form, "PGCR, ours" has what we add to it.
func (d draws) algorithm(name string, problem envs.Problem, n network) (a envs.Algorithm) {
	form := pgcr.Paper()
	switch problem.(type) { // of music: with its networks and batches
	case kkbox.MusicStateless:
		form = MusicStateless().Entries[1].Algorithm.(pgcr.Config)
	case kkbox.MusicState:
		form = MusicState().Entries[1].Algorithm.(pgcr.Config)
	}
	form.ActorRate, form.CriticRate = n.actorRate, n.criticRate
	ours := form
	ours.Decay, ours.InitScale, ours.UpdatesPerStep, ours.WeightedCritic = n.decay, n.initScale, n.updates, n.weighted
	heuristics := func(c pgcr.Config) pgcr.Config {
		c.Resamples, c.Dropout, c.Greed.Rate = int(d.oneOf(1, 4)), d.oneOf(0, 0, 0, 0.33), d.oneOf(0, 0, 0.0003, 0.001)
		return c
	}
	values := neural.Settings{Hidden: form.Hidden, BatchSize: form.BatchSize, UpdateEvery: form.UpdateEvery,
		Rate: n.criticRate, Decay: n.decay, InitScale: n.initScale, UpdatesPerStep: n.updates}
	// Linear and logistic models have the width of their exploration, from least on, a ridge, and
	// the other intercept or not.
	var width, ridge float64
	var other bool
	if least, linear := map[string]float64{"Lin-UCB": 0.003, "GLM-UCB": 0.003, "Thompson": 0.001}[name]; linear {
		width, ridge, other = d.between(least, 3), d.between(1, 1e4), d.oneOf(0, 1) == 1
		n.standardised = d.oneOf(0, 0, 0, 1) == 1
	}
	switch name {
	case "PGCR":
		return heuristics(form)
	case "PGCR, ours":
		a = heuristics(ours)
	case "vanilla PG":
		a = neural.VanillaPG(ours)
	case "epsilon-greedy":
		a = neural.EpsilonGreedy{Settings: values, Epsilon: d.between(0.003, 0.2)}
	case "greedy":
		a = neural.Greedy{Settings: values}
	case "Lin-UCB":
		a = baselines.LinUCB{Alpha: width, Ridge: ridge, Intercept: other}
	case "GLM-UCB":
		a = baselines.GLMUCB{Alpha: width, Ridge: ridge, NoIntercept: other}
	case "Thompson":
		a = baselines.LogisticThompson{Scale: width, Ridge: ridge, NoIntercept: other}
		if gaussian(problem) {
			a = baselines.LinearThompson{Scale: width, Ridge: ridge, Intercept: other}
		}
	}
	if n.standardised {
		return baselines.Standardised{Algorithm: a}
	}
	return a
}

// gaussian reports whether rewards are a mean with Gaussian noise, of which logistic models make nothing.
func gaussian(p envs.Problem) bool {
	switch p.(type) {
	case envs.Linear, Family:
		return true
	}
	return false
}

// draws draws settings.
type draws struct{ *rand.Rand }

// between is log-uniform, rounded to three digits.
func (d draws) between(low, high float64) float64 {
	x, _ := strconv.ParseFloat(fmt.Sprintf("%.3g", low*math.Exp(d.Float64()*math.Log(high/low))), 64)
	return x
}

func (d draws) oneOf(values ...float64) float64 { return values[d.IntN(len(values))] }
