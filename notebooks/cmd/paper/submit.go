package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/notebooks/submit"
)

func (p *program) submitCommand() *cobra.Command {
	var job submit.Job
	var show bool
	submitting := &cobra.Command{
		Use: "submit NAME [-- ARGUMENTS]", Short: "Have an experiment played by Slurm or Kubernetes; arguments are for sbatch or kubectl (see go doc ./notebooks/submit)",
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) == 0 || n != 1 && (n >= 0 || len(args) > 1) {
				return errors.New("say which experiment, one; arguments for sbatch or kubectl come after --")
			}
			return p.names(cmd, args[:1])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			job.Args = args[1:]
			return p.submit(cmd, job, args[0], show)
		},
	}
	flags := submitting.Flags()
	flags.StringVar(&job.To, "to", "", "slurm or kubernetes")
	flags.IntVar(&job.Tasks, "tasks", 64, "how many tasks share the runs")
	flags.StringVar(&job.Image, "image", "", "Kubernetes: the image, which has this program, paper")
	flags.StringVar(&job.Claim, "claim", "", "Kubernetes: the volume claim for the results")
	flags.StringVar(&job.Queue, "queue", "", "Kubernetes: a queue of Kueue")
	flags.BoolVar(&show, "print", false, "only print the batch file or the manifest")
	return submitting
}

func (p *program) submit(cmd *cobra.Command, job submit.Job, name string, show bool) error {
	experiments, err := p.experiments([]string{name})
	if err == nil && len(experiments) > 1 {
		err = fmt.Errorf("%s is several experiments, submit one: %s list names them", name, self)
	}
	if err != nil {
		return err
	}
	e, out := experiments[0], p.out
	scale := cmp.Or(p.scale, paper.UsualScale(e))
	e = e.Scale(scale)
	if job.To == "kubernetes" {
		job.Program, out = "paper", "/results"
	}
	args := []string{"run", name, "-scale", fmt.Sprint(scale), "-runs", fmt.Sprint(e.Runs), "-seed", fmt.Sprint(e.Seed), "-out", out}
	if p.data != "" {
		args = append(args, "-data", p.data)
	}
	after := "table"
	if strings.HasPrefix(name, tuning) {
		e, after = p.round(e), fmt.Sprintf("run %s -scale %v", name, scale)
	}
	if show {
		text, err := job.Text(p.out, e, args)
		fmt.Fprint(p.stdout, text)
		return err
	}
	said, err := job.Submit(cmd.Context(), p.out, e, args)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, said)
	if strings.HasPrefix(e.Name, tuning) {
		fmt.Fprintln(p.stdout, "this is the first round: when it is finished, the same command submits the finals")
	}
	p.next("status -watch", after)
	return nil
}

func (p *program) status(cmd *cobra.Command, _ []string) error {
	for {
		jobs, err := submit.Look(p.out)
		if err == nil && len(jobs) == 0 {
			err = fmt.Errorf("no job has its results in %s: %s submit makes one", p.out, self)
		}
		for _, job := range jobs {
			fmt.Fprintln(p.stdout, job)
		}
		if err != nil || !p.watch || !slices.ContainsFunc(jobs, func(j submit.Status) bool { return j.Finished < j.Runs }) {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(10 * time.Second):
		}
	}
}
