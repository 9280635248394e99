package sim_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// field is a bandit of 3 candidates with 2 features in (0,1): the expected
// reward is their sum, the reward has noise.
type field struct {
	Mute bool // no Oracle
	Bad  bad  // the reward of one run is NaN from one step on
}

// bad names one run, by its seed, and a step. The zero value names none.
type bad struct {
	Seed uint64
	Step int
}

func (b bad) hits(seed uint64, step int) bool { return b.Step > 0 && seed == b.Seed && step >= b.Step }

func (f field) Spec() envs.Spec { return envs.Spec{Candidates: 3, Dim: 2} }

func (f field) New(seeds []uint64) (envs.Environment, error) {
	m := &meadow{field: f, seeds: seeds, step: 1}
	for _, seed := range seeds {
		m.contexts = append(m.contexts, envs.NewRand(seed, "contexts"))
		m.noise = append(m.noise, envs.NewRand(seed, "noise"))
	}
	m.obs = envs.Observation{Runs: len(seeds), Candidates: 3, Dim: 2}
	m.draw()
	if f.Mute {
		return struct{ envs.Environment }{m}, nil
	}
	return m, nil
}

type meadow struct {
	field
	seeds           []uint64
	contexts, noise []*rand.Rand
	obs             envs.Observation
	step            int
}

func (m *meadow) draw() {
	m.obs.Contexts = make([]float32, len(m.seeds)*6)
	for i := range m.obs.Contexts {
		m.obs.Contexts[i] = m.contexts[i/6].Float32()
	}
}

func (m *meadow) Observe() envs.Observation { return m.obs }

func (m *meadow) mean(r, a int) float64 {
	c := m.obs.Contexts[(r*3+a)*2:]
	return float64(c[0]) + float64(c[1])
}

func (m *meadow) ExpectedRewards(dst []float64) {
	for i := range dst {
		dst[i] = m.mean(i/3, i%3)
	}
}

func (m *meadow) Step(actions []int) (envs.Outcome, error) {
	out := envs.Outcome{Reward: make([]float32, len(actions)), Discount: make([]float32, len(actions))}
	for r, a := range actions {
		out.Reward[r] = float32(m.mean(r, a) + 0.1*m.noise[r].NormFloat64())
		if m.Bad.hits(m.seeds[r], m.step) {
			out.Reward[r] = float32(math.NaN())
		}
	}
	m.step++
	m.draw()
	return out, nil
}

// student estimates the weight of each feature and mostly takes the best
// candidate; now and then it tries another.
type student struct {
	Rate    float64
	Fail    bad // returns an RunError
	Wrapped bad // returns a wrapped RunError
	Panic   bad
	Outside bad // chooses a candidate that does not exist
	Idle    bad // leaves a run out
	Refuse  bool

	Delay time.Duration `json:"-"` // a step
	Free  int           `json:"-"` // so many runs of this process go without delay
	Log   string        `json:"-"` // file that gets a line a run that is begun
	Stop  func()        `json:"-"` // called at step 5
}

var runsBegun atomic.Int64 // by this process

func (s student) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if s.Refuse {
		return nil, errors.New("student: Refuse is true")
	}
	p := &pupil{student: s, seeds: seeds, weights: make([]float64, len(seeds)*spec.Dim), step: 1}
	if int(runsBegun.Add(int64(len(seeds)))) <= s.Free {
		p.Delay = 0
	}
	for _, seed := range seeds {
		p.act = append(p.act, envs.NewRand(seed, "act"))
	}
	if s.Log != "" {
		f, err := os.OpenFile(s.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for _, seed := range seeds {
			if _, err := fmt.Fprintf(f, "%d %d\n", os.Getpid(), seed); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

type pupil struct {
	student
	seeds   []uint64
	act     []*rand.Rand
	weights []float64
	step    int
}

func (p *pupil) Act(dst []int, obs envs.Observation) error {
	for r := range dst {
		best := math.Inf(-1)
		chosen := 0
		for i := range obs.Candidates {
			score := 0.0
			for d := range obs.Dim {
				score += p.weights[r*obs.Dim+d] * float64(obs.Contexts[(r*obs.Candidates+i)*obs.Dim+d])
			}
			if score > best {
				best, chosen = score, i
			}
		}
		if p.act[r].Float64() < 0.1 {
			chosen = p.act[r].IntN(obs.Candidates)
		}
		if p.Outside.hits(p.seeds[r], p.step) {
			chosen = obs.Candidates
		}
		if !p.Idle.hits(p.seeds[r], p.step) {
			dst[r] = chosen
		}
	}
	return nil
}

func (p *pupil) Update(tr envs.Transition) error {
	time.Sleep(p.Delay)
	if p.Stop != nil && p.step == 5 {
		p.Stop()
	}
	for r, a := range tr.Actions {
		switch seed := p.seeds[r]; {
		case p.Fail.hits(seed, p.step):
			return &envs.RunError{Run: r, Err: errors.New("weights are NaN")}
		case p.Wrapped.hits(seed, p.step):
			return fmt.Errorf("student: update: %w", &envs.RunError{Run: r, Err: errors.New("weights are NaN")})
		case p.Panic.hits(seed, p.step):
			panic("student: out of ink")
		}
		c := tr.Contexts[(r*tr.Candidates+a)*tr.Dim:][:tr.Dim]
		w := p.weights[r*tr.Dim:][:tr.Dim]
		miss := float64(tr.Reward[r])
		for d := range c {
			miss -= w[d] * float64(c[d])
		}
		for d := range c {
			w[d] += p.Rate * miss * float64(c[d])
		}
	}
	p.step++
	return nil
}

// lesson is a small experiment.
func lesson() sim.Experiment {
	return sim.Experiment{
		Name:    "lesson",
		Problem: field{},
		Contenders: []sim.Contender{
			{Name: "slow student", Algorithm: student{Rate: 0.01}},
			{Name: "ε = 0.1 & quick", Algorithm: &student{Rate: 0.1}},
		},
		Runs:  20,
		Steps: 300,
		Seed:  7,
	}
}

// oneMore is a problem that makes a run too many.
type oneMore struct{ field }

func (o oneMore) New(seeds []uint64) (envs.Environment, error) {
	return o.field.New(append(seeds, 1))
}
