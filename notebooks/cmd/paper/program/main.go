// Program is the paper command itself, which paper, in the folder above, builds and
// becomes. What it does, that one's documentation says.
//
// It needs neither Go nor the repository but for notebooks: built by itself, it runs
// elsewhere.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func main() {
	ctx := cli.UntilSignal(context.Background(), os.Stderr)
	os.Exit(command(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// command is the whole program; it returns the exit status.
func command(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	p := &program{
		Host:        cli.NewHost(stdout, stderr),
		experiments: paper.Experiments(),
		tuning:      paper.Tuning(),
		theory:      paper.Theory,
		execute:     executeNotebooks,
	}
	return p.main(ctx, args)
}

// program is the command line and what it works with.
type program struct {
	*cli.Host
	experiments []sim.Experiment // what reproduce, plot and table are about
	tuning      []sim.Experiment // run and drawn by name
	theory      func(ctx context.Context, scale float64) (*paper.TheoryResult, error)
	execute     func(ctx context.Context, root string, names []string, out string, env []string, jobs int, progress io.Writer) error

	source      kkbox.Source // of the music experiments
	reproducing bool         // the command is reproduce
	verbose     bool         // the claims' files are named
}

func (p *program) main(ctx context.Context, args []string) int {
	p.Ready = p.withData
	return p.Main(ctx, p.commands(), args)
}

// commands is the tree of commands.
func (p *program) commands() *cobra.Command {
	root := p.Root()
	root.AddCommand(p.listCommand(), p.runCommand(), p.plotCommand(), p.tableCommand(), p.notebooksCommand(), p.reproduceCommand(), p.Lab(), p.Kernel(), p.syntheticCommand(), p.benchCommand(), p.siteCommand())
	return root
}
