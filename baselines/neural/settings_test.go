package neural_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		algorithm envs.Algorithm
		want      string
	}{
		{neural.Greedy{}, `{"Hidden":[10],"Rate":0.01,"BatchSize":64,"UpdateEvery":1,"Discount":0}`},
		{neural.EpsilonGreedy{}, `{"Hidden":[10],"Rate":0.01,"BatchSize":64,"UpdateEvery":1,"Discount":0,"Epsilon":0.1}`},
		{neural.DropoutThompson{Settings: neural.Settings{Hidden: []int{60, 20}, BatchSize: 256, Backend: backend}},
			`{"Hidden":[60,20],"Rate":0.01,"BatchSize":256,"UpdateEvery":1,"Discount":0,"Dropout":0.5}`},
		{neural.VanillaPG{Discount: 0.9}, `{"Hidden":[10],"ActorRate":0.01,"CriticRate":0.01,"BatchSize":64,"UpdateEvery":1,` +
			`"Greed":{"Rate":0,"Floor":1,"Cap":1000000},"Dropout":0,"Discount":0.9}`},
	} {
		got, err := json.Marshal(c.algorithm)
		if err != nil || string(got) != c.want {
			t.Errorf("%T is %s (%v), want %s", c.algorithm, got, err, c.want)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		algorithm envs.Algorithm
		want      string
	}{
		{neural.Greedy{Settings: neural.Settings{Hidden: []int{}}}, "Greedy.Hidden is []"},
		{neural.Greedy{Settings: neural.Settings{Hidden: []int{10, 0}}}, "Greedy.Hidden is [10 0]"},
		{neural.Greedy{Settings: neural.Settings{Hidden: make([]int, 17)}}, "Greedy.Hidden is"},
		{neural.Greedy{Settings: neural.Settings{Rate: -0.1}}, "Greedy.Rate is -0.1"},
		{neural.Greedy{Settings: neural.Settings{Rate: math.NaN()}}, "Greedy.Rate is NaN"},
		{neural.DropoutThompson{Settings: neural.Settings{BatchSize: -1}}, "DropoutThompson.BatchSize is -1"},
		{neural.DropoutThompson{Settings: neural.Settings{UpdateEvery: -2}}, "DropoutThompson.UpdateEvery is -2"},
		{neural.EpsilonGreedy{Settings: neural.Settings{Discount: 1.5}}, "EpsilonGreedy.Discount is 1.5"},
		{neural.EpsilonGreedy{Epsilon: 1.01}, "EpsilonGreedy.Epsilon is 1.01"},
		{neural.EpsilonGreedy{Epsilon: math.NaN()}, "EpsilonGreedy.Epsilon is NaN"},
		{neural.DropoutThompson{Dropout: 1}, "DropoutThompson.Dropout is 1"},
		{neural.DropoutThompson{Dropout: -0.5}, "DropoutThompson.Dropout is -0.5"},
		{neural.VanillaPG{ActorRate: -1}, "ActorRate is -1"},
		{neural.VanillaPG{CriticRate: 11}, "CriticRate is 11"},
		{neural.VanillaPG{Greed: pgcr.Greed{Rate: -1}}, "Greed.Rate is -1"},
		{neural.VanillaPG{Dropout: 1}, "Dropout is 1"},
	} {
		policy, err := c.algorithm.New(envs.Bernoulli{}.Spec(), upTo(1))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "neural: ") {
			t.Errorf("%+v: error %v, want one of neural that says %q", c.algorithm, err, c.want)
		}
		if policy != nil {
			t.Errorf("%+v: a policy beside the error", c.algorithm)
		}
	}
}

