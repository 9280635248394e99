//go:build xla

package ondevice_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/envs/kkbox"
	_ "github.com/contextrec/contextrec/notebooks/paper" // opens XLA as the programs do
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// recorded is what happened in all steps.
type recorded struct {
	actions, rewards, regrets []float64
}

func (c *recorded) Record(step int, tr envs.Transition, regret []float64) {
	for r, action := range tr.Actions {
		c.actions, c.rewards = append(c.actions, float64(action)), append(c.rewards, float64(tr.Reward[r]))
	}
	c.regrets = append(c.regrets, regret...)
}

// The loop makes the decisions of the host's loop, and has their rewards and regrets.
// Where rounding parts a run, at its first other decision the agent's uniform number is
// near the bound between both actions; what comes after that is not compared.
func TestXLADecisions(t *testing.T) {
	const rate = .001 // where a gradient is all rounding, Adam moves weights by as much as this
	seeds := []uint64{1, 2}
	one := pgcr.Config{Hidden: []int{6}, BatchSize: 16, ActorRate: rate, CriticRate: rate}
	linear := pgcr.Config{Hidden: []int{}, BatchSize: 16, ActorRate: rate, CriticRate: rate}
	two := pgcr.Config{Hidden: []int{6, 5}, BatchSize: 16, Resamples: 3, UpdateEvery: 10, UpdatesPerStep: 2, Dropout: .3, Greed: pgcr.Greed{Rate: .01}, ActorRate: rate, CriticRate: rate}
	own := pgcr.Config{Hidden: []int{6}, BatchSize: 16, Resamples: pgcr.OwnSets, Capacity: 300, ActorRate: rate, CriticRate: rate, Decay: .01}
	settings := neural.Settings{Hidden: []int{4}, Rate: rate, Decay: .01, InitScale: 1, BatchSize: 16, Capacity: 300, UpdatesPerStep: 2}
	seldom := settings
	seldom.UpdateEvery = 3
	ten, returns, discounted := one, one, seldom
	ten.UpdateEvery, ten.WeightedCritic, returns.Resamples, returns.Discount = 10, true, pgcr.OwnSets, .9
	discounted.Discount, returns.ActorRate = .9, rate/10
	music := kkbox.MusicStateless{Source: kkbox.Source{Users: 20}, Candidates: 4}
	for name, c := range map[string]struct {
		algorithm envs.Algorithm
		problem   envs.Problem
		steps     int // more than a chunk, not whole chunks or blocks
	}{
		"linear":         {linear, envs.Linear{Dim: 8}, 600},
		"one layer":      {one, envs.Linear{Dim: 8}, 2000},
		"two layers":     {two, envs.Mixed{Dim: 8}, 1005},
		"own sets":       {own, envs.Bernoulli{Dim: 8}, 2000},
		"epsilon-greedy": {neural.EpsilonGreedy{Settings: seldom, Epsilon: .1}, envs.Linear{Dim: 8}, 2000},
		"songs":          {ten, music, 505},
		"songs, seldom":  {neural.EpsilonGreedy{Settings: seldom, Epsilon: .1}, music, 505},
		"states":         {two, kkbox.MusicState(music), 505},
		"returns":        {returns, kkbox.MusicState(music), 505},
		"values":         {neural.EpsilonGreedy{Settings: discounted, Epsilon: .1}, kkbox.MusicState(music), 505},
		"ties":           {neural.Greedy{Settings: settings}, few{envs.Linear{Dim: 2}}, 600},
	} {
		t.Run(name, func(t *testing.T) {
			var got recorded
			if err := ondevice.Play(t.Context(), c.problem, seeds, c.algorithm, seeds, c.steps, got.Record); err != nil {
				t.Fatal(err)
			}
			env, err := c.problem.New(seeds)
			policy, err2 := c.algorithm.New(c.problem.Spec(), seeds)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			m := c.problem.Spec().Candidates
			actions, law, expected := make([]int, 2), make([]float64, 2*m), make([]float64, 2*m)
			act := []*rand.Rand{envs.NewRand(1, "pgcr/act"), envs.NewRand(2, "pgcr/act")}
			var parted [2]bool
			for step := range c.steps {
				obs := env.Observe()
				env.(envs.Oracle).ExpectedRewards(expected)
				err := errors.Join(policy.(envs.Probable).Probabilities(law, obs), policy.Act(actions, obs))
				out, err2 := env.Step(actions)
				if err := errors.Join(err, err2, policy.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: out})); err != nil {
					t.Fatal(err)
				}
				for r, action := range actions {
					at, u, set := 2*step+r, act[r].Float64(), expected[r*m:][:m]
					if other := int(got.actions[at]); !parted[r] && other != action {
						parted[r] = true
						bound := 0.0
						for _, p := range law[r*m:][:max(action, other)] {
							bound += p
						}
						t.Logf("step %d, run %d: the host chooses %d, the device %d; the bound is %v, the uniform number %v", step, r, action, other, bound, u)
						if name == "two layers" || math.Abs(bound-u) > .01 { // with dropout that is not the law of the step
							t.Error("this is no near tie")
						}
					}
					if !parted[r] && (got.rewards[at] != float64(out.Reward[r]) || got.regrets[at] != slices.Max(set)-set[action]) {
						t.Fatalf("step %d, run %d: reward %v and regret %v, the host has %v and %v", step, r, got.rewards[at], got.regrets[at], out.Reward[r], slices.Max(set)-set[action])
					}
				}
			}
		})
	}
}

