package baselines

import (
	"cmp"
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// LinUCB is the linear upper confidence bound with parameters shared by all
// candidates (Li et al. 2010, section 3, with one model for all arms). With the
// chosen contexts c_s and their rewards r_s of all past steps,
//
//	A = Ridge·I + Σ c_s c_sᵀ,  θ = A⁻¹ Σ r_s c_s,  score(c) = θ·c + Alpha·sqrt(cᵀA⁻¹c)
//
// A⁻¹ is kept by Sherman-Morrison updates and recomputed from A after 1, 2, 4,
// ..., 1024 steps and every 1024 steps from there - with N > 1024 features, after
// every N steps - so rounding cannot build up.
//
// A step costs O(M·N²) time, a run 16·N² bytes.
type LinUCB struct {
	Alpha     float64 // width of the confidence bound; default 1, NoExploration for 0
	Ridge     float64 // regularisation, the precision of the prior; default 1
	Intercept bool    // add a constant feature; default false
}

func (a LinUCB) withDefaults() LinUCB {
	a.Alpha = cmp.Or(a.Alpha, 1)
	a.Ridge = cmp.Or(a.Ridge, 1)
	return a
}

// New implements envs.Algorithm. It returns an error that names the field when
// a setting is out of bounds, and when there is no seed. The policy implements
// Estimator and Scorer.
func (a LinUCB) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	alpha, err := exploration("LinUCB", "Alpha", a.Alpha)
	if err != nil {
		return nil, err
	}
	if err := checkPositive("LinUCB", "Ridge", a.Ridge, ""); err != nil {
		return nil, err
	}
	p, err := newPolicy("LinUCB", spec, seeds, a.Intercept, func(n int, _ uint64) model {
		return &linUCB{
			alpha:  alpha,
			design: newDesign(n, a.Ridge),
			target: make([]float64, n),
			theta:  make([]float64, n),
		}
	})
	if err != nil {
		return nil, err
	}
	return &scorer{p}, nil
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a LinUCB) MarshalJSON() ([]byte, error) {
	type plain LinUCB
	return json.Marshal(plain(a.withDefaults()))
}

type linUCB struct {
	alpha  float64
	design design
	target []float64 // Σ r_s c_s, [N]
	theta  []float64 // [N]
}

func (m *linUCB) score(dst, features []float64) {
	for i := range dst {
		x := features[i*m.design.n : (i+1)*m.design.n]
		dst[i] = floats.Dot(m.theta, x)
		if m.alpha > 0 {
			dst[i] += m.alpha * math.Sqrt(m.design.variance(x))
		}
	}
}

func (m *linUCB) learn(x []float64, reward float64) error {
	floats.AddScaled(m.target, reward, x)
	gain, refreshed, err := m.design.add(x)
	if err != nil {
		return err
	}
	if refreshed {
		m.design.solve(m.theta, m.target)
		return nil
	}
	// Recursive least squares: the step of θ is the new A⁻¹x times the error of
	// the prediction.
	floats.AddScaled(m.theta, reward-floats.Dot(m.theta, x), gain)
	return nil
}

func (m *linUCB) estimate() []float64 { return m.theta }
