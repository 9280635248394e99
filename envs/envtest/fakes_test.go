package envtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

// playlist is a small honest problem with codes and potential outcomes: two
// users, to whom three songs of ten are offered. A context is [code+1 of the
// user's last two songs | code, and a coin]; songs of even codes earn 1. Each
// field breaks it in one way.
type playlist struct {
	OtherContexts  bool // a context is not what its codes expand to
	OneUser        bool // the state is that of both users
	EarliestFirst  bool // the state's songs are in the order of time
	NoCodesLate    bool // codes go after ten steps
	ManyTables     bool // a table a step
	ManyNames      bool // a table's identity changes
	NoName         bool // a table has no identity
	AnyCode        bool // the table takes any code
	OverwritesLast bool // codes do not outlive their Step
	TellsOthers    bool // tells outcomes that are not paid
	SpendsCoins    bool // telling moves on
	NoTwoTells     bool // tells another outcome when asked again
	AnyLength      bool // tells to any length
	Consequences   bool // a choice changes what is offered next
	Infectious     bool // a choice changes what songs earn later
	Leaves         bool // a choice decides who comes next
}

type playlistEnvironment struct {
	playlist
	dice           []*rand.Rand
	steps          int
	items, session []int32
	state          []int32
	last           [][2][2]int32 // by run and user
	contexts       []float32
	shift          int32
	asked          int
	codes          *envs.Codes
	table          *playlistTable
}

type playlistTable struct {
	playlist
	asked int
}

func (t *playlistTable) Identity() string {
	t.asked++
	switch {
	case t.NoName:
		return ""
	case t.ManyNames:
		return fmt.Sprint("playlist ", t.asked)
	}
	return "playlist"
}

func (t *playlistTable) Expand(dst []float32, state []int32, item int32) {
	if !t.AnyCode && (item < 0 || item > 9) {
		panic("playlist: no such song")
	}
	dst[0], dst[1], dst[2] = float32(state[0]+1), float32(state[1]+1), float32(item)
}

func (p playlist) Spec() envs.Spec { return envs.Spec{Candidates: 3, Dim: 3, State: 2} }

func (p playlist) New(seeds []uint64) (envs.Environment, error) {
	if len(seeds) == 0 {
		return nil, errors.New("playlist: no seeds")
	}
	e := &playlistEnvironment{playlist: p, table: &playlistTable{playlist: p}, session: make([]int32, len(seeds))}
	for _, seed := range seeds {
		e.dice = append(e.dice, envs.NewRand(seed, "problem/playlist"))
		e.last = append(e.last, [2][2]int32{{envs.NoItem, envs.NoItem}, {envs.NoItem, envs.NoItem}})
	}
	e.offer(nil)
	return e, nil
}

func (e *playlistEnvironment) offer(actions []int) {
	if e.ManyTables {
		e.table = &playlistTable{playlist: e.playlist}
	}
	if !e.OverwritesLast || e.codes == nil {
		e.codes = new(envs.Codes)
	}
	e.items, e.session, e.state, e.contexts = nil, make([]int32, len(e.dice)), nil, nil
	for r, rng := range e.dice {
		user := int32(rng.IntN(2))
		if e.Leaves && actions != nil && actions[r] == 0 {
			user = 0
		}
		e.session[r] = user
		if e.OneUser {
			user = 0
		}
		state := e.last[r][user]
		if e.EarliestFirst {
			state[0], state[1] = state[1], state[0]
		}
		e.state = append(e.state, state[:]...)
		for i, item := range rng.Perm(10)[:3] {
			item := int32(item)
			if e.Consequences && actions != nil && actions[r] == i {
				item = 0
			}
			e.items = append(e.items, item)
			e.contexts = append(e.contexts, 0, 0, 0)
			e.table.Expand(e.contexts[len(e.contexts)-3:], state[:], item)
		}
	}
	for last := 8; e.OtherContexts && last < len(e.contexts); last += 9 {
		e.contexts[last]++
	}
	*e.codes = envs.Codes{Items: e.items, State: e.state, Choices: true, Table: e.table}
}

func (e *playlistEnvironment) Observe() envs.Observation {
	obs := envs.Observation{Runs: len(e.dice), Candidates: 3, Dim: 3, Contexts: e.contexts, Session: e.session, Codes: e.codes}
	if e.NoCodesLate && e.steps >= 10 {
		obs.Codes = nil
	}
	return obs
}

func (e *playlistEnvironment) pays(item int32) float32 { return float32((item + e.shift) % 2) }

func (e *playlistEnvironment) PotentialRewards(dst []float32) {
	if len(dst) != len(e.items) && !e.AnyLength {
		panic("playlist: wrong length")
	}
	for i := range min(len(dst), len(e.items)) {
		dst[i] = e.pays(e.items[i])
	}
	e.asked++
	if e.TellsOthers {
		dst[1] = 1 - dst[1]
	}
	if e.NoTwoTells {
		dst[0] += float32(e.asked)
	}
	if e.SpendsCoins {
		e.dice[0].Uint64()
	}
}

func (e *playlistEnvironment) Step(actions []int) (envs.Outcome, error) {
	if len(actions) != len(e.dice) {
		panic("playlist: wrong number of actions")
	}
	out := envs.Outcome{Reward: make([]float32, len(actions)), Discount: make([]float32, len(actions))}
	chosen := make([]int32, len(actions))
	for r, a := range actions {
		chosen[r] = e.items[3*r : 3*r+3][a]
		out.Reward[r], out.Discount[r] = e.pays(chosen[r]), 1
	}
	for r, item := range chosen {
		user := e.session[r]
		if e.OneUser {
			user = 0
		}
		e.last[r][user] = [2]int32{item, e.last[r][user][0]}
	}
	if e.Infectious {
		e.shift += chosen[0]
	}
	e.steps++
	e.offer(actions)
	return out, nil
}

// learner is a small honest algorithm: greedy on a linear model that is fitted
// by gradient steps, ties broken at random. Each field breaks it in one way.
type learner struct {
	FirstOfTies   bool // takes the first of equal candidates
	SharedDice    bool // one random stream for all runs
	SharedModel   bool // one model for all runs
	ForgetsSeeds  bool // dice are those of how many policies' runs there were
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

// forgetful counts the runs of learners that forget their seeds.
var forgetful uint64

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
			forgetful++
			dice = rand.New(rand.NewPCG(forgetful, 0))
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
