package envs_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

func start(t *testing.T, p envs.Problem, seeds ...uint64) envs.Environment {
	t.Helper()
	env, err := p.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func step(t *testing.T, env envs.Environment, actions ...int) []float32 {
	t.Helper()
	out, err := env.Step(actions)
	if err != nil {
		t.Fatal(err)
	}
	if out.Discount != nil {
		t.Fatalf("a bandit with discounts %v", out.Discount)
	}
	return out.Reward
}

func expected(env envs.Environment) []float64 {
	obs := env.Observe()
	dst := make([]float64, obs.Runs*obs.Candidates)
	env.(envs.Oracle).ExpectedRewards(dst)
	return dst
}

// checkMean wants a mean within 5 standard errors.
func checkMean(t *testing.T, what string, got, want, se float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 5*se) {
		t.Errorf("%s: %.5g, want %.5g ± %.2g", what, got, want, se)
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

func TestConformance(t *testing.T) {
	for _, p := range append(toys, TeaShop{Picky: 3}) {
		envtest.TestProblem(t, p)
	}
}

// Which stream serves what, and in which order: a change changes every recorded
// result. A run is rebuilt from its streams.
func TestLawStreams(t *testing.T) {
	const seed = 9
	env := start(t, TeaShop{Picky: 4}, 8, seed)
	contexts, noise := envs.NewRand(seed, "problem/contexts"), envs.NewSource(seed, "problem/noise")
	taste := envs.NewRand(seed, "problem/taste")
	sweet, strong := taste.Float64(), taste.Float64()
	for i := range 100 {
		obs := env.Observe()
		n := 1 + contexts.IntN(4)
		if obs.Size(1) != n {
			t.Fatalf("step %d: %d teas, want %d", i, obs.Size(1), n)
		}
		var chance [4]float64
		for k := range n {
			c := []float32{contexts.Float32(), contexts.Float32()}
			if got := obs.Context(1, k); got[0] != c[0] || got[1] != c[1] {
				t.Fatalf("step %d: tea %v, want %v", i, got, c)
			}
			chance[k] = math.Exp(-4 * math.Hypot(float64(c[0])-sweet, float64(c[1])-strong))
		}
		for k, e := range expected(env)[4:] {
			if k < n && e != chance[k] || k >= n && !math.IsNaN(e) {
				t.Fatalf("step %d: %v is expected of tea %d of %d, want %v", i, e, k, n, chance[k])
			}
		}
		want := float32(0)
		if rand.New(rand.NewPCG(noise.Uint64(), 0)).Float64() < chance[n-1] {
			want = 1
		}
		if got := step(t, env, 0, n-1)[1]; got != want {
			t.Fatalf("step %d: reward %v, want %v", i, got, want)
		}
	}
}

func TestCoin(t *testing.T) {
	rng, heads := rand.New(rand.NewPCG(1, 2)), 0.0
	for range 40_000 {
		heads += envs.Coin(0.3, rng)
	}
	checkMean(t, "heads", heads/40_000, 0.3, math.Sqrt(0.21/40_000))
	if envs.Coin(0, rng) != 0 || envs.Coin(1, rng) != 1 {
		t.Error("coins of probability 0 and 1 do not show 0 and 1")
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if got := envs.Coin(p, rng); !math.IsNaN(got) {
			t.Errorf("a coin of probability %v shows %v", p, got)
		}
	}
}

func TestBadLaws(t *testing.T) {
	spec := envs.Spec{Candidates: 2, Dim: 1}
	good := envs.Law{
		Offer:    func([]float32, *rand.Rand) int { return 2 },
		Reward:   func([]float32, *rand.Rand) float64 { return 2 },
		Expected: func([]float32) float64 { return 2 },
	}
	for _, test := range []struct {
		spec  envs.Spec
		spoil func(*envs.Law)
		start string // the error of FromLaw, else:
		step  string // that of Step
	}{
		{spec, func(*envs.Law) {}, "", ""},
		{envs.Spec{Candidates: 1, Dim: 1}, func(law *envs.Law) { law.Offer = func([]float32, *rand.Rand) int { return 1 } }, "", ""},
		{envs.Spec{Candidates: 1001, Dim: 1}, func(*envs.Law) {}, "Spec.Candidates is 1001", ""},
		{envs.Spec{Candidates: 2, Dim: 1, State: 1}, func(*envs.Law) {}, "Spec.State is 1", ""},
		{envs.Spec{Candidates: 2, Dim: 1 << 40}, func(*envs.Law) {}, "Spec.Dim is 1099511627776", ""},
		{spec, func(law *envs.Law) { law.Offer = nil }, "a Law without", ""},
		{spec, func(law *envs.Law) { law.Reward = nil }, "a Law without", ""},
		{spec, func(law *envs.Law) { law.Expected = nil }, "a Law without", ""},
		{spec, func(law *envs.Law) { law.Offer = func([]float32, *rand.Rand) int { return 3 } }, "run 1: 3 candidates on offer", ""},
		{spec, func(law *envs.Law) {
			law.Reward = func(_ []float32, rng *rand.Rand) float64 { return envs.Coin(2, rng) }
		}, "",
			"run 1: the reward of candidate 1 is NaN, where 2 is expected"},
		{spec, func(law *envs.Law) { law.Reward = func([]float32, *rand.Rand) float64 { return math.Inf(1) } }, "",
			"run 1: the reward of candidate 1 is +Inf, where 2 is expected"},
	} {
		env, err := envs.FromLaw(test.spec, []uint64{1, 2}, func(seed uint64) envs.Law {
			law := good
			if seed == 2 || test.spec.Candidates == 1 {
				test.spoil(&law)
			}
			return law
		})
		if checkError(t, err, test.start); err == nil {
			_, err = env.Step([]int{0, test.spec.Candidates - 1})
			checkError(t, err, test.step)
		}
	}
	_, err := envs.FromLaw(spec, nil, func(uint64) envs.Law { return good })
	checkError(t, err, "no seeds")
}

func TestChecksNameTheNumbers(t *testing.T) {
	spec := envs.Spec{Candidates: 2, Dim: 3}
	good := func() envs.Transition {
		return envs.Transition{
			Observation: envs.Observation{Runs: 4, Candidates: 2, Dim: 3, Contexts: make([]float32, 24), Session: make([]int32, 4)},
			Actions:     make([]int, 4),
			Outcome:     envs.Outcome{Reward: make([]float32, 4)},
		}
	}
	for _, test := range []struct {
		want  string
		spoil func(*envs.Transition)
	}{
		{"", func(*envs.Transition) {}},
		{"", func(tr *envs.Transition) { tr.Sizes = []int32{1, 2, 1, 2} }},
		{"envs: 5 runs of an observation, want 4", func(tr *envs.Transition) { tr.Runs = 5 }},
		{"envs: 3 candidates of an observation, want 2", func(tr *envs.Transition) { tr.Candidates = 3 }},
		{"envs: 7 features of an observation, want 3", func(tr *envs.Transition) { tr.Dim = 7 }},
		{"envs: 23 context values of an observation, want 24", func(tr *envs.Transition) { tr.Contexts = tr.Contexts[1:] }},
		{"envs: 1 sizes of an observation, want 4", func(tr *envs.Transition) { tr.Sizes = []int32{1} }},
		{"envs: 3 sessions of an observation, want 4", func(tr *envs.Transition) { tr.Session = tr.Session[1:] }},
		{"envs: 7 item codes of an observation, want 8", func(tr *envs.Transition) { tr.Codes = &envs.Codes{Items: make([]int32, 7)} }},
		{"envs: 5 discounts of a transition, want 4", func(tr *envs.Transition) { tr.Discount = make([]float32, 5) }},
		{"envs: set of run 2 has 0 candidates, want 1 to 2", func(tr *envs.Transition) { tr.Sizes = []int32{1, 2, 0, 2} }},
		{"envs: 3 rewards of a transition, want 4", func(tr *envs.Transition) { tr.Reward = tr.Reward[1:] }},
		{"envs: 3 actions, want 4", func(tr *envs.Transition) { tr.Actions = tr.Actions[1:] }},
		{"envs: action 1 of run 0, want 0 to 0", func(tr *envs.Transition) { tr.Sizes, tr.Actions[0] = []int32{1, 2, 1, 2}, 1 }},
	} {
		tr := good()
		test.spoil(&tr)
		func() {
			defer func() {
				if got, _ := recover().(string); got != test.want {
					t.Errorf("panic %q, want %q", got, test.want)
				}
			}()
			tr.Check(spec, 4)
		}()
	}
}

func TestCheckFinite(t *testing.T) {
	nan := float32(math.NaN())
	tr := envs.Transition{
		Observation: envs.Observation{Runs: 2, Candidates: 2, Dim: 1, Contexts: []float32{1, nan, 3, 4}, Sizes: []int32{1, 2}},
		Outcome:     envs.Outcome{Reward: []float32{1, 2}, Discount: []float32{0, 1}},
		Actions:     []int{0, 0},
	}
	if err := tr.Check(envs.Spec{Candidates: 2, Dim: 1}, 2); err != nil {
		t.Errorf("NaN beyond a set: %v", err)
	}
	tr.Contexts[3] = float32(math.Inf(-1))
	checkError(t, tr.Check(envs.Spec{Candidates: 2, Dim: 1}, 2), "run 1: feature 0 of candidate 1 is -Inf")
	tr.Discount[1] = 2
	checkError(t, tr.Check(envs.Spec{Candidates: 2, Dim: 1}, 2), "run 1: the discount is 2, want 0 to 1")
	tr.Reward[0] = nan
	err := tr.Check(envs.Spec{Candidates: 2, Dim: 1}, 2)
	checkError(t, err, "run 0: the reward is NaN")
	if run := (*envs.RunError)(nil); !errors.As(err, &run) || run.Run != 0 || errors.Unwrap(err) == nil {
		t.Errorf("%v is no RunError of run 0", err)
	}
}
