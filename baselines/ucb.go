package baselines

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// LinUCB is the linear upper confidence bound (Li et al. 2010, algorithm 1) with parameters that
// all candidates share. With the chosen contexts c_s and their rewards r_s of all past steps,
//
//	A = Ridge·I + Σ c_s c_sᵀ,  θ = A⁻¹ Σ r_s c_s,  score(c) = θ·c + Alpha·sqrt(cᵀA⁻¹c)
//
// Givens rotations bring a step into the triangular factor of A, so rounding cannot build up. A step
// costs O(M·N²) time, a run 8·N² bytes.
type LinUCB struct {
	Alpha     float64 // width of the confidence bound; default 0.05, NoExploration for 0
	Ridge     float64 // regularisation, the precision of the prior; default 5
	Intercept bool    // add a constant feature; default false
}

func (a LinUCB) withDefaults() LinUCB {
	a.Alpha, a.Ridge = cmp.Or(a.Alpha, 0.05), cmp.Or(a.Ridge, 5)
	return a
}

func (a LinUCB) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	err := cmp.Or(check("Alpha", a.Alpha, NoExploration), check("Ridge", a.Ridge, 0))
	return newPolicy(a, err, spec, seeds, features(spec, a.Intercept), 0, func(n int) *linear {
		return newLinear(n, max(a.Alpha, 0), 0, a.Ridge)
	})
}

// MarshalJSON writes the settings with the defaults filled in.
func (a LinUCB) MarshalJSON() ([]byte, error) {
	type plain LinUCB
	return json.Marshal(plain(a.withDefaults()))
}

// linear is ridge regression of one run, of LinUCB and of LinearThompson.
type linear struct {
	alpha, scale float64 // of confidence bounds, of draws; 0: none
	Factor       factor
	Target       []float64 // U⁻ᵀ Σ r_s c_s, [N]
	Theta        []float64 // θ, [N]
}

func newLinear(n int, alpha, scale, ridge float64) *linear {
	return &linear{alpha, scale, newFactor(n, ridge), make([]float64, n), make([]float64, n)}
}

func (m *linear) score(dst, features []float64, rng *rand.Rand) {
	m.Factor.score(dst, features, m.Theta, m.scale, rng)
	m.Factor.addWidths(dst, features, m.alpha)
}

func (m *linear) learn(_ int, x []float64, reward float64) error {
	m.Factor.rotate(x, m.Target, reward)
	copy(m.Theta, m.Target)
	m.Factor.solveUpper(m.Theta)
	return nil
}

// GLMUCB is the upper confidence bound of a generalized linear model with the logistic link
// (Filippi et al. 2010, algorithm 1). With the chosen contexts c_s and their rewards r_s of all
// past steps and μ(x) = 1/(1+exp(−x)),
//
//	θ solves Σ (r_s − μ(θ·c_s)) c_s = Ridge·θ
//	A = Ridge·I + Σ c_s c_sᵀ
//	score(c) = μ(θ·c) + Alpha·sqrt(cᵀA⁻¹c)
//
// The order is that of Filippi et al., by μ(θ·c). Their width grows with sqrt(log t) and they start
// with one action for every dimension; here the width is constant and the ridge penalty makes the
// start defined. Rewards are from 0 to 1: where their mean is not, θ grows with the number of steps,
// μ saturates, and the width decides alone, which is a random choice. envs.Check warns.
//
// θ is the exact solution at refits; between them a one-step approximation moves it. A step costs
// O(M·N²) time; a run holds 32·N² bytes, and 8·N bytes a step up to Memory.
type GLMUCB struct {
	Alpha       float64 // width of the confidence bound; default 0.3, NoExploration for 0
	Ridge       float64 // regularisation, the precision of the prior; default 1
	NoIntercept bool    // leave the constant feature away; default false
	RefitEvery  int     // steps from one refit to the next; default 0: 10 % of the steps so far, at least 1
	Memory      int     // latest steps kept exactly, older ones as a quadratic approximation; default 32768
}

func (a GLMUCB) withDefaults() GLMUCB {
	a.Alpha, a.Ridge, a.Memory = cmp.Or(a.Alpha, 0.3), cmp.Or(a.Ridge, 1), cmp.Or(a.Memory, defaultMemory)
	return a
}

func (a GLMUCB) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	err := cmp.Or(check("Alpha", a.Alpha, NoExploration), checkFit(a.Ridge, a.RefitEvery, a.Memory))
	return newPolicy(a, err, spec, seeds, features(spec, !a.NoIntercept), 0, func(n int) *glmUCB {
		return &glmUCB{max(a.Alpha, 0), newFactor(n, a.Ridge), newLogistic(n, 0, a.Ridge, a.RefitEvery, a.Memory)}
	})
}

func (GLMUCB) RewardRange() (low, high float32) { return 0, 1 }

func (a GLMUCB) MarshalJSON() ([]byte, error) {
	type plain GLMUCB
	return json.Marshal(plain(a.withDefaults()))
}

type glmUCB struct {
	alpha  float64
	Factor factor
	Fit    *logistic
}

func (m *glmUCB) score(dst, features []float64, rng *rand.Rand) {
	m.Fit.score(dst, features, rng)
	for i, x := range dst {
		dst[i] = sigmoid(x)
	}
	m.Factor.addWidths(dst, features, m.alpha)
}

func (m *glmUCB) learn(step int, x []float64, reward float64) error {
	copy(m.Factor.scratch, x)
	m.Factor.rotate(m.Factor.scratch, nil, 0)
	return m.Fit.learn(step, x, reward)
}
