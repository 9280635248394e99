package paper

import (
	"fmt"
	"slices"

	"github.com/contextrec/contextrec/envs/sim"
)

// The limits of the verdicts. The paper's claims are words; these are what we
// take them to mean, fixed before the reported runs.
const (
	comparable     = 1.25 // "comparable": PGCR's final regret is less than 1.25 times the other's
	largeMargin    = 0.8  // "by a large margin": less than 0.8 times the other's
	linearGrowth   = 0.9  // "linear growth": the log-log slope of the regret in the last half is larger; that of a square root is 0.5
	sameGrowth     = 0.1  // "grow alike": the slopes differ by less
	varianceMargin = 0.1  // "-> 1/N": N times the ratio of the variances is within 1 +- 0.1
	noHigher       = 1.05 // "no higher": the ratio is at most that, to leave equality a chance to be confirmed
	smallBias      = 0.01 // "unbiased": the intervals of the bias of a probability are no longer on either side
	flat           = 0.25 // "stops rising": gains less from the middle tenth of the steps to the last than a quarter of its lead over random
	sameReward     = 0.02 // "almost the same" reward a step; all that can be learned is worth about 0.3
)

// Claim is one row of the claims table.
type Claim struct {
	Row       int
	Statement string // the paper's words, abridged
	Source    string // where the paper says so
	Setting   string // how long and how often it was run; empty when it was not
	Made      string // its figure, the command that makes it, and what was tried, in Markdown
	Parts     []Part
	Verdict   Verdict // reproduced: all parts are; not reproduced: one is refuted
}

// Part is one comparison that a claim rests on. Its verdict is of the steps that were played.
type Part struct {
	Evidence string
	Verdict  Verdict
}

// Claims judges the claims of the paper by results, those of each experiment by
// its name, and by what the theory notebook measured. Where some are missing (theory may be nil)
// the claims that need them are not run, and where fewer steps were played than
// the experiment declares they are too short to judge.
//
// Lower regret is read off the differences over runs of the final regrets, which are paired (see
// [Paired95]), and higher reward in the same way off the differences of rewards a step. Music with states is
// compared with music without where both were played as long.
func Claims(results map[string][]*sim.Result, theory *Theory) []Claim {
	all := map[string]evidence{}
	for _, e := range Experiments() {
		all[e.Name] = evidence{e, results[e.Name]}
	}
	linear, bernoulli, mixed := all["toy-linear"], all["toy-bernoulli"], all["toy-mixed"]
	dropout, stateless, state := all["toy-dropout"], all["music-stateless"], all["music-state"]
	if theory == nil {
		theory = &Theory{}
	}
	others := []string{"PGCR, untuned", "PGCR, ours", "greedy", "vanilla PG", "random"}
	return []Claim{
		linear.claim(1, "Linear rewards: PGCR is comparable with Lin-UCB and better than Thompson sampling and epsilon-greedy.", "figure 1a",
			linear.lower("PGCR", comparable, "Lin-UCB"), linear.lower("PGCR", 1, "Thompson"), linear.lower("PGCR", 1, "epsilon-greedy"),
			linear.note(others...)),
		bernoulli.claim(2, "Bernoulli rewards: of the paper's algorithms, PGCR has the lowest regret, by a large margin.", "figure 1b",
			bernoulli.lower("PGCR", largeMargin, "GLM-UCB"), bernoulli.lower("PGCR", largeMargin, "Thompson"), bernoulli.lower("PGCR", largeMargin, "epsilon-greedy"),
			bernoulli.note(append(others, "Lin-UCB", "largest sum")...),
			all["toy-bernoulli-hard"].note("PGCR", "GLM-UCB", "Thompson", "epsilon-greedy", "Lin-UCB", "largest sum")),
		mixed.claim(3, "Mixed rewards: of the paper's algorithms, PGCR has the lowest regret.", "figure 1c",
			mixed.lower("PGCR", 1, "GLM-UCB"), mixed.lower("PGCR", 1, "Thompson"), mixed.lower("PGCR", 1, "epsilon-greedy"),
			mixed.note(append(others, "Lin-UCB")...)),
		dropout.claim(4, "Without Actor-Dropout PGCR's regret grows linearly like epsilon-greedy's; with it regrets are smaller, and with dropout 0.67 grow like GLM-UCB's, and are lower in the end.", "figure 1d",
			dropout.linear("PGCR dropout 0"), dropout.alike("PGCR dropout 0", "epsilon-greedy"), dropout.alike("PGCR dropout 0.67", "GLM-UCB"),
			dropout.lower("PGCR dropout 0.33", 1, "PGCR dropout 0"), dropout.lower("PGCR dropout 0.5", 1, "PGCR dropout 0"),
			dropout.lower("PGCR dropout 0.67", 1, "PGCR dropout 0"), dropout.lower("PGCR dropout 0.67", 1, "GLM-UCB")),
		stateless.claim(5, "Music without states: PGCR is best from the beginning to the end; UCB and Thompson sampling learn fast, then stop rising; epsilon-greedy learns slowly, but passes them.", "figure 2a",
			stateless.earnsMore("PGCR", bestOther, firstTenth), stateless.earnsMore("PGCR", bestOther, allSteps), stateless.earnsMore("PGCR", bestOther, lastTenth),
			stateless.earnsMore("GLM-UCB", "epsilon-greedy", firstTenth), stateless.earnsMore("Thompson", "epsilon-greedy", firstTenth),
			stateless.flattens("GLM-UCB"), stateless.flattens("Thompson"),
			stateless.earnsMore("epsilon-greedy", "GLM-UCB", lastTenth), stateless.earnsMore("epsilon-greedy", "Thompson", lastTenth),
			stateless.note("PGCR, untuned", "PGCR, ours", "Lin-UCB", "greedy", "vanilla PG", "random", "true probabilities", "label oracle")),
		state.claim(6, "Music with states: PGCR is best by a larger margin than without; UCB and Thompson sampling earn almost the same as without; vanilla policy gradient earns more than they do and less than PGCR.", "figure 2b",
			state.earnsMore("PGCR", bestOther, firstTenth), state.earnsMore("PGCR", bestOther, allSteps), state.earnsMore("PGCR", bestOther, lastTenth), largerLead(state, stateless),
			earnsSame(state, stateless, "GLM-UCB"), earnsSame(state, stateless, "Thompson"),
			state.earnsMore("vanilla PG", "GLM-UCB", lastTenth), state.earnsMore("vanilla PG", "Thompson", lastTenth), state.earnsMore("PGCR", "vanilla PG", lastTenth),
			state.note("PGCR, untuned", "PGCR, ours", "PGCR, gamma 0.9", "PGCR, gamma 0.9, fast critic", "Lin-UCB", "greedy", "random", "true probabilities", "label oracle")),
		theory.claim(7, "Given the chosen context, Var[critic update] of PGCR tends to 1/N of vanilla policy gradient's.", "section 5.3, lemma 4", theory.criticParts()),
		theory.claim(8, "Var[actor update] of PGCR is no higher than vanilla policy gradient's.", "section 5.3, theorem 5", theory.actorParts()),
		linear.claim(9, "Already with N = 1 PGCR does better than vanilla policy gradient.", "section 5.3",
			linear.lower("PGCR, ours", 1, "vanilla PG"), bernoulli.lower("PGCR, ours", 1, "vanilla PG"), mixed.lower("PGCR, ours", 1, "vanilla PG")),
		theory.claim(10, "p_hat is an unbiased estimate of the marginal probability.", "section 3.2", theory.biasParts()),
		theory.claim(11, "With sets resampled jointly the ratio of claim 8 falls with N; drawn independently it is far above 1.", "ours", theory.setParts()),
	}
}

