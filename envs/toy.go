package envs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
)

// NoNoise switches a noise setting off: 0 stands for its default.
const NoNoise = -1

// Linear is the paper's bandit with linear rewards (section 6.1 and Fig. 1a):
//
//	R(c) = w_r·c + e_r,  e_r ~ N(0, RewardNoise²)
//
// Every candidate's context is uniform on the unit cube, (0, 1)^Dim, and new at
// every step. Each run has its own w_r, a uniform direction of length 1. The
// paper leaves the laws of w_r and e_r open; these are ours.
//
// The expected reward is w_r·c, which is about N(Σw_r/2, 1/12). So random choice
// has a regret of about 1.16296·sqrt(1/12) = 0.3357 a step at 5 candidates,
// 1.16296 being the mean of the largest of 5 standard normals.
type Linear struct {
	Candidates  int     // M; default 5
	Dim         int     // D; default 40
	RewardNoise float64 // standard deviation of e_r; default 0.1, NoNoise for none
}

func (p Linear) withDefaults() Linear {
	p.Candidates, p.Dim, p.RewardNoise = cmp.Or(p.Candidates, 5), cmp.Or(p.Dim, 40), cmp.Or(p.RewardNoise, 0.1)
	return p
}

func (p Linear) Spec() Spec { return toySpec(p.Candidates, p.Dim) }

func (p Linear) New(seeds []uint64) (Environment, error) {
	p = p.withDefaults()
	if err := checkNoise("Linear.RewardNoise", p.RewardNoise); err != nil {
		return nil, err
	}
	return FromLaw(p.Spec(), seeds, p.law)
}

