package envtest

import (
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Chain is a small problem with states (the MDP of section 2.2) whose optimal policy is known.
//
// A user walks along 4 states, from 0 to 3. Every step offers 3 items, each drawn uniformly from a
// catalogue of 5:
//
//	push = item/4,  pay = 1 − push
//	reward = 0.2·pay + push·1{state is the last} + N(0, 0.1²)
//
// The user moves one state on with probability push (and stays in the last state), else falls back
// to state 0. At a discount of 0.9 the optimal policy takes the largest push. The long-run reward a
// step is 0.45 for it, 0.18 for the myopic one, which takes the pay and falls back, and 0.16 for a
// random one.
//
// A context is [state, one-hot | push, pay]. Session is all 0, and Discount is 1. The environment
// is no Oracle: regret of the immediate reward would punish the better policy.
type Chain struct {
	Episodic bool // falling back ends the episode; default false
}

const states, catalogue, offers = 4, 5, 3

func (p Chain) Spec() envs.Spec { return envs.Spec{Candidates: offers, Dim: states + 2, State: states} }

func (p Chain) New(seeds []uint64) (envs.Environment, error) {
	n := len(seeds)
	if err := p.Spec().Validate(seeds); err != nil {
		return nil, err
	}
	c := &chain{Chain: p, state: make([]int, n), reward: make([]float32, n), discount: make([]float32, n)}
	for _, seed := range seeds {
		c.draws = append(c.draws, envs.NewRand(seed, "problem/contexts"))
		c.noise = append(c.noise, envs.NewRand(seed, "problem/noise"))
	}
	c.offer()
	return c, nil
}

// chain is the environment of Chain. A step draws the same numbers whatever the actions, so two
// policies with the same seed meet the same items and luck.
type chain struct {
	Chain
	now              envs.Observation
	state            []int // [R]
	reward, discount []float32
	draws, noise     []*rand.Rand // [R]
}

func (c *chain) Observe() envs.Observation { return c.now }

func (c *chain) Step(actions []int) (envs.Outcome, error) {
	envs.CheckActions(actions, c.now)
	for r, action := range actions {
		context, state := c.now.Context(r, action), c.state[r]
		push, pay := float64(context[states]), float64(context[states+1])
		reward := 0.2 * pay
		if state == states-1 {
			reward += push
		}
		c.reward[r] = float32(reward + float64(0.1*c.noise[r].NormFloat64()))
		c.state[r], c.discount[r] = 0, 1
		if c.noise[r].Float64() < push {
			c.state[r] = min(state+1, states-1)
		} else if c.Episodic {
			c.discount[r] = 0
		}
	}
	c.offer()
	return envs.Outcome{Reward: c.reward, Discount: c.discount}, nil
}

func (c *chain) offer() {
	c.now = envs.Observation{Runs: len(c.state), Candidates: offers, Dim: states + 2, Session: make([]int32, len(c.state))}
	for i := range len(c.state) * offers {
		context, push := make([]float32, states+2), float32(c.draws[i/offers].IntN(catalogue))/(catalogue-1)
		context[c.state[i/offers]], context[states], context[states+1] = 1, push, 1-push
		c.now.Contexts = append(c.now.Contexts, context...)
	}
}
