package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// The limits of the verdicts on the music experiments, whose measure is the
// reward a step.
const (
	// Flat: a contender's reward has stopped rising rapidly by the middle of the
	// steps where it gains less from the middle tenth to the last one than a
	// quarter of what it earns more than random choice in the middle tenth.
	Flat = 0.25
	// SameReward: returns are "almost the same" where they differ by less than
	// 0.02 a step. All that there is to learn is worth about 0.3.
	SameReward = 0.02
)

// bandits are the paper's classic contenders of the music experiments, and
// others those with epsilon-greedy, which PGCR is compared with.
var (
	bandits = []string{GLMUCB, Thompson}
	others  = []string{GLMUCB, Thompson, EpsilonGreedy}
)

// musicClaims are the claims on figure 2.
func musicClaims(stateless, state evidence) []Claim {
	five := Claim{
		Row: 5, Statement: "Music without states: PGCR is best from the beginning to the end; UCB and Thompson sampling learn fast, then stop rising; " +
			"epsilon-greedy learns slowly, but passes them.",
		Source: "figure 2a", Setting: stateless.setting(),
		Parts: []Part{stateless.leads(firstTenth, others), stateless.leads(allSteps, others), stateless.leads(lastTenth, others)},
	}
	for _, b := range bandits {
		five.Parts = append(five.Parts, stateless.earnsMore(b, EpsilonGreedy, firstTenth))
	}
	for _, b := range bandits {
		five.Parts = append(five.Parts, stateless.flattens(b))
	}
	for _, b := range bandits {
		five.Parts = append(five.Parts, stateless.earnsMore(EpsilonGreedy, b, lastTenth))
	}
	five.Parts = append(five.Parts, stateless.averages(LinUCB, Greedy, VanillaPG, Random, TrueProbabilities, LabelOracle))

	six := Claim{
		Row: 6, Statement: "Music with states: PGCR is best by a larger margin than without; UCB and Thompson sampling earn almost the same as without; " +
			"vanilla policy gradient earns more than they do and less than PGCR.",
		Source: "figure 2b", Setting: state.setting(),
		Parts: []Part{state.leads(firstTenth, others), state.leads(allSteps, others), state.leads(lastTenth, others), largerLead(state, stateless, others)},
	}
	for _, b := range bandits {
		six.Parts = append(six.Parts, sameReward(state, stateless, b))
	}
	for _, b := range bandits {
		six.Parts = append(six.Parts, state.earnsMore(VanillaPG, b, lastTenth))
	}
	six.Parts = append(six.Parts, state.earnsMore(PGCR, VanillaPG, lastTenth), state.averages(PGCRDiscounted, LinUCB, Greedy, Random, TrueProbabilities, LabelOracle))
	return []Claim{five, six}
}

// earnsMore is the claim that a earns more than b in a part of the steps.
func (e evidence) earnsMore(a, b string, s span) Part {
	found, missing := e.paired(a, b)
	if missing != nil {
		return *missing
	}
	x, y := earned(found[0], s), earned(found[1], s)
	d := Paired95(x, y, 1)
	return Part{
		fmt.Sprintf("%s, %s: %s %s, %s %s; difference: %v", e.experiment, s.name, a, cents(x), b, cents(y), d),
		d.above(0),
	}
}

// leads is the claim that PGCR earns more than the best of the others in a part
// of the steps.
func (e evidence) leads(s span, others []string) Part {
	best, missing := e.best(s, others)
	if missing != nil {
		return *missing
	}
	part := e.earnsMore(PGCR, best, s)
	part.Evidence = strings.Replace(part.Evidence, ", "+best, ", the best other "+best, 1)
	return part
}

// best is the one that earns most in a part of the steps.
func (e evidence) best(s span, names []string) (best string, missing *Part) {
	found, missing := e.paired(append([]string{PGCR}, names...)...)
	if missing != nil {
		return "", missing
	}
	most := math.Inf(-1)
	for _, r := range found[1:] {
		if mean := stat.Mean(earned(r, s), nil); mean > most {
			best, most = r.Contender, mean
		}
	}
	return best, nil
}

