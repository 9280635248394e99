package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/notebooks/clone"
)

// Host is what commands work with.
type Host struct {
	Stdout, Stderr io.Writer

	// Repository finds the clone's folder.
	Repository func() (root string, err error)

	// Install builds the notebooks' kernel, where it is not up to date.
	Install func(ctx context.Context, root string, progress io.Writer) error

	// Ready is called before a command, when its flags are known; nil: nothing is.
	Ready func() error

	// Told says that the command has told what is kept in spite of an interrupt.
	Told bool

	Flags
}

// NewHost is the host of this process.
func NewHost(stdout, stderr io.Writer) *Host {
	return &Host{
		Stdout: stdout, Stderr: stderr,
		Repository: func() (string, error) { return clone.Root(".") },
		Install:    clone.InstallKernel,
	}
}

// UsageError is a wrong command line.
type UsageError struct{ error }

// Usage makes a wrong command line of an error.
func Usage(err error) error { return UsageError{err} }

// Main runs the command that the arguments name and returns the exit status.
func (h *Host) Main(ctx context.Context, root *cobra.Command, args []string) int {
	h.Told = false
	root.SetArgs(DoubleDashes(root, args))
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		// Cobra says so in several lines.
		what, like, _ := strings.Cut(err.Error(), "Did you mean this?")
		if what = strings.TrimSpace(what); like != "" {
			what += ". Did you mean: " + strings.Join(strings.Fields(like), ", ")
		}
		err = Usage(errors.New(what))
	}
	Report(h.Stderr, err)
	var usage UsageError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && h.Told:
		return 130
	case ctx.Err() != nil:
		fmt.Fprintln(h.Stderr, "interrupted: what is finished is kept, and the same command goes on from there")
		return 130
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// Root is the command above all commands, which are to be added.
func (h *Host) Root() *cobra.Command {
	root := &cobra.Command{
		Use:           "paper",
		Short:         "Run the experiments of the paper, draw its figures and judge its claims",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(h.Stdout)
	root.SetErr(h.Stderr)
	root.SetFlagErrorFunc(flagError)
	h.Flags.declare(root, func() error {
		if h.Ready == nil {
			return nil
		}
		return h.Ready()
	})
	return root
}

// Report writes every joined error on a line. An interrupt that says nothing
// more is told by [Host.Main].
func Report(w io.Writer, err error) {
	if err == nil || err == context.Canceled {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			Report(w, e)
		}
		return
	}
	fmt.Fprintf(w, "error: %v\n", err)
}

// Folder is the absolute path of the output folder, or of one in it.
func (h *Host) Folder(elements ...string) (string, error) {
	out := h.Out
	if out == "" {
		root, err := h.Repository()
		if err != nil {
			return "", fmt.Errorf("%w; or say where to write with -out", err)
		}
		out = filepath.Join(root, "notebooks", "out")
	}
	return filepath.Abs(filepath.Join(append([]string{out}, elements...)...))
}
