package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/paper"
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
			// Music is not played at other notebooks' scale unless it is meant.
			music := paper.MusicNotebookScale
			if len(args) > 0 {
				music = p.scaleOr(music)
			}
			others := slices.DeleteFunc(slices.Clone(names), playsMusic)
			names = slices.DeleteFunc(names, func(name string) bool { return !playsMusic(name) })
			return errors.Join(
				p.executeAll(cmd.Context(), root, others, p.scaleOr(paper.NotebookScale)),
				p.executeAll(cmd.Context(), root, names, music),
			)
		},
	}
}

// playsMusic tells the notebooks of the music experiments, by file name.
func playsMusic(name string) bool {
	return name == paper.MusicStatelessName+".ipynb" || name == paper.MusicStateName+".ipynb"
}

// notebooks returns the file names of the named notebooks, or of all.
func notebooks(root string, names []string) ([]string, error) {
	folder := filepath.Join(root, "notebooks")
	all, err := filesNamed(folder, ".ipynb")
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no notebooks in %s", folder)
	}
	if len(names) == 0 {
		return all, nil
	}
	var out []string
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".ipynb") + ".ipynb"
		if !slices.Contains(all, name) {
			return nil, usageError{fmt.Errorf("there is no notebook %s in %s; there are: %s", name, folder, strings.Join(all, ", "))}
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// filesNamed are the names of a folder's files that end in suffix, sorted.
func filesNamed(folder, suffix string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// executeAll executes notebooks into the output folder. They read and keep
// results there as the run command does.
func (p *program) executeAll(ctx context.Context, root string, names []string, scale float64) error {
	out, err := p.folder()
	if err != nil {
		return err
	}
	executed := filepath.Join(out, "notebooks")
	if len(names) == 0 {
		return nil
	}
	env := []string{fmt.Sprintf("PAPER_SCALE=%v", scale), "PAPER_OUT=" + out}
	if p.source.Folder != "" {
		env = append(env, "PAPER_DATA="+p.source.Folder)
	}
	if err := p.execute(ctx, root, names, executed, env, 2, p.stderr); err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(p.stdout, filepath.Join(executed, name))
	}
	return nil
}
