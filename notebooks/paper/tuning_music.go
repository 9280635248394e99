package paper

import (
	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
)

// The tuning studies of the music experiments, of a size that two processors play
// in a quarter of an hour without states, and in less than an hour with them.
// They are short beside the paper's runs, and their grids are coarse.
const (
	TuningMusicStateless = "tuning-music-stateless"
	TuningMusicState     = "tuning-music-state"

	// MusicGridSize is how many settings of each contender are tried.
	MusicGridSize = 4

	tuningMusicRuns  = 2
	tuningMusicSteps = 20_000
)

func tuningMusic() []sim.Experiment {
	return []sim.Experiment{
		tuningOfMusic(TuningMusicStateless, kkbox.MusicStateless{}, musicStatelessHidden, ratesFrom0003, ratesFrom0003, ratesFrom0003),
		tuningOfMusic(TuningMusicState, kkbox.MusicState{}, musicStateHidden, ratesFrom0001, ratesFrom0003, ratesFrom00003),
	}
}

// The learning rates to try, of PGCR, of vanilla policy gradient and of value
// networks: with states, where the best was the slowest, slower ones in place of the
// fastest.
var (
	ratesFrom0003  = []float64{0.0003, 0.001, 0.003, 0.01}
	ratesFrom0001  = []float64{0.0001, 0.0003, 0.001, 0.003}
	ratesFrom00003 = []float64{0.00003, 0.0001, 0.0003, 0.001}
)

func tuningOfMusic(name string, problem envs.Problem, hidden []int, pgcr, vanilla, values []float64) sim.Experiment {
	return sim.Experiment{
		Name: name, Problem: problem, Contenders: musicGrid(hidden, pgcr, vanilla, values),
		Runs: tuningMusicRuns, Steps: tuningMusicSteps, Seed: tuningSeed,
	}
}

func musicGrid(hidden []int, pgcr, vanilla, values []float64) []sim.Contender {
	widths := []float64{0.03, 0.1, 0.3, 1}
	return grid(
		over(PGCR, "rate", pgcr, func(x float64) envs.Algorithm { return musicPGCR(hidden, x) }),
		over(VanillaPG, "rate", vanilla, func(x float64) envs.Algorithm { return musicVanilla(hidden, x) }),
		over(EpsilonGreedy, "rate", values, func(x float64) envs.Algorithm {
			return neural.EpsilonGreedy{Settings: musicValues(hidden, x)}
		}),
		over(Greedy, "rate", values, func(x float64) envs.Algorithm { return neural.Greedy{Settings: musicValues(hidden, x)} }),
		over(GLMUCB, "alpha", widths, func(x float64) envs.Algorithm { return baselines.GLMUCB{Alpha: x} }),
		over(Thompson, "scale", widths, func(x float64) envs.Algorithm { return baselines.LogisticThompson{Scale: x} }),
		over(LinUCB, "alpha", widths, func(x float64) envs.Algorithm { return baselines.LinUCB{Alpha: x} }),
	)
}
