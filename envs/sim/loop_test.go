package sim_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// script is an environment of 2 runs and 2 candidates that knows its lines.
type script struct {
	expected []float64
	reward   []float32
	err      error
	taken    [][]int
}

func (s *script) Observe() envs.Observation {
	return envs.Observation{Runs: 2, Candidates: 2, Dim: 1, Contexts: make([]float32, 4)}
}

func (s *script) ExpectedRewards(dst []float64) { copy(dst, s.expected) }

func (s *script) Step(actions []int) (envs.Outcome, error) {
	s.taken = append(s.taken, append([]int(nil), actions...))
	return envs.Outcome{Reward: s.reward, Discount: make([]float32, 2)}, s.err
}

// always is a policy that takes the same actions.
type always struct {
	actions        []int
	actErr, updErr error
	seen           []envs.Transition
}

func (a *always) Act(dst []int, obs envs.Observation) error { copy(dst, a.actions); return a.actErr }
func (a *always) Update(tr envs.Transition) error           { a.seen = append(a.seen, tr); return a.updErr }

func TestPlay(t *testing.T) {
	env := &script{expected: []float64{0.25, 1, 0.5, -2}, reward: []float32{3, 4}}
	policy := &always{actions: []int{0, 1}}
	var steps []int
	var regrets [][]float64
	err := sim.Play(context.Background(), env, policy, 2, sim.RecorderFunc(func(step int, tr envs.Transition, regret []float64) {
		steps = append(steps, step)
		regrets = append(regrets, append([]float64(nil), regret...))
		if tr.Candidates != 2 || !reflect.DeepEqual(tr.Actions, []int{0, 1}) || !reflect.DeepEqual(tr.Reward, env.reward) {
			t.Errorf("recorded %+v", tr)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	// Run 0: 1 - 0.25. Run 1: 0.5 + 2.
	if want := [][]float64{{0.75, 2.5}, {0.75, 2.5}}; !reflect.DeepEqual(regrets, want) {
		t.Errorf("regret %v, want %v", regrets, want)
	}
	if !reflect.DeepEqual(steps, []int{1, 2}) || len(policy.seen) != 2 || len(env.taken) != 2 {
		t.Errorf("steps %v, %d updates, %d steps of the environment", steps, len(policy.seen), len(env.taken))
	}
	if err := sim.Play(context.Background(), env, policy, 1, nil); err != nil {
		t.Errorf("without a recorder: %v", err)
	}
}

func TestPlayErrors(t *testing.T) {
	broken := errors.New("broken")
	nan := float32(math.NaN())
	good := []float64{0, 0, 0, 0}
	for _, test := range []struct {
		name   string
		env    *script
		policy *always
		run    int // -1: no run is to blame
		text   string
	}{
		{"Act", &script{expected: good, reward: []float32{0, 0}}, &always{actions: []int{0, 0}, actErr: broken}, -1, "step 1: broken"},
		{"Update", &script{expected: good, reward: []float32{0, 0}}, &always{actions: []int{0, 0}, updErr: broken}, -1, "step 1: broken"},
		{"Step", &script{expected: good, reward: []float32{0, 0}, err: broken}, &always{actions: []int{0, 0}}, -1, "step 1: broken"},
		{"too large an action", &script{expected: good, reward: []float32{0, 0}}, &always{actions: []int{0, 2}}, 1, "action 2 of 2"},
		{"negative action", &script{expected: good, reward: []float32{0, 0}}, &always{actions: []int{-5, 0}}, 0, "action -5 of 2"},
		{"no action", &script{expected: good, reward: []float32{0, 0}}, &always{actions: []int{0}}, 1, "action -1 of 2"},
		{"NaN reward", &script{expected: good, reward: []float32{0, nan}}, &always{actions: []int{0, 0}}, 1, "reward is NaN"},
		{"infinite reward", &script{expected: good, reward: []float32{float32(math.Inf(1)), 0}}, &always{actions: []int{0, 0}}, 0, "reward is +Inf"},
		{"too few rewards", &script{expected: good, reward: []float32{0}}, &always{actions: []int{0, 0}}, -1, "1 rewards and 2 discounts to 2 runs"},
		{"NaN expected", &script{expected: []float64{0, 0, 0, math.NaN()}, reward: []float32{0, 0}}, &always{actions: []int{0, 0}}, 1, "expected reward of candidate 1 is NaN"},
	} {
		recorded := 0
		err := sim.Play(context.Background(), test.env, test.policy, 3, sim.RecorderFunc(func(int, envs.Transition, []float64) { recorded++ }))
		if recorded > 0 || err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.text)
			continue
		}
		var at *sim.StepError
		if !errors.As(err, &at) || at.Step != 1 {
			t.Errorf("%s: %v does not say step 1", test.name, err)
		}
		run := -1
		if blamed := (*envs.RunError)(nil); errors.As(err, &blamed) {
			run = blamed.Run
		}
		if run != test.run {
			t.Errorf("%s: run %d is blamed, want %d", test.name, run, test.run)
		}
	}
}

func TestPlayStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	env := &script{expected: make([]float64, 4), reward: []float32{0, 0}}
	err := sim.Play(ctx, env, &always{actions: []int{0, 0}}, 1000, sim.RecorderFunc(func(step int, _ envs.Transition, _ []float64) {
		if step == 5 {
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) || len(env.taken) != 5 {
		t.Errorf("cancelled at step 5: %d steps, error %v", len(env.taken), err)
	}
}
