package envs

import (
	"cmp"
	"encoding/json"
)

// Linear is the paper's bandit with linear rewards (section 6.1 and Fig. 1a):
//
//	R(c) = w_r·c + e_r,  e_r ~ N(0, RewardNoise²)
//
// Every candidate's context is uniform on the unit cube, (0, 1)^Dim, and new at
// every step. Each run has its own w_r, a uniform direction of length 1. The
// paper leaves the laws of w_r and e_r open; these are ours.
//
// Its environment implements Oracle: the expected reward is w_r·c. By the
// central limit theorem w_r·c of one candidate is about N(Σw_r/2, 1/12), so
// the uniformly random policy has a regret of about 1.16296·sqrt(1/12) = 0.3357
// a step at 5 candidates, 1.16296 being the mean of the largest of 5 standard
// normals.
//
// The zero value is the paper's setting.
type Linear struct {
	Candidates  int     // M; default 5
	Dim         int     // D; default 40
	RewardNoise float64 // standard deviation of e_r; default 0.1, NoNoise for none
}

func (p Linear) withDefaults() Linear {
	p.Candidates = cmp.Or(p.Candidates, 5)
	p.Dim = cmp.Or(p.Dim, 40)
	p.RewardNoise = cmp.Or(p.RewardNoise, 0.1)
	return p
}

// Spec implements Problem.
func (p Linear) Spec() Spec {
	p = p.withDefaults()
	return Spec{Candidates: p.Candidates, Dim: p.Dim}
}

// New implements Problem. It returns an error that names the field when a
// setting is out of bounds, and when there is no seed.
func (p Linear) New(seeds []uint64) (Environment, error) {
	p = p.withDefaults()
	m := Mixed{Candidates: p.Candidates, Dim: p.Dim, RewardNoise: p.RewardNoise}
	return newBandit("Linear", m, true, false, seeds)
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (p Linear) MarshalJSON() ([]byte, error) {
	type plain Linear
	return json.Marshal(plain(p.withDefaults()))
}
