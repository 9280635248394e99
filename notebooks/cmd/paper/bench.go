package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// benchCase is a shape of problem and networks, R runs at once.
type benchCase struct {
	name   string
	runs   int
	spec   envs.Spec
	config pgcr.Config
	steps  bool // whether whole steps are timed too
}

func benchCases() []benchCase {
	toy, music := envs.Bernoulli{}.Spec(), envs.Spec{Candidates: 10, Dim: 94}
	var cases []benchCase
	for _, runs := range []int{1, 20, 256} {
		cases = append(cases, benchCase{"toy, B=64 M=5, 40-10-1", runs, toy, pgcr.Config{}, true})
	}
	stateless := pgcr.Config{Hidden: []int{60, 20}, BatchSize: 256}
	for _, runs := range []int{1, 5} {
		cases = append(cases, benchCase{"music, B=256 M=10, 94-60-20-1", runs, music, stateless, false})
	}
	music.Dim = 379
	state := pgcr.Config{Hidden: []int{90, 20}, BatchSize: 256}
	return append(cases, benchCase{"music, B=256 M=10, 379-90-20-1", 5, music, state, false})
}

func (p *program) benchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bench [updates]",
		Short: "Time updates and steps on the backend, as a Markdown table",
		RunE: func(cmd *cobra.Command, args []string) error {
			backend, err := pgcr.OpenBackend(nil)
			if err != nil {
				return err
			}
			fmt.Fprintf(p.stdout, "%s; microseconds of all R runs; in brackets a run\n\n", backend.Description())
			fmt.Fprintln(p.stdout, "| shape | R | update | step | until the first result, s |")
			fmt.Fprintln(p.stdout, "|---|---|---|---|---|")
			var errs []error
			for _, c := range benchCases() {
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				errs = append(errs, p.bench(cmd.Context(), c, backend.Name() == "xla", len(args) == 0))
			}
			return errors.Join(errs...)
		},
	}
}

// bench prints a line of the table.
func (p *program) bench(ctx context.Context, c benchCase, device, steps bool) error {
	policy, err := c.config.New(c.spec, seedsOf(c.runs))
	if err != nil {
		return err
	}
	player, length := sim.PlayMatch, 100
	var update, first time.Duration
	if device {
		player, length = ondevice.Player{}.Play, 10000
		script, err := policy.(*pgcr.Agent).Script()
		if err != nil {
			return err
		}
		update, first, err = ondevice.TimeUpdate(script, c.spec, 2000)
		if err != nil {
			return err
		}
	} else if update, first, err = timeUpdates(policy, c); err != nil {
		return err
	}
	step := "-"
	if c.steps && steps {
		each, err := timeSteps(ctx, c, player, length)
		if err != nil {
			return err
		}
		step = perRun(each, c.runs)
	}
	fmt.Fprintf(p.stdout, "| %s | %d | %s | %s | %.2f |\n", c.name, c.runs, perRun(update, c.runs), step, first.Seconds())
	return nil
}

// timeUpdates is the time of an update that the host calls, the shortest of ten,
// and that of the first, compilation included.
func timeUpdates(policy envs.Policy, c benchCase) (update, first time.Duration, err error) {
	rng := envs.NewRand(1, "bench")
	tr := envs.Transition{
		Observation: envs.Observation{Runs: c.runs, Candidates: c.spec.Candidates, Dim: c.spec.Dim,
			Contexts: make([]float32, c.runs*c.spec.Candidates*c.spec.Dim)},
		Actions: make([]int, c.runs),
		Outcome: envs.Outcome{Reward: make([]float32, c.runs), Discount: make([]float32, c.runs)},
	}
	for i := range 11 {
		for j := range tr.Contexts {
			tr.Contexts[j] = rng.Float32()
		}
		begin := time.Now()
		if err := policy.Update(tr); err != nil {
			return 0, 0, err
		}
		took := time.Since(begin)
		if i == 0 {
			first = took
		} else if update == 0 || took < update {
			update = took
		}
	}
	return update, first, nil
}

// timeSteps is the time of a whole step of the toy problem - environment,
// decision, history, update and metrics - over the last six tenths of so many.
func timeSteps(ctx context.Context, c benchCase, player func(context.Context, sim.Match) error, steps int) (time.Duration, error) {
	var begin, end time.Time
	from := steps * 4 / 10
	seeds := seedsOf(c.runs)
	config := c.config
	config.ActorRate, config.CriticRate = 0.001, 0.001
	err := player(ctx, sim.Match{Problem: envs.Bernoulli{}, Algorithm: config,
		ProblemSeeds: seeds, PolicySeeds: seeds, Steps: steps, Begin: func() {},
		Recorder: sim.RecorderFunc(func(step int, _ envs.Transition, _ []float64) {
			switch step {
			case from:
				begin = time.Now()
			case steps:
				end = time.Now()
			}
		})})
	return end.Sub(begin) / time.Duration(steps-from), err
}

func seedsOf(runs int) []uint64 {
	seeds := make([]uint64, runs)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	return seeds
}

func perRun(d time.Duration, runs int) string {
	us := float64(d.Nanoseconds()) / 1000
	return fmt.Sprintf("%.1f (%.2f)", us, us/float64(runs))
}
