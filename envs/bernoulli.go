package envs

import (
	"cmp"
	"encoding/json"
)

// Bernoulli is the paper's bandit with binary rewards (section 6.1 and Fig. 1b):
//
//	R(c) ~ Bernoulli(β(c)),  β(c) = clip(w_β·c + e_β, 0, 1),  e_β ~ N(0, ProbabilityNoise²)
//
// Contexts are those of Linear. Each run has its own w_β = |h|/Σ|h| with
// h ~ N(0, I): weights that are not negative and sum to 1, so that w_β·c is a
// probability. The paper leaves the laws of w_β and e_β open; these are ours.
//
// Its environment implements Oracle with the exact mean of the clipped β(c).
// At the paper's setting the clipping is negligible and the mean is w_β·c: a
// uniform variable has a moment generating function below that of a normal one
// of the same variance, so the tail of w_β·c + e_β is below that of a normal
// variable with mean 1/2 and variance Σw_β²/12 + 0.01², about 0.0034 at 40
// dimensions, and P(β clipped) < 2·exp(−(1/2)²/(2·0.0034)) < 1e-15. With few
// dimensions or more noise it is not, and the Oracle accounts for it.
//
// The zero value is the paper's setting.
type Bernoulli struct {
	Candidates       int     // M; default 5
	Dim              int     // D; default 40
	ProbabilityNoise float64 // standard deviation of e_β; default 0.01, NoNoise for none
}

func (p Bernoulli) withDefaults() Bernoulli {
	p.Candidates = cmp.Or(p.Candidates, 5)
	p.Dim = cmp.Or(p.Dim, 40)
	p.ProbabilityNoise = cmp.Or(p.ProbabilityNoise, 0.01)
	return p
}

// Spec implements Problem.
func (p Bernoulli) Spec() Spec {
	p = p.withDefaults()
	return Spec{Candidates: p.Candidates, Dim: p.Dim}
}

// New implements Problem. It returns an error that names the field when a
// setting is out of bounds, and when there is no seed.
func (p Bernoulli) New(seeds []uint64) (Environment, error) {
	p = p.withDefaults()
	m := Mixed{Candidates: p.Candidates, Dim: p.Dim, ProbabilityNoise: p.ProbabilityNoise}
	return newBandit("Bernoulli", m, false, true, seeds)
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (p Bernoulli) MarshalJSON() ([]byte, error) {
	type plain Bernoulli
	return json.Marshal(plain(p.withDefaults()))
}
