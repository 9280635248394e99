package paper

// The experiments on the paper's toy problems (section 6.2) and ours on
// Time-Dependent Greed (section 5.2.1).
const (
	ToyLinear    = "toy-linear"    // figure 1a
	ToyBernoulli = "toy-bernoulli" // figure 1b
	ToyMixed     = "toy-mixed"     // figure 1c
	ToyDropout   = "toy-dropout"   // figure 1d
	GreedStudy   = "greed"
)

// The music experiments (section 6.3).
const (
	MusicStatelessName = "music-stateless" // figure 2a
	MusicStateName     = "music-state"     // figure 2b
)

// The contenders. PGCR has tuned settings; PGCRPaper has the paper's where the
// paper fixes one.
const (
	PGCR          = "PGCR"
	PGCRPaper     = "PGCR (paper)"
	EpsilonGreedy = "epsilon-greedy"
	LinUCB        = "Lin-UCB"
	GLMUCB        = "GLM-UCB"
	Thompson      = "Thompson"
	ThompsonWide  = "Thompson, scale 1" // as textbooks have it, not tuned
	Greedy        = "greedy"
	VanillaPG     = "vanilla PG"
	Random        = "random"
	Dropout0      = "PGCR dropout 0"
	Dropout33     = "PGCR dropout 0.33"
	Dropout50     = "PGCR dropout 0.5"
	Dropout67     = "PGCR dropout 0.67"

	// Ours, in the music experiment with states.
	PGCRDiscounted = "PGCR, gamma 0.9"

	// References of the music experiments, see [References].
	TrueProbabilities = "true probabilities"
	LabelOracle       = "label oracle"
)

// Palette is for [figure.Options]: every contender has one colour in all
// figures. Contenders that share one never meet in a figure.
var Palette = map[string]int{
	PGCR: 0, Dropout67: 0,
	EpsilonGreedy: 1,
	GLMUCB:        2,
	Thompson:      3, Dropout50: 3,
	Greedy: 4, Dropout0: 4,
	ThompsonWide: 11, // the colour of Thompson with other dashes
	PGCRPaper:    5, Dropout33: 5, PGCRDiscounted: 5,
	VanillaPG: 6,
	Random:    7,
	LinUCB:    10, // the colour of GLM-UCB with other dashes
}

// Titles are the titles of the experiments' figures by the experiments' names.
var Titles = map[string]string{
	ToyLinear:    "Linear rewards (figure 1a)",
	ToyBernoulli: "Bernoulli rewards (figure 1b)",
	ToyMixed:     "Mixed rewards (figure 1c)",
	ToyDropout:   "Actor-Dropout, Bernoulli rewards (figure 1d)",
	GreedStudy:   "Time-Dependent Greed, Bernoulli rewards",
	VariateStudy: "Control variate, Bernoulli rewards",

	MusicStatelessName: "Music without states (figure 2a)",
	MusicStateName:     "Music with states (figure 2b)",

	TuningLinear:          "Tuning, linear rewards",
	TuningBernoulli:       "Tuning, Bernoulli rewards",
	TuningMixed:           "Tuning, mixed rewards",
	TuningValuesLinear:    "Tuning of value networks, linear rewards",
	TuningValuesBernoulli: "Tuning of value networks, Bernoulli rewards",
	TuningValuesMixed:     "Tuning of value networks, mixed rewards",

	TuningMusicStateless: "Tuning, music without states",
	TuningMusicState:     "Tuning, music with states",
}
