package envs_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// spoiled changes what a plain problem of 3 candidates and 4 features offers, of which
// the first is the state, and pays.
type spoiled struct {
	offer  func(contexts []float32, rng *rand.Rand) int
	reward func(r float64, rng *rand.Rand) float64
}

func (spoiled) Spec() envs.Spec { return envs.Spec{Candidates: 3, Dim: 4, State: 1} }

func (p spoiled) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(p.Spec(), seeds, func(uint64) envs.Law {
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) int {
				hour := rng.Float32()
				for i := range contexts {
					if contexts[i] = rng.Float32(); i%4 == 0 {
						contexts[i] = hour
					}
				}
				if p.offer != nil {
					return p.offer(contexts, rng)
				}
				return 3
			},
			Reward: func(c []float32, rng *rand.Rand) float64 {
				if p.reward != nil {
					return p.reward(float64(c[1]), rng)
				}
				return float64(c[1])
			},
			Expected: func(c []float32) float64 { return 0 },
		}
	})
}

// misshapen has another spec than its observations.
type misshapen struct{ envs.Problem }

func (misshapen) Spec() envs.Spec { return envs.Spec{Candidates: 3, Dim: 4} }

func TestCheck(t *testing.T) {
	set := func(j int, value func(x float32, rng *rand.Rand) float32) spoiled {
		return spoiled{offer: func(contexts []float32, rng *rand.Rand) int {
			for i := j; i < len(contexts); i += 4 {
				contexts[i] = value(contexts[i], rng)
			}
			return 3
		}}
	}
	pay := func(reward func(r float64, rng *rand.Rand) float64) spoiled { return spoiled{reward: reward} }
	for want, p := range map[string]envs.Problem{
		"1 of 4 features are the same in all contexts, which teaches nothing: leave them out: 2": set(2, func(_ float32, rng *rand.Rand) float32 { return .7 + float32(rng.IntN(2))*6e-8 }),
		"2 of 4 features are far from 1 in size, and default settings are for about 1: divide each by its size: 2 (": spoiled{offer: func(contexts []float32, _ *rand.Rand) int {
			for i := range contexts {
				contexts[i] *= []float32{1, 1, 1e20, 1e-3}[i%4]
			}
			return 3
		}},
		"1 of 4 features have outliers: bound them, or take logarithms: 3 (up to 1e+06": set(3, func(x float32, rng *rand.Rand) float32 {
			if rng.IntN(100) == 0 {
				return 1e6
			}
			return x
		}),
		"1 of 4 features are the same for all candidates of a set": spoiled{offer: func(contexts []float32, _ *rand.Rand) int {
			contexts[2+4], contexts[2+8] = contexts[2], contexts[2]*(1-1e-7)
			return 3
		}},
		"sets have one candidate":              spoiled{offer: func([]float32, *rand.Rand) int { return 1 }},
		"all rewards are 2":                    pay(func(_ float64, rng *rand.Rand) float64 { return 2 + 1e-6*rng.Float64() }),
		"rewards are of the size 0.000":        pay(func(r float64, _ *rand.Rand) float64 { return r / 1000 }),
		"a reward has the size 1e+04, where 0": pay(func(r float64, rng *rand.Rand) float64 { return r + 1e4*math.Floor(rng.Float64()+0.01) }),
		"":                                     spoiled{},
	} {
		warnings, err := envs.Check(p)
		if text := strings.Join(warnings, "; "); err != nil || !strings.Contains(text, want) || len(warnings) != min(len(want), 1) {
			t.Errorf("warnings %q, %v, want one with %q", warnings, err, want)
		}
	}
	for _, p := range []envs.Problem{envs.Linear{}, envs.Bernoulli{Hard: true}, envs.Mixed{}, envtest.Chain{}} {
		if warnings, err := envs.Check(p); len(warnings) > 0 || err != nil {
			t.Errorf("%#v: warnings %q, %v", p, warnings, err)
		}
	}
	if _, err := envs.Check(pay(func(float64, *rand.Rand) float64 { return math.NaN() })); err == nil {
		t.Error("no error for rewards that are not finite")
	}
	for want, p := range map[string]envs.Problem{
		"4 candidates of an observation, want 3": misshapen{envs.Linear{Candidates: 4, Dim: 4}},
		"panic":                                  spoiled{offer: func([]float32, *rand.Rand) int { panic("a panic") }},
	} {
		if _, err := envs.Check(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
