package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs/sim"
)

// evidence is what an experiment has to say.
type evidence struct {
	declared sim.Experiment
	results  []*sim.Result
}

// find returns the results of entries, or a part that says why they cannot be compared run by run.
func (e evidence) find(names ...string) (found []*sim.Result, missing *Part) {
	for _, name := range names {
		k := slices.IndexFunc(e.results, func(r *sim.Result) bool { return r.Entry == name })
		if k < 0 {
			return nil, &Part{fmt.Sprintf("%s: no result of %s", e.declared.Name, name), NotRun}
		}
		if found = append(found, e.results[k]); !paired(found[0], found[len(found)-1]) {
			return nil, &Part{fmt.Sprintf("%s: %s and %s were run in different settings", e.declared.Name, names[0], name), NotRun}
		}
	}
	return found, nil
}

// paired reports whether two results met the same problem streams.
func paired(a, b *sim.Result) bool {
	settings := func(r *sim.Result) string { // of the problem, whatever its type: both music problems share their streams
		_, text, _ := strings.Cut(r.Problem, " ")
		return text
	}
	return settings(a) == settings(b) && a.Seed == b.Seed && a.Runs == b.Runs && a.Steps == b.Steps
}

// compare is a part about a number a run of each of two entries.
func (e evidence) compare(a, b string, of func(*sim.Result) []float64, judge func(x, y []float64) Part) Part {
	found, missing := e.find(a, b)
	if missing != nil {
		return *missing
	}
	x, y := of(found[0]), of(found[1])
	if x == nil || y == nil {
		return Part{fmt.Sprintf("%s: no regret of %s or %s", e.declared.Name, a, b), NotRun}
	}
	return judge(x, y)
}

// lower is the claim that a's final regret is below factor times b's.
func (e evidence) lower(a string, factor float64, b string) Part {
	return e.compare(a, b, final, func(x, y []float64) Part {
		other := b
		if factor != 1 {
			other = fmt.Sprintf("%v x %s", factor, b)
		}
		d := sim.Differences(x, y, factor)
		lower := floats.Count(func(x float64) bool { return x < 0 }, d)
		return Part{fmt.Sprintf("%s: %s %s, %s %s; %s - %s: %v, lower in %d of %d runs",
			e.declared.Name, a, centre(x), b, centre(y), a, other, Mean95(d), lower, len(d)), Mean95(d).below(0)}
	})
}

// linear is the claim that a's regret grows linearly.
func (e evidence) linear(a string) Part {
	return e.compare(a, a, Growth, func(x, _ []float64) Part {
		g := Mean95(x)
		return Part{fmt.Sprintf("%s: log-log slope of %s in the last half: %v, limit %v", e.declared.Name, a, g, linearGrowth), g.above(linearGrowth)}
	})
}

// alike is the claim that the regrets of a and b grow alike.
func (e evidence) alike(a, b string) Part {
	return e.compare(a, b, Growth, func(x, y []float64) Part {
		d := Paired95(x, y, 1)
		return Part{fmt.Sprintf("%s: log-log slopes in the last half of %s %.2f, of %s %.2f; difference: %v, limits +-%v",
			e.declared.Name, a, stat.Mean(x, nil), b, stat.Mean(y, nil), d, sameGrowth), d.within(-sameGrowth, sameGrowth)}
	})
}

// note notes the final regrets, of music the rewards a step, of those of the named that were
// run, and is empty when none was.
func (e evidence) note(names ...string) Part {
	what, of := "final regret", func(r *sim.Result) string { return centre(final(r)) }
	if IsMusic(e.declared) {
		what, of = "reward a step", func(r *sim.Result) string { return cents(allSteps.earned(r)) }
	}
	var list []string
	for _, name := range names {
		if found, missing := e.find(name); missing == nil {
			list = append(list, name+" "+of(found[0]))
		}
	}
	if list == nil {
		return Part{}
	}
	return Part{fmt.Sprintf("%s: %s of %s", e.declared.Name, what, strings.Join(list, ", ")), Note}
}

// earnsMore is the claim that a earns more than b, which may be bestOther, in a part of the steps.
func (e evidence) earnsMore(a, b string, s span) Part {
	name := b
	if b == bestOther {
		b = e.best(s)
		name += " " + b
	}
	return e.compare(a, b, s.earned, func(x, y []float64) Part {
		d := Paired95(x, y, 1)
		return Part{fmt.Sprintf("%s, %s: %s %s, %s %s; difference: %v", e.declared.Name, s.name, a, cents(x), name, cents(y), d), d.above(0)}
	})
}

const bestOther = "the best other"

// best is bestOther: the one of the paper's other algorithms that earns most in a part of the steps.
func (e evidence) best(s span) (best string) {
	most := math.Inf(-1)
	for _, name := range []string{"GLM-UCB", "Thompson", "epsilon-greedy"} {
		found, missing := e.find("PGCR", name)
		if missing != nil {
			return name // the comparison says what is missing
		}
		if mean := stat.Mean(s.earned(found[1]), nil); mean > most {
			best, most = name, mean
		}
	}
	return best
}

