package paper

import (
	"slices"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// What the paper fixes stands in the literals: 20 runs on the toy problems, networks of one hidden
// layer of 10 units, batches of 64 (section 6.2); 5 runs of 5 million steps of music, networks of
// 60-20 and 90-20 units, batches of 256 (section 6.3). What it leaves open is ours: 20,000 steps on
// the toy problems, and the settings of every algorithm, the best of the search ([Tuning]), of music
// that without states for both, on seeds that are not reported. "PGCR" is tuned in the
// paper's form, "PGCR, untuned" is pgcr.Paper(), and "PGCR, ours" is tuned with what we add to it.

// Experiments returns the experiments at full scale, in the order of the paper's figures.
func Experiments() []sim.Experiment {
	return []sim.Experiment{
		Linear(), Bernoulli(), BernoulliHard(), Mixed(), DropoutStudy(), MusicStateless(), MusicState(), GreedStudies(),
	}
}

// toy is an experiment on a toy problem.
func toy(name string, problem envs.Problem, entries []sim.Entry) sim.Experiment {
	return sim.Experiment{Name: name, Problem: problem, Entries: entries, Runs: 20, Steps: 20_000, Seed: 2019}
}

// Linear is figure 1a: linear rewards with Gaussian noise.
func Linear() sim.Experiment {
	return toy("toy-linear", envs.Linear{}, []sim.Entry{
		{Name: "PGCR", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.0111, CriticRate: 0.0181, InitScale: 1, BatchSize: 64, Resamples: 4, UpdatesPerStep: 1, WeightedCritic: true}},
		{Name: "PGCR, untuned", Algorithm: pgcr.Paper()},
		{Name: "PGCR, ours", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.0453, CriticRate: 0.00359, Decay: 0.0001, InitScale: 0.322, BatchSize: 64, UpdatesPerStep: 4}},
		{Name: "vanilla PG", Algorithm: neural.VanillaPG{Hidden: []int{10}, ActorRate: 0.0453, CriticRate: 0.00359, Decay: 0.0001, InitScale: 0.322, BatchSize: 64, UpdatesPerStep: 4}},
		{Name: "Lin-UCB", Algorithm: baselines.LinUCB{Alpha: 0.0261, Ridge: 3.38}},
		{Name: "Thompson", Algorithm: baselines.LinearThompson{Scale: 0.00647, Ridge: 1.26}},
		{Name: "epsilon-greedy", Algorithm: neural.EpsilonGreedy{Epsilon: 0.0032, Settings: neural.Settings{Hidden: []int{10}, Rate: 0.00685, Decay: 0.0001, InitScale: 0.563, BatchSize: 64, UpdatesPerStep: 4}}},
		{Name: "greedy", Algorithm: neural.Greedy{Settings: neural.Settings{Hidden: []int{10}, Rate: 0.00359, Decay: 0.0001, InitScale: 0.322, BatchSize: 64, UpdatesPerStep: 4}}},
		{Name: "random", Algorithm: baselines.Random{}},
	})
}

