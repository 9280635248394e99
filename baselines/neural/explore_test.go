package neural_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
)

// observation draws contexts from a normal distribution.
func observation(rng *rand.Rand, runs int, spec envs.Spec) envs.Observation {
	obs := envs.Observation{Runs: runs, Candidates: spec.Candidates, Dim: spec.Dim, Contexts: make([]float32, runs*spec.Candidates*spec.Dim)}
	for i := range obs.Contexts {
		obs.Contexts[i] = float32(rng.NormFloat64())
	}
	return obs
}

func newPolicy(t testing.TB, algorithm envs.Algorithm, spec envs.Spec, seeds []uint64) *neural.Policy {
	t.Helper()
	policy, err := algorithm.New(spec, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return policy.(*neural.Policy)
}

func act(t testing.TB, p envs.Policy, obs envs.Observation) []int {
	t.Helper()
	actions := make([]int, obs.Runs)
	if err := p.Act(actions, obs); err != nil {
		t.Fatal(err)
	}
	return actions
}

func values(t testing.TB, p *neural.Policy, obs envs.Observation) []float64 {
	t.Helper()
	v := make([]float64, obs.Runs*obs.Candidates)
	if err := p.Values(v, obs); err != nil {
		t.Fatal(err)
	}
	return v
}

// best returns the index of the largest value of each run, and how far it is
// above the next.
func best(values []float64, m int) (index []int, lead []float64) {
	for ; len(values) > 0; values = values[m:] {
		sorted := slices.Sorted(slices.Values(values[:m]))
		index = append(index, slices.Index(values[:m], sorted[m-1]))
		lead = append(lead, sorted[m-1]-sorted[m-2])
	}
	return index, lead
}

// TestGreedyChoosesTheBest also checks that candidates with equal contexts are
// drawn for: each of the two best is chosen half of the time.
func TestGreedyChoosesTheBest(t *testing.T) {
	const runs, times = 50, 80
	spec := envs.Spec{Candidates: 5, Dim: 6}
	p := newPolicy(t, neural.Greedy{}, spec, upTo(runs))
	rng := rand.New(rand.NewPCG(1, 1))
	first := 0
	for range times {
		obs := observation(rng, runs, spec)
		want, _ := best(values(t, p, obs), spec.Candidates)
		if got := act(t, p, obs); !slices.Equal(got, want) {
			t.Fatalf("actions %v, the best are %v", got, want)
		}
		for r, a := range want {
			contexts := obs.Contexts[r*spec.Candidates*spec.Dim:]
			other := (a + 1) % spec.Candidates
			copy(contexts[other*spec.Dim:(other+1)*spec.Dim], contexts[a*spec.Dim:(a+1)*spec.Dim])
		}
		for r, a := range act(t, p, obs) {
			switch a {
			case want[r]:
				first++
			case (want[r] + 1) % spec.Candidates:
			default:
				t.Fatalf("run %d: action %d, the best are %d and the one after", r, a, want[r])
			}
		}
	}
	// The standard deviation of a count of 4,000 fair coins is 31.6.
	if math.Abs(float64(first)-runs*times/2) > 4.5*31.6 {
		t.Errorf("the first of two equal candidates was chosen %d times of %d", first, runs*times)
	}
}

// TestEpsilonGreedyExplores counts, over nearly 10,000 decisions, how far after the best
// candidate the chosen one stands. With Epsilon = 0.3 and 5 candidates each of
// the others is expected in a share 0.3/5 of the decisions. The 1-1e-4 quantile
// of a chi-square variable with 4 degrees of freedom is 23.5.
func TestEpsilonGreedyExplores(t *testing.T) {
	const runs, times, epsilon, m = 100, 100, 0.3, 5
	spec := envs.Spec{Candidates: m, Dim: 3}
	p := newPolicy(t, neural.EpsilonGreedy{Epsilon: epsilon}, spec, upTo(runs))
	rng := rand.New(rand.NewPCG(2, 1))
	var counts [m]float64
	decisions := 0.0
	for range times {
		obs := observation(rng, runs, spec)
		index, lead := best(values(t, p, obs), m)
		for r, a := range act(t, p, obs) {
			if lead[r] > 0 { // else no unit was active
				counts[(a-index[r]+m)%m]++
				decisions++
			}
		}
	}
	chi2 := 0.0
	for i, n := range counts {
		want := decisions * epsilon / m
		if i == 0 {
			want += decisions * (1 - epsilon)
		}
		chi2 += (n - want) * (n - want) / want
	}
	if chi2 > 23.5 || decisions < 0.9*runs*times {
		t.Errorf("counts %v, chi-square %.1f", counts, chi2)
	}
}

// TestDropoutSharesItsMask has networks of a single hidden unit. Where the
// values of the two candidates differ, a dropped unit makes them equal, and the
// better one is chosen half of the time, while a kept one leaves the order: with
// Dropout = 0.4 the better candidate has probability 0.6 + 0.4/2 = 0.8. Masks of
// their own for each candidate would give 0.6*0.6 + 0.6*0.4 + 0.4*0.4/2 = 0.68
// wherever the unit is active for both.
func TestDropoutSharesItsMask(t *testing.T) {
	const runs, times = 200, 200
	spec := envs.Spec{Candidates: 2, Dim: 3}
	p := newPolicy(t, neural.DropoutThompson{Settings: neural.Settings{Hidden: []int{1}}, Dropout: 0.4}, spec, upTo(runs))
	rng := rand.New(rand.NewPCG(3, 1))
	better, decisions := 0.0, 0.0
	for range times {
		obs := observation(rng, runs, spec)
		index, lead := best(values(t, p, obs), 2)
		for r, a := range act(t, p, obs) {
			if lead[r] > 0 {
				decisions++
				if a == index[r] {
					better++
				}
			}
		}
	}
	share, se := better/decisions, math.Sqrt(0.8*0.2/decisions)
	if decisions < 10000 || math.Abs(share-0.8) > 4.5*se {
		t.Errorf("the better candidate has a share of %.4f of %v decisions, want 0.8 ± %.4f", share, decisions, se)
	}
}

// TestDropoutSpreadsActions shows one observation again and again: the greedy
// policy always decides the same way, the sub-networks do not.
func TestDropoutSpreadsActions(t *testing.T) {
	const runs, times = 20, 50
	problem := envs.Bernoulli{}
	for _, c := range []struct {
		name      string
		algorithm envs.Algorithm
		spreads   bool
	}{
		{"Greedy", neural.Greedy{}, false},
		{"DropoutThompson", neural.DropoutThompson{}, true},
	} {
		g := start(t, c.algorithm, problem, upTo(runs))
		for range 50 {
			g.step()
		}
		obs := g.env.Observe()
		var seen [runs][5]bool
		for range times {
			for r, a := range act(t, g.policy, obs) {
				seen[r][a] = true
			}
		}
		spread := 0
		for _, actions := range seen {
			n := 0
			for _, yes := range actions {
				if yes {
					n++
				}
			}
			if n > 1 {
				spread++
			}
		}
		if c.spreads && spread < runs*3/4 || !c.spreads && spread > 0 {
			t.Errorf("%s: %d of %d runs chose more than one of the same candidates", c.name, spread, runs)
		}
	}
}

// TestLookingChangesNothing plays two equal games, and asks one of the policies
// for its values all the time.
func TestLookingChangesNothing(t *testing.T) {
	for _, algorithm := range []envs.Algorithm{neural.EpsilonGreedy{}, neural.DropoutThompson{}} {
		plain, watched := start(t, algorithm, envs.Bernoulli{}, upTo(3)), start(t, algorithm, envs.Bernoulli{}, upTo(3))
		for i := range 100 {
			plain.step()
			values(t, watched.policy.(*neural.Policy), watched.env.Observe())
			if watched.step(); !slices.Equal(plain.actions, watched.actions) {
				t.Fatalf("%T, step %d: actions %v, but %v when nobody looks", algorithm, i, watched.actions, plain.actions)
			}
		}
	}
}
