package sim_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// field is a bandit of 2 or 3 candidates with 2 features in (0, 1): the expected
// reward is their sum, the reward has noise.
type field struct {
	Mute bool // no Oracle
	Bad  bad  // the reward is NaN
	Few  bool // of all runs only the first is paid

	Shift bad `json:"-"` // code that has changed: from this step on rewards are larger
}

// bad names one run, by its seed, and a step. The zero value names none.
type bad struct {
	Seed uint64
	Step int
}

func (b bad) hits(seed uint64, step int) bool { return b.Step > 0 && seed == b.Seed && step == b.Step }

func (f field) Spec() envs.Spec { return envs.Spec{Candidates: 3, Dim: 2} }

func (f field) New(seeds []uint64) (envs.Environment, error) {
	env, err := envs.FromLaw(f.Spec(), seeds, func(seed uint64) envs.Law {
		sum := func(c []float32) float64 { return float64(c[0]) + float64(c[1]) }
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) int {
				for i := range contexts {
					contexts[i] = rng.Float32()
				}
				return 2 + rng.IntN(2)
			},
			Reward:   func(c []float32, rng *rand.Rand) float64 { return sum(c) + 0.1*rng.NormFloat64() },
			Expected: sum,
		}
	})
	if f.Mute || f.Few || f.Bad.Step > 0 {
		return &wrapped{env, f, seeds, 0}, err
	}
	return env, err
}

// wrapped has no Oracle.
type wrapped struct {
	envs.Environment
	field
	seeds []uint64
	step  int
}

func (w *wrapped) Step(actions []int) (envs.Outcome, error) {
	out, err := w.Environment.Step(actions)
	w.step++
	for r, seed := range w.seeds {
		if w.Bad.hits(seed, w.step) {
			out.Reward[r] = float32(math.NaN())
		}
		if w.Shift.Step > 0 && w.step >= w.Shift.Step && (w.Shift.Seed == 0 || w.Shift.Seed == seed) {
			out.Reward[r]++
		}
	}
	if w.Few {
		out.Reward = out.Reward[:1]
	}
	return out, err
}

// student estimates the weight of each feature and mostly takes the best
// candidate; now and then it tries another.
type student struct {
	Rate    float64
	Fail    bad // returns a RunError
	Panic   bad
	Outside bad // chooses a candidate that does not exist
	Idle    bad // leaves a run out
	Refuse  bool

	Habit float64        `json:"-"` // code that has changed: a setting that is not recorded
	Late  int            `json:"-"` // the step that the Habit comes after
	Begun *atomic.Int64  `json:"-"` // gets the runs that are played
	At    func(step int) `json:"-"` // called after each step
}

func (s student) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if s.Refuse {
		return nil, errors.New("student: Refuse is true")
	}
	p := &pupil{student: s, seeds: seeds, weights: make([]float64, len(seeds)*spec.Dim), step: 1}
	for _, seed := range seeds {
		p.act = append(p.act, envs.NewRand(seed, "act"))
	}
	return p, nil
}

// unit is a student who assumes rewards in [0, 1].
type unit struct{ student }

func (unit) RewardRange() (low, high float32) { return 0, 1 }

type pupil struct {
	student
	seeds   []uint64
	act     []*rand.Rand
	weights []float64
	step    int
}

func (p *pupil) Act(dst []int, obs envs.Observation) error {
	if p.step == 1 && p.Begun != nil {
		p.Begun.Add(int64(len(p.seeds)))
	}
	for r := range dst {
		best, chosen := math.Inf(-1), 0
		for i := range obs.Size(r) {
			score := 0.0
			if p.step > p.Late {
				score = p.Habit * float64(i)
			}
			for d, x := range obs.Context(r, i) {
				score += p.weights[r*obs.Dim+d] * float64(x)
			}
			if score > best {
				best, chosen = score, i
			}
		}
		if p.act[r].Float64() < 0.1 {
			chosen = p.act[r].IntN(obs.Size(r))
		}
		if p.Outside.hits(p.seeds[r], p.step) {
			chosen = obs.Size(r)
		}
		if !p.Idle.hits(p.seeds[r], p.step) {
			dst[r] = chosen
		}
	}
	return nil
}

func (p *pupil) Update(tr envs.Transition) error {
	for r, a := range tr.Actions {
		switch seed := p.seeds[r]; {
		case p.Fail.hits(seed, p.step):
			return fmt.Errorf("student: %w", &envs.RunError{Run: r, Err: errors.New("a weight is NaN")})
		case p.Panic.hits(seed, p.step):
			panic("student: out of ink")
		}
		w, miss := p.weights[r*tr.Dim:][:tr.Dim], float64(tr.Reward[r])
		c := tr.Context(r, a)
		for d := range c {
			miss -= w[d] * float64(c[d])
		}
		for d := range c {
			w[d] += p.Rate * miss * float64(c[d])
		}
	}
	if p.At != nil {
		p.At(p.step)
	}
	p.step++
	return nil
}

// lesson is a small experiment.
func lesson() sim.Experiment {
	return sim.Experiment{
		Name:    "lesson",
		Problem: field{},
		Entries: []sim.Entry{
			{Name: "slow student", Algorithm: student{Rate: 0.01}},
			{Name: "ε = 0.1 & quick", Algorithm: &student{Rate: 0.1}},
		},
		Runs:  20,
		Steps: 300,
		Seed:  7,
	}
}

// with is lesson with one entry of this algorithm.
func with(s student) sim.Experiment {
	e := lesson()
	e.Entries = []sim.Entry{{Name: "student", Algorithm: s}}
	return e
}
