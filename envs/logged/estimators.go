package logged

import (
	"fmt"
	"math"
)

// Estimator is a formula for the mean reward of a policy. It is the mean over decisions of
//
//	b + W(w) (r - c),  w = π(a|x) / p
//
// where the log chose a with the propensity p and earned r. With a reward model q (Model), b is
// Σ_a π(a|x) q(x, a) and c is q(x, a), else both are 0. Where Normalised, the second term is divided
// by the mean of W. The zero Weight is 0.
//
// L trades variance for bias. Where it is 0, Estimate takes the one of Grid with the least estimated
// mean squared error, Error² + (Mean - the Mean of the unbiased estimator)² (Su and others, see DRos).
// Of estimators with a bias, those with an L and DM, Error and interval are those of the unbiased one,
// IPW or DR, and the interval reaches to the Mean. Their own would be too short.
type Estimator struct {
	Name              string
	Weight            func(w, l float64) float64 // W
	Model, Normalised bool
	L                 float64
	Grid              []float64 // of L; not nil where W is not w
}

// With is the estimator with that L.
func (k Estimator) With(l float64) Estimator { k.L = l; return k }

func plain(w, _ float64) float64       { return w }
func clipped(w, l float64) float64     { return min(w, l) }
func subGaussian(w, l float64) float64 { return w / (1 - l + l*w) }

func switched(w, l float64) float64 {
	if w <= l {
		return w
	}
	return 0
}

func shrunk(w, l float64) float64 {
	if math.IsInf(l, 1) || w == 0 {
		return w
	}
	return l * w / (w*w + l)
}

// grid is first and the powers of 2 from 2^most to 2^-10.
func grid(first float64, most int) []float64 {
	l := []float64{first}
	for k := most; k >= -10; k-- {
		l = append(l, math.Ldexp(1, k))
	}
	return l
}

var (
	// IPW, also called IPS, is the mean of w r: unbiased (Horvitz and Thompson, JASA 47, 1952).
	IPW = Estimator{Name: "IPW", Weight: plain}
	// ClippedIPW has min(w, L) in place of w (Ionides: Truncated importance sampling. JCGS 17, 2008).
	ClippedIPW = Estimator{Name: "clipped IPW", Weight: clipped, Grid: grid(math.Inf(1), 19)}
	// SNIPW, also called SNIPS, is Σ w r / Σ w (Swaminathan and Joachims: The self-normalized estimator for
	// counterfactual learning. NIPS 2015). Its bias falls as 1/N, and it is less noisy than IPW. It is
	// NaN where the policy makes no choice of the log.
	SNIPW = Estimator{Name: "SNIPW", Weight: plain, Normalised: true}
	// SubGaussianIPW has w/(1 - L + L w), L from 0 to 1 (Metelli, Russo and Restelli: Subgaussian and
	// differentiable importance sampling for off-policy evaluation and learning. NeurIPS 2021).
	SubGaussianIPW = Estimator{Name: "sub-Gaussian IPW", Weight: subGaussian, Grid: grid(0, 0)}
	// DM, the direct method, trusts the model alone: the mean of Σ_a π(a|x) q(x, a) (Beygelzimer and
	// Langford: The offset tree for learning with partial labels. KDD 2009).
	DM = Estimator{Name: "DM", Model: true}
	// DR corrects DM by w (r - q): unbiased whatever the model is, and less noisy the better it is
	// (Dudík, Langford and Li: Doubly robust policy evaluation and learning. ICML 2011).
	DR = Estimator{Name: "DR", Weight: plain, Model: true}
	// ClippedDR has min(w, L) in place of w (Su and others, see DRos).
	ClippedDR = Estimator{Name: "clipped DR", Weight: clipped, Model: true, Grid: grid(math.Inf(1), 19)}
	// SNDR divides the correction by the mean of w (Thomas and Brunskill: Data-efficient off-policy policy
	// evaluation for reinforcement learning. ICML 2016).
	SNDR = Estimator{Name: "SNDR", Weight: plain, Model: true, Normalised: true}
	// SwitchDR corrects where w <= L alone (Wang, Agarwal and Dudík: Optimal and adaptive off-policy
	// evaluation in contextual bandits. ICML 2017).
	SwitchDR = Estimator{Name: "Switch-DR", Weight: switched, Model: true, Grid: grid(math.Inf(1), 19)}
	// DRos, with optimistic shrinkage, has L w/(w² + L) (Su, Dimakopoulou, Krishnamurthy and Dudík: Doubly
	// robust off-policy evaluation with shrinkage. ICML 2020).
	DRos = Estimator{Name: "DRos", Weight: shrunk, Model: true, Grid: grid(math.Inf(1), 19)}
	// SubGaussianDR has the W of SubGaussianIPW.
	SubGaussianDR = Estimator{Name: "sub-Gaussian DR", Weight: subGaussian, Model: true, Grid: grid(0, 0)}
)

// Estimators are all of them, those without a model first.
func Estimators() []Estimator {
	return []Estimator{IPW, ClippedIPW, SNIPW, SubGaussianIPW, DM, DR, ClippedDR, SNDR, SwitchDR, DRos, SubGaussianDR}
}

// Estimate is the estimate of an estimator. It panics when that wants a model and the evaluation has
// none.
func (e *Evaluation) Estimate(k Estimator) Estimate {
	if k.Model && len(e.Model) != len(e.Weight) {
		panic(fmt.Sprintf("logged: %s wants a reward model, got predictions for %d decisions, want %d: set Evaluation.Model", k.Name, len(e.Model), len(e.Weight)))
	}
	if k.Weight != nil && k.Grid == nil {
		return e.estimate(k)
	}
	// What a biased estimator does not know of the truth is judged by the unbiased one.
	found := e.estimate(Estimator{Weight: plain, Model: k.Model})
	best, least := found, found.Error
	if k.L != 0 || k.Grid == nil {
		best = e.estimate(k)
	} else {
		for _, l := range k.Grid {
			now := e.estimate(k.With(l))
			if risk := math.Hypot(now.Error, now.Mean-found.Mean); risk < least {
				best, least = now, risk
			}
		}
	}
	found.Mean, found.Low, found.High = best.Mean, min(found.Low, best.Mean), max(found.High, best.Mean)
	return found
}

// estimate is Estimate where L is known.
func (e *Evaluation) estimate(k Estimator) Estimate {
	n := len(e.Weight)
	t := terms{reward: e.log.rewards(), normalised: k.Normalised, units: e.units}
	if k.Weight != nil {
		t.weight = make([]float64, n)
		for i, w := range e.Weight {
			t.weight[i] = k.Weight(w, k.L)
		}
	}
	if k.Model {
		t.base, t.model = make([]float64, n), make([]float64, n)
		for i, q := range e.Model {
			t.model[i] = q[e.log.Decisions[i].Chosen]
			for a, p := range e.Probabilities[i] {
				t.base[i] += p * q[a]
			}
		}
	}
	return e.log.estimate(t)
}
