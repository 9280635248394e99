package neural_test

import (
	"fmt"
	"log"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
)

// Two items are on offer, one of them fresh. Users like fresh items, which the
// policy has to find out.
func ExampleEpsilonGreedy() {
	spec := envs.Spec{Candidates: 2, Dim: 1}
	policy, err := neural.EpsilonGreedy{Epsilon: 0.1}.New(spec, []uint64{1})
	if err != nil {
		log.Fatal(err)
	}
	obs := envs.Observation{Runs: 1, Candidates: 2, Dim: 1, Contexts: []float32{0, 1}}
	action := make([]int, 1)
	for range 200 {
		if err := policy.Act(action, obs); err != nil {
			log.Fatal(err)
		}
		outcome := envs.Outcome{Reward: []float32{0.2 + 0.6*obs.Contexts[action[0]]}, Discount: []float32{0}}
		if err := policy.Update(envs.Transition{Observation: obs, Actions: action, Outcome: outcome}); err != nil {
			log.Fatal(err)
		}
	}
	values := make([]float64, 2)
	if err := policy.(*neural.Policy).Values(values, obs); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("values %.1f\n", values)
	// Output: values [0.2 0.8]
}
