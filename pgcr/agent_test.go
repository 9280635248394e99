package pgcr_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/pgcr"
)

// everything switches on all that an agent has.
var everything = pgcr.Config{
	Hidden: []int{6, 5}, BatchSize: 16, Resamples: 2, Dropout: 0.4, Greed: pgcr.Greed{Rate: 0.02}, Discount: 0.9,
	ControlVariate: true, UpdateEvery: 2,
}

func TestConformance(t *testing.T) {
	suite := envtest.Suite{Steps: 60}
	suite.TestAlgorithm(t, pgcr.Config{BatchSize: 16}, envs.Bernoulli{})
	suite.TestAlgorithm(t, everything, envs.Chain{})
	suite.TestAlgorithm(t, everything, envs.Mixed{Candidates: 3, Dim: 6})
}

// game is an agent in an environment.
type game struct {
	t       testing.TB
	env     envs.Environment
	agent   *pgcr.Agent
	actions []int
}

func play(t testing.TB, config pgcr.Config, problem envs.Problem, seeds []uint64) *game {
	t.Helper()
	env, err := problem.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := config.New(problem.Spec(), seeds)
	if err != nil {
		t.Fatal(err)
	}
	return &game{t, env, policy.(*pgcr.Agent), make([]int, len(seeds))}
}

// step plays one step and returns it.
func (g *game) step() envs.Transition {
	g.t.Helper()
	tr := envs.Transition{Observation: g.env.Observe(), Actions: g.actions}
	if err := g.agent.Act(g.actions, tr.Observation); err != nil {
		g.t.Fatal(err)
	}
	var err error
	if tr.Outcome, err = g.env.Step(g.actions); err != nil {
		g.t.Fatal(err)
	}
	if err := g.agent.Update(tr); err != nil {
		g.t.Fatal(err)
	}
	return tr
}

// choices plays on and returns the actions of all steps.
func (g *game) choices(steps int) (all []int) {
	g.t.Helper()
	for range steps {
		g.step()
		all = append(all, g.actions...)
	}
	return all
}

