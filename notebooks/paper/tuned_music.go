package paper

import (
	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/pgcr"
)

// tunedMusic are the settings of the contenders in one music experiment.
type tunedMusic struct {
	pgcr          pgcr.Config
	vanilla       neural.VanillaPG
	epsilonGreedy neural.EpsilonGreedy
	greedy        neural.Greedy
	glmUCB        baselines.GLMUCB
	thompson      baselines.LogisticThompson
	linUCB        baselines.LinUCB
}

// What the paper says of the networks (sections 6.3.1 and 6.3.2). It learns all
// of them at one rate, which it does not tell; here each has the rate that its
// tuning chose.
const musicBatch = 256

// musicUpdateEvery is after how many steps the networks learn, and ours: the
// paper does not give it. A batch of 256 at every tenth step still learns from
// each step 25 times over, for a tenth of the time.
const musicUpdateEvery = 10

var (
	musicStatelessHidden = []int{60, 20}
	musicStateHidden     = []int{90, 20}
)

// musicDiscount is the gamma of PGCRDiscounted, and ours: the paper does not give
// one. A step of a session is a visit of one user, and the next one comes when
// the user is drawn again. What is chosen changes neither who comes nor what a
// song earns, only what later states tell, so discounted returns rank songs
// hardly otherwise than rewards do and are much harder to learn: the other
// contenders have a gamma of 0.
const musicDiscount = 0.9

// What TuningMusicStateless and TuningMusicState chose.
var (
	tunedMusicStateless = tunedMusic{
		pgcr:          musicPGCR(musicStatelessHidden, 0.001),
		vanilla:       musicVanilla(musicStatelessHidden, 0.01),
		epsilonGreedy: neural.EpsilonGreedy{Settings: musicValues(musicStatelessHidden, 0.001)},
		greedy:        neural.Greedy{Settings: musicValues(musicStatelessHidden, 0.01)},
		glmUCB:        baselines.GLMUCB{Alpha: 0.3},
		thompson:      baselines.LogisticThompson{Scale: 0.3},
		linUCB:        baselines.LinUCB{Alpha: 0.1},
	}
	tunedMusicState = tunedMusic{
		pgcr:          musicPGCR(musicStateHidden, 0.0003),
		vanilla:       musicVanilla(musicStateHidden, 0.01),
		epsilonGreedy: neural.EpsilonGreedy{Settings: musicValues(musicStateHidden, 0.0001)},
		greedy:        neural.Greedy{Settings: musicValues(musicStateHidden, 0.0001)},
		glmUCB:        baselines.GLMUCB{Alpha: 0.3},
		thompson:      baselines.LogisticThompson{Scale: 0.03},
		linUCB:        baselines.LinUCB{Alpha: 0.3},
	}
)

func musicPGCR(hidden []int, rate float64) pgcr.Config {
	return pgcr.Config{Hidden: hidden, ActorRate: rate, CriticRate: rate, BatchSize: musicBatch, UpdateEvery: musicUpdateEvery}
}

func musicVanilla(hidden []int, rate float64) neural.VanillaPG {
	return neural.VanillaPG{Hidden: hidden, ActorRate: rate, CriticRate: rate, BatchSize: musicBatch, UpdateEvery: musicUpdateEvery}
}

// musicValues are settings of a value network, which the paper's epsilon-greedy
// has without looking ahead: f is learned from rewards by (17).
func musicValues(hidden []int, rate float64) neural.Settings {
	return neural.Settings{Hidden: hidden, Rate: rate, BatchSize: musicBatch, UpdateEvery: musicUpdateEvery}
}
