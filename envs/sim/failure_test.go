package sim_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// A contender that fails says where and with which setting, and the other one
// ends as if it were alone.
func TestContenderFails(t *testing.T) {
	t.Parallel()
	want := wanted(t)
	at := bad{Seed: lesson().PolicySeeds(13, 1)[0], Step: 57}
	stacked := []int{10, 11, 12, 13, 14} // with run 13, at 5 a stack
	for _, test := range []struct {
		name      string
		algorithm student
		runs      []int
		step      int
		texts     []string
	}{
		{"RunError", student{Fail: at}, []int{13}, 57, []string{"run 13, step 57: weights are NaN", `"Fail":{"Seed":`}},
		{"wrapped RunError", student{Wrapped: at}, []int{13}, 57, []string{"run 13, step 57: student: update: weights are NaN"}},
		{"action", student{Outside: at}, []int{13}, 57, []string{"run 13, step 57: policy chose action 3 of 3"}},
		{"no action", student{Idle: at}, []int{13}, 57, []string{"run 13, step 57: policy chose action -1 of 3"}},
		{"panic", student{Panic: at}, stacked, 57, []string{"one of runs 10 to 14, step 57: panic: student: out of ink", "fake_test.go"}},
		{"New", student{Refuse: true}, []int{0, 1, 2, 3, 4}, 0, []string{"runs 0 to 4, step 0: student: Refuse is true"}},
	} {
		e := lesson()
		e.Contenders = []sim.Contender{{Name: "broken", Algorithm: test.algorithm}, e.Contenders[0]}
		dir := t.TempDir()
		results, err := e.Run(context.Background(), sim.Store{Dir: dir}, sim.Options{Workers: 1, Stack: 5})
		if len(results) != 1 || results[0].Contender != "slow student" {
			t.Errorf("%s: %d results", test.name, len(results))
		}
		var failure *sim.ContenderError
		if !errors.As(err, &failure) {
			t.Errorf("%s: error %v", test.name, err)
			continue
		}
		if failure.Contender != "broken" || failure.Experiment != "lesson" || failure.Step != test.step || !reflect.DeepEqual(failure.Runs, test.runs) {
			t.Errorf("%s: %s, %s, runs %v, step %d", test.name, failure.Experiment, failure.Contender, failure.Runs, failure.Step)
		}
		for _, text := range append(test.texts, `experiment "lesson", contender "broken"`, `setting: sim_test.student {"Rate":0`) {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: error does not have %q: %v", test.name, text, err)
			}
		}
		have := files(t, dir)
		for name := range want {
			if strings.Contains(name, "slow-student") && have[name] != want[name] {
				t.Errorf("%s: %s differs from a run without the broken contender", test.name, name)
			}
		}
	}
}

// A reward that is not finite stops every contender that meets it.
func TestRewardNaN(t *testing.T) {
	e := lesson()
	e.Problem = field{Bad: bad{Seed: e.ProblemSeeds(2, 1)[0], Step: 9}}
	results, err := e.Run(context.Background(), sim.Store{Dir: t.TempDir()}, sim.Options{})
	if len(results) != 0 || err == nil {
		t.Fatalf("%d results, error %v", len(results), err)
	}
	for _, name := range []string{"slow student", "ε = 0.1 & quick"} {
		if text := `contender "` + name + `", run 2, step 9: reward is NaN`; !strings.Contains(err.Error(), text) {
			t.Errorf("error does not have %q: %v", text, err)
		}
	}
}

// An environment that does not keep to the seeds is named, too.
func TestWrongRuns(t *testing.T) {
	e := lesson()
	e.Problem = oneMore{}
	_, err := e.Run(context.Background(), sim.Store{Dir: t.TempDir()}, sim.Options{Stack: 20})
	if err == nil || !strings.Contains(err.Error(), "environment has 21 runs for 20 seeds") {
		t.Errorf("error %v", err)
	}
}

// pledge is a problem and an algorithm that return nothing and no error, of
// different kinds of nothing, or end the goroutine.
type pledge struct {
	field
	Made string
}

func (p pledge) New(seeds []uint64) (envs.Environment, error) {
	switch p.Made {
	case "nothing":
		return nil, nil
	case "a pointer to nothing":
		return (*meadow)(nil), nil
	case "no return":
		runtime.Goexit()
	}
	return p.field.New(seeds)
}

type vow struct{ Made string }

func (v vow) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	switch v.Made {
	case "nothing":
		return nil, nil
	case "a pointer to nothing":
		return (*pupil)(nil), nil
	case "no return":
		runtime.Goexit()
	}
	return leaver{}, nil
}

// leaver is a policy that ends the goroutine it is called on.
type leaver struct{ envs.Policy }

func (leaver) Act([]int, envs.Observation) error {
	runtime.Goexit()
	return nil
}

// What New must not return, and calls that never return, are errors of the
// contender.
func TestNothingMade(t *testing.T) {
	for _, test := range []struct {
		problem   envs.Problem
		algorithm envs.Algorithm
		step      int
		text      string
	}{
		{pledge{Made: "nothing"}, student{}, 0, "sim_test.pledge.New returned no environment"},
		{pledge{Made: "a pointer to nothing"}, student{}, 0, "sim_test.pledge.New returned no environment"},
		{pledge{Made: "no return"}, student{}, 0, "runtime.Goexit"},
		{field{}, vow{Made: "nothing"}, 0, "sim_test.vow.New returned no policy"},
		{field{}, vow{Made: "a pointer to nothing"}, 0, "sim_test.vow.New returned no policy"},
		{field{}, vow{Made: "no return"}, 0, "runtime.Goexit"},
		{field{}, vow{}, 1, "runtime.Goexit"},
	} {
		e := lesson()
		e.Problem = test.problem
		e.Contenders = []sim.Contender{{Name: "broken", Algorithm: test.algorithm}, {Name: "good", Algorithm: student{Rate: 0.1}}}
		results, err := e.Run(context.Background(), sim.Store{Dir: t.TempDir()}, sim.Options{Workers: 1, Stack: 20})
		if good := test.problem == (field{}); good != (len(results) == 1) {
			t.Errorf("%s: %d results", test.text, len(results))
		}
		var failure *sim.ContenderError
		if !errors.As(err, &failure) || failure.Contender != "broken" || failure.Step != test.step || !strings.Contains(err.Error(), test.text) {
			t.Errorf("error %v, want %q at step %d", err, test.text, test.step)
		}
	}
}