// flattens is the claim that a's reward stops rising by the middle of the steps.
func (e evidence) flattens(a string) Part {
	found, missing := e.find(a, "random")
	if missing != nil {
		return *missing
	}
	early := middleTenth.earned(found[0])
	rise, learned := sim.Differences(lastTenth.earned(found[0]), early, 1), sim.Differences(early, middleTenth.earned(found[1]), 1)
	d := Paired95(rise, learned, flat)
	return Part{fmt.Sprintf("%s: %s in the %s %s, %s more than random; in the %s %s more than there; less %v x the former: %v",
		e.declared.Name, a, middleTenth.name, cents(early), cents(learned), lastTenth.name, cents(rise), flat, d), d.below(0)}
}

// beside is what two experiments of the same streams have of an entry, by their names.
func beside(a, b evidence, entry string) evidence {
	both := evidence{declared: sim.Experiment{Name: entry}}
	for _, e := range []evidence{a, b} {
		if found, _ := e.find(entry); found != nil {
			r := *found[0]
			r.Entry = e.declared.Name
			both.results = append(both.results, &r)
		}
	}
	return both
}

// largerLead is the claim that PGCR's lead over the best of the others is larger
// in experiment a than in b at the end.
func largerLead(a, b evidence) Part {
	leads := map[string][]float64{}
	for _, e := range []evidence{a, b} {
		found, missing := e.find("PGCR", e.best(lastTenth))
		if missing != nil {
			return *missing
		}
		leads[e.declared.Name] = sim.Differences(lastTenth.earned(found[0]), lastTenth.earned(found[1]), 1)
	}
	lead := func(r *sim.Result) []float64 { return leads[r.Entry] }
	return beside(a, b, "PGCR").compare(a.declared.Name, b.declared.Name, lead, func(x, y []float64) Part {
		d := Paired95(x, y, 1)
		return Part{fmt.Sprintf("PGCR's lead over the best other, %s: %s in %s, %s in %s; difference: %v",
			lastTenth.name, cents(x), a.declared.Name, cents(y), b.declared.Name, d), d.above(0)}
	})
}

// earnsSame is the claim that an entry earns almost the same in both experiments at the end.
func earnsSame(a, b evidence, name string) Part {
	return beside(a, b, name).compare(a.declared.Name, b.declared.Name, lastTenth.earned, func(x, y []float64) Part {
		d := Paired95(x, y, 1)
		return Part{fmt.Sprintf("%s, %s: %s in %s, %s in %s; difference: %v, limits +-%v", name, lastTenth.name,
			cents(x), a.declared.Name, cents(y), b.declared.Name, d, sameReward), d.within(-sameReward, sameReward)}
	})
}

// final is the regret of every run at the last step, nil where it has none.
func final(r *sim.Result) (out []float64) {
	for _, regret := range r.Regret {
		out = append(out, regret[len(regret)-1])
	}
	return out
}

// Growth is the log-log slope of every run's regret by least squares over the
// checkpoints of the last half of the steps: 1 where regret grows linearly from
// the start, 0.5 where it grows as a square root. Runs without regret at two
// checkpoints have slope 0; nil where there is no regret at all.
func Growth(r *sim.Result) (slopes []float64) {
	for _, regret := range r.Regret {
		var x, y []float64
		for k, step := range r.Checkpoints {
			if 2*step >= r.Steps && regret[k] > 0 {
				x, y = append(x, math.Log(float64(step))), append(y, math.Log(regret[k]))
			}
		}
		slope := 0.0
		if len(x) > 1 {
			_, slope = stat.LinearRegression(x, y, nil, false)
		}
		slopes = append(slopes, slope)
	}
	return slopes
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

// earned is the reward a step of every run in the part. Results are kept at
// every hundredth of the steps, so parts of a few steps may be shifted by one.
func (s span) earned(r *sim.Result) []float64 {
	steps := slices.Insert(slices.Clone(r.Checkpoints), 0, 0) // nothing is earned at step 0
	at := func(fraction float64) int {
		k, _ := slices.BinarySearch(steps, int(math.Round(fraction*float64(r.Steps))))
		return min(k, len(steps)-1)
	}
	from, to := at(s.from), max(at(s.to), 1)
	if from == to { // fewer than 10 steps
		from--
	}
	out := make([]float64, len(r.Reward))
	for run, reward := range r.Reward {
		reward = slices.Insert(slices.Clone(reward), 0, 0)
		out[run] = (reward[to] - reward[from]) / float64(steps[to]-steps[from])
	}
	return out
}

// centre is the mean of the runs, and their median where it is another: a mean
// may rest on a few runs that went wrong.
func centre(x []float64) string {
	if len(x) == 0 {
		return "none"
	}
	mean := stat.Mean(x, nil)
	x = slices.Sorted(slices.Values(x))
	middle := (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	if math.Abs(mean-middle) <= 0.1*math.Abs(mean) {
		return short(mean)
	}
	return fmt.Sprintf("%s (median %s)", short(mean), short(middle))
}

// short writes a number with three digits or all before the point.
func short(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// cents writes a mean reward a step with three digits after the point.
func cents(values []float64) string { return fmt.Sprintf("%.3f", stat.Mean(values, nil)) }
