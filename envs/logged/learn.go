package logged

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// Learning learns a policy that has the largest estimate of its mean reward:
//
//	mean over decisions of sum_a π(a|x) g(a),  g(a) = q(x, a) + 1[a chosen] (r - b - q(x, a)) min(1/p, L)
//
// The zero value maximises IPW (q = b = 0, L = ∞). With a Model it is DR, without weights DM. A log
// of Log.Marginal is learned with marginal weights: for pgcr.Config that is the paper's algorithm off
// its policy, (25) with r/p0 in place of the critic's value of the chosen context.
type Learning struct {
	Model      Model   // q, cross-fitted; nil: 0
	Direct     bool    // DM: g = q
	Shift      bool    // b is the mean reward, as SNIPW has it (Joachims, Swaminathan and de Rijke, ICLR 2018)
	L          float64 // bounds 1/p (Strehl and others, NIPS 2010); 0: ∞
	Likelihood bool    // log π in place of π, and g at least 0: classification with weights
	Epochs     int     // passes through the log, at most; default 30
	Batch      int     // decisions an update; default 64
	HoldOut    float64 // share of the decisions, the last ones, that choose the epoch by DR; default 0.2
	imitate    bool    // the epoch is the one in which the choices are most probable
	Greedy     bool    // the policy takes the most probable candidate always; with Likelihood it would else choose in proportion to rewards
}

// learner is what a policy needs for Learning. *pgcr.Agent has it.
type learner interface {
	envs.Policy
	envs.Probable
	envs.Saver
	// Improve makes a step of gradient ascent on Σ p g of R·B sets, or Σ g log p; gains is [R·B, M].
	Improve(sets envs.Observation, gains []float32, likelihood bool) error
}

// greedy takes the most probable candidate, the first of several.
type greedy struct{ learner }

func (g greedy) Probabilities(dst []float64, obs envs.Observation) error {
	err := g.learner.Probabilities(dst, obs)
	for set := range slices.Chunk(dst, obs.Candidates) {
		best := floats.MaxIdx(set)
		clear(set)
		set[best] = 1
	}
	return err
}

func (g greedy) Act(dst []int, obs envs.Observation) error {
	p := make([]float64, obs.Runs*obs.Candidates)
	err := g.Probabilities(p, obs)
	for r := range dst {
		dst[r] = slices.Index(p[r*obs.Candidates:], 1)
	}
	return err
}

