package paper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// The settings of the theory study. Agents are PGCR in the paper's configuration
// (section 6.2): one hidden layer of 10 units, batches of 64, no heuristics.
const (
	theorySeed   = 31     // the first agent's; the others have the numbers after it
	theoryAgents = 8      // on each problem
	theoryBatch  = 64     // steps of a batch
	fullLearning = 1_000  // steps of learning
	fullDraws    = 50_000 // of p_hat, for each context
)

// criticDraws are the numbers of resamplings N of the critic's study. 15 times 4
// rivals is the most that a batch of 64 has.
var criticDraws = []int{1, 2, 4, 8, 15}

// actorCounts are the updates that each agent makes, by N. More rivals cost more
// and vary less.
var actorCounts = []struct{ n, perContext, minibatch int }{{1, 1000, 40}, {4, 400, 40}, {15, 150, 40}}

// TheoryResult is what the study of the paper's theory measured.
type TheoryResult struct {
	// Scale is the fraction of the reported numbers' draws, and Setting says
	// in words how many that were.
	Scale   float64
	Setting string

	// Bias is the mean of p_hat - p for a number of contexts, where p is the
	// exact marginal probability, and BiasOf says which.
	Bias   []Interval
	BiasOf []BiasOf

	// Critic and Actor are the ratios of the variance of PGCR's update to that
	// of vanilla policy gradient at equal parameters, in the settings that the
	// claims are judged by: of the critic, given the step, and of the actor with
	// the critic as it is.
	Critic, Actor []VarianceRatio

	// What the claims and their proofs pass over.
	CriticTotal []VarianceRatio // the same as Critic, but over steps
	ActorBeside []VarianceRatio // the actor's in other settings
	Offset      []OffsetRatio   // the actor's, by the offset of the critic's values
	MeanOffset  float64         // the offset that these values had
	Chosen      []ChosenContext
	History     []HistoryLength
	Counted     []Counted
}

// Untrained is the setting of agents that have not learned anything.
const Untrained = "untrained"

// VarianceRatio is a ratio of two variances at N resamplings.
type VarianceRatio struct {
	Setting string // which agents; empty where there is only one setting
	Variant string // what is other than in the paper; empty for nothing
	N       int
	Ratio   Interval
}

// What can be other than in the paper in an actor update.
const (
	LessMean     = "f less its mean"
	LessChosen   = "f less its mean over choices"
	Minibatch    = "batch of 64"
	VariateBatch = "batch of 64, control variate"
	Greedier     = "kappa = 5"
	GreedierLess = "kappa = 5, f less its mean"
)

