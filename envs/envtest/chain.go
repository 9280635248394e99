package envtest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Chain is a small problem with states (the MDP of section 2.2) whose optimal
// policy and action values are known, see Optimal.
//
// A user walks along States states, from 0 to the last. Every step offers
// Candidates items, each drawn uniformly from a catalogue of Items:
//
//	push = item/(Items−1),  pay = 1 − push
//	reward = 0.2·pay + push·1{state is the last} + N(0, 0.1²)
//
// The user moves one state on with probability push (and stays in the last
// state), else falls back to state 0. At the default and a discount of 0.9 the
// long-run reward a step is 0.45 for the optimal policy, 0.18 for the myopic one,
// which takes the pay and falls back, and 0.16 for a random one.
//
// A context is [state, one-hot | push, pay]. Session is all 0, and Discount is 1;
// where Episodic is set, a fall ends the episode. The environment is no Oracle:
// regret of the immediate reward would punish the better policy.
type Chain struct {
	States     int  // S; default 4, at least 2
	Items      int  // K; default 5, at least 2
	Candidates int  // M; default 3
	Episodic   bool // falling back ends the episode; default false
}

func (p Chain) withDefaults() Chain {
	p.States, p.Items, p.Candidates = cmp.Or(p.States, 4), cmp.Or(p.Items, 5), cmp.Or(p.Candidates, 3)
	return p
}

// Spec implements envs.Problem.
func (p Chain) Spec() envs.Spec {
	p = p.withDefaults()
	return envs.Spec{Candidates: p.Candidates, Dim: p.States + 2, State: p.States}
}

func (p Chain) push(item int) float64 { return float64(item) / float64(p.withDefaults().Items-1) }

// ExpectedReward returns the expected immediate reward of an item in a state.
func (p Chain) ExpectedReward(state, item int) float64 {
	reward := 0.2 * (1 - p.push(item))
	if state == p.withDefaults().States-1 {
		reward += p.push(item)
	}
	return reward
}

// AppendContext appends the context of an item in a state, States+2 values.
func (p Chain) AppendContext(dst []float32, state, item int) []float32 {
	n := len(dst)
	dst = append(dst, make([]float32, p.withDefaults().States)...)
	dst[n+state] = 1
	return append(dst, float32(p.push(item)), float32(1-p.push(item)))
}

// New implements envs.Problem.
func (p Chain) New(seeds []uint64) (envs.Environment, error) {
	p = p.withDefaults()
	switch err := p.Spec().Validate(); {
	case err != nil:
		return nil, err
	case p.States < 2 || p.Items < 2:
		return nil, fmt.Errorf("envtest: Chain.States is %d and Chain.Items is %d, want at least 2", p.States, p.Items)
	case len(seeds) == 0:
		return nil, errors.New("envtest: no seeds, want one a run")
	}
	n := len(seeds)
	c := &chain{Chain: p, state: make([]int, n), items: make([]int, n*p.Candidates), reward: make([]float32, n), discount: make([]float32, n)}
	for _, seed := range seeds {
		c.offers = append(c.offers, envs.NewRand(seed, "problem/contexts"))
		c.noise = append(c.noise, envs.NewRand(seed, "problem/noise"))
	}
	c.offer()
	return c, nil
}

// chain is the environment of Chain. A step draws the same numbers whatever the
// actions, so two policies with the same seed meet the same items and luck.
type chain struct {
	Chain
	now              envs.Observation
	state            []int // [R]
	items            []int // [R, M]
	reward, discount []float32
	offers, noise    []*rand.Rand // [R]
}

func (c *chain) Observe() envs.Observation { return c.now }

func (c *chain) Step(actions []int) (envs.Outcome, error) {
	envs.CheckActions(actions, c.now)
	for r, action := range actions {
		item, state := c.items[r*c.Candidates+action], c.state[r]
		c.reward[r] = float32(c.ExpectedReward(state, item) + float64(0.1*c.noise[r].NormFloat64()))
		c.state[r], c.discount[r] = 0, 1
		if c.noise[r].Float64() < c.push(item) {
			c.state[r] = min(state+1, c.States-1)
		} else if c.Episodic {
			c.discount[r] = 0
		}
	}
	c.offer()
	return envs.Outcome{Reward: c.reward, Discount: c.discount}, nil
}

// offer draws the candidates of the next step.
func (c *chain) offer() {
	c.now = envs.Observation{Runs: len(c.state), Candidates: c.Candidates, Dim: c.States + 2, Session: make([]int32, len(c.state))}
	for i := range c.items {
		r := i / c.Candidates
		c.items[i] = c.offers[r].IntN(c.Items)
		c.now.Contexts = c.AppendContext(c.now.Contexts, c.state[r], c.items[i])
	}
}

// ChainValues is what a policy is worth in a Chain, without the noise.
type ChainValues struct {
	Q             [][]float64 // [S, K], the expected discounted return after an item, then following the policy
	V             []float64   // [S], the same before the candidates are drawn
	AverageReward float64     // the long-run reward a step, not discounted, over all episodes
}

// Optimal returns the values of the optimal policy for a discount in [0, 1), by
// policy iteration: it takes the candidate with the largest Q. With discount 0
// it is the myopic policy.
func (p Chain) Optimal(discount float64) ChainValues {
	v := p.Uniform(discount)
	for {
		better := p.Evaluate(discount, func(dst []float64, state int, items []int) {
			best := 0
			for i, k := range items {
				if v.Q[state][k] > v.Q[state][items[best]] {
					best = i
				}
			}
			fill(dst, 0)[best] = 1
		})
		if sum(better.V) <= sum(v.V)+1e-12 {
			return v
		}
		v = better
	}
}

// Uniform returns the values of the policy that takes each candidate with the
// same probability.
func (p Chain) Uniform(discount float64) ChainValues {
	return p.Evaluate(discount, func(dst []float64, _ int, items []int) { fill(dst, 1/float64(len(items))) })
}

// Evaluate returns the values of a policy that writes the probability of each
// candidate, [M], given the state and the candidates' items, [M]. It is asked for
// each of the Items^Candidates ordered sets a state.
func (p Chain) Evaluate(discount float64, policy func(dst []float64, state int, items []int)) ChainValues {
	p = p.withDefaults()
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
			reward[s] += probabilities[j] / float64(sets) * p.ExpectedReward(s, k)
			push[s] += probabilities[j] / float64(sets) * p.push(k)
		}
	}
	v, last, back := ChainValues{V: make([]float64, p.States)}, p.States-1, discount
	if p.Episodic {
		back = 0 // what comes after a fall does not count
	}
	next := func(push float64, s int) float64 {
		return discount*push*v.V[min(s+1, last)] + back*(1-push)*v.V[0]
	}
	// Bellman's equation, and how the share of steps in each state moves.
	share := fill(make([]float64, p.States), 1/float64(p.States))
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
			v.Q[s][k] = p.ExpectedReward(s, k) + next(p.push(k), s)
		}
	}
	return v
}

func sum(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}
