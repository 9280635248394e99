package pgcr_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/pgcr"
)

// everything switches on all that an agent has.
var everything = pgcr.Config{
	Hidden: []int{6, 5}, BatchSize: 16, Resamples: 2, Dropout: 0.4, Greed: pgcr.Greed{Rate: 0.02}, Discount: 0.9,
	UpdateEvery: 2, UpdatesPerStep: 3, InitScale: 0.5, Capacity: 40,
}

func TestConformance(t *testing.T) {
	t.Run("default", func(t *testing.T) { envtest.TestAlgorithm(t, pgcr.Config{BatchSize: 16}, envs.Bernoulli{}, 60) })
	t.Run("everything", func(t *testing.T) { envtest.TestAlgorithm(t, everything, envs.Mixed{Candidates: 3, Dim: 6}, 60) })
	t.Run("linear", func(t *testing.T) {
		envtest.TestAlgorithm(t, pgcr.Config{Hidden: []int{}, BatchSize: 16}, envs.Bernoulli{}, 60)
	})
	t.Run("sessions", func(t *testing.T) { envtest.TestAlgorithm(t, everything, envtest.Chain{}, 60) })
	t.Run("own sets", func(t *testing.T) {
		envtest.TestAlgorithm(t, pgcr.Config{Hidden: []int{12}, Dropout: 0.5, BatchSize: 16, Resamples: pgcr.OwnSets, Discount: 0.9}, envtest.Chain{}, 60)
	})
}

// The regrets that an independent program found for the paper's form with jointly
// resampled sets at the rate 0.01, with their standard errors.
func TestRegret(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, c := range map[string]struct {
		problem         envs.Problem
		theirs, stderr_ float64
	}{
		"linear":    {envs.Linear{}, 36.7, 1.2},
		"bernoulli": {envs.Bernoulli{}, 163, 6.5},
		"mixed":     {envs.Mixed{}, 111, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs, m = 20, 5
			g, expected, regret := play(t, pgcr.Paper(), c.problem, seeds(1, runs)), make([]float64, runs*m), make([]float64, runs)
			for range 4000 {
				g.env.(envs.Oracle).ExpectedRewards(expected)
				g.steps(1)
				for r, action := range g.actions {
					regret[r] += slices.Max(expected[r*m:(r+1)*m]) - expected[r*m+action]
				}
			}
			var mean, square float64
			for _, x := range regret {
				mean += x / runs
				square += x * x / runs
			}
			stderr_ := math.Sqrt((square - mean*mean) / (runs - 1))
			t.Logf("regret %.1f, standard error %.1f (an independent program: %v, %v)", mean, stderr_, c.theirs, c.stderr_)
			if distance := math.Abs(mean-c.theirs) / math.Hypot(stderr_, c.stderr_); distance > 4 {
				t.Errorf("that is %.1f standard errors of the difference", distance)
			}
		})
	}
}

// The paper's setting with an unweighted critic earns nearly all of the optimum on the
// chain, where the myopic policy has 0.18 and the optimal one 0.45.
func TestFarSighted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	setting := pgcr.Paper()
	setting.WeightedCritic, setting.Discount, setting.BatchSize = false, 0.9, 32
	g := play(t, setting, envtest.Chain{}, seeds(1, 4))
	g.steps(3000)
	mean := 0.0
	for _, reward := range g.steps(1000) {
		mean += float64(reward) / 4000
	}
	if mean < 0.4 {
		t.Errorf("the reward is %.3f a step", mean)
	}
}

// coded is varied with codes: a set is made of 20 items.
type coded struct{ envs.Environment }

type items struct{}

func (items) Identity() string { return "items" }
func (items) Expand(dst []float32, _ []int32, item int32) {
	dst[0], dst[1] = float32(item)/20, float32(item*item%7)
}

func (c coded) Observe() envs.Observation {
	obs := c.Environment.Observe()
	obs.Codes = &envs.Codes{Items: make([]int32, obs.Runs*obs.Candidates), Table: items{}}
	contexts := make([]float32, len(obs.Contexts))
	for i := range obs.Codes.Items {
		obs.Codes.Items[i] = int32(obs.Contexts[2*i] * 20)
		items{}.Expand(contexts[2*i:2*i+2], nil, obs.Codes.Items[i])
	}
	obs.Contexts = contexts
	return obs
}

// uncoded shows the same contexts without the codes.
type uncoded struct{ coded }

func (u uncoded) Observe() envs.Observation {
	obs := u.coded.Observe()
	obs.Codes = nil
	return obs
}

// A history of codes teaches what a history of contexts does.
func TestCodes(t *testing.T) {
	with, without := play(t, everything, varied{}, seeds(4, 2)), play(t, everything, varied{}, seeds(4, 2))
	with.env, without.env = coded{with.env}, uncoded{coded{without.env}}
	if a, b := with.steps(200), without.steps(200); !slices.Equal(a, b) {
		t.Error("the rewards with codes and with contexts differ")
	}
	with.env = with.env.(coded).Environment
	tr := envs.Transition{Observation: with.env.Observe(), Actions: []int{0, 0}, Outcome: envs.Outcome{Reward: []float32{0, 0}}}
	if err := with.agent.Update(tr); err == nil || !strings.Contains(err.Error(), "without codes") {
		t.Errorf("a step without codes after steps with codes: %v", err)
	}
}

