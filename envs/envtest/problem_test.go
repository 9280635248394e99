package envtest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// shop offers 1 to 4 things, described by the hour, which is the state, and by
// two features, of which the first makes them sell.
type shop struct{ Fault string }

func (shop) Spec() envs.Spec { return envs.Spec{Candidates: 4, Dim: 3, State: 1} }

func (s shop) New(seeds []uint64) (envs.Environment, error) {
	if s.Fault == "no seeds" && len(seeds) == 0 {
		seeds = []uint64{1}
	}
	given := slices.Clone(seeds)
	switch s.Fault {
	case "one seed":
		for i := range given {
			given[i] = 1
		}
	case "runs matter":
		given[0] += uint64(len(seeds))
	}
	env, err := envs.FromLaw(s.Spec(), given, func(uint64) envs.Law {
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) int {
				hour, n := rng.Float32(), 1+rng.IntN(4)
				for k := range n {
					contexts[3*k], contexts[3*k+1], contexts[3*k+2] = hour, rng.Float32(), rng.Float32()
				}
				if s.Fault == "state" {
					contexts[3*n-3]++
				}
				return n
			},
			Reward:   func(c []float32, rng *rand.Rand) float64 { return envs.Coin(float64(c[1]), rng) },
			Expected: func(c []float32) float64 { return float64(c[1]) },
		}
	})
	return &counter{Environment: env, fault: s.Fault, own: make([]float32, 12*len(seeds)), rewards: make([]float32, len(seeds))}, err
}

// counter is the environment of shop, with its faults.
type counter struct {
	envs.Environment
	fault          string
	own, rewards   []float32
	asked, stepped int
	last           []int
}

func (c *counter) Observe() envs.Observation {
	obs := c.Environment.Observe()
	c.asked++
	copy(c.own, obs.Contexts)
	switch c.fault {
	case "one buffer":
		obs.Contexts = c.own
	case "every Observe differs":
		obs.Contexts = slices.Clone(obs.Contexts)
		for i := 2; i < len(obs.Contexts); i += 3 {
			obs.Contexts[i] += float32(c.asked) / 1024
		}
	case "actions matter":
		obs.Contexts = slices.Clone(obs.Contexts)
		for i := 2; i < len(obs.Contexts); i += 3 {
			if c.last != nil {
				obs.Contexts[i] += float32(c.last[i/12])
			}
		}
	case "outcome overwritten":
		c.rewards[0] = 2
	case "sessions come and go":
		if c.stepped%2 == 1 {
			obs.Session = make([]int32, obs.Runs)
		}
	case "no contexts":
		obs.Contexts = nil
	case "codes":
		obs.Codes = &envs.Codes{Items: make([]int32, obs.Runs*obs.Candidates), Table: zeros{}}
	case "an item twice in a session":
		obs.Session = make([]int32, obs.Runs)
		obs.Codes = &envs.Codes{Items: make([]int32, obs.Runs*obs.Candidates), Table: zeros{}}
		obs.Contexts = make([]float32, len(obs.Contexts))
	}
	return obs
}

type zeros struct{}

func (zeros) Expand(dst []float32, _ []int32, _ int32) { clear(dst) }
func (zeros) Identity() string                         { return "zeros" }

func (c *counter) Step(actions []int) (envs.Outcome, error) {
	if c.fault == "any action" {
		actions = make([]int, c.Environment.Observe().Runs)
	}
	out, err := c.Environment.Step(actions)
	c.stepped++
	c.last = slices.Clone(actions)
	out.Reward = append(c.rewards[:0], out.Reward...)
	switch c.fault {
	case "discount in a bandit":
		out.Discount = slices.Repeat([]float32{1}, len(actions))
	case "actions changed":
		actions[0] = -1
	}
	return out, err
}

func (c *counter) ExpectedRewards(dst []float64) {
	if c.fault == "any length" {
		dst = dst[:len(dst):len(dst)]
		for len(dst)%4 > 0 {
			dst = append(dst, 0)
		}
	}
	c.Environment.(envs.Oracle).ExpectedRewards(dst)
	for i := range dst {
		switch {
		case c.fault == "bias":
			dst[i] += 0.05
		case c.fault == "no NaN" && dst[i] != dst[i]:
			dst[i] = 0
		}
	}
	if c.fault == "asking matters" {
		c.Environment.Step(make([]int, c.Environment.Observe().Runs))
	}
}

func TestFaultsOfProblems(t *testing.T) {
	for fault, promise := range map[string]string{
		"":                           "",
		"state":                      "shapes",
		"sessions come and go":       "shapes",
		"discount in a bandit":       "shapes",
		"codes":                      "shapes",
		"an item twice in a session": "shapes",
		"one buffer":                 "slices",
		"every Observe differs":      "slices",
		"outcome overwritten":        "slices",
		"actions changed":            "shapes",
		"runs matter":                "a run depends",
		"one seed":                   "contexts",
		"actions matter":             "contexts",
		"bias":                       "expected",
		"no NaN":                     "expected",
		"asking matters":             "expected",
		"any length":                 "expected",
		"any action":                 "wrong lengths",
		"no seeds":                   "wrong lengths",
	} {
		broken(t, fault, envtest.CheckProblem(shop{fault}), promise)
	}
	if got := fmt.Sprint(envtest.CheckProblem(shop{"no contexts"})[0].Err); !strings.Contains(got, "0 context values of an observation, want 36") {
		t.Errorf("of a wrong shape it is said: %s", got)
	}
	for _, p := range []envs.Problem{envtest.Chain{}, envtest.Chain{Episodic: true}} {
		envtest.TestProblem(t, p)
		envtest.TestAlgorithm(t, softly{}, p)
	}
}
