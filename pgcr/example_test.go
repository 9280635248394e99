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

// A policy that serves: it sees an offer, chooses, and learns when the feedback
// is there.
func Example_online() {
	policy, err := pgcr.Config{}.New(envs.Spec{Candidates: 3, Dim: 2}, []uint64{1})
	if err != nil {
		log.Fatal(err)
	}
	offer := envs.Observation{Runs: 1, Candidates: 3, Dim: 2, Contexts: []float32{
		0.9, 0.1, // the features of each candidate
		0.2, 0.7,
		0.5, 0.5,
	}}
	choice := make([]int, 1)
	for range 300 {
		if err := policy.Act(choice, offer); err != nil {
			log.Fatal(err)
		}
		feedback := envs.Outcome{Reward: []float32{0}, Discount: []float32{0}}
		if choice[0] == 1 { // this user clicks on the second candidate only
			feedback.Reward[0] = 1
		}
		if err := policy.Update(envs.Transition{Observation: offer, Actions: choice, Outcome: feedback}); err != nil {
			log.Fatal(err)
		}
	}
	probability := make([]float64, 3)
	if err := policy.(*pgcr.Agent).Probabilities(probability, offer); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the second candidate is chosen more than nine times in ten: %v\n", probability[1] > 0.9)
	// Output: the second candidate is chosen more than nine times in ten: true
}