// A history that is bounded, but not yet full, is one without bound; when it is
// full, it draws the last steps alone, in bandits and in sessions.
func TestCapacity(t *testing.T) {
	for name, problem := range map[string]envs.Problem{"bandit": envs.Mixed{Candidates: 3, Dim: 4}, "sessions": envtest.Chain{}} {
		spec := problem.Spec()
		env, err := problem.New(seeds(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		all, last := pgcr.NewReplay(spec, 1, 0, .9), pgcr.NewReplay(spec, 1, 10, .9)
		for step := range 60 {
			tr := envs.Transition{Observation: env.Observe(), Actions: []int{step % 3}}
			if tr.Outcome, err = env.Step(tr.Actions); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(all.Add(tr), last.Add(tr)); err != nil {
				t.Fatal(err)
			}
			drawn, _ := all.Draw(50, []pgcr.Streams{{Batch: envs.NewSource(1, "draw")}})
			bounded, _ := last.Draw(50, []pgcr.Streams{{Batch: envs.NewSource(1, "draw")}})
			a, b := drawn[0], bounded[0]
			if (a == nil) != (b == nil) || step < 10 && !slices.Equal(a, b) {
				t.Fatalf("%s, step %d: draws %v and %v", name, step, a, b)
			}
			if b == nil || step < 10 {
				continue
			}
			if len(b) != 50 || slices.Min(b) <= step-10 || slices.Max(b) > step {
				t.Fatalf("%s, step %d: a history of 10 steps draws %v", name, step, b)
			}
			for _, of := range b {
				if x, y := all.Recall(of), last.Recall(of); !slices.Equal(x, y) {
					t.Fatalf("%s, step %d: the bounded history remembers %v of step %d, which was %v", name, step, y, of, x)
				}
			}
		}
	}
}

// many offers up to 1,000 candidates.
type many struct{}

func (many) Spec() envs.Spec { return envs.Spec{Candidates: 1000, Dim: 2} }
func (m many) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(m.Spec(), seeds, func(uint64) envs.Law {
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) int {
				size := 1 + rng.IntN(1000)
				for i := range contexts {
					contexts[i] = float32(math.NaN())
					if i < 2*size {
						contexts[i] = rng.Float32()
					}
				}
				return size
			},
			Reward:   func(c []float32, _ *rand.Rand) float64 { return float64(c[0]) },
			Expected: func(c []float32) float64 { return float64(c[0]) },
		}
	})
}

func TestThousandCandidates(t *testing.T) {
	g := play(t, pgcr.Config{BatchSize: 8, Resamples: 2}, many{}, seeds(1, 2))
	first, last := g.steps(20), []float32(nil)
	g.steps(200)
	last = g.steps(20)
	mean := func(x []float32) (m float32) {
		for _, v := range x {
			m += v / float32(len(x))
		}
		return m
	}
	if mean(last) < mean(first)+.2 {
		t.Errorf("the reward goes from %.2f to %.2f", mean(first), mean(last))
	}
}

// Numbers that no update survives are errors that name the run and what was seen.
func TestDivergence(t *testing.T) {
	g := play(t, pgcr.Config{Hidden: []int{4}, BatchSize: 4}, envs.Linear{Candidates: 2, Dim: 2}, seeds(1, 2))
	obs := g.env.Observe()
	obs.Contexts[5] = 2e38
	err := error(nil)
	for i := 0; i < 50 && err == nil; i++ {
		if err = g.agent.Act(g.actions, obs); err == nil {
			err = g.agent.Update(envs.Transition{Observation: obs, Actions: g.actions, Outcome: envs.Outcome{Reward: []float32{1, 3e38}}})
		}
	}
	var run *envs.RunError
	if !errors.As(err, &run) || run.Run != 1 || !strings.HasSuffix(err.Error(), "the largest feature is 2e+38, the largest reward 3e+38") {
		t.Errorf("the error is %v", err)
	}
	actor, critic := g.values() // an update that fails leaves them as they were
	for _, x := range slices.Concat(slices.Concat(actor...), slices.Concat(critic...)) {
		if x-x != 0 {
			t.Fatalf("a weight or moment is %v", x)
		}
	}
	// What is on offer counts before anything was learned from it.
	g = play(t, pgcr.Config{Hidden: []int{200}, InitScale: 1}, envs.Linear{Candidates: 2, Dim: 2}, seeds(1, 1))
	obs = g.env.Observe()
	for i := range obs.Contexts {
		obs.Contexts[i] = 3e38
	}
	if err := g.agent.Act(g.actions, obs); err == nil || !strings.HasSuffix(err.Error(), "the largest feature is 3e+38, the largest reward 0") {
		t.Errorf("the error is %v", err)
	}
}

