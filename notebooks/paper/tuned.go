package paper

import (
	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// tuned are the settings of the contenders on one problem that had the least
// mean regret in its tuning studies.
type tuned struct {
	pgcr          pgcr.Config
	linUCB        baselines.LinUCB
	ucb           envs.Algorithm // Lin-UCB or GLM-UCB, whichever the paper runs
	thompson      envs.Algorithm
	textbook      envs.Algorithm // Thompson sampling with scale 1
	epsilonGreedy neural.EpsilonGreedy
	greedy        neural.Greedy
	vanilla       neural.VanillaPG
}

// What TuningLinear and TuningValuesLinear chose.
var tunedLinear = tuned{
	pgcr:          pgcr.Config{ActorRate: 0.01, CriticRate: 0.01},
	linUCB:        baselines.LinUCB{Alpha: 0.1},
	ucb:           baselines.LinUCB{Alpha: 0.1},
	thompson:      baselines.LinearThompson{Scale: 0.03},
	textbook:      baselines.LinearThompson{Scale: 1},
	epsilonGreedy: neural.EpsilonGreedy{Settings: neural.Settings{Rate: 0.03}},
	greedy:        neural.Greedy{Settings: neural.Settings{Rate: 0.02}},
	vanilla:       neural.VanillaPG{ActorRate: 0.03, CriticRate: 0.03},
}

// What TuningBernoulli and TuningValuesBernoulli chose.
var tunedBernoulli = tuned{
	pgcr:          pgcr.Config{ActorRate: 0.001, CriticRate: 0.001},
	linUCB:        baselines.LinUCB{Alpha: 0.03},
	ucb:           baselines.GLMUCB{Alpha: 3},
	thompson:      baselines.LogisticThompson{Scale: 0.1},
	textbook:      baselines.LogisticThompson{Scale: 1},
	epsilonGreedy: neural.EpsilonGreedy{Settings: neural.Settings{Rate: 0.0002}},
	greedy:        neural.Greedy{Settings: neural.Settings{Rate: 0.0002}},
	vanilla:       neural.VanillaPG{ActorRate: 0.001, CriticRate: 0.001},
}

// What TuningMixed and TuningValuesMixed chose.
var tunedMixed = tuned{
	pgcr:          pgcr.Config{ActorRate: 0.01, CriticRate: 0.01},
	linUCB:        baselines.LinUCB{Alpha: 0.01},
	ucb:           baselines.GLMUCB{Alpha: 0.2},
	thompson:      baselines.LogisticThompson{Scale: 0.001},
	textbook:      baselines.LogisticThompson{Scale: 1},
	epsilonGreedy: neural.EpsilonGreedy{Settings: neural.Settings{Rate: 0.02}},
	greedy:        neural.Greedy{Settings: neural.Settings{Rate: 0.02}},
	vanilla:       neural.VanillaPG{ActorRate: 0.003, CriticRate: 0.003, Greed: pgcr.Greed{Rate: 0.002}},
}
