package envs

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Law is one run of a bandit, as functions: what it offers and what that pays.
// A problem of one's own declares its settings as fields of a struct and
// returns an environment of laws from New, see FromLaw.
type Law struct {
	// Offer draws the candidates of a step. It writes their features to
	// contexts, [M, D] row-major and all 0 when it is called.
	Offer func(contexts []float32, rng *rand.Rand)

	// Expected is the expected reward of a candidate by its features, [D]. It
	// returns the same whenever it is called with the same.
	Expected func(context []float32) float64

	// Reward draws the reward of a candidate from what is expected of it, with
	// that mean: Coin, Noise or another. rng begins at the same point for all
	// candidates of a step, so they share the luck of the step.
	Reward func(expected float64, rng *rand.Rand) float64
}

// Coin is a Law's Reward that is 1 with the expected reward as its probability,
// else 0: a click, a purchase. What is no probability is an error at the Step
// that would pay it.
func Coin(expected float64, rng *rand.Rand) float64 {
	if !(expected >= 0 && expected <= 1) {
		return math.NaN()
	}
	if rng.Float64() < expected {
		return 1
	}
	return 0
}

// Noise returns a Law's Reward: the expected one with a normal noise of that
// standard deviation.
func Noise(sd float64) func(expected float64, rng *rand.Rand) float64 {
	return func(expected float64, rng *rand.Rand) float64 {
		return expected + float64(sd*rng.NormFloat64())
	}
}

// FromLaw starts the environment of a bandit whose steps are independent of
// each other, as a Problem's New returns it: one run a seed, whose law is what
// law returns for the seed. What differs from run to run, such as hidden
// weights, law draws from NewRand(seed, role) with a role of its own that begins
// with "problem/"; functions of different runs share nothing that changes.
//
//	func (s Shop) New(seeds []uint64) (envs.Environment, error) {
//		return envs.FromLaw(s.Spec(), seeds, func(seed uint64) envs.Law {
//			taste := envs.NewRand(seed, "problem/taste").Float64()
//			return envs.Law{ ... }
//		})
//	}
//
// Contexts and luck have streams of their own, which the actions do not touch:
// policies with the same seeds are compared in pairs. The environment
// implements Oracle and PotentialOutcomes.
//
// It is an error when the spec is not valid, when there is no seed, and when a
// function is missing; at a Step, when a reward is not finite.
func FromLaw(spec Spec, seeds []uint64, law func(seed uint64) Law) (Environment, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	err := checkCounts("Spec", len(seeds), setting{"Candidates", spec.Candidates, 2}, setting{"Dim", spec.Dim, 1})
	if err != nil {
		return nil, err
	}
	size := len(seeds) * spec.Candidates * spec.Dim
	l := &lawful{
		spec:     spec,
		contexts: make([]float32, size),
		previous: make([]float32, size),
		reward:   make([]float32, len(seeds)),
		discount: make([]float32, len(seeds)),
		run:      make([]lawfulRun, len(seeds)),
		luck:     rand.NewPCG(0, 0),
	}
	l.dice = rand.New(l.luck)
	for r, seed := range seeds {
		run := lawfulRun{
			Law:    law(seed),
			offers: NewRand(seed, "problem/contexts"),
			noise:  NewSource(seed, "problem/noise"),
		}
		if run.Offer == nil || run.Expected == nil || run.Reward == nil {
			return nil, errors.New("envs: a Law without Offer, Expected or Reward")
		}
		l.run[r] = run
	}
	l.next()
	return l, nil
}

// lawful is the environment of FromLaw.
type lawful struct {
	spec               Spec
	contexts, previous []float32 // [R, M, D]; they take turns, see bandit
	reward, discount   []float32 // [R]
	run                []lawfulRun

	// dice throws what luck holds, which is set anew for every reward.
	luck *rand.PCG
	dice *rand.Rand
}

type lawfulRun struct {
	Law
	offers *rand.Rand
	noise  *rand.PCG
	step   uint64 // what the luck of the current step begins with
}

// A Law's functions are called by functions of their own, by which package
// envtest tells them apart where one of them panics.

func (r *lawfulRun) offer(contexts []float32)         { r.Offer(contexts, r.offers) }
func (r *lawfulRun) expect(context []float32) float64 { return r.Expected(context) }
func (r *lawfulRun) draw(expected float64, dice *rand.Rand) float64 {
	return r.Reward(expected, dice)
}

// next draws a step of every run.
func (l *lawful) next() {
	clear(l.contexts)
	size := l.spec.Candidates * l.spec.Dim
	for r := range l.run {
		run := &l.run[r]
		run.offer(l.contexts[r*size : (r+1)*size : (r+1)*size])
		run.step = run.noise.Uint64()
	}
}

// context returns the features of a candidate, counted over all runs, [D].
func (l *lawful) context(i int) []float32 {
	d := l.spec.Dim
	return l.contexts[i*d : (i+1)*d : (i+1)*d]
}

// rewardOf is what a candidate, counted over all runs, pays.
func (l *lawful) rewardOf(i int) float32 {
	run := &l.run[i/l.spec.Candidates]
	l.luck.Seed(run.step, 0)
	return float32(run.draw(run.expect(l.context(i)), l.dice))
}

func (l *lawful) Observe() Observation {
	return Observation{Runs: len(l.run), Candidates: l.spec.Candidates, Dim: l.spec.Dim, Contexts: l.contexts}
}

func (l *lawful) Step(actions []int) (Outcome, error) {
	checkActions(actions, len(l.run), l.spec.Candidates)
	for r, action := range actions {
		i := r*l.spec.Candidates + action
		l.reward[r] = l.rewardOf(i)
		if reward := float64(l.reward[r]); math.IsNaN(reward) || math.IsInf(reward, 0) {
			return Outcome{}, &RunError{Run: r, Err: fmt.Errorf("the reward of candidate %d is %v, where %v is expected (a Coin wants 0 to 1)",
				action, reward, l.run[r].expect(l.context(i)))}
		}
	}
	l.contexts, l.previous = l.previous, l.contexts
	l.next()
	return Outcome{Reward: l.reward, Discount: l.discount}, nil
}

// PotentialRewards implements PotentialOutcomes.
func (l *lawful) PotentialRewards(dst []float32) {
	if len(dst) != len(l.run)*l.spec.Candidates {
		panic(fmt.Sprintf("envs: %d potential rewards for %d runs of %d candidates", len(dst), len(l.run), l.spec.Candidates))
	}
	for i := range dst {
		dst[i] = l.rewardOf(i)
	}
}

// ExpectedRewards implements Oracle.
func (l *lawful) ExpectedRewards(dst []float64) {
	checkExpected(dst, len(l.run), l.spec.Candidates)
	for i := range dst {
		dst[i] = l.run[i/l.spec.Candidates].expect(l.context(i))
	}
}
