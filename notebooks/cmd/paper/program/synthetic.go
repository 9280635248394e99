package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
)

// syntheticCommand writes data of any size in the form of the KKBox files: for
// -data, for other programs, or to look at.
func (p *program) syntheticCommand() *cobra.Command {
	var set kkbox.Synthetic
	cmd := &cobra.Command{
		Use:   cli.Synthetic.Use,
		Short: cli.Synthetic.Short,
		Args:  cli.Takes(1, 1, "one folder to write into", "paper synthetic twin -users 300"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The library takes zeros for its defaults, and nobody who gives them means that.
			if set.Users < 1 {
				return cli.Usage(fmt.Errorf("-users is %d, want a positive number", set.Users))
			}
			if set.Seed < 1 {
				return cli.Usage(fmt.Errorf("-seed is %d, want a positive number", set.Seed))
			}
			progress := func(done, total int64) {}
			if isTerminal(p.Stderr) {
				bar := newBar(p.Stderr, true)
				defer bar.Clear()
				progress = func(done, total int64) {
					bar.ChangeMax64(total)
					bar.Set64(done)
				}
			}
			if err := set.Write(cmd.Context(), args[0], progress); err != nil {
				if !errors.Is(err, context.Canceled) {
					return err
				}
				p.Told = true
				fmt.Fprintf(p.Stderr, "interrupted: nothing was written to %s\n", args[0])
				return context.Canceled
			}
			names, err := cli.FilesNamed(args[0], ".csv")
			for _, name := range names {
				path := filepath.Join(args[0], name)
				info, statErr := os.Stat(path)
				if statErr != nil {
					return statErr
				}
				fmt.Fprintf(p.Stdout, "%s  %.1f MB\n", path, float64(info.Size())/1e6)
			}
			return err
		},
	}
	cmd.Flags().IntVar(&set.Users, "users", 3000, "users of train.csv; the real one has 30755")
	cmd.Flags().Uint64Var(&set.Seed, "seed", 1, "of all that is drawn")
	return cmd
}