func TestPeekingChangesNothing(t *testing.T) {
	for _, problem := range []envs.Problem{envs.Bernoulli{}, envs.Chain{}} {
		quiet, curious := play(t, everything, problem, seeds(5, 3)), play(t, everything, problem, seeds(5, 3))
		want := quiet.choices(60)
		var got []int
		room := make([]float64, 3*problem.Spec().Candidates)
		for i := range 60 {
			for range i % 3 {
				obs := curious.env.Observe()
				if err := errors.Join(curious.agent.Probabilities(room, obs), curious.agent.ProbabilitiesOfMask(room, obs, uint64(i)),
					curious.agent.Values(room, obs)); err != nil {
					t.Fatal(err)
				}
			}
			got = append(got, curious.choices(1)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%T: looking at probabilities changed the actions", problem)
		}
	}
}

func TestProbabilities(t *testing.T) {
	g := play(t, pgcr.Config{Dropout: 0.5, Greed: pgcr.Greed{Rate: 0.01}}, envs.Bernoulli{}, seeds(1, 2))
	g.choices(50)
	obs := g.env.Observe()
	p, q, other := make([]float64, 10), make([]float64, 10), make([]float64, 10)
	if err := errors.Join(g.agent.Probabilities(p, obs), g.agent.ProbabilitiesOfMask(q, obs, 1), g.agent.ProbabilitiesOfMask(other, obs, 2)); err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]float64{p, q, other} {
		for r := range 2 {
			sum := 0.0
			for _, x := range p[r*5 : (r+1)*5] {
				sum += x
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("probabilities of run %d sum to %v", r, sum)
			}
		}
	}
	if slices.Equal(q, other) || slices.Equal(p, q) {
		t.Error("dropout masks do not change the policy")
	}
	// The actions follow the probabilities: 3,000 decisions on one step, of an
	// agent without dropout, within 5 standard errors.
	g = play(t, pgcr.Config{}, envs.Bernoulli{}, seeds(1, 1))
	g.choices(50)
	obs = g.env.Observe()
	if err := g.agent.Probabilities(p[:5], obs); err != nil {
		t.Fatal(err)
	}
	const trials = 3000
	counts := make([]float64, 5)
	for range trials {
		if err := g.agent.Act(g.actions, obs); err != nil {
			t.Fatal(err)
		}
		counts[g.actions[0]]++
	}
	for i, c := range counts {
		if se := math.Sqrt(p[i] * (1 - p[i]) / trials); math.Abs(c/trials-p[i]) > 5*se {
			t.Errorf("candidate %d of probability %.3f is chosen with frequency %.3f", i, p[i], c/trials)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	for _, c := range []struct {
		problem envs.Problem
		config  pgcr.Config
	}{
		{envs.Bernoulli{}, pgcr.Config{BatchSize: 16, Dropout: 0.5, Greed: pgcr.Greed{Rate: 0.01}}},
		{envs.Chain{}, everything},
		{envs.Chain{Episodic: true}, everything},
	} {
		g := play(t, c.config, c.problem, seeds(3, 2))
		g.choices(101)
		var file bytes.Buffer
		if err := g.agent.Save(&file); err != nil {
			t.Fatal(err)
		}
		size := file.Len()
		loaded, err := pgcr.Load(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		// The same environment, from its first step on, for both.
		env, err := c.problem.New(seeds(99, 2))
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.problem.New(seeds(99, 2))
		if err != nil {
			t.Fatal(err)
		}
		want := (&game{t, env, g.agent, make([]int, 2)}).choices(1000)
		got := (&game{t, again, loaded, make([]int, 2)}).choices(1000)
		if !slices.Equal(got, want) {
			t.Errorf("%T: actions after a reload differ from those without", c.problem)
		}
		if loaded.Steps() != 1101 {
			t.Errorf("%T: loaded agent has learned from %d steps, want 1101", c.problem, loaded.Steps())
		}

		whole := file.Bytes()
		for _, bad := range [][]byte{nil, []byte("nonsense"), whole[:size-1], whole[:30], append(slices.Clone(whole), 0)} {
			if _, err := pgcr.Load(bytes.NewReader(bad)); err == nil {
				t.Errorf("a file of %d bytes loads as one of %d", len(bad), size)
			}
		}
		for _, at := range []int{30, 60, size / 2, size - 2} {
			bad := slices.Clone(whole)
			bad[at] ^= 1
			if _, err := pgcr.Load(bytes.NewReader(bad)); err == nil {
				t.Errorf("a file with byte %d damaged loads", at)
			}
		}
	}
}

func TestSaveOfNewAgent(t *testing.T) {
	g := play(t, pgcr.Config{}, envs.Linear{}, seeds(3, 1))
	var file bytes.Buffer
	if err := g.agent.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := pgcr.Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	other := play(t, pgcr.Config{}, envs.Linear{}, seeds(3, 1))
	other.agent = loaded
	if !slices.Equal(other.choices(20), g.choices(20)) {
		t.Error("a reloaded new agent acts in another way")
	}
}

func TestBadSettings(t *testing.T) {
	spec := envs.Spec{Candidates: 5, Dim: 4}
	for _, c := range []struct {
		config pgcr.Config
		want   string
	}{
		{pgcr.Config{ActorRate: -1}, "ActorRate is -1"},
		{pgcr.Config{CriticRate: math.NaN()}, "CriticRate is NaN"},
		{pgcr.Config{Dropout: 1}, "Dropout is 1"},
		{pgcr.Config{Dropout: -0.1}, "Dropout is -0.1"},
		{pgcr.Config{Discount: 1.5}, "Discount is 1.5"},
		{pgcr.Config{BatchSize: -3}, "BatchSize is -3"},
		{pgcr.Config{Resamples: 16}, "Resamples is 16"}, // 64 rivals from the other 63 steps
		{pgcr.Config{UpdateEvery: -1}, "UpdateEvery is -1"},
		{pgcr.Config{Hidden: []int{}}, "Hidden has 0 layers"},
		{pgcr.Config{Hidden: []int{10, 0}}, "Hidden is [10 0]"},
		{pgcr.Config{Greed: pgcr.Greed{Rate: math.Inf(1)}}, "Greed.Rate is +Inf"},
		{pgcr.Config{Greed: pgcr.Greed{Floor: -2}}, "Greed.Floor is -2"},
		{pgcr.Config{Greed: pgcr.Greed{Cap: 1e7}}, "Greed.Cap is 1e+07"},
	} {
		if policy, err := c.config.New(spec, seeds(1, 1)); policy != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.config, err, c.want)
		}
	}
}

func TestDivergenceNamesTheRun(t *testing.T) {
	g := play(t, pgcr.Config{}, envs.Linear{}, seeds(1, 3))
	g.choices(5)
	for what, spoil := range map[string]func(tr envs.Transition){
		"reward":                   func(tr envs.Transition) { tr.Reward[1] = float32(math.NaN()) },
		"feature 7 of candidate 0": func(tr envs.Transition) { tr.Contexts[200+7] = float32(math.Inf(1)) },
		"discount":                 func(tr envs.Transition) { tr.Discount[1] = float32(math.NaN()) },
	} {
		obs := g.env.Observe()
		obs.Contexts = slices.Clone(obs.Contexts)
		tr := envs.Transition{Observation: obs, Actions: []int{0, 1, 2}, Outcome: envs.Outcome{Reward: make([]float32, 3), Discount: make([]float32, 3)}}
		spoil(tr)
		var run *envs.RunError
		if err := g.agent.Update(tr); !errors.As(err, &run) || run.Run != 1 || !strings.Contains(err.Error(), what) {
			t.Errorf("a bad %s of run 1: error %v", what, err)
		}
	}
	bad := g.env.Observe()
	bad.Contexts = slices.Clone(bad.Contexts)
	bad.Contexts[400] = float32(math.NaN())
	var run *envs.RunError
	if err := g.agent.Act(g.actions, bad); !errors.As(err, &run) || run.Run != 2 {
		t.Errorf("an action on a NaN: error %v", err)
	}
	// Rewards and contexts near the end of float32 have infinite gradients.
	obs := g.env.Observe()
	obs.Contexts = slices.Clone(obs.Contexts)
	for i := range obs.Contexts[400:] {
		obs.Contexts[400+i] *= 1e6
	}
	huge := envs.Transition{Observation: obs, Actions: []int{0, 1, 2}, Outcome: envs.Outcome{Reward: []float32{0, 0, 3e38}, Discount: make([]float32, 3)}}
	var err error
	for range 50 {
		if err = g.agent.Update(huge); err != nil {
			break
		}
		if err = g.agent.Act(g.actions, obs); err != nil {
			break
		}
	}
	if !errors.As(err, &run) || run.Run != 2 || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("a diverging run 2: error %v", err)
	}
	// Nothing that it says or leaves hides it.
	sane := g.env.Observe()
	for what, err := range map[string]error{
		"probabilities": g.agent.Probabilities(make([]float64, 3*sane.Candidates), sane),
		"values":        g.agent.Values(make([]float64, 3*sane.Candidates), sane),
		"saving":        g.agent.Save(new(bytes.Buffer)),
	} {
		if !errors.As(err, &run) || run.Run != 2 || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("%s of a diverged run 2: error %v", what, err)
		}
	}
}

func TestNoEstimator(t *testing.T) {
	if agent, err := (pgcr.Config{}).NewAgent(envs.Spec{Candidates: 5, Dim: 4}, seeds(1, 1), nil); agent != nil || err == nil || !strings.Contains(err.Error(), "estimator is nil") {
		t.Errorf("error %v", err)
	}
}

func TestConfigAsJSON(t *testing.T) {
	text, err := json.Marshal(pgcr.Config{Dropout: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"Hidden":[10]`, `"BatchSize":64`, `"Dropout":0.5`, `"Floor":1`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	if strings.Contains(string(text), "Backend") {
		t.Errorf("%s has a backend", text)
	}
}
