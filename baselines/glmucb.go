package baselines

import (
	"cmp"
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// GLMUCB is the upper confidence bound of a generalized linear model with the
// logistic link (Filippi et al. 2010, algorithm 1). With the chosen contexts
// c_s and their rewards r_s of all past steps and μ(x) = 1/(1+exp(−x)),
//
//	θ solves Σ (r_s − μ(θ·c_s)) c_s = Ridge·θ
//	A = Ridge·I + Σ c_s c_sᵀ
//	score(c) = μ(θ·c) + Alpha·sqrt(cᵀA⁻¹c)
//
// The order is that of Filippi et al.: by μ(θ·c), not by θ·c. Theirs has a width
// that grows with sqrt(log t) and starts with one action for every dimension;
// here the width is constant and the ridge penalty makes the start defined.
//
// The estimating equation is a quasi-likelihood: rewards may be any real
// numbers. Where the mean reward is below 0 or above 1 it has no unpenalised
// solution, though: then θ grows with the number of steps, μ saturates, and the
// width decides alone.
//
// θ is the exact solution, by Newton's method on the stored history, at refits:
// at every step at first, later whenever there are 10 % more steps. Between refits it is
// moved by a one-step approximation that starts at the last solution.
//
// A step costs O(M·N²) time. A run holds 40·N² bytes, and 4·N bytes a step up to
// Memory.
type GLMUCB struct {
	Alpha       float64 // width of the confidence bound; default 1, NoExploration for 0
	Ridge       float64 // regularisation, the precision of the prior; default 1
	NoIntercept bool    // leave the constant feature away; default false
	RefitEvery  int     // steps from one refit to the next; default 0: 10 % of the steps so far, at least 1
	Memory      int     // latest steps kept exactly, older ones as a quadratic approximation; default 32768
}

func (a GLMUCB) withDefaults() GLMUCB {
	a.Alpha = cmp.Or(a.Alpha, 1)
	a.Ridge = cmp.Or(a.Ridge, 1)
	a.Memory = cmp.Or(a.Memory, defaultMemory)
	return a
}

// New implements envs.Algorithm. It returns an error that names the field when
// a setting is out of bounds, and when there is no seed. The policy implements
// Estimator and Scorer.
func (a GLMUCB) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	alpha, err := exploration("GLMUCB", "Alpha", a.Alpha)
	if err != nil {
		return nil, err
	}
	f := fit{a.Ridge, a.RefitEvery, a.Memory}
	if err := f.check("GLMUCB"); err != nil {
		return nil, err
	}
	p, err := newPolicy("GLMUCB", spec, seeds, !a.NoIntercept, func(n int, _ uint64) model {
		return &glmUCB{newLogistic(n, f), alpha, newDesign(n, a.Ridge)}
	})
	if err != nil {
		return nil, err
	}
	return &scorer{p}, nil
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a GLMUCB) MarshalJSON() ([]byte, error) {
	type plain GLMUCB
	return json.Marshal(plain(a.withDefaults()))
}

type glmUCB struct {
	*logistic
	alpha  float64
	design design
}

func (m *glmUCB) score(dst, features []float64) {
	for i := range dst {
		x := features[i*m.n : (i+1)*m.n]
		dst[i] = sigmoid(floats.Dot(m.theta, x))
		if m.alpha > 0 {
			dst[i] += m.alpha * math.Sqrt(m.design.variance(x))
		}
	}
}

func (m *glmUCB) learn(x []float64, reward float64) error {
	if _, _, err := m.design.add(x); err != nil {
		return err
	}
	return m.logistic.learn(x, reward)
}

func (m *glmUCB) estimate() []float64 { return m.theta }