// StudyTheory returns the stored result of the study, if it is of that scale or
// a larger one, and else measures and stores it.
func StudyTheory(ctx context.Context, store sim.Store, scale float64) (*TheoryResult, error) {
	stored, err := StoredTheory(store)
	if err == nil && stored.Scale >= scale {
		return stored, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t, err := Theory(ctx, scale)
	if err != nil {
		return nil, err
	}
	return t, t.Save(store)
}

// Theory measures what the paper proves: the bias of p_hat and the variances of
// the updates of PGCR and of vanilla policy gradient. The scale, 1 for the
// reported numbers, multiplies the number of draws and updates; what the verdicts
// need most, the time of learning and the draws of p_hat, is complete at 0.1. The same
// scale gives the same result. It is an error when the scale is not positive and
// finite.
func Theory(ctx context.Context, scale float64) (*TheoryResult, error) {
	if !(scale > 0) || math.IsInf(scale, 1) {
		return nil, fmt.Errorf("paper: the theory study at scale %v, want a positive number", scale)
	}
	backend, err := pgcr.OpenBackend(nil)
	if err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	s := &theoryStudy{ctx: ctx, backend: backend, scale: scale, result: &TheoryResult{Scale: scale}}
	for _, measure := range []func() error{s.learn, s.marginals, s.critics, s.actors} {
		if err := measure(); err != nil {
			return nil, fmt.Errorf("paper: the theory study: %w", err)
		}
	}
	s.result.Setting = fmt.Sprintf("%d agents a problem after %d steps; %d draws a context; %d updates an agent at N = 1",
		theoryAgents, s.soon(fullLearning), s.soon(fullDraws), s.count(actorCounts[0].perContext))
	return s.result, nil
}

type theoryStudy struct {
	ctx     context.Context
	backend compute.Backend
	scale   float64
	result  *TheoryResult

	untrained, bernoulli, linear *subjects
}

// count scales a number of draws or updates; with fewer than 4 there is no
// variance to speak of.
func (s *theoryStudy) count(full int) int { return max(4, int(math.Round(float64(full)*s.scale))) }

// soon scales a number that is to be reached at scale 0.1 already, because it
// is what a verdict stands or falls with.
func (s *theoryStudy) soon(full int) int { return min(full, s.count(10*full)) }

// learn makes the agents.
func (s *theoryStudy) learn() (err error) {
	var seeds []uint64
	for a := range theoryAgents {
		seeds = append(seeds, uint64(theorySeed+a))
	}
	for _, group := range []struct {
		to      **subjects
		problem envs.Problem
		steps   int
	}{
		{&s.untrained, envs.Bernoulli{}, 0},
		{&s.bernoulli, envs.Bernoulli{}, s.soon(fullLearning)},
		{&s.linear, envs.Linear{}, s.soon(fullLearning)},
	} {
		if *group.to, err = learn(s.ctx, s.backend, group.problem, seeds, group.steps); err != nil {
			return err
		}
	}
	return nil
}

// marginals measures p_hat against exact marginal probabilities.
func (s *theoryStudy) marginals() error {
	const agents, contexts = 2, 10
	rng := envs.NewRand(theorySeed, "theory/marginals")
	r, err := newResampled(s.backend, s.bernoulli.spec.Candidates)
	if err != nil {
		return err
	}
	for _, group := range []struct {
		name     string
		subjects *subjects
	}{{Untrained, s.untrained}, {ToyBernoulli, s.bernoulli}} {
		h, err := group.subjects.observe(s.ctx, catalogueSteps)
		if err != nil {
			return err
		}
		for a := range agents {
			c := h.catalogue(a)
			scores, marginals := c.usual(contexts)
			for k, p := range marginals {
				if err := s.ctx.Err(); err != nil {
					return err
				}
				pool, draw := BatchPool, r.fromBatch
				if k%2 == 1 {
					pool, draw = SessionPool, r.fromSession
				}
				pHat, err := draw(scores[k], c, s.soon(fullDraws), rng)
				if err != nil {
					return err
				}
				m := Mean95(pHat)
				s.result.Bias = append(s.result.Bias, Interval{m.Mean - p, m.Low - p, m.High - p})
				s.result.BiasOf = append(s.result.BiasOf, BiasOf{group.name, pool, p})
			}
		}
		if group.subjects == s.bernoulli {
			if s.result.Counted, err = s.bernoulli.countActions(h, 6, s.soon(1000), rng); err != nil {
				return err
			}
		}
	}
	return nil
}

// critics measures the critic's updates.
func (s *theoryStudy) critics() error {
	rng := envs.NewRand(theorySeed, "theory/critics")
	e, err := newEstimator(s.backend, s.bernoulli.spec.Candidates, criticDraws)
	if err != nil {
		return err
	}
	for _, group := range []struct {
		name     string
		subjects *subjects
	}{{ToyBernoulli, s.bernoulli}, {ToyLinear, s.linear}} {
		h, err := group.subjects.observe(s.ctx, s.soon(1000))
		if err != nil {
			return err
		}
		ratios, err := group.subjects.criticRatios(h, e, 10, s.soon(2000), rng)
		if err != nil {
			return err
		}
		for i, n := range criticDraws {
			s.result.Critic = append(s.result.Critic, VarianceRatio{Setting: group.name, N: n, Ratio: ratios.given[i]})
			s.result.CriticTotal = append(s.result.CriticTotal, VarianceRatio{Setting: group.name, N: n, Ratio: ratios.total[i]})
		}
		if group.subjects != s.bernoulli {
			continue
		}
		c := h.catalogue(0)
		if s.result.Chosen, err = chosenContexts(e, c, len(c.scores), s.soon(4000), rng); err != nil {
			return err
		}
		for _, steps := range []int{5, 10, 20, 50, 100, 200, 500, 1000} {
			if err := s.ctx.Err(); err != nil {
				return err
			}
			length, err := historyLength(e, c, steps, theoryBatch, 6, s.soon(4000), rng)
			if err != nil {
				return err
			}
			s.result.History = append(s.result.History, length)
		}
	}
	return nil
}

// actors measures the actor's updates.
func (s *theoryStudy) actors() error {
	for _, group := range []struct {
		name     string
		subjects *subjects
	}{{ToyBernoulli, s.bernoulli}, {ToyLinear, s.linear}, {Untrained, s.untrained}} {
		m := group.subjects.spec.Candidates
		add := func(to *[]VarianceRatio, variant string, n int, ratio Interval) {
			*to = append(*to, VarianceRatio{group.name, variant, n, ratio})
		}
		beside := &s.result.ActorBeside
		for _, c := range actorCounts {
			single, err := group.subjects.actorUpdates(s.ctx, perContext(m, c.n), 1, s.count(c.perContext))
			if err != nil {
				return err
			}
			batch, err := group.subjects.actorUpdates(s.ctx, minibatch(m, c.n, theoryBatch), 1, s.count(c.minibatch))
			if err != nil {
				return err
			}
			if c.n == 1 && group.subjects != s.untrained {
				add(&s.result.Actor, "", c.n, actorRatio(single, asIs))
			} else {
				add(beside, "", c.n, actorRatio(single, asIs))
			}
			add(beside, LessMean, c.n, actorRatio(single, lessMean))
			add(beside, LessChosen, c.n, actorRatio(single, lessChosen))
			add(beside, Minibatch, c.n, actorRatio(batch, asIs))
			add(beside, VariateBatch, c.n, actorRatio(batch, variate))
			if group.subjects == s.bernoulli {
				s.result.Offset = append(s.result.Offset, offsetRatio(single, c.n, offsets()))
				s.result.MeanOffset = meanOffset(single)
			}
		}
	}
	greedier, err := s.bernoulli.actorUpdates(s.ctx, perContext(s.bernoulli.spec.Candidates, 1), 5, s.count(actorCounts[0].perContext))
	if err != nil {
		return err
	}
	s.result.ActorBeside = append(s.result.ActorBeside,
		VarianceRatio{ToyBernoulli, Greedier, 1, actorRatio(greedier, asIs)},
		VarianceRatio{ToyBernoulli, GreedierLess, 1, actorRatio(greedier, lessMean)})
	return nil
}

// offsets are those of the figure, in standard deviations of f.
func offsets() []float64 {
	var out []float64
	for i := -16; i <= 24; i++ {
		out = append(out, float64(i)/4)
	}
	return out
}
