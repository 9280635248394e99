package paper

import (
	"slices"
	"strings"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
)

// The music experiments' size (section 6.1).
const (
	musicRuns  = 5
	musicSteps = 5_000_000
)

// MusicStateless is figure 2a: the music recommender without explicit states, on
// the synthetic twin of the data. [WithData] gives it other data.
//
// Beside the paper's contenders it has ours: Lin-UCB, the greedy value network
// and vanilla policy gradient; and the [References].
func MusicStateless() sim.Experiment {
	return music(MusicStatelessName, kkbox.MusicStateless{}, tunedMusicStateless)
}

// MusicState is figure 2b: the music recommender with states and transitions.
// Seeds are those of MusicStateless, and so are users and songs on offer.
//
// Beside the contenders of MusicStateless it has one of ours: PGCR that learns
// discounted returns.
func MusicState() sim.Experiment {
	e := music(MusicStateName, kkbox.MusicState{}, tunedMusicState)
	discounted := tunedMusicState.pgcr
	discounted.Discount = musicDiscount
	e.Contenders = slices.Insert(e.Contenders, 1, sim.Contender{Name: PGCRDiscounted, Algorithm: discounted})
	return e
}

func music(name string, problem envs.Problem, t tunedMusic) sim.Experiment {
	return sim.Experiment{
		Name: name, Problem: problem, Runs: musicRuns, Steps: musicSteps, Seed: seed,
		Contenders: []sim.Contender{
			{Name: PGCR, Algorithm: t.pgcr},
			{Name: VanillaPG, Algorithm: t.vanilla},
			{Name: EpsilonGreedy, Algorithm: t.epsilonGreedy},
			{Name: Greedy, Algorithm: t.greedy},
			{Name: GLMUCB, Algorithm: t.glmUCB},
			{Name: Thompson, Algorithm: t.thompson},
			{Name: LinUCB, Algorithm: t.linUCB},
			{Name: Random, Algorithm: baselines.Random{}},
			{Name: TrueProbabilities, Algorithm: kkbox.ProbabilityOracle{}},
			{Name: LabelOracle, Algorithm: kkbox.LabelOracle{}},
		},
	}
}

// References are the contenders of the music experiments that do not learn:
// lines to compare with. What LabelOracle earns is the most that anybody can
// earn, and what TrueProbabilities earns, on synthetic data, is the most that
// can be earned by those who have not met the rows before.
var References = []string{LabelOracle, TrueProbabilities, Random}

// Oracles are the References that know what no policy is told. They earn so much
// more that the policies cannot be told apart on an axis with them.
var Oracles = []string{LabelOracle, TrueProbabilities}

// IsMusic tells the music experiments and their tuning studies apart from the
// others: they are judged by reward, for their best policy is unknown, and are
// drawn by episodes.
func IsMusic(e sim.Experiment) bool {
	switch e.Problem.(type) {
	case kkbox.MusicStateless, kkbox.MusicState:
		return true
	}
	return false
}

// WithData puts a music experiment on other data, and leaves out the
// TrueProbabilities of real data, which nobody knows. Other experiments it
// returns as they are.
func WithData(e sim.Experiment, source kkbox.Source) sim.Experiment {
	switch p := e.Problem.(type) {
	case kkbox.MusicStateless:
		p.Source = source
		e.Problem = p
	case kkbox.MusicState:
		p.Source = source
		e.Problem = p
	default:
		return e
	}
	if source.Folder != "" {
		e.Contenders = slices.DeleteFunc(slices.Clone(e.Contenders), func(c sim.Contender) bool { return c.Name == TrueProbabilities })
	}
	return e
}

// UsualScale is the fraction of an experiment's steps that is played where
// nobody asks for another one: all of them, but a hundredth of the music
// experiments' 5 million, whose networks take weeks on a CPU.
func UsualScale(e sim.Experiment) float64 {
	if e.Steps == musicSteps && IsMusic(e) {
		return 0.01
	}
	return 1
}

// The fractions of their steps that notebooks play of the experiments unless
// another one is asked for: as much as somebody waits for.
const (
	NotebookScale      = 0.1
	MusicNotebookScale = 0.0002
)

// OptionsOf returns Options for an experiment. The networks of the music
// experiments are so large that several runs stepped together on the Go backend
// are no faster than one by one, and so slow that it matters that what is under
// way is lost when a program ends: there, every run is played alone.
func OptionsOf(e sim.Experiment) sim.Options {
	opt := Options()
	if IsMusic(e) && strings.HasPrefix(opt.Backend, "go") {
		opt.Stack = 1
	}
	return opt
}

// Episode is the length of an episode, over which figure 2 averages rewards, in
// a run of so many steps. The paper's has 10,000 steps; results are kept at a
// hundred even steps, so here it has a hundredth of the run's, or a twentieth
// where a hundredth would be fewer than the paper's, and the average of them
// noise.
func Episode(steps int) int {
	if hundredth := steps / 100; hundredth >= paperEpisode {
		return hundredth
	}
	return max(1, steps/20)
}

const paperEpisode = 10_000
