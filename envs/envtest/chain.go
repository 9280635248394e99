package envtest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Chain is a small problem with states (the MDP of section 2.2) whose optimal policy is known.
//
// A user walks along States states, from 0 to the last. Every step offers
// Candidates items, each drawn uniformly from a catalogue of Items:
//
//	push = item/(Items−1),  pay = 1 − push
//	reward = 0.2·pay + push·1{state is the last} + N(0, 0.1²)
//
// The user moves one state on with probability push (and stays in the last
// state), else falls back to state 0. At the default and a discount of 0.9 the
// optimal policy takes the largest push. The long-run reward a step is 0.45 for it,
// 0.18 for the myopic one, which takes the pay and falls back, and 0.16 for a random one.
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

func (p Chain) Spec() envs.Spec {
	p = p.withDefaults()
	return envs.Spec{Candidates: p.Candidates, Dim: p.States + 2, State: p.States}
}

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

// chain is the environment of Chain, with the defaults filled in. A step draws the same numbers whatever the
// actions, so two policies with the same seed meet the same items and luck.
type chain struct {
	Chain
	now              envs.Observation
	state            []int // [R]
	items            []int // [R, M]
	reward, discount []float32
	offers, noise    []*rand.Rand // [R]
}

func (c *chain) push(item int) float64 { return float64(item) / float64(c.Items-1) }

func (c *chain) Observe() envs.Observation { return c.now }

func (c *chain) Step(actions []int) (envs.Outcome, error) {
	envs.CheckActions(actions, c.now)
	for r, action := range actions {
		item, state := c.items[r*c.Candidates+action], c.state[r]
		reward := 0.2 * (1 - c.push(item))
		if state == c.States-1 {
			reward += c.push(item)
		}
		c.reward[r] = float32(reward + float64(0.1*c.noise[r].NormFloat64()))
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

func (c *chain) offer() {
	c.now = envs.Observation{Runs: len(c.state), Candidates: c.Candidates, Dim: c.States + 2, Session: make([]int32, len(c.state))}
	for i := range c.items {
		r := i / c.Candidates
		c.items[i] = c.offers[r].IntN(c.Items)
		c.now.Contexts = append(c.now.Contexts, make([]float32, c.States+2)...)
		push, context := c.push(c.items[i]), c.now.Context(r, i%c.Candidates)
		context[c.state[r]], context[c.States], context[c.States+1] = 1, float32(push), float32(1-push)
	}
}

func sum(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}
