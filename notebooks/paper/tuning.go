package paper

import (
	"fmt"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// The tuning protocol, which is ours: the paper has none. For every problem,
// every contender is tried with the same number of settings, on runs whose seeds
// are not those of the reported runs, and the setting with the least mean regret
// at the end is declared in tuned.go.
const (
	tuningSeed  = 1
	tuningRuns  = 4
	tuningSteps = 10_000

	// Value networks collapse in one run of ten or so at rates that are good in
	// the others, and late: four runs of half the length did not show it.
	valuesRuns  = 8
	valuesSteps = 20_000

	// GridSize is how many settings of each contender are tried.
	GridSize = 12
)

// The names of the tuning studies.
const (
	TuningLinear    = "tuning-linear"
	TuningBernoulli = "tuning-bernoulli"
	TuningMixed     = "tuning-mixed"

	TuningValuesLinear    = "tuning-values-linear"
	TuningValuesBernoulli = "tuning-values-bernoulli"
	TuningValuesMixed     = "tuning-values-mixed"
)

// Tuning returns the tuning studies. A contender of a study
// is one setting of one contender of the experiment: "epsilon-greedy, rate 0.01".
func Tuning() []sim.Experiment {
	linear := grid(linUCBGrid(), linearThompsonGrid(), gradientGrids())
	logistic := grid(linUCBGrid(), glmUCBGrid(), logisticThompsonGrid(), gradientGrids())
	return append([]sim.Experiment{
		tuning(TuningLinear, envs.Linear{}, linear),
		tuning(TuningBernoulli, envs.Bernoulli{}, logistic),
		tuning(TuningMixed, envs.Mixed{}, logistic),
		tuningValues(TuningValuesLinear, envs.Linear{}),
		tuningValues(TuningValuesBernoulli, envs.Bernoulli{}),
		tuningValues(TuningValuesMixed, envs.Mixed{}),
	}, tuningMusic()...)
}

func tuning(name string, problem envs.Problem, contenders []sim.Contender) sim.Experiment {
	return sim.Experiment{Name: name, Problem: problem, Contenders: contenders, Runs: tuningRuns, Steps: tuningSteps, Seed: tuningSeed}
}

func tuningValues(name string, problem envs.Problem) sim.Experiment {
	return sim.Experiment{Name: name, Problem: problem, Contenders: valueGrids(), Runs: valuesRuns, Steps: valuesSteps, Seed: tuningSeed}
}

func grid(parts ...[]sim.Contender) (all []sim.Contender) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// widths are the grid of a confidence width and of a posterior's scale.
var widths = []float64{0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3}

// rates are the grid of the value networks' learning rate.
var rates = []float64{0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03, 0.05, 0.1}

func linUCBGrid() []sim.Contender {
	return over(LinUCB, "alpha", widths, func(x float64) envs.Algorithm { return baselines.LinUCB{Alpha: x} })
}

func glmUCBGrid() []sim.Contender {
	return over(GLMUCB, "alpha", widths, func(x float64) envs.Algorithm { return baselines.GLMUCB{Alpha: x} })
}

func linearThompsonGrid() []sim.Contender {
	return over(Thompson, "scale", widths, func(x float64) envs.Algorithm { return baselines.LinearThompson{Scale: x} })
}

func logisticThompsonGrid() []sim.Contender {
	return over(Thompson, "scale", widths, func(x float64) envs.Algorithm { return baselines.LogisticThompson{Scale: x} })
}

// valueGrids are the grids of the policies on a value network. The paper fixes
// epsilon.
func valueGrids() []sim.Contender {
	all := over(EpsilonGreedy, "rate", rates, func(x float64) envs.Algorithm {
		return neural.EpsilonGreedy{Settings: neural.Settings{Rate: x}}
	})
	return append(all, over(Greedy, "rate", rates, func(x float64) envs.Algorithm {
		return neural.Greedy{Settings: neural.Settings{Rate: x}}
	})...)
}

// gradientGrids are the grids of PGCR and of vanilla policy gradient, which
// learn actor and critic at one rate, as in the paper.
func gradientGrids() []sim.Contender {
	var all []sim.Contender
	for _, rate := range []float64{0.001, 0.003, 0.01, 0.03} {
		for _, heuristic := range []struct{ dropout, greed float64 }{{0, 0}, {0.33, 0}, {0, 0.002}} {
			all = append(all, sim.Contender{
				Name:      fmt.Sprintf("%s, rate %v, dropout %v, greed %v", PGCR, rate, heuristic.dropout, heuristic.greed),
				Algorithm: pgcr.Config{ActorRate: rate, CriticRate: rate, Dropout: heuristic.dropout, Greed: pgcr.Greed{Rate: heuristic.greed}},
			})
		}
	}
	for _, rate := range []float64{0.001, 0.003, 0.01, 0.03} {
		for _, greed := range []float64{0, 0.0005, 0.002} {
			all = append(all, sim.Contender{
				Name:      fmt.Sprintf("%s, rate %v, greed %v", VanillaPG, rate, greed),
				Algorithm: neural.VanillaPG{ActorRate: rate, CriticRate: rate, Greed: pgcr.Greed{Rate: greed}},
			})
		}
	}
	return all
}

// over is a grid of one setting.
func over(contender, setting string, values []float64, algorithm func(x float64) envs.Algorithm) []sim.Contender {
	all := make([]sim.Contender, len(values))
	for i, x := range values {
		all[i] = sim.Contender{Name: fmt.Sprintf("%s, %s %v", contender, setting, x), Algorithm: algorithm(x)}
	}
	return all
}