// A run without a step to learn from stays as it is, moments included: here run 0,
// all of whose bounded history is of a session that has not come back.
func TestUnreadyRunsStay(t *testing.T) {
	spec := envs.Spec{Candidates: 2, Dim: 2}
	policy, err := pgcr.Config{Capacity: 3, Discount: 0.9, BatchSize: 4}.New(spec, seeds(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	g, rng := &game{t: t, agent: policy.(*pgcr.Agent)}, rand.New(rand.NewPCG(1, 1))
	var before, after [2][][]float32
	for step := range 20 {
		before[0], before[1] = g.values()
		obs := envs.Observation{Runs: 2, Candidates: 2, Dim: 2, Session: []int32{int32(max(0, step-5)), 0}}
		for range 8 {
			obs.Contexts = append(obs.Contexts, rng.Float32())
		}
		tr := envs.Transition{Observation: obs, Actions: []int{0, 1}, Outcome: envs.Outcome{Reward: []float32{1, 1}, Discount: []float32{1, 1}}}
		if err := policy.Update(tr); err != nil {
			t.Fatal(err)
		}
		after[0], after[1] = g.values()
		for i, values := range slices.Concat(before[0], before[1]) {
			now := slices.Concat(after[0], after[1])[i]
			half := len(values) / 2
			if step > 10 && !slices.Equal(values[:half], now[:half]) {
				t.Fatalf("step %d: parameter %d of the run without a step has changed", step, i)
			}
			if step > 0 && i == 0 && slices.Equal(values[half:], now[half:]) {
				t.Fatalf("step %d: the other run has not learned", step)
			}
		}
	}
}

// A step of a session that offers an item twice is learned from, too: the search for
// others that differ ends.
func TestEqualItemsInASession(t *testing.T) {
	policy, err := pgcr.Config{Discount: 0.9}.New(envs.Spec{Candidates: 3, Dim: 2}, seeds(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	obs := envs.Observation{Runs: 1, Candidates: 3, Dim: 2, Contexts: make([]float32, 6), Session: []int32{0},
		Codes: &envs.Codes{Items: []int32{5, 4, 5}, Table: items{}}}
	for range 3 {
		tr := envs.Transition{Observation: obs, Actions: []int{0}, Outcome: envs.Outcome{Reward: []float32{1}, Discount: []float32{1}}}
		if err := policy.Update(tr); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for field, c := range map[string]pgcr.Config{
		"Hidden": {Hidden: []int{0}}, "ActorRate": {ActorRate: -1}, "Decay": {Decay: -1}, "CriticRate": {CriticRate: math.NaN()}, "InitScale": {InitScale: -1},
		"BatchSize": {BatchSize: -1}, "Resamples": {Resamples: -2}, "UpdateEvery": {UpdateEvery: -1}, "UpdatesPerStep": {UpdatesPerStep: -1},
		"Capacity": {Capacity: -1}, "Greed.Rate": {Greed: pgcr.Greed{Rate: -1}}, "Greed.Floor": {Greed: pgcr.Greed{Floor: -2}},
		"Greed.Cap": {Greed: pgcr.Greed{Cap: math.Inf(1)}}, "Dropout": {Hidden: []int{}, Dropout: .5}, "Discount": {Discount: 1.1},
	} {
		if _, err := c.New(envs.Spec{Candidates: 2, Dim: 2}, seeds(1, 1)); err == nil || !strings.Contains(err.Error(), "Config."+field+" is ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := (pgcr.Config{}).New(envs.Spec{Candidates: 2, Dim: 2}, nil); err == nil {
		t.Error("no seeds are no error")
	}
	text, err := json.Marshal(pgcr.Config{})
	if err != nil || !strings.Contains(string(text), `"Hidden":[10],"ActorRate":0.008,"CriticRate":0.001`) {
		t.Errorf("the defaults are %s, %v", text, err)
	}
}

// Probabilities with dropout are the mean over masks, those that the rates say: with
// one unit, which is dropped half of the time, the mean of the policy with the
// doubled score and of the uniform one.
func TestProbabilitiesAreOverMasks(t *testing.T) {
	g, plain := play(t, pgcr.Config{Hidden: []int{1}, Dropout: .5}, envs.Linear{}, seeds(3, 1)), play(t, pgcr.Config{Hidden: []int{1}, Greed: pgcr.Greed{Floor: 2}}, envs.Linear{}, seeds(3, 1))
	p, doubled := make([]float64, 5), make([]float64, 5)
	if err := errors.Join(g.agent.Probabilities(p, g.env.Observe()), plain.agent.Probabilities(doubled, g.env.Observe())); err != nil {
		t.Fatal(err)
	}
	for i := range p {
		if want := .5*doubled[i] + .5*.2; math.Abs(p[i]-want) > 1e-6 {
			t.Errorf("candidate %d has probability %v, want %v", i, p[i], want)
		}
	}
}
