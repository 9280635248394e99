package envs

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Law is one run of a bandit: which contexts are offered and what a context pays, see FromLaw.
type Law struct {
	// Offer draws the candidates of a step. It writes their features to
	// contexts, [M, D] and all 0, and returns how many candidates there are, 1 to M.
	Offer func(contexts []float32, rng *rand.Rand) int

	// Reward draws R(c), the reward of a context, [D]. rng begins at the same
	// point for all candidates of a step, so they share the noise of the step.
	Reward func(context []float32, rng *rand.Rand) float64

	// Expected is the mean of Reward for a context, [D].
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

// FromLaw starts the environment of a bandit whose steps are independent of each other, as a
// Problem's New returns it: one run a seed, whose law is what law returns for the seed. What
// differs from run to run, such as hidden weights, law draws from NewRand(seed, role) with a role
// that begins with "problem/". The environment implements Oracle.
//
// A bad spec, no seed and a missing function are errors; at a Step, a reward that
// is not finite and an Offer of another number than 1 to M.
func FromLaw(spec Spec, seeds []uint64, law func(seed uint64) Law) (Environment, error) {
	if err := spec.Validate(seeds); err != nil {
		return nil, err
	}
	b := &bandit{reward: make([]float32, len(seeds)), source: rand.NewPCG(0, 0)}
	b.rng = rand.New(b.source)
	b.now = Observation{Runs: len(seeds), Candidates: spec.Candidates, Dim: spec.Dim}
	for i := range b.contexts {
		b.contexts[i] = make([]float32, len(seeds)*spec.Candidates*spec.Dim)
	}
	for _, seed := range seeds {
		run := banditRun{Law: law(seed), offers: NewRand(seed, "problem/contexts"), noise: NewSource(seed, "problem/noise")}
		if run.Offer == nil || run.Expected == nil || run.Reward == nil {
			return nil, errors.New("envs: a Law without Offer, Expected or Reward")
		}
		b.runs = append(b.runs, run)
	}
	return b, b.next()
}

// bandit is the environment of FromLaw.
type bandit struct {
	runs     []banditRun
	now      Observation
	contexts [2][]float32 // take turns, so that those that were decided on are there when the outcome is
	reward   []float32    // [R]
	source   *rand.PCG    // seeded anew for every reward
	rng      *rand.Rand   // draws from source
}

type banditRun struct {
	Law
	offers *rand.Rand
	noise  *rand.PCG
	seed   uint64 // of the noise of the current step
}

func (b *bandit) next() error {
	b.contexts[0], b.contexts[1] = b.contexts[1], b.contexts[0]
	b.now.Contexts, b.now.Sizes = b.contexts[0], make([]int32, len(b.runs))
	clear(b.now.Contexts)
	m, size := b.now.Candidates, b.now.Candidates*b.now.Dim
	for r := range b.runs {
		run := &b.runs[r]
		n := run.Offer(b.now.Contexts[r*size:(r+1)*size:(r+1)*size], run.offers)
		if n < 1 || n > m {
			return &RunError{Run: r, Err: fmt.Errorf("%d candidates on offer, want 1 to %d", n, m)}
		}
		b.now.Sizes[r] = int32(n)
		run.seed = run.noise.Uint64()
	}
	if int(slices.Min(b.now.Sizes)) == m {
		b.now.Sizes = nil
	}
	return nil
}

func (b *bandit) Observe() Observation { return b.now }

func (b *bandit) Step(actions []int) (Outcome, error) {
	CheckActions(actions, b.now)
	for r, action := range actions {
		run, context := &b.runs[r], b.now.Context(r, action)
		b.source.Seed(run.seed, 0)
		reward := run.Reward(context, b.rng)
		if math.IsNaN(reward) || math.IsInf(reward, 0) {
			return Outcome{}, &RunError{r, fmt.Errorf("the reward of candidate %d is %v, where %v is expected (a Coin wants 0 to 1)",
				action, reward, run.Expected(context))}
		}
		b.reward[r] = float32(reward)
	}
	return Outcome{Reward: b.reward}, b.next()
}

func (b *bandit) ExpectedRewards(dst []float64) {
	m := b.now.Candidates
	CheckResults(len(dst), len(b.runs)*m)
	for i := range dst {
		dst[i] = math.NaN()
		if r := i / m; i%m < b.now.Size(r) {
			dst[i] = b.runs[r].Expected(b.now.Context(r, i%m))
		}
	}
}
