package paper

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
)

// Scores are those of one algorithm, [problem][run], the higher the better. What is
// measured of them are the definitions of rliable (Agarwal et al., Deep Reinforcement
// Learning at the Edge of the Statistical Precipice, NeurIPS 2021).
type Scores [][]float64

// IQM is the interquartile mean: of all scores together without the lowest and the highest quarter.
func (s Scores) IQM() float64 {
	all := slices.Sorted(slices.Values(slices.Concat(s...)))
	cut := len(all) / 4
	return stat.Mean(all[cut:len(all)-cut], nil)
}

// OptimalityGap is how much the scores fall short of 1 on average, where what exceeds
// it does not count.
func (s Scores) OptimalityGap() float64 {
	all := slices.Concat(s...)
	for i := range all {
		all[i] = 1 - min(all[i], 1)
	}
	return stat.Mean(all, nil)
}

// Above is the share of runs with scores above tau, the mean over problems: over tau
// the performance profile.
func (s Scores) Above(tau float64) (share float64) {
	for _, runs := range s {
		n := floats.Count(func(x float64) bool { return x > tau }, runs)
		share += float64(n) / float64(len(runs)*len(s))
	}
	return share
}

// Improvement is the probability that a run of s is better than one of t on the same
// problem, the mean over problems; ties count half.
func (s Scores) Improvement(t Scores) (p float64) {
	for j := range s {
		for _, x := range s[j] {
			for _, y := range t[j] {
				pair := 1 / float64(len(s)*len(s[j])*len(t[j]))
				switch {
				case x > y:
					p += pair
				case x == y:
					p += pair / 2
				}
			}
		}
	}
	return p
}

// Bootstrap95 are statistics of scores with their intervals from 2,000 stratified bootstrap
// samples, in which the runs of each problem are drawn with replacement, for each algorithm by
// itself. The same scores give the same intervals. Where the samples do not differ, as those of equal
// runs, they tell nothing of the spread, and the interval is infinite.
func Bootstrap95(s []Scores, statistics ...func(s []Scores) float64) (intervals []Interval) {
	rng, values, drawn := envs.NewRand(1, "paper/bootstrap"), make([][]float64, len(statistics)), make([]Scores, len(s))
	for range 2000 {
		for k := range s {
			drawn[k] = make(Scores, len(s[k]))
			for j, runs := range s[k] {
				for range runs {
					drawn[k][j] = append(drawn[k][j], runs[rng.IntN(len(runs))])
				}
			}
		}
		for i, statistic := range statistics {
			values[i] = append(values[i], statistic(drawn))
		}
	}
	for i, statistic := range statistics {
		slices.Sort(values[i])
		quantile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, values[i], nil) }
		interval := Interval{statistic(s), quantile(0.025), quantile(0.975)}
		if interval.High-interval.Low <= 1e-12*math.Abs(interval.Mean) {
			interval.Low, interval.High = math.Inf(-1), math.Inf(1)
		}
		intervals = append(intervals, interval)
	}
	return intervals
}

func iqm(s []Scores) float64 { return s[0].IQM() }

// scoresOf are the scores of what all of the toy problems have results of: 1 is no
// regret, and 0 the mean regret of random choice on that problem at the same step. The
// names are in the order of the entries. Problems without random choice are left out.
func scoresOf(results map[string][]*sim.Result) (names []string, scores map[string]Scores) {
	scores = map[string]Scores{}
	problems := 0
	for _, e := range []sim.Experiment{Linear(), Bernoulli(), BernoulliHard(), Mixed()} {
		found, missing := evidence{e, results[e.Name]}.find("random")
		if missing != nil {
			continue
		}
		problems++
		chance := stat.Mean(final(found[0]), nil)
		for _, r := range results[e.Name] {
			runs := final(r)
			for i := range runs {
				runs[i] = 1 - runs[i]/chance
			}
			if scores[r.Entry] == nil {
				names = append(names, r.Entry)
			}
			scores[r.Entry] = append(scores[r.Entry], runs)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return len(scores[name]) < max(problems, 2) || name == "random" }), scores
}

// AcrossTable is a row an algorithm: how it does across problems, and how often it does
// better than the first. There are no rows where fewer than two toy problems have results.
func AcrossTable(results map[string][]*sim.Result) (header []string, rows [][]string) {
	names, scores := scoresOf(results)
	if len(names) == 0 {
		return nil, nil
	}
	first := scores[names[0]]
	for _, name := range names {
		s, better := scores[name], "-"
		if name != names[0] {
			better = Bootstrap95([]Scores{s, first}, func(s []Scores) float64 { return s[0].Improvement(s[1]) })[0].String()
		}
		rows = append(rows, []string{name, Bootstrap95([]Scores{s}, iqm)[0].String(),
			fmt.Sprintf("%.3f", stat.Mean(slices.Concat(s...), nil)), fmt.Sprintf("%.3f", s.OptimalityGap()), better})
	}
	return []string{fmt.Sprintf("%d problems, score 1: no regret, 0: random choice", len(first)), "interquartile mean [95 % interval]", "mean", "optimality gap", "P(better than " + names[0] + ")"}, rows
}

// AcrossFigures are the performance profiles and the interquartile means with their
// intervals; nil where fewer than two toy problems have results.
func AcrossFigures(results map[string][]*sim.Result) (profile, means *plot.Plot, err error) {
	names, scores := scoresOf(results)
	if len(names) == 0 {
		return nil, nil, nil
	}
	statistics, taus := []func([]Scores) float64{iqm}, floats.Span(make([]float64, 51), 0, 1)
	for _, tau := range taus {
		statistics = append(statistics, func(s []Scores) float64 { return s[0].Above(tau) })
	}
	var lines, bars []figure.Series
	for _, name := range names {
		all := figure.Series{Name: name}
		for _, i := range Bootstrap95([]Scores{scores[name]}, statistics...) {
			all.Y, all.Low, all.High = append(all.Y, i.Mean), append(all.Low, i.Low), append(all.High, i.High)
		}
		lines = append(lines, figure.Series{Name: name, X: taus, Y: all.Y[1:], Low: all.Low[1:], High: all.High[1:]})
		bars = append(bars, figure.Series{Name: name, Y: all.Y[:1], Low: all.Low[:1], High: all.High[:1]})
	}
	opt := figure.Options{Title: fmt.Sprintf("Across %d toy problems", len(scores[names[0]]))}
	profile, err = figure.Lines(lines, figure.Axes{X: "score: 1 is no regret, 0 that of random choice", Y: "share of runs with a higher score, and 95 % interval"}, opt)
	if err == nil {
		means, err = figure.Bars([]string{""}, bars, figure.Axes{Y: "interquartile mean of the scores (1: no regret, 0: random choice), 95 % interval"}, opt)
	}
	return profile, means, err
}
