package paper

import (
	"fmt"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// The toy experiments' size (section 6.2), and the seed of all reported runs.
const (
	toyRuns  = 20
	toySteps = 20_000
	seed     = 2019
)

// Experiments returns the declared experiments at full scale, in the order of
// the paper's figures.
func Experiments() []sim.Experiment {
	return []sim.Experiment{Linear(), Bernoulli(), Mixed(), DropoutStudy(), MusicStateless(), MusicState(), GreedStudies(), ControlVariateStudy()}
}

// Linear is figure 1a: linear rewards with Gaussian noise.
func Linear() sim.Experiment {
	return toy(ToyLinear, envs.Linear{}, contenders(tunedLinear, LinUCB))
}

// Bernoulli is figure 1b: rewards of 0 or 1.
func Bernoulli() sim.Experiment {
	return toy(ToyBernoulli, envs.Bernoulli{}, withLinUCB(contenders(tunedBernoulli, GLMUCB), tunedBernoulli))
}

// Mixed is figure 1c: a linear reward, paid with a probability.
func Mixed() sim.Experiment {
	return toy(ToyMixed, envs.Mixed{}, withLinUCB(contenders(tunedMixed, GLMUCB), tunedMixed))
}

// DropoutStudy is figure 1d: PGCR with different rates of Actor-Dropout on the
// Bernoulli problem.
func DropoutStudy() sim.Experiment {
	all := []sim.Contender{
		{Name: GLMUCB, Algorithm: tunedBernoulli.ucb},
		{Name: EpsilonGreedy, Algorithm: tunedBernoulli.epsilonGreedy},
	}
	for _, c := range []struct {
		name string
		rate float64
	}{{Dropout0, 0}, {Dropout33, 0.33}, {Dropout50, 0.5}, {Dropout67, 0.67}} {
		config := tunedBernoulli.pgcr
		config.Dropout = c.rate
		all = append(all, sim.Contender{Name: c.name, Algorithm: config})
	}
	return toy(ToyDropout, envs.Bernoulli{}, all)
}

// GreedStudies is Time-Dependent Greed (section 5.2.1) off, at several rates,
// and in the paper's form without a floor, on the Bernoulli problem. It is ours:
// the paper shows no figure of it.
func GreedStudies() sim.Experiment {
	var all []sim.Contender
	add := func(name string, greed pgcr.Greed) {
		config := tunedBernoulli.pgcr
		config.Greed = greed
		all = append(all, sim.Contender{Name: name, Algorithm: config})
	}
	add("greed off", pgcr.Greed{})
	for _, rate := range []float64{0.0003, 0.001, 0.003} {
		add(fmt.Sprintf("greed %v", rate), pgcr.Greed{Rate: rate})
	}
	add("greed 0.003, no floor", pgcr.Greed{Rate: 0.003, Floor: pgcr.NoFloor})
	return toy(GreedStudy, envs.Bernoulli{}, all)
}

func toy(name string, problem envs.Problem, contenders []sim.Contender) sim.Experiment {
	return sim.Experiment{Name: name, Problem: problem, Contenders: contenders, Runs: toyRuns, Steps: toySteps, Seed: seed}
}

// contenders are the paper's four, and ours beside them: PGCR with the dropout
// rate that the paper recommends, Thompson sampling with the scale of textbooks,
// the greedy value network, vanilla policy gradient, and random choice.
func contenders(t tuned, ucb string) []sim.Contender {
	return []sim.Contender{
		{Name: PGCR, Algorithm: t.pgcr},
		{Name: ucb, Algorithm: t.ucb},
		{Name: Thompson, Algorithm: t.thompson},
		{Name: ThompsonWide, Algorithm: t.textbook},
		{Name: EpsilonGreedy, Algorithm: t.epsilonGreedy},
		{Name: PGCRPaper, Algorithm: asInPaper(t.pgcr)},
		{Name: VanillaPG, Algorithm: t.vanilla},
		{Name: Greedy, Algorithm: t.greedy},
		{Name: Random, Algorithm: baselines.Random{}},
	}
}

// asInPaper is a tuned PGCR with what the paper fixes or recommends: Actor-Dropout
// of 0.5 (section 5.2.2), one resampling, batches of 64, no control variate.
func asInPaper(c pgcr.Config) pgcr.Config {
	c.Dropout, c.Resamples, c.BatchSize, c.ControlVariate = 0.5, 1, 64, false
	return c
}

// withLinUCB adds Lin-UCB where the paper runs GLM-UCB only: a logistic model
// of rewards that are no probabilities is a weak opponent.
func withLinUCB(all []sim.Contender, t tuned) []sim.Contender {
	return append(all, sim.Contender{Name: LinUCB, Algorithm: t.linUCB})
}
