package sim_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// doors is a problem: behind the first door there is always 0.3, behind the
// second 0.7.
type doors struct{}

func (doors) Spec() envs.Spec { return envs.Spec{Candidates: 2, Dim: 1} }

func (doors) New(seeds []uint64) (envs.Environment, error) {
	return &corridor{contexts: make([]float32, 2*len(seeds)), reward: make([]float32, len(seeds)), discount: make([]float32, len(seeds))}, nil
}

type corridor struct{ contexts, reward, discount []float32 }

func (c *corridor) Observe() envs.Observation {
	return envs.Observation{Runs: len(c.reward), Candidates: 2, Dim: 1, Contexts: c.contexts}
}

func (c *corridor) Step(actions []int) (envs.Outcome, error) {
	for r, a := range actions {
		c.reward[r] = []float32{0.3, 0.7}[a]
	}
	return envs.Outcome{Reward: c.reward, Discount: c.discount}, nil
}

func (c *corridor) ExpectedRewards(dst []float64) {
	for i := range dst {
		dst[i] = []float64{0.3, 0.7}[i%2]
	}
}

// stubborn is an algorithm, and its policy: it takes the same door for ever.
type stubborn struct{ Door int }

func (s stubborn) New(envs.Spec, []uint64) (envs.Policy, error) { return s, nil }

func (s stubborn) Act(dst []int, _ envs.Observation) error {
	for r := range dst {
		dst[r] = s.Door
	}
	return nil
}

func (s stubborn) Update(envs.Transition) error { return nil }

func ExampleExperiment_Run() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	experiment := sim.Experiment{
		Name:    "doors",
		Problem: doors{},
		Contenders: []sim.Contender{
			{Name: "first", Algorithm: stubborn{Door: 0}},
			{Name: "second", Algorithm: stubborn{Door: 1}},
		},
		Runs:  20,
		Steps: 1000,
		Seed:  1,
	}
	results, err := experiment.Run(context.Background(), sim.Store{Dir: dir}, sim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		last := len(r.Checkpoints) - 1
		fmt.Printf("%-6s after %d steps: reward %.0f, regret %.0f\n", r.Contender, r.Checkpoints[last], r.Reward[0][last], r.Regret[0][last])
	}
	// Output:
	// first  after 1000 steps: reward 300, regret 400
	// second after 1000 steps: reward 700, regret 0
}

func ExamplePlay() {
	env, err := doors{}.New([]uint64{1})
	if err != nil {
		log.Fatal(err)
	}
	policy, err := stubborn{Door: 0}.New(doors{}.Spec(), []uint64{1})
	if err != nil {
		log.Fatal(err)
	}
	curves := sim.NewCurves(1, []int{1, 10, 100})
	if err := sim.Play(context.Background(), env, policy, 100, curves); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", curves.Regret[0])
	// Output: [0.4 4.0 40.0]
}
