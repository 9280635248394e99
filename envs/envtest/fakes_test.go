package envtest_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// problem is envs.Linear, or what broken makes of its environment.
type problem struct {
	envs.Linear
	spec   func(envs.Spec) envs.Spec
	seeds  func([]uint64) []uint64
	broken func(envs.Environment) envs.Environment
	json   func() ([]byte, error)
}

func (p problem) Spec() envs.Spec {
	if p.spec != nil {
		return p.spec(p.Linear.Spec())
	}
	return p.Linear.Spec()
}

func (p problem) New(seeds []uint64) (envs.Environment, error) {
	if p.seeds != nil {
		seeds = p.seeds(seeds)
	}
	env, err := p.Linear.New(seeds)
	if err == nil && p.broken != nil {
		env = p.broken(env)
	}
	return env, err
}

func (p problem) MarshalJSON() ([]byte, error) {
	if p.json != nil {
		return p.json()
	}
	return json.Marshal(p.Linear)
}

// environment is what a test replaces of an environment.
type environment struct {
	envs.Environment
	observe  func(envs.Observation) envs.Observation
	step     func(actions []int) (envs.Outcome, error)
	expected func(dst []float64)
}

func (e *environment) Observe() envs.Observation {
	if e.observe == nil {
		return e.Environment.Observe()
	}
	return e.observe(e.Environment.Observe())
}

func (e *environment) Step(actions []int) (envs.Outcome, error) {
	if e.step == nil {
		return e.Environment.Step(actions)
	}
	return e.step(actions)
}

func (e *environment) ExpectedRewards(dst []float64) {
	if e.expected == nil {
		e.Environment.(envs.Oracle).ExpectedRewards(dst)
		return
	}
	e.expected(dst)
}

// onObserve, onOutcome and onExpected change one answer of an environment.
func onObserve(f func(envs.Observation) envs.Observation) func(envs.Environment) envs.Environment {
	return func(env envs.Environment) envs.Environment { return &environment{Environment: env, observe: f} }
}

func onOutcome(f func([]int, *envs.Outcome)) func(envs.Environment) envs.Environment {
	return func(env envs.Environment) envs.Environment {
		return &environment{Environment: env, step: func(actions []int) (envs.Outcome, error) {
			out, err := env.Step(actions)
			f(actions, &out)
			return out, err
		}}
	}
}

func onExpected(f func(envs.Environment, []float64)) func(envs.Environment) envs.Environment {
	return func(env envs.Environment) envs.Environment {
		return &environment{Environment: env, expected: func(dst []float64) { f(env, dst) }}
	}
}

// learner is a small honest algorithm: greedy on a linear model that is fitted
// by gradient steps, ties broken at random. Each field breaks it in one way.
type learner struct {
	FirstOfTies   bool // takes the first of equal candidates
	SharedDice    bool // one random stream for all runs
	SharedModel   bool // one model for all runs
	ForgetsSeeds  bool // dice are not seeded
	KeepsContexts bool // learns from the last transition's slices one step late
	CachesAct     bool // learns from the contexts that Act was given
	Normalises    bool // scales the contexts it is given
	Overwrites    bool // centres the rewards it is given
	OutOfRange    bool // may choose one candidate too many
	SkipsLastRun  bool // does not write the last action
	Unchecked     bool // takes any shape
	AnySpec       bool // takes any spec
	AnySeeds      bool // takes no seeds
	MisreadsCodes bool // learns from the first candidate where there are codes
	NeedsAct      bool // fails to update before it has acted
	Panics        bool // panics in Act
}

type learnerPolicy struct {
	learner
	spec    envs.Spec
	weights [][]float32
	dice    []*rand.Rand
	late    *envs.Transition
	acted   []float32
}

func (l learner) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if err := spec.Validate(); err != nil && !l.AnySpec {
		return nil, err
	}
	if len(seeds) == 0 && !l.AnySeeds {
		return nil, errors.New("learner: no seeds")
	}
	p := &learnerPolicy{learner: l, spec: spec}
	for i, seed := range seeds {
		w := make([]float32, max(spec.Dim, 0))
		dice := envs.NewRand(seed, "act")
		if l.ForgetsSeeds {
			dice = rand.New(rand.NewPCG(rand.Uint64(), 0))
		}
		if i > 0 && l.SharedDice {
			dice = p.dice[0]
		}
		if i > 0 && l.SharedModel {
			w = p.weights[0]
		}
		p.weights, p.dice = append(p.weights, w), append(p.dice, dice)
	}
	return p, nil
}

func (p *learnerPolicy) Act(dst []int, obs envs.Observation) error {
	if !p.Unchecked {
		obs.Check(p.spec, len(p.weights))
		if len(dst) != obs.Runs {
			panic("learner: wrong number of actions")
		}
	}
	if p.Panics {
		panic("learner: out of order")
	}
	if p.Normalises {
		for i := range obs.Contexts {
			obs.Contexts[i] *= 2
		}
	}
	p.acted = obs.Contexts
	m := obs.Candidates
	if p.OutOfRange {
		m++
	}
	for r := range dst {
		if p.SkipsLastRun && r == len(dst)-1 {
			break
		}
		best, ties := float32(math.Inf(-1)), 0
		for k := range m {
			var score float32
			if k < obs.Candidates {
				score = p.score(r%len(p.weights), p.context(obs, r, k))
			}
			switch {
			case score > best:
				best, ties, dst[r] = score, 1, k
			case score == best && !p.FirstOfTies:
				if ties++; p.dice[r%len(p.dice)].IntN(ties) == 0 {
					dst[r] = k
				}
			}
		}
	}
	return nil
}

func (p *learnerPolicy) Update(tr envs.Transition) error {
	if !p.Unchecked {
		tr.Check(p.spec, len(p.weights))
	}
	if p.NeedsAct && p.acted == nil {
		return errors.New("learner: update before the first act")
	}
	if p.Overwrites {
		for r := range tr.Reward {
			tr.Reward[r] -= 0.5
		}
	}
	if p.CachesAct {
		tr.Contexts = p.acted
	}
	if p.KeepsContexts {
		p.late, tr = &tr, or(p.late, tr)
	}
	for r := range tr.Actions {
		if r >= len(p.weights) || r >= len(tr.Reward) {
			break
		}
		action := tr.Actions[r]
		if p.MisreadsCodes && tr.Codes != nil {
			action = 0
		}
		c := p.context(tr.Observation, r, action)
		delta := 0.02 * (tr.Reward[r] - p.score(r, c))
		for i, x := range c {
			if i < len(p.weights[r]) {
				p.weights[r][i] += delta * x
			}
		}
	}
	return nil
}

func or(a *envs.Transition, b envs.Transition) envs.Transition {
	if a == nil {
		return b
	}
	return *a
}

// context returns what there is of a candidate's context, so that an unchecked
// policy does not fail by accident.
func (p *learnerPolicy) context(obs envs.Observation, r, k int) []float32 {
	from := min((r*obs.Candidates+k)*obs.Dim, len(obs.Contexts))
	return obs.Contexts[from:min(from+obs.Dim, len(obs.Contexts))]
}

func (p *learnerPolicy) score(r int, c []float32) float32 {
	var sum float32
	for i := range min(len(c), len(p.weights[r])) {
		sum += p.weights[r][i] * c[i]
	}
	return sum
}
