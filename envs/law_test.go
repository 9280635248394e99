package envs_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// teas is a problem as a user writes it: the hidden taste of a run is a point
// of the unit square, and what is near to it pays. Noise 0 is a coin.
type teas struct{ Noise float64 }

func (p teas) Spec() envs.Spec { return envs.Spec{Candidates: 3, Dim: 2} }

func (p teas) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(p.Spec(), seeds, func(seed uint64) envs.Law {
		taste := envs.NewRand(seed, "problem/taste")
		sweet, strong := taste.Float64(), taste.Float64()
		law := envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) {
				for i := range contexts {
					contexts[i] = rng.Float32()
				}
			},
			Expected: func(c []float32) float64 {
				return math.Exp(-4 * math.Hypot(float64(c[0])-sweet, float64(c[1])-strong))
			},
			Reward: envs.Coin,
		}
		if p.Noise > 0 {
			law.Reward = envs.Noise(p.Noise)
		}
		return law
	})
}

// user is a problem with features of a state, which are the same for all
// candidates, and others that Offer leaves at 0.
type user struct{}

func (user) Spec() envs.Spec { return envs.Spec{Candidates: 4, Dim: 3, State: 1} }

func (p user) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(p.Spec(), seeds, func(uint64) envs.Law {
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) {
				age := rng.Float32()
				for c := range 4 {
					contexts[3*c], contexts[3*c+1+rng.IntN(2)] = age, 1
				}
			},
			Expected: func(c []float32) float64 { return float64(c[0] * c[1]) },
			Reward:   envs.Noise(0.5),
		}
	})
}

func TestLawConformance(t *testing.T) {
	for _, p := range []envs.Problem{teas{}, teas{Noise: 0.3}, user{}} {
		envtest.TestProblem(t, p)
		env := start(t, p, 1)
		if _, ok := env.(envs.Oracle); !ok {
			t.Errorf("%T has no Oracle", p)
		}
		if _, ok := env.(envs.PotentialOutcomes); !ok {
			t.Errorf("%T has no PotentialOutcomes", p)
		}
	}
}

// Which stream serves what, and in which order: a change changes every recorded
// result. A run is rebuilt from its streams.
func TestLawStreams(t *testing.T) {
	const seed = 9
	env := start(t, teas{}, 8, seed)
	contexts, noise := envs.NewRand(seed, "problem/contexts"), envs.NewSource(seed, "problem/noise")
	taste := envs.NewRand(seed, "problem/taste")
	sweet, strong := taste.Float64(), taste.Float64()
	for i := range 100 {
		var c [6]float32
		for k := range c {
			c[k] = contexts.Float32()
		}
		if got := [6]float32(env.Observe().Contexts[6:]); got != c {
			t.Fatalf("step %d: contexts %v, want %v", i, got, c)
		}
		a := i % 3
		chance := math.Exp(-4 * math.Hypot(float64(c[2*a])-sweet, float64(c[2*a+1])-strong))
		expected := make([]float64, 6)
		env.(envs.Oracle).ExpectedRewards(expected)
		if expected[3+a] != chance {
			t.Fatalf("step %d: %v is expected, want %v", i, expected[3+a], chance)
		}
		var want float32
		if rand.New(rand.NewPCG(noise.Uint64(), 0)).Float64() < chance {
			want = 1
		}
		if got := step(t, env, []int{0, a}).Reward[1]; got != want {
			t.Fatalf("step %d: reward %v, want %v", i, got, want)
		}
	}
}

