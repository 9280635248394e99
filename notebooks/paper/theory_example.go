package paper

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// TwoContexts is the smallest case in which both actor updates can be worked out
// by hand: M = 2 candidates, each of which has, with probability 1/2, the one
// feature 0 or 1; scores s(0) = 0 and s(1) = log 2; values f(0) = K, f(1) = K+1.
//
// Where the candidates differ, vanilla policy gradient's update is the slope
// g of the probability, 2/9 times the gradient of s(1), whatever K is; otherwise
// it is 0. Its variance is |g|^2/4. PGCR's is a sum of two independent terms. One
// with c = 1 is on average over rivals g(K+1)/2 with variance |g|^2 (K+1)^2/(4N),
// one with c = 0 is -gK/2 with |g|^2 K^2/(4N). Together the ratio of the variances
// is
//
//	(2K+1)^2/2 + ((K+1)^2 + K^2)/N
//
// which is 1/(2N) for values that are centred, K = -1/2, 3/2 for N = 1 and
// K = 0, and grows with the square of K for every N.
type TwoContexts struct {
	K float64 // the smaller of the two values
	N int     // resamplings
}

// Ratio is the ratio of the variances by the formula.
func (t TwoContexts) Ratio() float64 {
	k, n := t.K, float64(t.N)
	return (2*k+1)*(2*k+1)/2 + ((k+1)*(k+1)+k*k)/n
}

// Measure measures the ratio on so many updates, made by the functions of
// package pgcr. The same seed gives the same updates.
func (t TwoContexts) Measure(ctx context.Context, updates int, seed uint64) (Interval, error) {
	if t.N < 1 || updates < 2 {
		return Interval{}, fmt.Errorf("paper: TwoContexts.N is %d with %d updates, want at least 1 and 2", t.N, updates)
	}
	backend, err := pgcr.OpenBackend(nil)
	if err != nil {
		return Interval{}, fmt.Errorf("paper: %w", err)
	}
	// One hidden unit that passes its input on; the other values are padding.
	actor, critic := pgcr.Network{Dim: 1, Hidden: []int{1}}, pgcr.Network{Dim: 1, Hidden: []int{1}, Bias: true}
	first, out := make([]float32, 4*pgcr.Width(1)), make([]float32, 4)
	first[0], out[0] = 1, 1
	score := []float32{0.6931472, 0, 0, 0} // log 2
	s := &subjects{
		backend: backend, spec: envs.Spec{Candidates: 2, Dim: 1}, env: &coins{rng: envs.NewRand(seed, "theory/coins")},
		actor:  weights{actor, 1, [][]float32{first, score}},
		critic: weights{critic, 1, [][]float32{first, out, {float32(t.K)}}},
	}
	samples, err := s.actorUpdates(ctx, perContext(2, t.N), 1, updates)
	if err != nil {
		return Interval{}, err
	}
	return ratio95(asIs(samples[0]), samples[0].pg), nil
}

// coins offers two candidates at every step, whose features are tosses of a
// coin.
type coins struct {
	rng      *rand.Rand
	contexts []float32
}

// Observe implements envs.Environment.
func (c *coins) Observe() envs.Observation {
	if c.contexts == nil {
		c.contexts = []float32{float32(c.rng.IntN(2)), float32(c.rng.IntN(2))}
	}
	return envs.Observation{Runs: 1, Candidates: 2, Dim: 1, Contexts: c.contexts}
}

// Step implements envs.Environment. There is nothing to learn here, and so no
// reward.
func (c *coins) Step([]int) (envs.Outcome, error) {
	c.contexts = nil
	return envs.Outcome{Reward: []float32{0}, Discount: []float32{0}}, nil
}