// Bernoulli is figure 1b: rewards of 0 or 1.
func Bernoulli() sim.Experiment {
	return toy("toy-bernoulli", envs.Bernoulli{}, []sim.Entry{
		{Name: "PGCR", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.0474, CriticRate: 0.000159, InitScale: 1, BatchSize: 64, Resamples: 4, UpdatesPerStep: 1, WeightedCritic: true}},
		{Name: "PGCR, untuned", Algorithm: pgcr.Paper()},
		{Name: "PGCR, ours", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.0112, CriticRate: 0.0000568, Decay: 0.0001, InitScale: 0.0921, BatchSize: 64, UpdatesPerStep: 1, Greed: pgcr.Greed{Rate: 0.001}}},
		{Name: "vanilla PG", Algorithm: neural.VanillaPG{Hidden: []int{10}, ActorRate: 0.0112, CriticRate: 0.0000568, Decay: 0.0001, InitScale: 0.0921, BatchSize: 64, UpdatesPerStep: 1}},
		{Name: "Lin-UCB", Algorithm: baselines.LinUCB{Alpha: 1.27, Ridge: 871}},
		{Name: "GLM-UCB", Algorithm: baselines.GLMUCB{Alpha: 0.385, Ridge: 1990}},
		{Name: "Thompson", Algorithm: baselines.Standardised{Algorithm: baselines.LogisticThompson{Scale: 0.0674, Ridge: 46.4}}},
		{Name: "epsilon-greedy", Algorithm: neural.EpsilonGreedy{Epsilon: 0.0153, Settings: neural.Settings{Hidden: []int{10}, Rate: 0.000216, Decay: 0.0001, InitScale: 0.207, BatchSize: 64, UpdatesPerStep: 1}}},
		{Name: "greedy", Algorithm: neural.Greedy{Settings: neural.Settings{Hidden: []int{10}, Rate: 0.0000568, Decay: 0.0001, InitScale: 0.0921, BatchSize: 64, UpdatesPerStep: 1}}},
		{Name: "largest sum", Algorithm: LargestSum{}},
		{Name: "random", Algorithm: baselines.Random{}},
	})
}

// BernoulliHard is Bernoulli with weights of which few decide, so that the sum of the features is
// no longer a good guide. It is ours.
func BernoulliHard() sim.Experiment {
	return toy("toy-bernoulli-hard", envs.Bernoulli{Hard: true}, []sim.Entry{
		{Name: "PGCR", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.0103, CriticRate: 0.000744, InitScale: 1, BatchSize: 64, UpdatesPerStep: 1, WeightedCritic: true, Greed: pgcr.Greed{Rate: 0.001}}},
		{Name: "PGCR, untuned", Algorithm: pgcr.Paper()},
		{Name: "PGCR, ours", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.00894, CriticRate: 0.000162, Decay: 0.0001, InitScale: 0.0455, BatchSize: 64, UpdatesPerStep: 4, Greed: pgcr.Greed{Rate: 0.0003}}},
		{Name: "vanilla PG", Algorithm: neural.VanillaPG{Hidden: []int{10}, ActorRate: 0.00894, CriticRate: 0.000162, InitScale: 0.0455, BatchSize: 64, UpdatesPerStep: 4}},
		{Name: "Lin-UCB", Algorithm: baselines.LinUCB{Alpha: 0.00345, Ridge: 57.9}},
		{Name: "GLM-UCB", Algorithm: baselines.Standardised{Algorithm: baselines.GLMUCB{Alpha: 0.00619, Ridge: 102, NoIntercept: true}}},
		{Name: "Thompson", Algorithm: baselines.Standardised{Algorithm: baselines.LogisticThompson{Scale: 0.0674, Ridge: 46.4}}},
		{Name: "epsilon-greedy", Algorithm: neural.EpsilonGreedy{Epsilon: 0.0105, Settings: neural.Settings{Hidden: []int{10}, Rate: 0.000117, Decay: 0.0001, InitScale: 0.171, BatchSize: 64, UpdatesPerStep: 2}}},
		{Name: "greedy", Algorithm: neural.Greedy{Settings: neural.Settings{Hidden: []int{10}, Rate: 0.000162, InitScale: 0.0455, BatchSize: 64, UpdatesPerStep: 4}}},
		{Name: "largest sum", Algorithm: LargestSum{}},
		{Name: "random", Algorithm: baselines.Random{}},
	})
}

