package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// export writes a line of JSON and then, for each step, the contexts [R, M, D] as
// float32, the expected rewards [R, M] as float64, and what each candidate would pay
// [R, M] as float32, all little-endian.
func (p *program) export(cmd *cobra.Command, args []string) error {
	e := p.experiments(args[0])[0].Scale(cmp.Or(p.scale, 1))
	problem, err := sim.Declaration(e.Problem)
	spec := e.Problem.Spec()
	copies := make([]envs.Environment, spec.Candidates) // in the i-th the i-th candidate is chosen always
	for i := range copies {
		env, failed := e.Problem.New(e.ProblemSeeds(0, e.Runs))
		copies[i], err = env, errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	oracle, ok := copies[0].(envs.Oracle)
	if obs := copies[0].Observe(); !ok || obs.Session != nil || obs.Sizes != nil {
		return fmt.Errorf("%s cannot be exported: its streams depend on what is chosen, or its sets differ in size", e.Name)
	}
	out := bufio.NewWriterSize(p.stdout, 1<<20)
	json.NewEncoder(out).Encode(map[string]any{
		"experiment": e.Name, "problem": problem, "runs": e.Runs, "steps": e.Steps, "seed": e.Seed,
		"candidates": spec.Candidates, "dim": spec.Dim, "checkpoints": sim.Checkpoints(e.Steps),
	})
	rewards, expected := make([]float32, e.Runs*spec.Candidates), make([]float64, e.Runs*spec.Candidates)
	for range e.Steps {
		oracle.ExpectedRewards(expected)
		binary.Write(out, binary.LittleEndian, copies[0].Observe().Contexts)
		for i, env := range copies {
			outcome, err := env.Step(slices.Repeat([]int{i}, e.Runs))
			if err = cmp.Or(err, cmd.Context().Err()); err != nil {
				return err
			}
			for r, reward := range outcome.Reward {
				rewards[r*spec.Candidates+i] = reward
			}
		}
		binary.Write(out, binary.LittleEndian, expected)
		binary.Write(out, binary.LittleEndian, rewards)
	}
	return out.Flush() // the first error of all writing
}