// flattens is the claim that a's reward has stopped rising rapidly by the middle
// of the steps, see Flat.
func (e evidence) flattens(a string) Part {
	found, missing := e.paired(a, Random)
	if missing != nil {
		return *missing
	}
	early, late, chance := earned(found[0], middleTenth), earned(found[0], lastTenth), earned(found[1], middleTenth)
	rise, learned := make([]float64, len(early)), make([]float64, len(early))
	for run := range early {
		rise[run], learned[run] = late[run]-early[run], early[run]-chance[run]
	}
	d := Paired95(rise, learned, Flat)
	return Part{
		fmt.Sprintf("%s: %s in the %s %s, %s more than random; in the %s %s more than there; less %v x the former: %v",
			e.experiment, a, middleTenth.name, cents(early), cents(learned), lastTenth.name, cents(rise), Flat, d),
		d.below(0),
	}
}

// averages notes what those of the named that were run earn a step; the part is
// empty when none was.
func (e evidence) averages(names ...string) Part {
	var list []string
	for _, name := range names {
		if found, missing := e.paired(name); missing == nil {
			list = append(list, fmt.Sprintf("%s %s", name, cents(earned(found[0], allSteps))))
		}
	}
	if list == nil {
		return Part{}
	}
	return Part{fmt.Sprintf("%s: reward a step of %s", e.experiment, strings.Join(list, ", ")), Note}
}

// largerLead is the claim that PGCR's lead over the best of the others is larger
// in experiment a than in b at the end.
func largerLead(a, b evidence, others []string) Part {
	var leads [2][]float64
	var text [2]string
	for i, e := range []evidence{a, b} {
		best, missing := e.best(lastTenth, others)
		if missing != nil {
			return *missing
		}
		found, _ := e.paired(PGCR, best)
		leads[i] = earned(found[0], lastTenth)
		for run, x := range earned(found[1], lastTenth) {
			leads[i][run] -= x
		}
		text[i] = fmt.Sprintf("%s in %s", cents(leads[i]), e.experiment)
	}
	if part := comparable(a, b, PGCR); part != nil {
		return *part
	}
	d := Paired95(leads[0], leads[1], 1)
	return Part{fmt.Sprintf("PGCR's lead over the best other, %s: %s, %s; difference: %v", lastTenth.name, text[0], text[1], d), d.above(0)}
}

// sameReward is the claim that a contender earns almost the same in both
// experiments at the end, see SameReward.
func sameReward(a, b evidence, name string) Part {
	if part := comparable(a, b, name); part != nil {
		return *part
	}
	x, _ := a.paired(name)
	y, _ := b.paired(name)
	with, without := earned(x[0], lastTenth), earned(y[0], lastTenth)
	d := Paired95(with, without, 1)
	return Part{
		fmt.Sprintf("%s, %s: %s in %s, %s in %s; difference: %v, limits +-%v", name, lastTenth.name, cents(with), a.experiment, cents(without), b.experiment, d, SameReward),
		d.within(-SameReward, SameReward),
	}
}

// comparable returns why a contender's runs in two experiments are not pairs,
// nil where they are: the same data, seeds and steps.
func comparable(a, b evidence, name string) *Part {
	x, missing := a.paired(name)
	if missing != nil {
		return missing
	}
	y, missing := b.paired(name)
	if missing != nil {
		return missing
	}
	declared := func(problem string) string {
		_, settings, _ := strings.Cut(problem, " ")
		return settings
	}
	if p, q := x[0], y[0]; declared(p.Problem) != declared(q.Problem) || p.Seed != q.Seed || p.Runs != q.Runs || !slices.Equal(p.Checkpoints, q.Checkpoints) {
		return &Part{fmt.Sprintf("%s and %s were run in different settings", a.experiment, b.experiment), NotRun}
	}
	return nil
}

// cents writes a mean reward a step with three digits after the point.
func cents(values []float64) string { return fmt.Sprintf("%.3f", stat.Mean(values, nil)) }