// Mixed is figure 1c: a linear reward, paid with a probability.
func Mixed() sim.Experiment {
	return toy("toy-mixed", envs.Mixed{}, []sim.Entry{
		{Name: "PGCR", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.00411, CriticRate: 0.00566, InitScale: 1, BatchSize: 64, UpdatesPerStep: 1, WeightedCritic: true}},
		{Name: "PGCR, untuned", Algorithm: pgcr.Paper()},
		{Name: "PGCR, ours", Algorithm: pgcr.Config{Hidden: []int{10}, ActorRate: 0.00894, CriticRate: 0.000162, Decay: 0.0001, InitScale: 0.0455, BatchSize: 64, UpdatesPerStep: 4, Greed: pgcr.Greed{Rate: 0.0003}}},
		{Name: "vanilla PG", Algorithm: neural.VanillaPG{Hidden: []int{10}, ActorRate: 0.00894, CriticRate: 0.000162, InitScale: 0.0455, BatchSize: 64, UpdatesPerStep: 4}},
		{Name: "Lin-UCB", Algorithm: baselines.Standardised{Algorithm: baselines.LinUCB{Alpha: 0.0595, Ridge: 72.3, Intercept: true}}},
		{Name: "GLM-UCB", Algorithm: baselines.Standardised{Algorithm: baselines.GLMUCB{Alpha: 0.0424, Ridge: 2.24}}},
		{Name: "Thompson", Algorithm: baselines.Standardised{Algorithm: baselines.LogisticThompson{Scale: 0.0674, Ridge: 46.4}}},
		{Name: "epsilon-greedy", Algorithm: neural.EpsilonGreedy{Epsilon: 0.0125, Settings: neural.Settings{Hidden: []int{10}, Rate: 0.000066, InitScale: 0.108, BatchSize: 64, UpdatesPerStep: 4}}},
		{Name: "greedy", Algorithm: neural.Greedy{Settings: neural.Settings{Hidden: []int{10}, Rate: 0.000162, Decay: 0.0001, InitScale: 0.0455, BatchSize: 64, UpdatesPerStep: 4}}},
		{Name: "random", Algorithm: baselines.Random{}},
	})
}

// DropoutStudy is figure 1d: PGCR with several rates of Actor-Dropout on the Bernoulli problem.
func DropoutStudy() sim.Experiment {
	pg := pgcr.Config{Hidden: []int{10}, ActorRate: 0.0474, CriticRate: 0.000159, InitScale: 1, BatchSize: 64, Resamples: 4, UpdatesPerStep: 1, WeightedCritic: true}
	with := func(rate float64) pgcr.Config { pg.Dropout = rate; return pg }
	return toy("toy-dropout", envs.Bernoulli{}, []sim.Entry{
		{Name: "PGCR dropout 0", Algorithm: with(0)},
		{Name: "PGCR dropout 0.33", Algorithm: with(0.33)},
		{Name: "PGCR dropout 0.5", Algorithm: with(0.5)},
		{Name: "PGCR dropout 0.67", Algorithm: with(0.67)},
		{Name: "GLM-UCB", Algorithm: baselines.GLMUCB{Alpha: 0.385, Ridge: 1990}},
		{Name: "epsilon-greedy", Algorithm: neural.EpsilonGreedy{Epsilon: 0.0153, Settings: neural.Settings{Hidden: []int{10}, Rate: 0.000216, Decay: 0.0001, InitScale: 0.207, BatchSize: 64, UpdatesPerStep: 1}}},
		{Name: "largest sum", Algorithm: LargestSum{}},
	})
}

// GreedStudies is Time-Dependent Greed (section 5.2.1) off, at several rates, and in the paper's
// form without a floor, on the Bernoulli problem. It is ours: the paper shows no figure of it.
func GreedStudies() sim.Experiment {
	pg := pgcr.Config{Hidden: []int{10}, ActorRate: 0.0474, CriticRate: 0.000159, InitScale: 1, BatchSize: 64, Resamples: 4, UpdatesPerStep: 1, WeightedCritic: true}
	with := func(greed pgcr.Greed) pgcr.Config { pg.Greed = greed; return pg }
	return toy("greed", envs.Bernoulli{}, []sim.Entry{
		{Name: "greed off", Algorithm: with(pgcr.Greed{})},
		{Name: "greed 0.0003", Algorithm: with(pgcr.Greed{Rate: 0.0003})},
		{Name: "greed 0.001", Algorithm: with(pgcr.Greed{Rate: 0.001})},
		{Name: "greed 0.003", Algorithm: with(pgcr.Greed{Rate: 0.003})},
		{Name: "greed 0.003, no floor", Algorithm: with(pgcr.Greed{Rate: 0.003, Floor: pgcr.NoFloor})},
	})
}

