package envs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

func TestSpecValidate(t *testing.T) {
	for _, test := range []struct {
		spec  envs.Spec
		field string
	}{
		{envs.Spec{Candidates: 2, Dim: 1}, ""},
		{envs.Spec{Candidates: 5, Dim: 40, State: 39}, ""},
		{envs.Spec{Candidates: 1, Dim: 1}, "Candidates"},
		{envs.Spec{Candidates: -5, Dim: 1}, "Candidates"},
		{envs.Spec{Candidates: 2}, "Dim"},
		{envs.Spec{Candidates: 2, Dim: 3, State: 3}, "State"},
		{envs.Spec{Candidates: 2, Dim: 3, State: -1}, "State"},
	} {
		checkError(t, test.spec.Validate(), "Spec."+test.field, test.field != "")
	}
}

func TestRunError(t *testing.T) {
	cause := errors.New("reward is NaN")
	err := fmt.Errorf("step 7: %w", &envs.RunError{Run: 3, Err: cause})
	if want := "step 7: run 3: reward is NaN"; err.Error() != want {
		t.Errorf("message %q, want %q", err, want)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

func TestCheck(t *testing.T) {
	spec := envs.Spec{Candidates: 2, Dim: 3}
	good := func() envs.Transition {
		return envs.Transition{
			Observation: envs.Observation{Runs: 4, Candidates: 2, Dim: 3, Contexts: make([]float32, 24), Session: make([]int32, 4)},
			Actions:     make([]int, 4),
			Outcome:     envs.Outcome{Reward: make([]float32, 4), Discount: make([]float32, 4)},
		}
	}
	tr := good()
	tr.Check(spec, 4)
	tr.Session = nil
	tr.Check(spec, 4)
	for _, test := range []struct {
		want  string
		spoil func(*envs.Transition)
	}{
		{"envs: observation of 5 runs, policy was made for 4", func(tr *envs.Transition) { tr.Runs = 5 }},
		{"envs: observation of 3 candidates, policy was made for 2", func(tr *envs.Transition) { tr.Candidates = 3 }},
		{"envs: observation has dimension 7, policy was made for 3", func(tr *envs.Transition) { tr.Dim = 7 }},
		{"envs: observation has 23 context values, want 4·2·3", func(tr *envs.Transition) { tr.Contexts = tr.Contexts[1:] }},
		{"envs: observation has 3 sessions for 4 runs", func(tr *envs.Transition) { tr.Session = tr.Session[1:] }},
		{"envs: transition has 3 rewards and 4 discounts for 4 runs", func(tr *envs.Transition) { tr.Reward = tr.Reward[1:] }},
		{"envs: transition has 4 rewards and 0 discounts for 4 runs", func(tr *envs.Transition) { tr.Discount = nil }},
		{"envs: 3 actions for 4 runs", func(tr *envs.Transition) { tr.Actions = tr.Actions[1:] }},
		{"envs: action 2 of run 1 is outside the 2 candidates", func(tr *envs.Transition) { tr.Actions[1] = 2 }},
	} {
		tr := good()
		test.spoil(&tr)
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %v, want %q", got, test.want)
				}
			}()
			tr.Check(spec, 4)
		}()
	}
}

// checkError wants an error that mentions the field, or none.
func checkError(t *testing.T, err error, mention string, want bool) {
	t.Helper()
	switch {
	case !want && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want && err == nil:
		t.Errorf("no error, want one about %s", mention)
	case want && !strings.Contains(err.Error(), mention):
		t.Errorf("error %q does not mention %s", err, mention)
	}
}

// A policy that knows the truth, or anything else that decides, is stepped
// through an environment like this.
func Example() {
	env, err := envs.Linear{}.New([]uint64{1, 2, 3}) // three independent runs
	if err != nil {
		fmt.Println(err)
		return
	}
	obs := env.Observe()
	fmt.Println(obs.Runs, "runs,", obs.Candidates, "candidates,", obs.Dim, "features,", len(obs.Contexts), "values")

	expected := make([]float64, obs.Runs*obs.Candidates)
	actions := make([]int, obs.Runs)
	var regret float64
	for range 1000 {
		env.(envs.Oracle).ExpectedRewards(expected)
		for r := range actions {
			of := expected[r*obs.Candidates : (r+1)*obs.Candidates]
			actions[r] = 0 // the first candidate is as good as a random one
			best := of[0]
			for _, e := range of {
				best = max(best, e)
			}
			regret += best - of[actions[r]]
		}
		if _, err := env.Step(actions); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("regret of choosing at random: %.2f a step\n", regret/3000)
	// Output:
	// 3 runs, 5 candidates, 40 features, 600 values
	// regret of choosing at random: 0.34 a step
}
