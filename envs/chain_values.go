package envs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// ChainValues is what a policy is worth in a Chain, without the noise.
type ChainValues struct {
	// Q is [S, K]: the expected discounted return after taking an item in a
	// state, and following the policy from there.
	Q [][]float64
	// V is [S]: the expected discounted return from a state on, before its
	// candidates are drawn. An episode's return ends with the episode.
	V []float64
	// Chosen is [S, K]: how probably the policy takes each item in a state,
	// over the draws of the candidates. It is Candidates/Items times the
	// paper's marginal probability p(c).
	Chosen [][]float64
	// AverageReward is the long-run reward a step, not discounted, episodes
	// following one another.
	AverageReward float64
}

// Optimal returns the values of the optimal policy for a discount in [0, 1),
// which takes the candidate with the largest Q. They are exact up to rounding:
// found by policy iteration, each policy being solved in closed form. With
// discount 0 it is the myopic policy. It panics for another discount, or when
// New would return an error.
func (p Chain) Optimal(discount float64) ChainValues {
	v := p.Uniform(discount)
	p = p.withDefaults()
	byQ := make([]int, p.Items)
	for {
		better := p.values(discount, func(chosen []float64, state int) {
			for k := range byQ {
				byQ[k] = k
			}
			q := v.Q[state]
			slices.SortStableFunc(byQ, func(a, b int) int { return cmp.Compare(q[a], q[b]) })
			// The best of M independent draws has a rank below j with
			// probability (j/K)^M.
			below := 0.0
			for j, k := range byQ {
				upTo := math.Pow(float64(j+1)/float64(p.Items), float64(p.Candidates))
				chosen[k] = upTo - below
				below = upTo
			}
		})
		if sum(better.V) <= sum(v.V) {
			return v
		}
		v = better
	}
}

// Uniform returns the values of the policy that takes each candidate with the
// same probability. It panics as Optimal does.
func (p Chain) Uniform(discount float64) ChainValues {
	p = p.withDefaults()
	return p.values(discount, func(chosen []float64, _ int) {
		for k := range chosen {
			chosen[k] = 1 / float64(p.Items)
		}
	})
}

// Evaluate returns the values of any policy that depends on the state and the
// candidates alone: policy writes the probability of each candidate, [M], given
// the state and the candidates' items, [M]. It is asked for every ordered set
// of candidates, Items^Candidates of them a state. Evaluate panics as Optimal
// does, when there are more than 2^20 sets, and when probabilities are negative
// or do not sum to 1 within 1e-3.
func (p Chain) Evaluate(discount float64, policy func(dst []float64, state int, items []int)) ChainValues {
	p = p.withDefaults()
	sets := math.Pow(float64(p.Items), float64(p.Candidates))
	if sets > 1<<20 {
		panic(fmt.Sprintf("envs: Chain with %.3g candidate sets, too many to evaluate a policy", sets))
	}
	items, probabilities := make([]int, p.Candidates), make([]float64, p.Candidates)
	return p.values(discount, func(chosen []float64, state int) {
		for set := range int(sets) {
			for i, rest := 0, set; i < len(items); i, rest = i+1, rest/p.Items {
				items[i] = rest % p.Items
			}
			policy(probabilities, state, items)
			total := sum(probabilities)
			if !(slices.Min(probabilities) >= 0 && math.Abs(total-1) <= 1e-3) {
				panic(fmt.Sprintf("envs: %v are no probabilities (state %d, items %v)", probabilities, state, items))
			}
			for i, k := range items {
				chosen[k] += probabilities[i] / total / sets
			}
		}
	})
}

// values solves for a policy, given how probably it takes each item in a state.
func (p Chain) values(discount float64, choose func(chosen []float64, state int)) ChainValues {
	if !(discount >= 0 && discount < 1) {
		panic(fmt.Sprintf("envs: discount %v is outside [0, 1)", discount))
	}
	if err := p.check(1); err != nil {
		panic(err.Error())
	}
	last := p.States - 1
	v := ChainValues{V: make([]float64, p.States)}
	reward, push := make([]float64, p.States), make([]float64, p.States) // a step's means under the policy
	for s := range p.States {
		chosen := make([]float64, p.Items)
		choose(chosen, s)
		for k, c := range chosen {
			reward[s] += c * p.ExpectedReward(s, k)
			push[s] += c * p.push(k)
		}
		v.Chosen = append(v.Chosen, chosen)
	}

	// From state s the user goes to s+1 or to 0, so from the last state
	// backwards V(s) = a(s) + b(s)·V(0); then V(0) = a(0)/(1 − b(0)).
	// Likewise the long-run share of state s+1 is that of s times push(s), and
	// the last state, which can be kept, has 1/(1 − push) times as much.
	a, b, share := make([]float64, p.States), make([]float64, p.States), make([]float64, p.States)
	back := discount // what V(0) counts for after a fall
	if p.Episodic {
		back = 0
	}
	a[last] = reward[last] / (1 - discount*push[last])
	b[last] = back * (1 - push[last]) / (1 - discount*push[last])
	for s := last - 1; s >= 0; s-- {
		a[s] = reward[s] + discount*push[s]*a[s+1]
		b[s] = discount*push[s]*b[s+1] + back*(1-push[s])
	}
	share[0] = 1
	for s := range p.States {
		v.V[s] = a[s] + b[s]*a[0]/(1-b[0])
		if s > 0 {
			share[s] = share[s-1] * push[s-1]
		}
		if s == last {
			share[s] /= 1 - push[s]
		}
		v.AverageReward += share[s] * reward[s]
	}
	v.AverageReward /= sum(share)

	for s := range p.States {
		q := make([]float64, p.Items)
		for k := range q {
			q[k] = p.ExpectedReward(s, k) + discount*p.push(k)*v.V[min(s+1, last)] + back*(1-p.push(k))*v.V[0]
		}
		v.Q = append(v.Q, q)
	}
	return v
}

func sum(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v
	}
	return s
}
