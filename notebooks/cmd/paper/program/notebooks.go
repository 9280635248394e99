package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func (p *program) notebooksCommand() *cobra.Command {
	return &cobra.Command{
		Use:   cli.Execute.Use,
		Short: cli.Execute.Short,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := p.Repository()
			if err != nil {
				return err
			}
			names, err := cli.Notebooks(root, args)
			if err != nil {
				return err
			}
			if err := p.Install(cmd.Context(), root, p.Stderr); err != nil {
				return err
			}
			// Music is not played at other notebooks' scale unless it is meant.
			music := paper.MusicNotebookScale
			if len(args) > 0 {
				music = p.ScaleOr(music)
			}
			others := slices.DeleteFunc(slices.Clone(names), playsMusic)
			names = slices.DeleteFunc(names, func(name string) bool { return !playsMusic(name) })
			return errors.Join(
				p.executeAll(cmd.Context(), root, others, p.ScaleOr(paper.NotebookScale)),
				p.executeAll(cmd.Context(), root, names, music),
			)
		},
	}
}

// playsMusic tells the notebooks of the music experiments, by file name.
func playsMusic(name string) bool {
	return name == paper.MusicStatelessName+".ipynb" || name == paper.MusicStateName+".ipynb"
}

// executeAll executes notebooks into the output folder. They read and keep
// results there as the run command does.
func (p *program) executeAll(ctx context.Context, root string, names []string, scale float64) error {
	out, err := p.Folder()
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
	if err := p.execute(ctx, root, names, executed, env, 2, p.Stderr); err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(p.Stdout, filepath.Join(executed, name))
	}
	return nil
}
