package sim

import (
	"context"
	"fmt"

	"github.com/contextrec/contextrec/envs"
)

// Match is one problem and one algorithm that are to meet for some steps, in so
// many runs at once as there are seeds.
type Match struct {
	Problem      envs.Problem
	ProblemSeeds []uint64 // [R]
	Algorithm    envs.Algorithm
	PolicySeeds  []uint64 // [R]
	Steps        int

	// Begin is called once, when environment and policy have been made: errors
	// before that are of the declarations.
	Begin func()

	// Recorder sees all steps in their order. It belongs to one goroutine.
	Recorder Recorder

	// Folder is where a player may keep files that let it go on after an
	// interruption. It is there already, is shared with other matches of the
	// same contender, and goes when the contender's result is there.
	Folder string
}

// PlayMatch makes environment and policy and plays the match with Play.
func PlayMatch(ctx context.Context, m Match) error {
	env, err := m.Problem.New(m.ProblemSeeds)
	if err != nil {
		return err
	}
	if isNil(env) {
		return fmt.Errorf("%T.New returned no environment and no error", m.Problem)
	}
	policy, err := m.Algorithm.New(m.Problem.Spec(), m.PolicySeeds)
	if err != nil {
		return err
	}
	if isNil(policy) {
		return fmt.Errorf("%T.New returned no policy and no error", m.Algorithm)
	}
	if n := env.Observe().Runs; n != len(m.ProblemSeeds) {
		return fmt.Errorf("environment has %d runs for %d seeds", n, len(m.ProblemSeeds))
	}
	m.Begin()
	return Play(ctx, env, policy, m.Steps, m.Recorder)
}
