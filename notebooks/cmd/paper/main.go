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
//	             theory study; plot, table: the largest that is
//	             finished)
//	-data dir    folder of the KKBox files, packed or not, for the music
//	             experiments (default: synthetic data, made once and kept in the
//	             output folder)
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
// What computes is a program of its own, in the folder program, which paper builds
// with the flags of notebooks' cells and then turns into: the first time that takes
// a minute or two. On amd64 it has Go's vectorised matrix products, unless
// GOEXPERIMENT is set. So paper needs Go, and a working directory in a clone of this
// repository or in a module that requires that program. The program itself needs
// neither, built by
//
//	GOEXPERIMENT=simd go build -o paper ./notebooks/cmd/paper/program
//
// The exit status is 0, or 1 when something failed, 2 when the command line is
// wrong, and 130 when it was interrupted.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
)

func main() {
	ctx := cli.UntilSignal(context.Background(), os.Stderr)
	h := cli.NewHost(os.Stdout, os.Stderr)
	os.Exit(h.Main(ctx, commands(h, os.Args[1:]), os.Args[1:]))
}

// commands is the tree of commands. Those that need the experiments are handed over
// to the program, with all arguments: to compile it takes a minute the first time,
// which nobody waits for who wants to open the notebooks.
func commands(h *cli.Host, args []string) *cobra.Command {
	root := h.Root()
	root.AddCommand(h.Lab(), h.Kernel())
	handOver := func(cmd *cobra.Command, _ []string) error {
		status, err := clone.Become(cmd.Context(), args, h.Stderr)
		if err == nil {
			os.Exit(status)
		}
		return err
	}
	for _, d := range cli.OfProgram {
		root.AddCommand(&cobra.Command{Use: d.Use, Short: d.Short, DisableFlagParsing: true, RunE: handOver})
	}
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Say more about a command",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, names []string) error {
			about, rest, err := root.Find(names)
			switch {
			case err != nil:
				return err
			case about.DisableFlagParsing:
				return handOver(cmd, names)
			case len(rest) > 0:
				return cli.Usage(fmt.Errorf("there is no command %q of %s", rest[0], about.CommandPath()))
			}
			return about.Help()
		},
	})
	return root
}