// All candidates of a step have its luck: what is expected to pay more pays no
// less by a coin, and rewards with noise differ as their expectations do.
func TestLawLuck(t *testing.T) {
	for _, p := range []teas{{}, {Noise: 2}} {
		env := start(t, p, 3)
		expected, pays := make([]float64, 3), make([]float32, 3)
		for i := range 300 {
			env.(envs.Oracle).ExpectedRewards(expected)
			env.(envs.PotentialOutcomes).PotentialRewards(pays)
			for k := range 2 {
				less := expected[k] < expected[k+1]
				if p.Noise == 0 && (pays[k] < pays[k+1] && !less || pays[k] > pays[k+1] && less) {
					t.Fatalf("step %d: expected %v, coins %v", i, expected, pays)
				}
				if d := float64(pays[k+1]-pays[k]) - (expected[k+1] - expected[k]); p.Noise > 0 && math.Abs(d) > 1e-5 {
					t.Fatalf("step %d: expected %v, rewards %v", i, expected, pays)
				}
			}
			step(t, env, []int{i % 3})
		}
	}
}

func TestRewardsOfLaws(t *testing.T) {
	const n = 40_000
	rng := rand.New(rand.NewPCG(1, 2))
	var heads, sum, squares float64
	noise := envs.Noise(0.7)
	for range n {
		x := envs.Coin(0.3, rng)
		if x != 0 && x != 1 {
			t.Fatalf("a coin shows %v", x)
		}
		heads += x
		d := noise(5, rng) - 5
		sum, squares = sum+d, squares+d*d
	}
	// A coin has the variance 0.3·0.7; the square of a normal variable has twice
	// the square of its variance.
	checkMean(t, "heads", heads/n, 0.3, math.Sqrt(0.21/n))
	checkMean(t, "noise", sum/n, 0, 0.7/math.Sqrt(n))
	checkMean(t, "squared noise", squares/n, 0.49, 0.49*math.Sqrt(2.0/n))
	for p, want := range map[float64]float64{0: 0, 1: 1} {
		for range 100 {
			if got := envs.Coin(p, rng); got != want {
				t.Fatalf("a coin of probability %v shows %v", p, got)
			}
		}
	}
}

func TestBadLaws(t *testing.T) {
	good := envs.Law{
		Offer:    func([]float32, *rand.Rand) {},
		Expected: func([]float32) float64 { return 2 },
		Reward:   envs.Noise(0),
	}
	without := [3]envs.Law{good, good, good}
	without[0].Offer, without[1].Expected, without[2].Reward = nil, nil, nil
	spec, seeds := envs.Spec{Candidates: 2, Dim: 1}, []uint64{1}
	for _, test := range []struct {
		spec  envs.Spec
		seeds []uint64
		law   envs.Law
		want  string // empty: good
	}{
		{spec, seeds, good, ""},
		{envs.Spec{Candidates: 1, Dim: 1}, seeds, good, "Spec.Candidates is 1"},
		{envs.Spec{Candidates: 2, Dim: 1, State: 1}, seeds, good, "Spec.State is 1"},
		{envs.Spec{Candidates: 2, Dim: 1 << 40}, seeds, good, "Spec.Dim is 1099511627776"},
		{spec, nil, good, "at least one seed"},
		{spec, seeds, without[0], "a Law without"},
		{spec, seeds, without[1], "a Law without"},
		{spec, seeds, without[2], "a Law without"},
	} {
		_, err := envs.FromLaw(test.spec, test.seeds, func(uint64) envs.Law { return test.law })
		checkError(t, err, test.want, test.want != "")
	}
	// A reward that is no number is told with its run and its candidate.
	coin, infinite := good, good
	coin.Reward = envs.Coin // with a probability of 2
	infinite.Reward = func(float64, *rand.Rand) float64 { return math.Inf(1) }
	for _, test := range []struct {
		law  envs.Law
		want string
	}{
		{coin, "run 1: the reward of candidate 1 is NaN, where 2 is expected"},
		{infinite, "run 1: the reward of candidate 1 is +Inf, where 2 is expected"},
	} {
		env, err := envs.FromLaw(spec, []uint64{1, 2}, func(seed uint64) envs.Law {
			if seed == 2 {
				return test.law
			}
			return good
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = env.Step([]int{0, 1}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("the error is %v, want %s", err, test.want)
		}
	}
}
