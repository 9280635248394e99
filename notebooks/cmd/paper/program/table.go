package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func (p *program) tableCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   cli.Table.Use,
		Short: cli.Table.Short,
		Args:  cli.Takes(0, 0, "no names", "paper table -out notebooks/published"),
		RunE: func(*cobra.Command, []string) error {
			claims, files, err := p.claims()
			if claims == nil {
				return err
			}
			writeErr := paper.WriteText(p.Stdout, claims, tableWidth)
			if p.verbose {
				fmt.Fprintln(p.Stdout)
				for _, f := range files {
					fmt.Fprintln(p.Stdout, f)
				}
			}
			return errors.Join(err, writeErr)
		},
	}
	cmd.Flags().BoolVarP(&p.verbose, "verbose", "v", false, "name the files that the claims rest on")
	return cmd
}

const tableWidth = 100

// claims judges the claims and returns the files that they rest on. Claims
// are returned beside errors of single files.
func (p *program) claims() (claims []paper.Claim, files []string, err error) {
	store, err := p.filledStore()
	if err != nil {
		return nil, nil, err
	}
	if err := p.identifyData(p.experiments); err != nil {
		return nil, nil, err
	}
	var errs []error
	results := map[string][]*sim.Result{}
	for _, e := range p.experiments {
		found, err := p.stored(store, e)
		errs = append(errs, err)
		results[e.Name] = found
		files = append(files, sources(store, found)...)
	}
	theory, err := paper.StoredTheory(store)
	if err == nil {
		files = append(files, filepath.Join(store.Dir, paper.TheoryFile))
	} else if !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return paper.Claims(results, theory), files, errors.Join(errs...)
}

// sources are the files of results in the store, in their order there.
func sources(store sim.Store, results []*sim.Result) []string {
	var out []string
	for _, r := range results {
		out = append(out, fmt.Sprintf("%s  %s, %d runs of %d steps, version %s, %s", store.Path(r), r.Contender, r.Runs, r.Steps, r.Version, r.Backend))
	}
	slices.Sort(out)
	return out
}
