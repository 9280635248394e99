package sim_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// first is an algorithm, and its policy, that takes the first candidate. The order
// of the candidates says nothing, so this is random choice.
type first struct{}

func (f first) New(envs.Spec, []uint64) (envs.Policy, error) { return f, nil }
func (first) Act(dst []int, obs envs.Observation) error      { clear(dst); return nil }
func (first) Update(tr envs.Transition) error                { return nil }

func ExampleExperiment_Run() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	experiment := sim.Experiment{
		Name:    "linear",
		Problem: envs.Linear{Candidates: 2, Dim: 10},
		Entries: []sim.Entry{{Name: "first", Algorithm: first{}}},
		Runs:    20,
		Steps:   1000,
		Seed:    1,
	}
	results, err := experiment.Run(context.Background(), sim.Store{Dir: dir}, sim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		// The mean of the larger of 2 standard normals is 0.564, and the expected
		// reward of a candidate has the variance 1/12.
		fmt.Printf("%s: regret %.2f a step\n", r.Entry, r.Summary().Regret.Mean/1000)
	}
	// Output:
	// first: regret 0.16 a step
}
