package sim_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// fixed is an environment of 2 runs, whose sets have 2 and 1 of 2 candidates, that
// says the same at each step.
type fixed struct {
	expected []float64
	reward   []float32
	err      error
	taken    [][]int
}

func (f *fixed) Observe() envs.Observation {
	return envs.Observation{Runs: 2, Candidates: 2, Dim: 1, Contexts: make([]float32, 4), Sizes: []int32{2, 1}}
}

func (f *fixed) ExpectedRewards(dst []float64) { copy(dst, f.expected) }

func (f *fixed) Step(actions []int) (envs.Outcome, error) {
	f.taken = append(f.taken, slices.Clone(actions))
	return envs.Outcome{Reward: f.reward}, f.err
}

// always is a policy that takes the same actions.
type always struct {
	actions        []int
	actErr, updErr error
	updates        int
}

func (a *always) Act(dst []int, obs envs.Observation) error { copy(dst, a.actions); return a.actErr }
func (a *always) Update(tr envs.Transition) error           { a.updates++; return a.updErr }

func TestPlay(t *testing.T) {
	env := &fixed{expected: []float64{0.25, 1, 0.5, math.NaN()}, reward: []float32{3, 4}}
	policy := &always{actions: []int{0, 0}}
	var steps []int
	err := sim.Play(context.Background(), env, policy, 2, func(step int, tr envs.Transition, regret []float64) {
		steps = append(steps, step)
		if !slices.Equal(regret, []float64{0.75, 0}) { // 1 - 0.25, and the only candidate
			t.Errorf("regret %v", regret)
		}
		if tr.Candidates != 2 || !slices.Equal(tr.Actions, []int{0, 0}) || !slices.Equal(tr.Reward, env.reward) {
			t.Errorf("recorded %+v", tr)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(steps, []int{1, 2}) || policy.updates != 2 || len(env.taken) != 2 {
		t.Errorf("steps %v, %d updates, %d steps of the environment", steps, policy.updates, len(env.taken))
	}
}

func TestPlayErrors(t *testing.T) {
	broken, inf := errors.New("broken"), math.Inf(1)
	for _, test := range []struct {
		text   string
		env    fixed
		policy always
		run    int // -1: it concerns no run
	}{
		{"step 1: broken", fixed{}, always{actErr: broken}, -1},
		{"step 1: broken", fixed{}, always{updErr: broken}, -1},
		{"step 1: broken", fixed{err: broken}, always{}, -1},
		{"step 1: run 0: the policy chose action 2 of 2 candidates", fixed{}, always{actions: []int{2, 0}}, 0},
		{"step 1: run 1: the policy chose action 1 of 1 candidates", fixed{}, always{actions: []int{0, 1}}, 1},
		{"step 1: run 1: the policy chose action -1 of 1 candidates", fixed{}, always{actions: []int{0}}, 1},
		{"step 1: run 1: the reward is NaN", fixed{reward: []float32{0, float32(math.NaN())}}, always{}, 1},
		{"step 1: run 0: the reward is +Inf", fixed{reward: []float32{float32(inf), 0}}, always{}, 0},
		{"step 1: run 0: the expected rewards are [0 NaN]", fixed{expected: []float64{0, math.NaN()}}, always{}, 0},
		{"step 1: run 1: the expected rewards are [+Inf]", fixed{expected: []float64{0, 0, inf, 0}}, always{}, 1},
	} {
		if test.policy.actions == nil {
			test.policy.actions = []int{0, 0}
		}
		if test.env.reward == nil {
			test.env.reward = []float32{0, 0}
		}
		recorded := 0
		err := sim.Play(context.Background(), &test.env, &test.policy, 3, func(int, envs.Transition, []float64) { recorded++ })
		run := -1
		if of := (*envs.RunError)(nil); errors.As(err, &of) {
			run = of.Run
		}
		if recorded > 0 || err == nil || err.Error() != test.text || run != test.run {
			t.Errorf("error %v of run %d, want %s", err, run, test.text)
		}
	}
}

func TestCheckpoints(t *testing.T) {
	for _, steps := range []int{1, 2, 9, 10, 11, 99, 100, 101, 1234, 20_000, 5_000_000, 1_000_000_000} {
		at := sim.Checkpoints(steps)
		if at[0] != 1 || at[len(at)-1] != steps || len(at) > 220 {
			t.Errorf("%d steps: %d checkpoints from %d to %d", steps, len(at), at[0], at[len(at)-1])
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i] - at[i-1]; gap < 1 || gap > steps/100+1 || gap > max(1, at[i-1]/5) {
				t.Errorf("%d steps: %d after %d", steps, at[i], at[i-1])
			}
		}
	}
	// Counted by an awk program.
	if n := len(sim.Checkpoints(20_000)); n != 152 {
		t.Errorf("%d checkpoints of 20,000 steps, want 152", n)
	}
}

func TestCurves(t *testing.T) {
	c := sim.NewCurves(2, []int{1, 3})
	for step := 1; step <= 3; step++ {
		x := float32(step)
		c.Record(step, envs.Transition{Outcome: envs.Outcome{Reward: []float32{x, -x}}}, []float64{0.5, float64(step)})
	}
	if want := [][]float64{{1, 1 + 2 + 3}, {-1, -1 - 2 - 3}}; !reflect.DeepEqual(c.Reward, want) {
		t.Errorf("reward %v, want %v", c.Reward, want)
	}
	if want := [][]float64{{0.5, 1.5}, {1, 1 + 2 + 3}}; !reflect.DeepEqual(c.Regret, want) {
		t.Errorf("regret %v, want %v", c.Regret, want)
	}
}
