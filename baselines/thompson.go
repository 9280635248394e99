package baselines

import (
	"cmp"
	"encoding/json"

	"github.com/contextrec/contextrec/envs"
)

// LinearThompson is Thompson sampling with a linear model of Gaussian noise (Agrawal and Goyal
// 2013, algorithm 1; Chapelle and Li 2011). With A and θ of LinUCB, one θ̃ ~ N(θ, Scale²·A⁻¹) is
// drawn a step, and score(c) = θ̃·c. When Scale is the standard deviation of the reward's noise,
// that is the posterior under the prior N(0, Scale²/Ridge).
//
// A step costs O(N² + M·N) time, a run 8·N² bytes.
type LinearThompson struct {
	Scale     float64 // factor on sqrt(cᵀA⁻¹c); default 0.02, NoExploration for 0
	Ridge     float64 // regularisation, the precision of the prior; default 2
	Intercept bool    // add a constant feature; default false
}

func (a LinearThompson) withDefaults() LinearThompson {
	a.Scale, a.Ridge = cmp.Or(a.Scale, 0.02), cmp.Or(a.Ridge, 2)
	return a
}

func (a LinearThompson) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	err := cmp.Or(check("Scale", a.Scale, NoExploration), check("Ridge", a.Ridge, 0))
	return newPolicy(a, err, spec, seeds, features(spec, a.Intercept), a.Scale, func(n int) *linear {
		return newLinear(n, 0, max(a.Scale, 0), a.Ridge)
	})
}

func (a LinearThompson) MarshalJSON() ([]byte, error) {
	type plain LinearThompson
	return json.Marshal(plain(a.withDefaults()))
}

// LogisticThompson is Thompson sampling with a logistic model and the Laplace approximation of its
// posterior (Chapelle and Li 2011, section 4). With μ and θ of GLMUCB, which is the mode of the
// posterior under the prior N(0, I/Ridge), and
//
//	H = Ridge·I + Σ μ'(θ·c_s) c_s c_sᵀ
//
// one θ̃ ~ N(θ, Scale²·H⁻¹) is drawn a step, and score(c) = θ̃·c, which orders like μ(θ̃·c). Chapelle
// and Li keep the diagonal of H alone and expand once; here all of H is kept and the expansion
// moves with the mode.
//
// Rewards are from 0 to 1, and θ and H are exact at refits: see GLMUCB. A step costs
// O(N² + M·N) time; a run holds 24·N² bytes, and 8·N bytes a step up to Memory.
type LogisticThompson struct {
	Scale       float64 // factor on the posterior's standard deviation; default 0.01, NoExploration for 0
	Ridge       float64 // regularisation, the precision of the prior; default 1
	NoIntercept bool    // leave the constant feature away; default false
	RefitEvery  int     // steps from one refit to the next; default 0: 10 % of the steps so far, at least 1
	Memory      int     // latest steps kept exactly, older ones as a quadratic approximation; default 32768
}

func (a LogisticThompson) withDefaults() LogisticThompson {
	a.Scale, a.Ridge, a.Memory = cmp.Or(a.Scale, 0.01), cmp.Or(a.Ridge, 1), cmp.Or(a.Memory, defaultMemory)
	return a
}

func (a LogisticThompson) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	err := cmp.Or(check("Scale", a.Scale, NoExploration), checkFit(a.Ridge, a.RefitEvery, a.Memory))
	return newPolicy(a, err, spec, seeds, features(spec, !a.NoIntercept), a.Scale, func(n int) *logistic {
		return newLogistic(n, max(a.Scale, 0), a.Ridge, a.RefitEvery, a.Memory)
	})
}

func (LogisticThompson) RewardRange() (low, high float32) { return 0, 1 }

func (a LogisticThompson) MarshalJSON() ([]byte, error) {
	type plain LogisticThompson
	return json.Marshal(plain(a.withDefaults()))
}
