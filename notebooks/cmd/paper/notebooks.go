package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) notebooksCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "notebooks [NAME...]",
		Short: "Execute the notebooks (without names: all) with the Go kernel",
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := p.repository()
			if err != nil {
				return err
			}
			names, err := notebooks(root, args)
			if err != nil {
				return err
			}
			if _, err := p.install(cmd.Context(), root, p.stderr); err != nil {
				return err
			}
			return p.executeAll(cmd.Context(), root, names, p.scaleOr(0.1))
		},
	}
}

// notebooks returns the file names of the named notebooks, or of all.
func notebooks(root string, names []string) ([]string, error) {
	paths, _ := filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb")) // the pattern is valid
	var all []string
	for _, path := range paths {
		all = append(all, filepath.Base(path))
	}
	if len(names) == 0 {
		return all, nil
	}
	var out []string
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".ipynb") + ".ipynb"
		if !slices.Contains(all, name) {
			return nil, usageError{fmt.Errorf("there is no notebook %s in %s; there are: %s", name, filepath.Join(root, "notebooks"), strings.Join(all, ", "))}
		}
		out = append(out, name)
	}
	return out, nil
}

// executeAll executes notebooks into the output folder. They read and keep
// results there as the run command does.
func (p *program) executeAll(ctx context.Context, root string, names []string, scale float64) error {
	out, err := p.folder()
	if err != nil {
		return err
	}
	executed := filepath.Join(out, "notebooks")
	env := []string{fmt.Sprintf("PAPER_SCALE=%v", scale), "PAPER_OUT=" + out}
	if err := p.execute(ctx, root, names, executed, env, 2, p.stderr); err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(p.stdout, filepath.Join(executed, name))
	}
	return nil
}
