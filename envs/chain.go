package envs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
)

// Chain is a small recommendation problem with states and transitions (the
// paper's MDP-CR, section 2.2) whose optimal policy and action values are
// known, see Optimal. It is meant for tests.
//
// A user walks along States states, from 0 to the last. Every step offers
// Candidates items, each drawn uniformly from a catalogue of Items, whatever
// the state. Item k pushes with strength k/(Items−1) and pays the rest:
//
//	push_k = k/(Items−1),  pay_k = 1 − push_k
//	reward = 0.2·pay_k + push_k·1{state is the last} + N(0, RewardNoise²)
//
// The user moves one state on with probability push_k (and stays in the last
// state), else falls back to state 0. Outside of the last state a myopic policy
// takes the pay and so falls back; a far-sighted one pushes. At the default and
// a discount of 0.9 the long-run reward a step is 0.45 for the optimal policy,
// 0.18 for the myopic one and 0.16 for a random one.
//
// A context is [state, one-hot | push, pay]. There is one trajectory a run, so
// Session is all 0. Discount is always 1, unless Episodic is set: then the user
// who falls back leaves, Discount is 0, and another one starts in state 0.
//
// The environment is no Oracle: the regret of a step is that of its immediate
// reward, which in this problem punishes the better policy.
//
// The zero value is a chain of 4 states and 5 items, 3 of them on offer.
type Chain struct {
	States      int     // S; default 4, at least 2
	Items       int     // K; default 5, at least 2
	Candidates  int     // M; default 3
	Episodic    bool    // falling back ends the episode; default false
	RewardNoise float64 // standard deviation; default 0.1, NoNoise for none
}

func (p Chain) withDefaults() Chain {
	p.States = cmp.Or(p.States, 4)
	p.Items = cmp.Or(p.Items, 5)
	p.Candidates = cmp.Or(p.Candidates, 3)
	p.RewardNoise = cmp.Or(p.RewardNoise, 0.1)
	return p
}

func (p Chain) check(runs int) error {
	if err := checkCounts("Chain", runs, setting{"Candidates", p.Candidates, 2}, setting{"States", p.States, 2}); err != nil {
		return err
	}
	if err := checkCounts("Chain", 1, setting{"Items", p.Items, 2}); err != nil {
		return err
	}
	return checkNoise("Chain", "RewardNoise", p.RewardNoise)
}

// Spec implements Problem.
func (p Chain) Spec() Spec {
	p = p.withDefaults()
	return Spec{Candidates: p.Candidates, Dim: p.States + 2, State: p.States}
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (p Chain) MarshalJSON() ([]byte, error) {
	type plain Chain
	return json.Marshal(plain(p.withDefaults()))
}

// ExpectedReward returns the expected immediate reward of an item in a state.
func (p Chain) ExpectedReward(state, item int) float64 {
	p = p.withDefaults()
	push := p.push(item)
	reward := 0.2 * (1 - push)
	if state == p.States-1 {
		reward += push
	}
	return reward
}

func (p Chain) push(item int) float64 { return float64(item) / float64(p.Items-1) }

// AppendContext appends the context of an item in a state to dst: States+2
// values.
func (p Chain) AppendContext(dst []float32, state, item int) []float32 {
	p = p.withDefaults()
	for s := range p.States {
		var hot float32
		if s == state {
			hot = 1
		}
		dst = append(dst, hot)
	}
	push := p.push(item)
	return append(dst, float32(push), float32(1-push))
}

// Decode returns the state and the item of a context of States+2 values.
// It panics when the length is another.
func (p Chain) Decode(context []float32) (state, item int) {
	p = p.withDefaults()
	if len(context) != p.States+2 {
		panic(fmt.Sprintf("envs: context of %d values, want %d", len(context), p.States+2))
	}
	for context[state] == 0 && state < p.States-1 {
		state++
	}
	return state, int(math.Round(float64(context[p.States]) * float64(p.Items-1)))
}

// New implements Problem. It returns an error that names the field when a
// setting is out of bounds, and when there is no seed.
func (p Chain) New(seeds []uint64) (Environment, error) {
	p = p.withDefaults()
	if err := p.check(len(seeds)); err != nil {
		return nil, err
	}
	size := len(seeds) * p.Candidates * (p.States + 2)
	c := &chain{
		Chain:    p,
		state:    make([]int, len(seeds)),
		items:    make([]int, len(seeds)*p.Candidates),
		contexts: make([]float32, size),
		previous: make([]float32, size),
		session:  make([]int32, len(seeds)),
		reward:   make([]float32, len(seeds)),
		discount: make([]float32, len(seeds)),
	}
	for _, seed := range seeds {
		c.offers = append(c.offers, NewRand(seed, "problem/contexts"))
		c.noise = append(c.noise, NewRand(seed, "problem/noise"))
	}
	c.offer()
	return c, nil
}

// chain is the environment of Chain. Offers and noise have streams of their
// own, and a step draws from them whatever the actions, so that two policies
// with the same seed meet the same items and the same luck.
type chain struct {
	Chain
	state              []int // [R]
	items              []int // [R, M]
	contexts, previous []float32
	session            []int32
	reward, discount   []float32
	offers, noise      []*rand.Rand // [R]
}

func (c *chain) Observe() Observation {
	return Observation{
		Runs: len(c.state), Candidates: c.Candidates, Dim: c.States + 2,
		Contexts: c.contexts, Session: c.session,
	}
}

func (c *chain) Step(actions []int) (Outcome, error) {
	checkActions(actions, len(c.state), c.Candidates)
	last := c.States - 1
	for r, action := range actions {
		item, state := c.items[r*c.Candidates+action], c.state[r]
		noise := float64(max(c.RewardNoise, 0) * c.noise[r].NormFloat64())
		c.reward[r] = float32(c.ExpectedReward(state, item) + noise)
		c.state[r], c.discount[r] = 0, 1
		if c.noise[r].Float64() < c.push(item) {
			c.state[r] = min(state+1, last)
		} else if c.Episodic {
			c.discount[r] = 0
		}
	}
	c.contexts, c.previous = c.previous, c.contexts
	c.offer()
	return Outcome{Reward: c.reward, Discount: c.discount}, nil
}

// offer draws the candidates of the next step.
func (c *chain) offer() {
	contexts := c.contexts[:0]
	for i := range c.items {
		r := i / c.Candidates
		c.items[i] = c.offers[r].IntN(c.Items)
		contexts = c.AppendContext(contexts, c.state[r], c.items[i])
	}
}
