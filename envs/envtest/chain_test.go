package envtest_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs/envtest"
)

func near(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// size is that of a chain.
type size struct {
	States, Items, Candidates int
	Episodic                  bool
}

// values are what a policy is worth in a Chain, without the noise.
type values struct {
	Q             [][]float64 // [S, K], the expected discounted return after an item, then following the policy
	V             []float64   // [S], the same before the candidates are drawn
	AverageReward float64     // the long-run reward a step, not discounted, over all episodes
}

// optimal finds the best policy by policy iteration: it takes the candidate with
// the largest Q. With discount 0 it is the myopic one.
func optimal(p size, discount float64) values {
	v := uniform(p, discount)
	for {
		better := evaluate(p, discount, func(dst []float64, state int, items []int) {
			best := 0
			for i, k := range items {
				if v.Q[state][k] > v.Q[state][items[best]] {
					best = i
				}
			}
			clear(dst)
			dst[best] = 1
		})
		if floats.Sum(better.V) <= floats.Sum(v.V)+1e-12 {
			return v
		}
		v = better
	}
}

// uniform is the policy that takes each candidate with the same probability.
func uniform(p size, discount float64) values {
	return evaluate(p, discount, func(dst []float64, _ int, items []int) {
		for i := range dst {
			dst[i] = 1 / float64(len(items))
		}
	})
}

// evaluate returns the values of a policy that gives the probability of each
// candidate in a state, for every ordered set of items.
func evaluate(p size, discount float64, policy func(dst []float64, state int, items []int)) values {
	pushed := func(item int) float64 { return float64(item) / float64(p.Items-1) }
	pay := func(state, item int) float64 {
		if state == p.States-1 {
			return 0.2*(1-pushed(item)) + pushed(item)
		}
		return 0.2 * (1 - pushed(item))
	}
	reward, push := make([]float64, p.States), make([]float64, p.States) // a step's means under the policy
	items, probabilities := make([]int, p.Candidates), make([]float64, p.Candidates)
	sets := int(math.Pow(float64(p.Items), float64(p.Candidates)))
	for i := range p.States * sets {
		s, rest := i/sets, i%sets
		for j := range items {
			items[j], rest = rest%p.Items, rest/p.Items
		}
		policy(probabilities, s, items)
		for j, k := range items {
			reward[s] += probabilities[j] / float64(sets) * pay(s, k)
			push[s] += probabilities[j] / float64(sets) * pushed(k)
		}
	}
	v, last, back := values{V: make([]float64, p.States)}, p.States-1, discount
	if p.Episodic {
		back = 0 // what comes after a fall does not count
	}
	next := func(push float64, s int) float64 {
		return discount*push*v.V[min(s+1, last)] + back*(1-push)*v.V[0]
	}
	// Bellman's equation, and how the share of steps in each state moves.
	share := slices.Repeat([]float64{1 / float64(p.States)}, p.States)
	for range 1 << 14 {
		moved := make([]float64, p.States)
		for s := range p.States {
			v.V[s] = reward[s] + next(push[s], s)
			moved[min(s+1, last)] += share[s] * push[s]
			moved[0] += share[s] * (1 - push[s])
		}
		share = moved
	}
	for s := range p.States {
		v.AverageReward += share[s] * reward[s]
		v.Q = append(v.Q, make([]float64, p.Items))
		for k := range p.Items {
			v.Q[s][k] = pay(s, k) + next(pushed(k), s)
		}
	}
	return v
}

// standard is that of envtest.Chain.
var standard = size{States: 4, Items: 5, Candidates: 3}

// Two states, two items (push 0 and 1), two candidates, discount 1/2, by hand.
//
// Uniform: a step in state 0 earns 0.1, one in state 1 0.6, and each ends in
// either state with probability 1/2. So V1 - V0 = 0.5 and
// V0 = 0.1 + (V0 + V1)/4 = 0.225 + V0/2 = 0.45.
//
// Optimal: with probability 3/4 one of the candidates pushes. Pushing in both
// states, a step in state 0 earns 0.2/4 = 0.05 and one in state 1
// 3/4 + 0.2/4 = 0.8, so V1 - V0 = 0.75 and V0 = 0.05 + (V0 + 0.5625)/2 = 0.6625.
// Q0 = (0.2 + V0/2, V1/2), Q1 = (0.2 + V0/2, 1 + V1/2): pushing is better in
// both states indeed. State 1 is held 3/4 of the time.
//
// Uniform and episodic: V1 = 0.6 + V1/4 = 0.8, V0 = 0.1 + V1/4 = 0.3.
func TestChainByHand(t *testing.T) {
	p := size{States: 2, Items: 2, Candidates: 2}
	any, best := uniform(p, 0.5), optimal(p, 0.5)
	near(t, "uniform V", any.V, 0.45, 0.95)
	near(t, "uniform average reward", []float64{any.AverageReward}, 0.35)
	near(t, "optimal V", best.V, 0.6625, 1.4125)
	near(t, "optimal Q", slices.Concat(best.Q...), 0.53125, 0.70625, 0.53125, 1.70625)
	near(t, "optimal average reward", []float64{best.AverageReward}, 0.6125)
	p.Episodic = true
	near(t, "uniform episodic V", uniform(p, 0.5).V, 0.3, 0.8)
}

// The optimal policy is played in the environment: its rewards and the discounted
// returns from the start have the means that optimal says.
func TestChainAgainstSimulation(t *testing.T) {
	const runs, steps, discount = 400, 300, 0.8 // 0.8^300 is lost
	for _, p := range []envtest.Chain{{}, {Episodic: true}} {
		size := standard
		size.Episodic = p.Episodic
		v, spec := optimal(size, discount), p.Spec()
		seeds := make([]uint64, runs)
		for r := range seeds {
			seeds[r] = uint64(r)
		}
		env, err := p.New(seeds)
		if err != nil {
			t.Fatal(err)
		}
		returns, factors, actions := make([]float64, runs), slices.Repeat([]float64{1}, runs), make([]int, runs)
		averages := make([]float64, runs)
		for i := range steps {
			obs := env.Observe()
			for r := range runs {
				best := math.Inf(-1)
				for k := range spec.Candidates {
					c := obs.Context(r, k)
					item := int(math.Round(float64(c[spec.State]) * float64(len(v.Q[0])-1)))
					if q := v.Q[slices.Index(c, 1)][item]; q > best {
						best, actions[r] = q, k
					}
				}
			}
			out, err := env.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			for r, reward := range out.Reward {
				returns[r] += factors[r] * float64(reward)
				factors[r] *= discount * float64(out.Discount[r])
				if i >= 50 {
					averages[r] += float64(reward) / (steps - 50)
				}
			}
		}
		for _, c := range []struct {
			what string
			got  []float64
			want float64
		}{{"return from the start", returns, v.V[0]}, {"average reward", averages, v.AverageReward}} {
			var mean, squares float64
			for _, x := range c.got {
				mean += x / runs
				squares += x * x / runs
			}
			if se := math.Sqrt((squares - mean*mean) / runs); math.Abs(mean-c.want) > 5*se {
				t.Errorf("%+v: %s %.4f ± %.4f, want %.4f", p, c.what, mean, se, c.want)
			}
		}
	}
}

// The numbers of Chain's documentation.
func TestChainAverages(t *testing.T) {
	best := optimal(standard, 0.9)
	for s, q := range best.Q {
		if !slices.IsSorted(q) {
			t.Errorf("in state %d a larger push is not better: %v", s, q)
		}
	}
	got := []float64{best.AverageReward, optimal(standard, 0).AverageReward, uniform(standard, 0.9).AverageReward}
	for i, want := range []float64{0.45, 0.18, 0.16} {
		if math.Abs(got[i]-want) > 0.005 {
			t.Errorf("long-run rewards %.3f, want 0.45, 0.18, 0.16", got)
		}
	}
}
