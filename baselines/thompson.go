package baselines

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// LinearThompson is Thompson sampling with a linear model of Gaussian noise
// (Agrawal and Goyal 2013, algorithm 1; Chapelle and Li 2011). With the chosen
// contexts c_s and their rewards r_s of all past steps,
//
//	A = Ridge·I + Σ c_s c_sᵀ,  θ̂ = A⁻¹ Σ r_s c_s
//
// one θ ~ N(θ̂, Scale²·A⁻¹) is drawn a step, and score(c) = θ·c. When Scale is the
// standard deviation of the reward's noise, that is the posterior of θ under the
// prior N(0, Scale²/Ridge).
//
// The state is the triangular factor U of A = UᵀU and y = U⁻ᵀ Σ r_s c_s. Givens
// rotations, which need no refresh, bring a step in. θ̂ + Scale·U⁻¹z, z ~ N(0, I),
// is U⁻¹(y + Scale·z): a draw is one triangular solve.
//
// A step costs O(N² + M·N) time, a run 8·N² bytes.
type LinearThompson struct {
	Scale     float64 // standard deviation of the posterior; default 1, NoExploration for 0
	Ridge     float64 // regularisation, the precision of the prior; default 1
	Intercept bool    // add a constant feature; default false
}

func (a LinearThompson) withDefaults() LinearThompson {
	a.Scale = cmp.Or(a.Scale, 1)
	a.Ridge = cmp.Or(a.Ridge, 1)
	return a
}

// New implements envs.Algorithm. It returns an error that names the field when
// a setting is out of bounds, and when there is no seed. The policy implements
// Estimator; its estimate is θ̂.
func (a LinearThompson) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	scale, err := exploration("LinearThompson", "Scale", a.Scale)
	if err != nil {
		return nil, err
	}
	if err := checkPositive("LinearThompson", "Ridge", a.Ridge, ""); err != nil {
		return nil, err
	}
	p, err := newPolicy("LinearThompson", spec, seeds, a.Intercept, func(n int, seed uint64) model {
		return &linearThompson{
			scale:  scale,
			factor: newFactor(n, a.Ridge),
			target: make([]float64, n),
			theta:  make([]float64, n),
			sample: envs.NewRand(seed, "LinearThompson/sample"),
		}
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a LinearThompson) MarshalJSON() ([]byte, error) {
	type plain LinearThompson
	return json.Marshal(plain(a.withDefaults()))
}

type linearThompson struct {
	scale  float64
	factor factor
	target []float64 // y, [N]
	theta  []float64 // scratch, [N]
	sample *rand.Rand
}

func (m *linearThompson) score(dst, features []float64) {
	for i, y := range m.target {
		m.theta[i] = y + float64(m.scale*m.sample.NormFloat64())
	}
	m.factor.solveUpper(m.theta)
	dotRows(dst, features, m.theta)
}

func (m *linearThompson) learn(x []float64, reward float64) error {
	m.factor.rotate(x, m.target, reward)
	return nil
}

func (m *linearThompson) estimate() []float64 {
	copy(m.theta, m.target)
	m.factor.solveUpper(m.theta)
	return m.theta
}

// LogisticThompson is Thompson sampling with a logistic model and the Laplace
// approximation of its posterior (Chapelle and Li 2011, section 4). With the
// chosen contexts c_s and their rewards r_s of all past steps, μ(x) =
// 1/(1+exp(−x)) and θ̂ the mode of the posterior under the prior N(0, I/Ridge),
//
//	θ̂ solves Σ (r_s − μ(θ̂·c_s)) c_s = Ridge·θ̂
//	H = Ridge·I + Σ μ'(θ̂·c_s) c_s c_sᵀ
//
// one θ ~ N(θ̂, Scale²·H⁻¹) is drawn a step, and score(c) = θ·c, which orders like
// μ(θ·c). Chapelle and Li keep the diagonal of H alone and expand once; here all of H is
// kept and the expansion moves with the mode.
//
// Rewards may be any real numbers, and θ̂ and H are exact at refits: see GLMUCB.
// Between refits H gains the terms of new steps.
//
// A step costs O(N² + M·N) time. A run holds 24·N² bytes, and 4·N bytes a step up
// to Memory.
type LogisticThompson struct {
	Scale       float64 // factor on the posterior's standard deviation; default 1, NoExploration for 0
	Ridge       float64 // regularisation, the precision of the prior; default 1
	NoIntercept bool    // leave the constant feature away; default false
	RefitEvery  int     // steps from one refit to the next; default 0: 10 % of the steps so far, at least 1
	Memory      int     // latest steps kept exactly, older ones as a quadratic approximation; default 32768
}

func (a LogisticThompson) withDefaults() LogisticThompson {
	a.Scale = cmp.Or(a.Scale, 1)
	a.Ridge = cmp.Or(a.Ridge, 1)
	a.Memory = cmp.Or(a.Memory, defaultMemory)
	return a
}

// New implements envs.Algorithm. It returns an error that names the field when
// a setting is out of bounds, and when there is no seed. The policy implements
// Estimator; its estimate is θ̂.
func (a LogisticThompson) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	scale, err := exploration("LogisticThompson", "Scale", a.Scale)
	if err != nil {
		return nil, err
	}
	f := fit{a.Ridge, a.RefitEvery, a.Memory}
	if err := f.check("LogisticThompson"); err != nil {
		return nil, err
	}
	p, err := newPolicy("LogisticThompson", spec, seeds, !a.NoIntercept, func(n int, seed uint64) model {
		return &logisticThompson{newLogistic(n, f), scale, make([]float64, n), envs.NewRand(seed, "LogisticThompson/sample")}
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a LogisticThompson) MarshalJSON() ([]byte, error) {
	type plain LogisticThompson
	return json.Marshal(plain(a.withDefaults()))
}

type logisticThompson struct {
	*logistic
	scale  float64
	drawn  []float64 // scratch, [N]
	sample *rand.Rand
}

func (m *logisticThompson) score(dst, features []float64) {
	for i := range m.drawn {
		m.drawn[i] = m.scale * m.sample.NormFloat64()
	}
	m.curvature.solveUpper(m.drawn)
	floats.Add(m.drawn, m.theta)
	dotRows(dst, features, m.drawn)
}

func (m *logisticThompson) estimate() []float64 { return m.theta }

// dotRows writes x·theta of every row x of features to dst.
func dotRows(dst, features, theta []float64) {
	for i := range dst {
		dst[i] = floats.Dot(features[i*len(theta):(i+1)*len(theta)], theta)
	}
}
