package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func (p *program) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   cli.List.Use,
		Short: cli.List.Short,
		Args:  cli.Takes(0, 0, "no names", "paper list"),
		RunE:  func(*cobra.Command, []string) error { return p.list() },
	}
}

func (p *program) list() error {
	store, err := p.filledStore()
	if err != nil {
		return err
	}
	if err := p.identifyData(p.experiments); err != nil {
		return err
	}
	var errs []error
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	section := func(title string, experiments []sim.Experiment, contenders func(sim.Experiment) string) {
		fmt.Fprintln(w, title)
		for _, e := range experiments {
			results, err := paper.Stored(store, e)
			if err != nil {
				errs = append(errs, err)
			}
			var stored []string
			if len(results) > 0 {
				stored = append(stored, fmt.Sprintf("%d of %d at scale %v", len(results), len(e.Contenders), scaleOf(e, results[0].Steps)))
			}
			parts, err := store.Parts(e)
			errs = append(errs, err)
			for i := 0; i < len(parts); {
				kept, steps := 0, parts[i].Steps
				for ; i < len(parts) && parts[i].Steps == steps; i++ {
					kept += parts[i].Kept
				}
				stored = append(stored, fmt.Sprintf("%d runs begun at scale %v", kept, scaleOf(e, steps)))
			}
			if stored == nil {
				stored = []string{"-"}
			}
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", e.Name, e.Runs, e.Steps, strings.Join(stored, ", "), contenders(e))
		}
		errs = append(errs, w.Flush())
	}
	section("EXPERIMENT\tRUNS\tSTEPS\tSTORED\tCONTENDERS", p.experiments, func(e sim.Experiment) string {
		return strings.Join(contenders(e), "; ")
	})
	if len(p.tuning) > 0 {
		fmt.Fprintln(p.Stdout)
		section("TUNING STUDY\tRUNS\tSTEPS\tSTORED\tSETTINGS", p.tuning, func(e sim.Experiment) string {
			var grids []string
			for _, g := range paper.Grids(e) {
				grids = append(grids, fmt.Sprintf("%d of %s", len(g.Settings), g.Contender))
			}
			return strings.Join(grids, "; ")
		})
	}
	return errors.Join(errs...)
}

func contenders(e sim.Experiment) []string {
	names := make([]string, len(e.Contenders))
	for i, c := range e.Contenders {
		names[i] = c.Name
	}
	return names
}

// named returns the experiments and tuning studies of these names, in this
// order and each once.
func (p *program) named(names []string) ([]sim.Experiment, error) {
	var known []string
	byName := map[string]sim.Experiment{}
	for _, e := range slices.Concat(p.experiments, p.tuning) {
		known = append(known, e.Name)
		byName[e.Name] = e
	}
	var out []sim.Experiment
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		e, ok := byName[name]
		if !ok {
			hint := ""
			if p.isNotebook(name) {
				hint = fmt.Sprintf(" There is a notebook: paper notebooks %s executes it.", name)
			} else if near := cli.Nearest(name, known); near != "" {
				hint = fmt.Sprintf(" Did you mean %s?", near)
			}
			return nil, cli.Usage(fmt.Errorf("there is no experiment %q.%s Known are: %s", name, hint, strings.Join(known, ", ")))
		}
		out = append(out, e)
	}
	return out, nil
}

// isNotebook tells the notebooks of the repository, if there is one.
func (p *program) isNotebook(name string) bool {
	root, err := p.Repository()
	if err != nil {
		return false
	}
	_, err = cli.Notebooks(root, []string{name})
	return err == nil
}
