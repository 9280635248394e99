package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/notebooks/submit"
)

// oneName wants the name of one experiment. What comes after -- is for a cluster.
func (p *program) oneName(cmd *cobra.Command, args []string) error {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	switch {
	case len(args) != 1:
		return fmt.Errorf("say which experiment, one: %s", cmd.Use)
	case len(p.experiments(args...)) > 1:
		return fmt.Errorf("%s is several experiments, say which one: %s list %[1]s names them", args[0], self)
	}
	return p.names(cmd, args)
}

func (p *program) submit(cmd *cobra.Command, args []string) error {
	e, name, job, out := p.experiments(args[0])[0], args[0], p.job, p.out
	job.Args = args[1:]
	scale := cmp.Or(p.scale, paper.UsualScale(e))
	e = e.Scale(scale)
	if job.To == "kubernetes" {
		job.Program, out = "paper", "/results"
	}
	task := []string{"run", name, "-scale", fmt.Sprint(scale), "-runs", fmt.Sprint(e.Runs), "-seed", fmt.Sprint(e.Seed), "-out", out}
	if p.data != "" {
		task = append(task, "-data", p.data)
	}
	after := "table"
	if strings.HasPrefix(name, tuning) {
		e, after = p.round(e), fmt.Sprintf("run %s -scale %v", name, scale)
	}
	if p.show {
		text, err := job.Text(p.out, e, task)
		fmt.Fprint(p.stdout, text)
		return err
	}
	said, err := job.Submit(cmd.Context(), p.out, e, task)
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

func cancel(cmd *cobra.Command, args []string) error {
	return submit.Cancel(cmd.Context(), args[0], args[1:])
}
