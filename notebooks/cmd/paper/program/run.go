package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func (p *program) runCommand() *cobra.Command {
	var only []string
	command := &cobra.Command{
		Use:   cli.Run.Use,
		Short: cli.Run.Short,
		Args: cli.Arguments(func(_ *cobra.Command, args []string) error {
			_, err := p.named(args)
			if err == nil && len(args) == 0 {
				err = errors.New("say which experiments to run: paper list names them")
			}
			return err
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			experiments, err := p.named(args)
			if err != nil {
				return err
			}
			if experiments, err = restrict(experiments, only); err != nil {
				return err
			}
			store, err := p.store()
			if err != nil {
				return err
			}
			if err := p.openData(experiments); err != nil {
				return err
			}
			var errs []error
			for _, e := range experiments {
				if err := cmd.Context().Err(); err != nil {
					errs = append(errs, err)
					break
				}
				errs = append(errs, p.play(cmd.Context(), store, e.Scale(p.ScaleOr(paper.UsualScale(e)))))
			}
			return errors.Join(errs...)
		},
	}
	command.Flags().StringArrayVar(&only, "only", nil, "run this contender only; repeat it for more")
	return command
}

// restrict leaves the named contenders of each experiment, all if none is
// named. A result does not depend on the contenders beside it.
func restrict(experiments []sim.Experiment, only []string) ([]sim.Experiment, error) {
	if len(only) == 0 {
		return experiments, nil
	}
	var names []string
	restricted := slices.Clone(experiments)
	for i, e := range experiments {
		restricted[i].Contenders = nil
		for _, c := range e.Contenders {
			names = append(names, c.Name)
			if slices.Contains(only, c.Name) {
				restricted[i].Contenders = append(restricted[i].Contenders, c)
			}
		}
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			hint := ""
			if near := cli.Nearest(name, names); near != "" {
				hint = fmt.Sprintf(" Did you mean %q?", near)
			}
			slices.Sort(names)
			return nil, cli.Usage(fmt.Errorf("no contender is called %q.%s Known are: %s", name, hint, strings.Join(slices.Compact(names), "; ")))
		}
	}
	return slices.DeleteFunc(restricted, func(e sim.Experiment) bool { return len(e.Contenders) == 0 }), nil
}

// play runs an experiment under a progress bar and prints how it ended.
func (p *program) play(ctx context.Context, store sim.Store, e sim.Experiment) error {
	opt := paper.OptionsOf(e)
	opt.Workers = p.Workers
	if p.Stack > 0 {
		opt.Stack = p.Stack
	}
	if err := p.onDevice(e, &opt); err != nil {
		return err
	}
	bar := p.newProgress(time.Now)
	if paper.IsMusic(e) {
		bar.byReward = true
		if err := p.foretell(ctx, store, e, bar); err != nil {
			return err
		}
	}
	opt.Progress = bar.update
	results, err := e.Run(ctx, store, opt)
	bar.close()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		// Sim says so too, at length.
		err = errors.Join(without(err, ctx.Err()), p.stopped(store, e, opt, results), ctx.Err())
	}
	if len(results) > 0 {
		fmt.Fprintf(p.Stdout, "\n%s: %d runs of %d steps\n", e.Name, e.Runs, e.Steps)
		summary := p.summary
		if paper.IsMusic(e) {
			summary = p.rewardSummary
		}
		if summaryErr := summary(results); err == nil {
			err = summaryErr
		}
	}
	return err
}

// stopped says what is kept of an experiment that was interrupted.
func (p *program) stopped(store sim.Store, e sim.Experiment, opt sim.Options, results []*sim.Result) error {
	parts, err := store.Parts(e)
	kept := len(results) * e.Runs
	for _, part := range parts {
		if part.Steps == e.Steps {
			kept += part.Kept
		}
	}
	hint := ""
	if p.Stack != 1 {
		hint = " (a smaller -stack loses less)"
	}
	lost := "what was under way is lost"
	if opt.Player != nil {
		lost, hint = "what was under way is lost, but for what the device plays", ""
	}
	fmt.Fprintf(p.Stderr, "stopped: %d of %d runs of %s are kept, %s%s, and the same command goes on from there\n", kept, e.Runs*len(e.Contenders), e.Name, lost, hint)
	p.Told = true
	return err
}

// without leaves those of joined errors out that wrap cause.
func without(err, cause error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range joined.Unwrap() {
			rest = append(rest, without(e, cause))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, cause) {
		return nil
	}
	return err
}

// summary prints the contenders, the best first.
func (p *program) summary(results []*sim.Result) error {
	type line struct {
		name   string
		reward float64 // a step
		regret []float64
	}
	var lines []line
	for _, r := range results {
		l := line{name: r.Contender}
		last := len(r.Checkpoints) - 1
		for run := range r.Reward {
			l.reward += r.Reward[run][last] / float64(r.Steps) / float64(r.Runs)
			if r.Regret != nil {
				l.regret = append(l.regret, r.Regret[run][last])
			}
		}
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if a.regret == nil || b.regret == nil {
			return cmp.Compare(b.reward, a.reward)
		}
		return cmp.Compare(stat.Mean(a.regret, nil), stat.Mean(b.regret, nil))
	})
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CONTENDER\tFINAL REGRET\tS.D.\t95 % OF THE MEAN\tREWARD A STEP")
	for _, l := range lines {
		regret, sd, interval := "-", "-", "-"
		if l.regret != nil {
			regret = fmt.Sprintf("%.1f", stat.Mean(l.regret, nil))
		}
		if len(l.regret) > 1 {
			i := paper.Mean95(l.regret)
			sd, interval = fmt.Sprintf("%.1f", stat.StdDev(l.regret, nil)), fmt.Sprintf("%.1f to %.1f", i.Low, i.High)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.4f\n", l.name, regret, sd, interval, l.reward)
	}
	return w.Flush()
}

// rewardSummary prints the contenders of a music experiment, the best first.
func (p *program) rewardSummary(results []*sim.Result) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CONTENDER\tREWARD A STEP\tS.D.\t95 % OF THE MEAN\tFIRST TENTH\tLAST TENTH")
	for _, r := range paper.AverageRewards(results) {
		sd, interval := "-", "-"
		if results[0].Runs > 1 {
			sd, interval = fmt.Sprintf("%.4f", r.Deviation), fmt.Sprintf("%.4f to %.4f", r.All.Low, r.All.High)
		}
		fmt.Fprintf(w, "%s\t%.4f\t%s\t%s\t%.4f\t%.4f\n", r.Contender, r.All.Mean, sd, interval, r.First.Mean, r.Last.Mean)
	}
	return w.Flush()
}