func (p Linear) law(seed uint64) Law {
	w := Direction(seed, "problem/reward weights", p.Dim)
	return Law{
		Offer:    uniform(p.Candidates),
		Reward:   func(c []float32, rng *rand.Rand) float64 { return dot(w, c) + normal(p.RewardNoise, rng) },
		Expected: func(c []float32) float64 { return dot(w, c) },
	}
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (p Linear) MarshalJSON() ([]byte, error) {
	type plain Linear // without this method
	return json.Marshal(plain(p.withDefaults()))
}

// Bernoulli is the paper's bandit with binary rewards (section 6.1 and Fig. 1b):
//
//	R(c) ~ Bernoulli(β(c)),  β(c) = clip(w_β·c + e_β, 0, 1),  e_β ~ N(0, ProbabilityNoise²)
//
// Contexts are those of Linear. Each run has its own w_β = |h|/Σ|h| with
// h ~ N(0, I): weights that are not negative and sum to 1, so that w_β·c is a
// probability. The paper leaves the laws of w_β and e_β open; these are ours.
//
// The expected reward is the exact mean of the clipped β(c). At the paper's
// setting that is w_β·c: β is clipped with a probability below 1e-15, since
// w_β·c + e_β has mean 1/2 and variance Σw_β²/12 + 0.01², about 0.0034.
type Bernoulli struct {
	Candidates       int     // M; default 5
	Dim              int     // D; default 40
	ProbabilityNoise float64 // standard deviation of e_β; default 0.01, NoNoise for none
	Hard             bool    // |h|³ for |h|: few weights decide, so the sum of all features is a poor guide
}

func (p Bernoulli) withDefaults() Bernoulli {
	p.Candidates, p.Dim, p.ProbabilityNoise = cmp.Or(p.Candidates, 5), cmp.Or(p.Dim, 40), cmp.Or(p.ProbabilityNoise, 0.01)
	return p
}

func (p Bernoulli) Spec() Spec { return toySpec(p.Candidates, p.Dim) }

func (p Bernoulli) New(seeds []uint64) (Environment, error) {
	p = p.withDefaults()
	if err := checkNoise("Bernoulli.ProbabilityNoise", p.ProbabilityNoise); err != nil {
		return nil, err
	}
	return FromLaw(p.Spec(), seeds, p.law)
}

func (p Bernoulli) law(seed uint64) Law {
	power := 1.0
	if p.Hard {
		power = 3
	}
	rng, w, sum := NewRand(seed, "problem/probability weights"), make([]float64, p.Dim), 0.0
	for i := range w {
		w[i] = math.Pow(math.Abs(rng.NormFloat64()), power)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return Law{
		Offer: uniform(p.Candidates),
		Reward: func(c []float32, rng *rand.Rand) float64 {
			return Coin(min(max(dot(w, c)+normal(p.ProbabilityNoise, rng), 0), 1), rng)
		},
		Expected: func(c []float32) float64 { return clippedMean(dot(w, c), p.ProbabilityNoise) },
	}
}

func (p Bernoulli) MarshalJSON() ([]byte, error) {
	type plain Bernoulli
	return json.Marshal(plain(p.withDefaults()))
}

// Mixed is the paper's bandit with mixed rewards (section 6.1 and Fig. 1c): the
// reward of Linear where a coin of Bernoulli shows 1, and 0 elsewhere,
//
//	R(c) = w_r·c + e_r  with probability β(c), else 0
//
// Weights, noise and contexts are those of Linear and Bernoulli with the same
// seed. The two noises and the coin are independent, so the expected reward is
// (w_β·c)(w_r·c), with the exact mean of the clipped β(c) for w_β·c.
type Mixed struct {
	Candidates       int     // M; default 5
	Dim              int     // D; default 40
	RewardNoise      float64 // standard deviation of e_r; default 0.1, NoNoise for none
	ProbabilityNoise float64 // standard deviation of e_β; default 0.01, NoNoise for none
}

func (p Mixed) withDefaults() Mixed {
	p.Candidates, p.Dim = cmp.Or(p.Candidates, 5), cmp.Or(p.Dim, 40)
	p.RewardNoise, p.ProbabilityNoise = cmp.Or(p.RewardNoise, 0.1), cmp.Or(p.ProbabilityNoise, 0.01)
	return p
}

func (p Mixed) Spec() Spec { return toySpec(p.Candidates, p.Dim) }

func (p Mixed) New(seeds []uint64) (Environment, error) {
	p = p.withDefaults()
	if err := cmp.Or(checkNoise("Mixed.RewardNoise", p.RewardNoise), checkNoise("Mixed.ProbabilityNoise", p.ProbabilityNoise)); err != nil {
		return nil, err
	}
	return FromLaw(p.Spec(), seeds, func(seed uint64) Law {
		linear := Linear{p.Candidates, p.Dim, p.RewardNoise}.law(seed)
		coin := Bernoulli{Candidates: p.Candidates, Dim: p.Dim, ProbabilityNoise: p.ProbabilityNoise}.law(seed)
		return Law{
			Offer: linear.Offer,
			Reward: func(c []float32, rng *rand.Rand) float64 {
				reward := linear.Reward(c, rng)
				return reward * coin.Reward(c, rng)
			},
			Expected: func(c []float32) float64 { return linear.Expected(c) * coin.Expected(c) },
		}
	})
}

func (p Mixed) MarshalJSON() ([]byte, error) {
	type plain Mixed
	return json.Marshal(plain(p.withDefaults()))
}

func toySpec(candidates, dim int) Spec {
	return Spec{Candidates: cmp.Or(candidates, 5), Dim: cmp.Or(dim, 40)}
}

func checkNoise(field string, sd float64) error {
	if sd == NoNoise || sd >= 0 && sd <= 1e6 {
		return nil
	}
	return fmt.Errorf("envs: %s is %v, want 0 to 1e6 or NoNoise", field, sd)
}

// uniform returns the Offer of the toy problems: m contexts from the uniform law on the open cube
// (0, 1)^D. Values are the midpoints of 2^23 equal cells, which float32 represents exactly. One
// draw of 64 bits serves two values, since drawing is most of the cost of a step.
func uniform(m int) func(contexts []float32, rng *rand.Rand) int {
	const cell = 1.0 / (1 << 23)
	return func(contexts []float32, rng *rand.Rand) int {
		var u uint64
		for i := range contexts {
			if u <<= 23; i%2 == 0 {
				u = rng.Uint64()
			}
			contexts[i] = (float32(u>>41) + 0.5) * cell
		}
		return m
	}
}

// Direction draws a uniform direction in a role, as NewRand: g/|g| with g ~ N(0, I).
func Direction(seed uint64, role string, dim int) []float64 {
	rng, w, sum := NewRand(seed, role), make([]float64, dim), 0.0
	for i := range w {
		w[i] = rng.NormFloat64()
		sum += float64(w[i] * w[i])
	}
	for i := range w {
		w[i] /= math.Sqrt(sum)
	}
	return w
}

func dot(w []float64, c []float32) float64 {
	var sum float64
	for i, v := range c {
		// The conversion keeps the compiler from fusing the two operations,
		// which it does on some machines only.
		sum += float64(w[i] * float64(v))
	}
	return sum
}

// normal draws noise of a standard deviation; none where that is NoNoise.
func normal(sd float64, rng *rand.Rand) float64 { return float64(max(sd, 0) * rng.NormFloat64()) }

// clippedMean returns E[clip(X, 0, 1)] for X ~ N(mean, sd²), mean being in (0, 1) and
// sd 0 for NoNoise: with the excess h(x) = E[(Z−x)⁺] = φ(x) − x·(1−Φ(x)) of a standard
// normal Z, mean + sd·h(mean/sd) − sd·h((1−mean)/sd).
func clippedMean(mean, sd float64) float64 {
	if sd = max(sd, 0); 9*sd <= min(mean, 1-mean) { // h(9) is below 1e-20 and lost beside the mean
		return mean
	}
	h := func(x float64) float64 {
		return math.Exp(-x*x/2)/math.Sqrt(2*math.Pi) - x*math.Erfc(x/math.Sqrt2)/2
	}
	return mean + sd*(h(mean/sd)-h((1-mean)/sd))
}
