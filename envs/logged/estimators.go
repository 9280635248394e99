package logged

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
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
// With SLOPE it takes the last of Grid, which goes from little bias to much, before one differs from
// any of those before it by more than its own interval and √6 - 1 times theirs explain (Su, Srinath and
// Krishnamurthy: Adaptive estimator selection for off-policy evaluation. ICML 2020).
//
// Of estimators with a bias, those with an L and DM, Error and interval are those of the unbiased one,
// IPW or DR, and the interval reaches to the Mean. Their own would be too short.
type Estimator struct {
	Name              string
	Weight            func(w, l float64) float64 // W
	Model, Normalised bool
	L                 float64
	Grid              []float64 // of L; not nil where W is not w
	SLOPE             bool
}

// With is the estimator with that L.
func (k Estimator) With(l float64) Estimator { k.L = l; return k }

func plain(w, _ float64) float64       { return w }
func clipped(w, l float64) float64     { return min(w, l) }
func shrunk(w, l float64) float64      { return w / (w*w/l + 1) }
func subGaussian(w, l float64) float64 { return w / max(1-l+l*w, math.SmallestNonzeroFloat64) }

func switched(w, l float64) float64 {
	if w <= l {
		return w
	}
	return 0
}

// grid is first and the powers of 2 to the ends of a range of exponents.
func grid(first float64, from, to int) []float64 {
	l, step := []float64{first}, cmp.Compare(to, from)
	for k := from; k != to+step; k += step {
		l = append(l, math.Ldexp(1, k))
	}
	return l
}

var (
	// IPW, also called IPS: unbiased (Horvitz and Thompson, JASA 47, 1952).
	IPW = Estimator{Name: "IPW", Weight: plain}
	// ClippedIPW has min(w, L) (Ionides: Truncated importance sampling. JCGS 17, 2008).
	ClippedIPW = Estimator{Name: "clipped IPW", Weight: clipped, Grid: grid(math.Inf(1), 19, -10)}
	// SNIPW, also called SNIPS: its bias falls as 1/N, and it is less noisy than IPW (Swaminathan and
	// Joachims: The self-normalized estimator for counterfactual learning. NIPS 2015). It is NaN where
	// the policy makes no choice of the log.
	SNIPW = Estimator{Name: "SNIPW", Weight: plain, Normalised: true}
	// SubGaussianIPW has w/(1 - L + L w), L from 0 to 1 (Metelli, Russo and Restelli: Subgaussian and
	// differentiable importance sampling for off-policy evaluation and learning. NeurIPS 2021).
	SubGaussianIPW = Estimator{Name: "sub-Gaussian IPW", Weight: subGaussian, Grid: grid(0, -10, 0)}
	// DM, the direct method, trusts the model alone (Beygelzimer and Langford: The offset tree for
	// learning with partial labels. KDD 2009).
	DM = Estimator{Name: "DM", Model: true}
	// DR is unbiased whatever the model is, and less noisy the better it is (Dudík, Langford and Li:
	// Doubly robust policy evaluation and learning. ICML 2011).
	DR = Estimator{Name: "DR", Weight: plain, Model: true}
	// ClippedDR has min(w, L) (Su and others, see DRos).
	ClippedDR = Estimator{Name: "clipped DR", Weight: clipped, Model: true, Grid: grid(math.Inf(1), 19, -10)}
	// SNDR is DR normalised (Thomas and Brunskill: Data-efficient off-policy policy evaluation for
	// reinforcement learning. ICML 2016).
	SNDR = Estimator{Name: "SNDR", Weight: plain, Model: true, Normalised: true}
	// SwitchDR corrects where w <= L alone (Wang, Agarwal and Dudík: Optimal and adaptive off-policy
	// evaluation in contextual bandits. ICML 2017).
	SwitchDR = Estimator{Name: "Switch-DR", Weight: switched, Model: true, Grid: grid(math.Inf(1), 19, -10)}
	// DRos, with optimistic shrinkage, has L w/(w² + L) (Su, Dimakopoulou, Krishnamurthy and Dudík:
	// Doubly robust off-policy evaluation with shrinkage. ICML 2020).
	DRos = Estimator{Name: "DRos", Weight: shrunk, Model: true, Grid: grid(math.Inf(1), 19, -10)}
	// SubGaussianDR has the W of SubGaussianIPW.
	SubGaussianDR = Estimator{Name: "sub-Gaussian DR", Weight: subGaussian, Model: true, Grid: grid(0, -10, 0)}
)

// Estimators are all of them, those without a model first.
func Estimators() []Estimator {
	return []Estimator{IPW, ClippedIPW, SNIPW, SubGaussianIPW, DM, DR, ClippedDR, SNDR, SwitchDR, DRos, SubGaussianDR}
}

// Estimate is that of an estimator. It panics at an L below 0, and without a model that is wanted.
func (e *Evaluation) Estimate(k Estimator) Estimate {
	if k.Model && len(e.Model) != len(e.Weight) {
		panic(fmt.Sprintf("logged: %s wants a reward model, got predictions for %d decisions, want %d: set Evaluation.Model", k.Name, len(e.Model), len(e.Weight)))
	}
	if !(k.L >= 0) {
		panic(fmt.Sprintf("logged: %s has the L %v, want none below 0", k.Name, k.L))
	}
	t := terms{reward: e.of.reward, normalised: k.Normalised}
	for i := 0; k.Model && i < len(e.Model); i++ {
		t.model, t.base = append(t.model, e.Model[i][e.of.decisions[i].Chosen]), append(t.base, floats.Dot(e.Probabilities[i], e.Model[i]))
	}
	at := func(weight func(w, l float64) float64, l float64) Estimate {
		t.weight = t.weight[:0]
		for i := 0; weight != nil && i < len(e.Weight); i++ {
			t.weight = append(t.weight, weight(e.Weight[i], l))
		}
		return e.of.estimate(t)
	}
	if k.Weight != nil && k.Grid == nil {
		return at(k.Weight, k.L)
	}
	// What a biased estimator does not know of the truth is judged by the unbiased one.
	found := at(plain, 0)
	best, least, before := found, found.Error, []Estimate{found}
	if k.Grid == nil || k.L != 0 {
		best, k.Grid = at(k.Weight, k.L), nil
	}
	for _, l := range k.Grid {
		now := at(k.Weight, l)
		differs := func(b Estimate) bool {
			return !(math.Abs(now.Mean-b.Mean) <= 1.96*(now.Error+(math.Sqrt(6)-1)*b.Error) && now.Error < math.Inf(1))
		}
		if risk := math.Hypot(now.Error, now.Mean-found.Mean); !k.SLOPE && risk < least {
			best, least = now, risk
		} else if k.SLOPE && slices.ContainsFunc(before, differs) {
			break
		} else if k.SLOPE {
			best, before = now, append(before, now)
		}
	}
	found.Mean, found.Low, found.High = best.Mean, min(found.Low, best.Mean), max(found.High, best.Mean)
	return found
}