// MusicStateless is figure 2a: the music recommender without explicit states, on
// synthetic data. [WithData] gives it other data. Networks learn after every tenth
// step: a batch of 256 then still learns from each step 25 times.
func MusicStateless() sim.Experiment {
	return music("music-stateless", kkbox.MusicStateless{}, []int{60, 20})
}

// MusicState is figure 2b: the music recommender with states and transitions.
// Users and songs on offer are those of MusicStateless. Those with gamma 0.9 learn
// discounted returns (22); the others learn rewards.
func MusicState() sim.Experiment {
	e := music("music-state", kkbox.MusicState{}, []int{90, 20})
	pg := e.Entries[0].Algorithm.(pgcr.Config)
	pg.Resamples = 0 // one set: with states, N sets are made of N times the contexts, which takes N times as long
	discounted := pg
	discounted.Discount = 0.9
	fast := discounted
	fast.ActorRate = 0.00029 // a tenth of the critic's
	e.Entries[0].Algorithm = pg
	e.Entries = slices.Insert(e.Entries, 3, sim.Entry{Name: "PGCR, gamma 0.9", Algorithm: discounted},
		sim.Entry{Name: "PGCR, gamma 0.9, fast critic", Algorithm: fast})
	return e
}

// music is what both have in common, with networks of these hidden layers.
func music(name string, problem envs.Problem, hidden []int) sim.Experiment {
	return sim.Experiment{Name: name, Problem: problem, Runs: 5, Steps: 5_000_000, Seed: 2019, Entries: []sim.Entry{
		{Name: "PGCR", Algorithm: pgcr.Config{Hidden: hidden, ActorRate: 0.00146, CriticRate: 0.0029, InitScale: 1, BatchSize: 256, Resamples: 4, UpdateEvery: 10, UpdatesPerStep: 1, WeightedCritic: true, Greed: pgcr.Greed{Rate: 0.001}}},
		{Name: "PGCR, untuned", Algorithm: pgcr.Config{Hidden: hidden, ActorRate: 0.01, CriticRate: 0.01, InitScale: 1, BatchSize: 256, UpdateEvery: 10, UpdatesPerStep: 1, WeightedCritic: true}},
		{Name: "PGCR, ours", Algorithm: pgcr.Config{Hidden: hidden, ActorRate: 0.000207, CriticRate: 0.0000753, Decay: 0.0001, InitScale: 0.186, BatchSize: 256, UpdateEvery: 10, UpdatesPerStep: 4, Dropout: 0.33}},
		{Name: "vanilla PG", Algorithm: neural.VanillaPG{Hidden: hidden, ActorRate: 0.00894, CriticRate: 0.000162, Decay: 0.0001, InitScale: 0.0455, BatchSize: 256, UpdateEvery: 10, UpdatesPerStep: 4}},
		{Name: "epsilon-greedy", Algorithm: neural.EpsilonGreedy{Epsilon: 0.0125, Settings: neural.Settings{Hidden: hidden, Rate: 0.000066, InitScale: 0.108, BatchSize: 256, UpdateEvery: 10, UpdatesPerStep: 4}}},
		{Name: "greedy", Algorithm: neural.Greedy{Settings: neural.Settings{Hidden: hidden, Rate: 0.000066, InitScale: 0.108, BatchSize: 256, UpdateEvery: 10, UpdatesPerStep: 4}}},
		{Name: "GLM-UCB", Algorithm: baselines.GLMUCB{Alpha: 0.00466, Ridge: 84}},
		{Name: "Thompson", Algorithm: baselines.LogisticThompson{Scale: 0.0457, Ridge: 346}},
		{Name: "Lin-UCB", Algorithm: baselines.LinUCB{Alpha: 0.129, Ridge: 240, Intercept: true}},
		{Name: "random", Algorithm: baselines.Random{}},
		{Name: "true probabilities", Algorithm: kkbox.ProbabilityOracle{}},
		{Name: "label oracle", Algorithm: kkbox.LabelOracle{}},
	}}
}
