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

func (p *program) benchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bench",
		Short: "Measure updates and steps",
		RunE: func(cmd *cobra.Command, args []string) error {
			var errs []error
			for _, runs := range []int{1, 20, 256} {
				errs = append(errs, p.benchUpdate(runs, envs.Bernoulli{}.Spec(), pgcr.Config{}))
			}
			if len(args) > 0 {
				return errors.Join(errs...)
			}
			for _, c := range []struct {
				runs, dim int
				hidden    []int
			}{{1, 94, []int{60, 20}}, {5, 94, []int{60, 20}}, {5, 379, []int{90, 20}}} {
				errs = append(errs, p.benchUpdate(c.runs, envs.Spec{Candidates: 10, Dim: c.dim}, pgcr.Config{Hidden: c.hidden, BatchSize: 256}))
			}
			for _, runs := range []int{1, 20, 256} {
				errs = append(errs, p.benchSteps(cmd.Context(), runs))
			}
			return errors.Join(errs...)
		},
	}
}

func seedsOf(runs int) []uint64 {
	seeds := make([]uint64, runs)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	return seeds
}

func (p *program) benchUpdate(runs int, spec envs.Spec, config pgcr.Config) error {
	policy, err := config.New(spec, seedsOf(runs))
	if err != nil {
		return err
	}
	script, err := policy.(*pgcr.Agent).Script()
	if err != nil {
		return err
	}
	update, first, err := ondevice.TimeUpdate(script, spec, 2000)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "R=%d D=%d update %.1f us, first call %.2f s\n", runs, spec.Dim, us(update), first.Seconds())
	return nil
}

func (p *program) benchSteps(ctx context.Context, runs int) error {
	var times []time.Duration
	begin := time.Now()
	seeds := seedsOf(runs)
	m := sim.Match{Problem: envs.Bernoulli{}, Algorithm: pgcr.Config{ActorRate: 0.001, CriticRate: 0.001},
		ProblemSeeds: seeds, PolicySeeds: seeds, Steps: 10000, Begin: func() {},
		Recorder: sim.RecorderFunc(func(step int, _ envs.Transition, _ []float64) {
			if step%1000 == 0 {
				times = append(times, time.Since(begin))
			}
		})}
	if err := (ondevice.Player{}).Play(ctx, m); err != nil {
		return err
	}
	n := len(times)
	fmt.Fprintf(p.stdout, "R=%d steps %.1f us, first 1000 steps %.2f s, all %.2f s\n", runs, us((times[n-1]-times[2])/time.Duration(1000*(n-3))), times[0].Seconds(), times[n-1].Seconds())
	return nil
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