// ClaimsOn judges, as [Claims] does, what the results of one experiment say by
// themselves: of every claim the parts that rest on them, and the verdict of
// these parts alone. Claims that do not rest on them are left out.
func ClaimsOn(results []*sim.Result) []Claim {
	experiments := Experiments()
	k := slices.IndexFunc(experiments, func(e sim.Experiment) bool { return len(results) > 0 && results[0].Experiment == e.Name })
	if k < 0 {
		return nil
	}
	var all []Claim
	for _, c := range Claims(map[string][]*sim.Result{experiments[k].Name: results}, nil) {
		c.Parts = slices.DeleteFunc(c.Parts, func(p Part) bool { return p.Verdict == NotRun })
		if slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Verdict != Note }) {
			all = append(all, evidence{experiments[k], results}.claim(c.Row, c.Statement, c.Source, c.Parts...))
		}
	}
	return all
}

// claim is a claim that rests on the experiment.
func (e evidence) claim(row int, statement, source string, parts ...Part) Claim {
	name := e.declared.Name
	c := Claim{Row: row, Statement: statement, Source: source, Made: fmt.Sprintf("[figure](figures/%s.png), `paper run %s`, [tries](tuning)", name, name)}
	for _, p := range parts {
		if p.Evidence != "" && !slices.Contains(c.Parts, p) { // what is missing is said once
			c.Parts = append(c.Parts, p)
		}
	}
	c.Verdict = conclude(c.Parts)
	if len(e.results) > 0 {
		r := e.results[0]
		c.Setting = fmt.Sprintf("%d runs of %d steps", r.Runs, r.Steps)
		if r.Steps < e.declared.Steps {
			c.Setting += fmt.Sprintf(", %.3g %% of %d", 100*float64(r.Steps)/float64(e.declared.Steps), e.declared.Steps)
			if c.Verdict != NotRun && c.Verdict != partlyRun {
				c.Verdict = TooShort
			}
		}
	}
	return c
}