// Train makes a policy of one run a seed and trains it until the epoch with the best estimate, in the
// mean over runs, on the held-out decisions. Without a Model that estimate has Ridge(1).
func (s Learning) Train(ctx context.Context, log *Log, algorithm envs.Algorithm, seeds []uint64) (envs.Policy, error) {
	if !(s.L >= 0 && s.HoldOut >= 0 && s.HoldOut < 1) || s.Epochs < 0 || s.Batch < 0 {
		return nil, fmt.Errorf("logged: Learning has L %v, HoldOut %v, Epochs %d and Batch %d, want no negative number, and HoldOut below 1", s.L, s.HoldOut, s.Epochs, s.Batch)
	}
	policy, err := algorithm.New(log.Spec(), seeds)
	if err = cmp.Or(log.check(true), err); err != nil {
		return nil, err
	}
	learner, ok := policy.(learner)
	if !ok {
		return nil, fmt.Errorf("logged: a %T has no Improve: it learns by Train", policy)
	}
	if s.Greedy {
		learner = greedy{learner}
	}
	train, held := log.Split(1 - cmp.Or(s.HoldOut, 0.2))
	q, sampling := make([][]float64, len(train.Decisions)), train.sample().sampling
	model := s.Model
	if model == nil {
		model = Ridge(1)
	} else if q, err = train.CrossFit(ctx, model); err != nil {
		return nil, err
	}
	predict, err := model(ctx, train)
	qHeld := make([][]float64, len(held.Decisions))
	for i := 0; i < len(qHeld) && err == nil; i++ {
		qHeld[i], err = predict(held.Decisions[i])
	}
	if err != nil {
		return nil, err
	}
	base := 0.0
	if s.Shift {
		base = train.Mean().Mean
	}
	rngs, orders := make([]*rand.Rand, len(seeds)), make([][]int, len(seeds))
	for r, seed := range seeds {
		rngs[r] = envs.NewRand(seed, "logged/batches")
	}
	var best bytes.Buffer
	highest, batch := math.Inf(-1), min(cmp.Or(s.Batch, 64), len(train.Decisions))
	for range cmp.Or(s.Epochs, 30) {
		for r, rng := range rngs {
			orders[r] = rng.Perm(len(train.Decisions))
		}
		for at := 0; at+batch <= len(train.Decisions); at += batch {
			var sets []Decision
			var gains []float32
			for r, rng := range rngs {
				for _, i := range orders[r][at : at+batch] {
					sets, gains = s.targets(sets, gains, train, i, sampling[i], q[i], base, rng)
				}
			}
			if err := log.explained(ctx, "learning", learner.Improve(train.observation(sets), gains, s.Likelihood)); err != nil {
				return nil, err
			}
		}
		e, err := Evaluate(ctx, held, learner, len(seeds))
		if err != nil {
			return nil, err
		}
		e.Model = qHeld
		value := e.Estimate(DR).Mean
		for i := 0; s.imitate && i < len(held.Decisions); i++ {
			value += math.Log(max(e.Probabilities[i][held.Decisions[i].Chosen], leastPropensity))
		}
		if value > highest {
			highest = value
			best.Reset()
			if err := learner.Save(&best); err != nil {
				return nil, err
			}
		}
	}
	return learner, learner.Load(&best)
}

// targets appends sets and gains, [M] each; where weights are marginal, the choice's are of a resampled set.
func (s Learning) targets(sets []Decision, gains []float32, log *Log, i int, scale float64, q []float64, base float64, rng *rand.Rand) ([]Decision, []float32) {
	d, g, correction := log.Decisions[i], make([]float32, log.Candidates), float64(log.Decisions[i].Reward)-base
	for c, x := range q {
		g[c] = float32(scale * x)
		if c == d.Chosen {
			correction -= x
		}
	}
	if log.sets > 0 {
		if q != nil {
			sets, gains, g = append(sets, d), append(gains, g...), make([]float32, log.Candidates)
		}
		d = log.resampled(d, rng)
	}
	if !s.Direct {
		g[d.Chosen] += float32(correction * scale * min(1/d.Propensity, cmp.Or(s.L, math.Inf(1))))
	}
	for c := 0; s.Likelihood && c < len(g); c++ {
		g[c] = max(g[c], 0)
	}
	return append(sets, d), append(gains, g...)
}

// EstimatePropensities returns the log with the propensities of a policy, of one run, that has learned
// to choose as the log does: with pgcr.Config{Hidden: []int{}} a conditional logit model. Diagnose warns of them.
func (l *Log) EstimatePropensities(ctx context.Context, algorithm envs.Algorithm) (*Log, error) {
	choices, estimated := *l, *l
	choices.Decisions, estimated.Decisions, estimated.estimated = slices.Clone(l.Decisions), slices.Clone(l.Decisions), true
	for i := range choices.Decisions {
		choices.Decisions[i].Reward, choices.Decisions[i].Propensity = 1, 1
	}
	policy, err := Learning{Likelihood: true, imitate: true}.Train(ctx, &choices, algorithm, []uint64{1})
	if err != nil {
		return nil, err
	}
	e, err := Evaluate(ctx, &choices, policy, 1)
	if err != nil {
		return nil, err
	}
	for i, p := range e.Probabilities {
		estimated.Decisions[i].Propensity = max(p[l.Decisions[i].Chosen], leastPropensity)
	}
	return &estimated, nil
}
