package baselines_test

import (
	"fmt"
	"log"
	"slices"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// LinUCB learns the paper's linear problem: most of its regret falls into the
// first hundred of 2,000 steps. Random choices would add about 0.34 a step.
func ExampleLinUCB() {
	problem := envs.Linear{}
	seeds := []uint64{1}
	env, err := problem.New(seeds)
	if err != nil {
		log.Fatal(err)
	}
	policy, err := baselines.LinUCB{Alpha: 0.1, Ridge: 1}.New(problem.Spec(), seeds)
	if err != nil {
		log.Fatal(err)
	}

	expected := make([]float64, problem.Spec().Candidates)
	actions := make([]int, 1)
	var regret float64
	for step := 1; step <= 2000; step++ {
		obs := env.Observe()
		env.(envs.Oracle).ExpectedRewards(expected)
		if err := policy.Act(actions, obs); err != nil {
			log.Fatal(err)
		}
		regret += slices.Max(expected) - expected[actions[0]]
		outcome, err := env.Step(actions)
		if err != nil {
			log.Fatal(err)
		}
		if err := policy.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: outcome}); err != nil {
			log.Fatal(err)
		}
		if step == 100 || step == 2000 {
			fmt.Printf("regret after %4d steps: %.0f\n", step, regret)
		}
	}
	// Output:
	// regret after  100 steps: 8
	// regret after 2000 steps: 11
}