// few has four contexts, so that some of five candidates are equal.
type few struct{ envs.Linear }

func (d few) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(d.Spec(), seeds, func(uint64) envs.Law {
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) int {
				for i := range contexts {
					contexts[i] = float32(rng.IntN(2))
				}
				return 5
			},
			Reward:   func(c []float32, _ *rand.Rand) float64 { return float64(c[0]) },
			Expected: func(c []float32) float64 { return float64(c[0]) },
		}
	})
}

// varied offers sets of 1 or 2 of 2 candidates.
type varied struct{ envs.Linear }

func (v varied) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(v.Spec(), seeds, func(uint64) envs.Law {
		return envs.Law{
			Offer:    func(_ []float32, rng *rand.Rand) int { return 1 + rng.IntN(2) },
			Reward:   func([]float32, *rand.Rand) float64 { return 0 },
			Expected: func([]float32) float64 { return 0 },
		}
	})
}

// fatigue pays less the more often anything but the first candidate was chosen.
type fatigue struct{ envs.Linear }

type tired struct {
	envs.Environment
	times float32
}

func (f fatigue) New(seeds []uint64) (envs.Environment, error) {
	env, err := f.Linear.New(seeds)
	return &tired{Environment: env}, err
}

func (t *tired) Step(actions []int) (envs.Outcome, error) {
	out, err := t.Environment.Step(actions)
	if out.Reward[0] -= t.times; actions[0] > 0 {
		t.times++
	}
	return out, err
}

// undefined offers contexts that are not a number.
type undefined struct{ envs.Linear }

func (u undefined) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(u.Spec(), seeds, func(uint64) envs.Law {
		return envs.Law{
			Offer:    func(c []float32, _ *rand.Rand) int { c[0] = float32(math.NaN()); return 5 },
			Reward:   func([]float32, *rand.Rand) float64 { return 0 },
			Expected: func([]float32) float64 { return 0 },
		}
	})
}

func TestXLAUnsupported(t *testing.T) {
	for want, c := range map[string]struct {
		config  pgcr.Config
		problem envs.Problem
		steps   int
	}{
		"have a state":             {pgcr.Config{}, envtest.Chain{}, 10},
		"vary in size":             {pgcr.Config{}, varied{}, 10},
		"depend on earlier":        {pgcr.Config{}, fatigue{}, 10},
		"51 steps between updates": {pgcr.Config{UpdateEvery: 51}, envs.Linear{}, 10},
		"all 200 candidates would": {pgcr.Config{}, envs.Linear{Candidates: 200}, 10},
		"the history of 1 runs":    {pgcr.Config{}, envs.Linear{}, 100_000_000},
	} {
		err := ondevice.Play(t.Context(), c.problem, []uint64{1}, c.config, []uint64{1}, c.steps, new(recorded).Record)
		if reason := ondevice.Unsupported(""); !errors.As(err, &reason) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want an Unsupported with %q", err, want)
		}
	}
	err := ondevice.Play(t.Context(), envs.Linear{}, []uint64{1}, pgcr.Config{ActorRate: -1}, []uint64{1}, 10, new(recorded).Record)
	if err == nil || !strings.Contains(err.Error(), "ActorRate is -1") {
		t.Errorf("error %v", err)
	}
	err = ondevice.Play(t.Context(), undefined{}, []uint64{1}, pgcr.Config{}, []uint64{1}, 10, new(recorded).Record)
	if err == nil || !strings.Contains(err.Error(), "feature 0 of candidate 0 is NaN") {
		t.Errorf("error %v", err)
	}
}

// The plugin for the CPU makes four devices, and a thread for each, if it is not asked for one.
func TestXLADevices(t *testing.T) {
	if strings.Contains(os.Getenv("GOMLX_BACKEND"), "cuda") {
		t.Skip("of the plugin for the CPU")
	}
	backend, err := pgcr.OpenBackend("xla:cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	if n := backend.NumDevices(); n != 1 {
		t.Errorf("%d devices, want 1", n)
	}
}