// TestBadNumbers hands over a step in which one number of run 1 is not finite:
// the error names the run, and no run has learned from the step.
func TestBadNumbers(t *testing.T) {
	spec := envs.Spec{Candidates: 3, Dim: 4}
	rng := rand.New(rand.NewPCG(7, 1))
	probe := observation(rng, 2, spec)
	step := func() envs.Transition {
		return envs.Transition{Observation: observation(rng, 2, spec), Actions: []int{0, 1}, Outcome: envs.Outcome{Reward: []float32{1, 2}, Discount: []float32{0, 0}}}
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		name  string
		spoil func(tr *envs.Transition)
		want  string
	}{
		{"reward", func(tr *envs.Transition) { tr.Reward[1] = nan }, "reward is NaN"},
		{"infinite reward", func(tr *envs.Transition) { tr.Reward[1] = inf }, "reward is -Inf"},
		{"chosen context", func(tr *envs.Transition) { tr.Contexts[(3+1)*4+2] = nan }, "feature 2 of candidate 1 is NaN"},
		{"other context", func(tr *envs.Transition) { tr.Contexts[(3+2)*4+3] = inf }, "feature 3 of candidate 2 is -Inf"},
	} {
		p := newPolicy(t, neural.Greedy{}, spec, upTo(2))
		if err := p.Update(step()); err != nil {
			t.Fatal(err)
		}
		before := values(t, p, probe)
		tr := step()
		c.spoil(&tr)
		wantRunError(t, c.name, p.Update(tr), 1, c.want)
		if strings.Contains(c.name, "context") {
			wantRunError(t, c.name, p.Act(make([]int, 2), tr.Observation), 1, c.want)
			wantRunError(t, c.name, p.Values(make([]float64, 6), tr.Observation), 1, c.want)
		}
		if !slices.Equal(before, values(t, p, probe)) {
			t.Errorf("%s: the values moved", c.name)
		}
	}
}

func wantRunError(t *testing.T, name string, err error, run int, want string) {
	t.Helper()
	var failed *envs.RunError
	if !errors.As(err, &failed) || failed.Run != run || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want one of run %d that says %q", name, err, run, want)
	}
}

// TestDivergence feeds run 1 with rewards whose gradients overflow float32.
func TestDivergence(t *testing.T) {
	spec := envs.Spec{Candidates: 3, Dim: 4}
	p := newPolicy(t, neural.EpsilonGreedy{Settings: neural.Settings{Rate: 0.02}}, spec, upTo(2))
	rng := rand.New(rand.NewPCG(8, 1))
	for range 50 {
		obs := observation(rng, 2, spec)
		if err := p.Act(make([]int, 2), obs); err != nil {
			wantRunError(t, "huge rewards", err, 1, "(EpsilonGreedy.Rate 0.02)")
			return
		}
		tr := envs.Transition{Observation: obs, Actions: []int{0, 1}, Outcome: envs.Outcome{Reward: []float32{1, 3e38}, Discount: []float32{0, 0}}}
		if err := p.Update(tr); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("no error")
}

func TestWrongShapesPanic(t *testing.T) {
	spec := envs.Spec{Candidates: 3, Dim: 4}
	obs := observation(rand.New(rand.NewPCG(9, 1)), 2, spec)
	p := newPolicy(t, neural.Greedy{}, spec, upTo(2))
	tr := envs.Transition{Observation: obs, Actions: []int{0, 1}, Outcome: envs.Outcome{Reward: []float32{1, 2}, Discount: []float32{0, 0}}}
	if err := p.Update(tr); err != nil {
		t.Fatal(err)
	}
	tr.Session = []int32{0, 0}
	for want, f := range map[string]func(){
		"3 actions asked for": func() { _ = p.Act(make([]int, 3), obs) },
		"5 values asked for":  func() { _ = p.Values(make([]float64, 5), obs) },
		"sessions among":      func() { _ = p.Update(tr) },
	} {
		func() {
			defer func() {
				message, _ := recover().(string)
				if !strings.HasPrefix(message, "neural: ") || !strings.Contains(message, want) {
					t.Errorf("panic %q, want one of neural that says %q", message, want)
				}
			}()
			f()
		}()
	}
}
