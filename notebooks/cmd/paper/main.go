// Paper runs the experiments of "Policy Gradients for Contextual
// Recommendations" (Pan et al., WWW 2019), draws its figures and judges its
// claims.
//
//	paper list                  experiments, tuning studies and what is stored of them
//	paper run NAME...           run experiments, or go on with what was begun;
//	                            with -only CONTENDER, repeated for more, a part
//	paper plot [NAME...]        figures of stored results as PNG files
//	paper table [-v]            the paper's claims, judged by stored results
//	paper notebooks [NAME...]   execute the notebooks
//	paper reproduce             all of that, from nothing to the claims, but for
//	                            the music experiments, which take hours
//	paper lab [NAME]            open the notebooks, or one, in Jupyter, on -port n;
//	                            -browser opens a browser, -no-browser opens none, and
//	                            -log shows what Jupyter says
//	paper kernel install        declare the notebooks' kernel for VS Code and other
//	                            servers; paper kernel uninstall removes it; -force is
//	                            for that of another clone
//	paper synthetic DIR         write data in the form of the KKBox files, for
//	                            -users n of them, drawn from -seed n
//	paper site DIR [NAME...]    write the notebooks as web pages, with the figures
//	                            and the claims; see paper site -h
//	paper bench                 time decisions, updates and whole steps on the
//	                            backends, beside PyTorch and JAX of -python p, for
//	                            -time t each, by -clock wall or cpu;
//	                            -format text, markdown or csv
//
// Flags say how and how much; what is run is declared in package paper.
//
//	-scale f     fraction of the steps (run: 1, and 0.01 of the music experiments;
//	             notebooks: 0.1, and 0.0002 of the music experiments, whatever f
//	             is, where they are not named; reproduce: 0.05, and 0.1 of the
//	             theory study; plot, table: the largest stored)
//	-data dir    folder of the KKBox files, packed or not, for the music
//	             experiments (default: synthetic data, made once and kept in the
//	             output folder)
//	-simd mode   auto: compute for long with vectorised matrix products, in a
//	             second build of this program; off: with the build that this is
//	-ondevice m  off (the default): the host calls for every step; auto: on XLA,
//	             the device plays what it can by itself, many steps a call; on:
//	             everything, or it says why not
//	-workers n   runs at the same time (default: the number of CPUs)
//	-stack n     runs that a worker steps together (default: chosen)
//	-out dir     where everything is written and read (default: notebooks/out of
//	             this repository): results/, figures/, notebooks/, data/, claims.md
//
// Long flags take one dash or two. A result that is stored is not computed
// again. Ctrl-C stops cleanly and keeps what is finished, and the same command
// goes on from there; a second Ctrl-C stops at once, and loses what is under
// way. Several processes may share an output folder.
//
// The exit status is 0, or 1 when something failed, 2 when the command line is
// wrong, and 130 when it was interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

func main() {
	ctx := untilSignal(context.Background(), os.Stderr)
	os.Exit(command(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// untilSignal ends its context at the first interrupt, and says so on stderr. The
// second one stops the program at once.
func untilSignal(ctx context.Context, stderr io.Writer) context.Context {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // gives the signals their usual effect back; saying so may take for ever
		fmt.Fprintln(stderr, "\nstopping; once more to stop at once")
	})
	return ctx
}

// command is the whole program; it returns the exit status.
func command(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	p := &program{
		stdout: stdout, stderr: stderr,
		experiments: paper.Experiments(),
		tuning:      paper.Tuning(),
		theory:      paper.Theory,
		repository:  func() (string, error) { return paper.Root(".") },
		install:     installKernel,
		execute:     executeNotebooks,
		vectorise:   vectorise,
	}
	return p.main(ctx, args)
}

// program is the command line and what it works with.
type program struct {
	stdout, stderr io.Writer
	experiments    []sim.Experiment // what reproduce, plot and table are about
	tuning         []sim.Experiment // run and drawn by name
	theory         func(ctx context.Context, scale float64) (*paper.TheoryResult, error)
	repository     func() (root string, err error)
	install        func(ctx context.Context, root string, progress io.Writer) (bin string, err error)
	execute        func(ctx context.Context, root string, names []string, out string, env []string, jobs int, progress io.Writer) error
	vectorise      func(ctx context.Context, root string, args []string, progress io.Writer) error

	args   []string
	source kkbox.Source // of the music experiments
	told   bool         // what is kept in spite of an interrupt
	flags
}

// usageError is a wrong command line.
type usageError struct{ error }

func (p *program) main(ctx context.Context, args []string) int {
	p.args, p.told = args, false
	root := p.commands()
	root.SetArgs(doubleDashes(root, args))
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		// Cobra says so in several lines.
		err = usageError{errors.New(strings.Join(strings.Fields(err.Error()), " "))}
	}
	report(p.stderr, err)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && p.told:
		return 130
	case ctx.Err() != nil:
		fmt.Fprintln(p.stderr, "interrupted: what is finished is kept, and the same command goes on from there")
		return 130
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// commands is the tree of commands.
func (p *program) commands() *cobra.Command {
	root := &cobra.Command{
		Use:           "paper",
		Short:         "Run the experiments of the paper, draw its figures and judge its claims",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(flagError)
	p.flags.declare(root, p.withData)
	root.AddCommand(p.listCommand(), p.runCommand(), p.plotCommand(), p.tableCommand(), p.notebooksCommand(), p.reproduceCommand(), p.labCommand(), p.kernelCommand(), p.syntheticCommand(), p.benchCommand(), p.siteCommand())
	return root
}

// report writes every joined error on a line. An interrupt that says nothing
// more is told by main.
func report(w io.Writer, err error) {
	if err == nil || err == context.Canceled {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			report(w, e)
		}
		return
	}
	fmt.Fprintf(w, "error: %v\n", err)
}
