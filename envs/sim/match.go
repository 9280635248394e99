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

// NewEnvironment makes the environment of the runs from one to another, not
// included, and checks that it is there and of so many runs.
func (m Match) NewEnvironment(from, to int) (envs.Environment, error) {
	env, err := m.Problem.New(m.ProblemSeeds[from:to])
	if err != nil {
		return nil, err
	}
	if isNil(env) {
		return nil, fmt.Errorf("%T.New returned no environment and no error", m.Problem)
	}
	if n := env.Observe().Runs; n != to-from {
		return nil, fmt.Errorf("environment has %d runs for %d seeds", n, to-from)
	}
	return env, nil
}

// NewPolicy makes the policy of all runs, and checks that it is there.
func (m Match) NewPolicy() (envs.Policy, error) {
	policy, err := m.Algorithm.New(m.Problem.Spec(), m.PolicySeeds)
	if err == nil && isNil(policy) {
		err = fmt.Errorf("%T.New returned no policy and no error", m.Algorithm)
	}
	return policy, err
}

// PlayMatch makes environment and policy and plays the match with Play.
func PlayMatch(ctx context.Context, m Match) error {
	env, err := m.NewEnvironment(0, len(m.ProblemSeeds))
	if err != nil {
		return err
	}
	policy, err := m.NewPolicy()
	if err != nil {
		return err
	}
	m.Begin()
	return Play(ctx, env, policy, m.Steps, m.Recorder)
}
