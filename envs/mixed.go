package envs

import (
	"cmp"
	"encoding/json"
)

// Mixed is the paper's bandit with mixed rewards (section 6.1 and Fig. 1c): the
// reward of Linear where a coin of Bernoulli shows 1, and 0 elsewhere,
//
//	R(c) = w_r·c + e_r  with probability β(c), else 0
//
// Contexts, weights and noise are those of Linear and Bernoulli; a run has the
// same contexts and weights as the runs of those two with the same seed.
//
// Its environment implements Oracle: the two noises and the coin are
// independent, so the expected reward is (w_β·c)(w_r·c), with the exact mean of
// the clipped β(c) in place of w_β·c where that differs.
//
// The zero value is the paper's setting.
type Mixed struct {
	Candidates       int     // M; default 5
	Dim              int     // D; default 40
	RewardNoise      float64 // standard deviation of e_r; default 0.1, NoNoise for none
	ProbabilityNoise float64 // standard deviation of e_β; default 0.01, NoNoise for none
}

func (p Mixed) withDefaults() Mixed {
	p.Candidates = cmp.Or(p.Candidates, 5)
	p.Dim = cmp.Or(p.Dim, 40)
	p.RewardNoise = cmp.Or(p.RewardNoise, 0.1)
	p.ProbabilityNoise = cmp.Or(p.ProbabilityNoise, 0.01)
	return p
}

// Spec implements Problem.
func (p Mixed) Spec() Spec {
	p = p.withDefaults()
	return Spec{Candidates: p.Candidates, Dim: p.Dim}
}

// New implements Problem. It returns an error that names the field when a
// setting is out of bounds, and when there is no seed.
func (p Mixed) New(seeds []uint64) (Environment, error) {
	return newBandit("Mixed", p.withDefaults(), true, true, seeds)
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (p Mixed) MarshalJSON() ([]byte, error) {
	type plain Mixed
	return json.Marshal(plain(p.withDefaults()))
}
