package envs

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Law is one run of a bandit: which contexts are offered and what a context
// pays. A problem declares its settings as fields of a struct and returns an
// environment of laws from New, see FromLaw.
type Law struct {
	// Offer draws the candidates of a step. It writes their features to
	// contexts, [M, D] row-major and all 0 when it is called, and returns how
	// many candidates there are, 1 to M.
	Offer func(contexts []float32, rng *rand.Rand) int

	// Reward draws R(c), the reward of a context, [D]. rng begins at the same
	// point for all candidates of a step, so they share the luck of the step.
	Reward func(context []float32, rng *rand.Rand) float64

	// Expected is the mean of Reward for a context, [D]. It is a function of the
	// context alone.
	Expected func(context []float32) float64
}

// Coin is 1 with probability p, else 0: a click, a purchase. Where p is no
// probability it is NaN, which is an error at the Step that would pay it.
func Coin(p float64, rng *rand.Rand) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		return math.NaN()
	case rng.Float64() < p:
		return 1
	}
	return 0
}

// FromLaw starts the environment of a bandit whose steps are independent of
// each other, as a Problem's New returns it: one run a seed, whose law is what
// law returns for the seed. What differs from run to run, such as hidden
// weights, law draws from NewRand(seed, role) with a role that begins with
// "problem/"; functions of different runs share nothing that changes.
//
//	func (s Shop) New(seeds []uint64) (envs.Environment, error) {
//		return envs.FromLaw(s.Spec(), seeds, func(seed uint64) envs.Law {
//			taste := envs.NewRand(seed, "problem/taste").Float64()
//			return envs.Law{ ... }
//		})
//	}
//
// Contexts and luck have separate streams, which the actions do not touch:
// policies with the same seeds are compared in pairs. The environment
// implements Oracle.
//
// It is an error when the spec is not valid, when there is no seed, and when a
// function is missing; at a Step, when a reward is not finite.
func FromLaw(spec Spec, seeds []uint64, law func(seed uint64) Law) (Environment, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if len(seeds) == 0 {
		return nil, errors.New("envs: no seeds, want one a run")
	}
	size := len(seeds) * spec.Candidates * spec.Dim
	if size > maxValues {
		return nil, fmt.Errorf("envs: %d runs of %d candidates with %d features are more than %d context values",
			len(seeds), spec.Candidates, spec.Dim, maxValues)
	}
	b := &bandit{
		spec: spec, contexts: make([]float32, size), previous: make([]float32, size),
		sizes: make([]int32, len(seeds)), previousSizes: make([]int32, len(seeds)),
		reward: make([]float32, len(seeds)), luck: rand.NewPCG(0, 0),
	}
	b.dice = rand.New(b.luck)
	for _, seed := range seeds {
		run := banditRun{Law: law(seed), offers: NewRand(seed, "problem/contexts"), noise: NewSource(seed, "problem/noise")}
		if run.Offer == nil || run.Expected == nil || run.Reward == nil {
			return nil, errors.New("envs: a Law without Offer, Expected or Reward")
		}
		b.runs = append(b.runs, run)
	}
	return b, b.next()
}

const maxValues = 1 << 30 // context values of all runs: 4 GiB

// bandit is the environment of FromLaw.
type bandit struct {
	spec Spec
	runs []banditRun

	// Two buffers take turns, so that the observation that was decided on is
	// still there when its outcome is.
	contexts, previous   []float32 // [R, M, D]
	sizes, previousSizes []int32   // [R]
	full                 bool      // all sets have M candidates
	reward               []float32 // [R]

	// dice throws what luck holds, which is set anew for every reward.
	luck *rand.PCG
	dice *rand.Rand
}

type banditRun struct {
	Law
	offers *rand.Rand
	noise  *rand.PCG
	step   uint64 // what the luck of the current step begins with
}

// next draws a step of every run.
func (b *bandit) next() error {
	clear(b.contexts)
	b.full = true
	size := b.spec.Candidates * b.spec.Dim
	for r := range b.runs {
		run := &b.runs[r]
		n := run.Offer(b.contexts[r*size:(r+1)*size:(r+1)*size], run.offers)
		if n < 1 || n > b.spec.Candidates {
			return &RunError{Run: r, Err: fmt.Errorf("%d candidates on offer, want 1 to %d", n, b.spec.Candidates)}
		}
		b.sizes[r] = int32(n)
		b.full = b.full && n == b.spec.Candidates
		run.step = run.noise.Uint64()
	}
	return nil
}

func (b *bandit) Observe() Observation {
	o := Observation{Runs: len(b.runs), Candidates: b.spec.Candidates, Dim: b.spec.Dim, Contexts: b.contexts}
	if !b.full {
		o.Sizes = b.sizes
	}
	return o
}

func (b *bandit) Step(actions []int) (Outcome, error) {
	obs := b.Observe()
	CheckActions(actions, obs)
	for r, action := range actions {
		run, context := &b.runs[r], obs.Context(r, action)
		b.luck.Seed(run.step, 0)
		reward := run.Reward(context, b.dice)
		if math.IsNaN(reward) || math.IsInf(reward, 0) {
			return Outcome{}, &RunError{Run: r, Err: fmt.Errorf("the reward of candidate %d is %v, where %v is expected (a Coin wants 0 to 1)",
				action, reward, run.Expected(context))}
		}
		b.reward[r] = float32(reward)
	}
	b.contexts, b.previous = b.previous, b.contexts
	b.sizes, b.previousSizes = b.previousSizes, b.sizes
	return Outcome{Reward: b.reward}, b.next()
}

// ExpectedRewards implements Oracle.
func (b *bandit) ExpectedRewards(dst []float64) {
	obs, m := b.Observe(), b.spec.Candidates
	if len(dst) != obs.Runs*m {
		panic(fmt.Sprintf("envs: %d expected rewards for %d runs of %d candidates", len(dst), obs.Runs, m))
	}
	for i := range dst {
		dst[i] = math.NaN()
		if r := i / m; i%m < obs.Size(r) {
			dst[i] = b.runs[r].Expected(obs.Context(r, i%m))
		}
	}
}
