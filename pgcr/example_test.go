package pgcr_test

import (
	"fmt"
	"log"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// A policy that learns while it decides.
func Example() {
	problem := envs.Bernoulli{}
	env, err := problem.New([]uint64{1})
	if err != nil {
		log.Fatal(err)
	}
	policy, err := pgcr.Config{}.New(problem.Spec(), []uint64{1})
	if err != nil {
		log.Fatal(err)
	}
	action := make([]int, 1)
	rewards := 0.0
	for range 500 {
		step := envs.Transition{Observation: env.Observe(), Actions: action}
		if err := policy.Act(action, step.Observation); err != nil {
			log.Fatal(err)
		}
		if step.Outcome, err = env.Step(action); err != nil {
			log.Fatal(err)
		}
		if err := policy.Update(step); err != nil {
			log.Fatal(err)
		}
		rewards += float64(step.Reward[0])
	}
	fmt.Println("learned from", policy.(*pgcr.Agent).Steps(), "steps, more than half paid:", rewards > 250)
	// Output: learned from 500 steps, more than half paid: true
}
