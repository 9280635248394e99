package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/notebooks/site"
)

func (p *program) siteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   cli.Site.Use,
		Short: cli.Site.Short,
		Long: "Write the notebooks, as they are stored in the repository, as web pages into DIR, with an index\n" +
			"that has the published figures and the claims. With -out, the site is made of what is in the output\n" +
			"folder: the notebooks that were executed there, its figures and its results.\n\n" +
			"DIR may be new or empty, or a site, which is replaced.",
		Args: cli.Takes(1, -1, "a folder to write into", "paper site pages, or paper site pages toy-linear"),
		RunE: func(_ *cobra.Command, args []string) error { return p.site(args[0], args[1:]) },
	}
}

// readingOrder is the order of the notebooks on the index; others follow.
var readingOrder = []string{
	"quickstart", paper.ToyLinear, paper.ToyBernoulli, paper.ToyMixed, paper.ToyDropout, paper.GreedStudy, "theory",
	"kkbox-data", paper.MusicStatelessName, paper.MusicStateName, "own-problem", "own-data",
}

func (p *program) site(dir string, names []string) error {
	root, err := p.Repository()
	if err != nil {
		return err
	}
	s := site.Site{Root: root, Results: "What is published with this repository: mean and standard deviation of the runs."}
	names, err = cli.Notebooks(root, names)
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "notebooks")
	if p.Out == "" {
		p.Out = filepath.Join(root, "notebooks", "published")
	} else {
		if folder, err = p.Folder("notebooks"); err != nil {
			return err
		}
		all := names
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return errors.Is(err, fs.ErrNotExist)
		})
		if len(names) == 0 {
			return fmt.Errorf("of %s none is in %s: paper notebooks -out %s executes them", strings.Join(all, ", "), folder, p.Out)
		}
		s.Results = "What was run for this site: mean and standard deviation of the runs. How many steps and runs, the claims say."
	}
	position := func(name string) int {
		at := slices.Index(readingOrder, strings.TrimSuffix(name, ".ipynb"))
		return cmp.Or(at+1, len(readingOrder)+1)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(position(a), position(b)) })
	for _, name := range names {
		s.Notebooks = append(s.Notebooks, filepath.Join(folder, name))
	}
	claims, _, err := p.claims()
	if err != nil {
		return err
	}
	s.Claims = claims
	figures, err := p.Folder("figures")
	if err != nil {
		return err
	}
	s.Figures, err = p.siteFigures(figures)
	if err != nil {
		return err
	}
	if err := s.Write(dir); err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, filepath.Join(dir, "index.html"))
	return nil
}

// siteFigures is the figure of each experiment that tells its contenders apart
// best, where it was drawn.
func (p *program) siteFigures(folder string) (figures []site.Figure, err error) {
	for _, e := range p.experiments {
		title := cmp.Or(paper.Titles[e.Name], e.Name)
		for _, kind := range []struct{ suffix, alt string }{
			{"-loglog", ": cumulative regret over steps, both axes logarithmic, a line with a band for each contender"},
			{"", ": the contenders over steps, a line with a band for each"},
		} {
			file := filepath.Join(folder, e.Name+kind.suffix+".png")
			_, err := os.Stat(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			figures = append(figures, site.Figure{File: file, Title: title, Alt: title + kind.alt, Notebook: e.Name})
			break
		}
	}
	return figures, nil
}
