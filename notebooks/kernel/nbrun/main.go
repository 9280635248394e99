// Nbrun executes a notebook in the GoNB kernel and stores it with its outputs.
//
//	nbrun [-o out.ipynb] [-timeout 10m] [-env NAME=value]... [-goflag f]... [-q] notebook.ipynb
//
// The notebook's own folder is the working directory of its cells. Without -o
// the notebook itself is replaced. The file is written also when a cell fails,
// with the error in it; it is left alone when the run is interrupted or the
// kernel cannot be started. When nobody reads stderr any more, that interrupts
// the run: whoever started it has gone.
//
// The programs gonb and goimports are looked for beside nbrun and then on PATH,
// go on PATH. The flags:
//
//	-o file          where to write the executed notebook
//	-timeout d       the longest that one cell may take (default: no limit)
//	-env NAME=value  a setting for the kernel and the cells; may be repeated
//	-goflag f        a flag for compiling the cells, such as -tags=xla; may be repeated
//	-q               print nothing but errors
//
// It prints a line for each cell to stderr. The exit status is 1 when a cell
// fails, with the cell's number, its source and what the compiler or the
// command said; 2 when the flags are wrong; 130 when it was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/contextrec/contextrec/notebooks/kernel"
	"github.com/contextrec/contextrec/notebooks/kernel/nbformat"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A write to a broken pipe fails and does not end this program: it has a
	// kernel to end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		waitUnread(os.Stderr)
		cancel()
	}()
	err := nbrun(ctx, os.Stderr, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "nbrun: %v\nusage: nbrun [-o out.ipynb] [-timeout 10m] [-env NAME=value]... [-goflag f]... [-q] notebook.ipynb\n", err)
		os.Exit(2)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "nbrun: interrupted, nothing is written")
		os.Exit(130)
	}
	fmt.Fprintf(os.Stderr, "nbrun: %v\n", err)
	os.Exit(1)
}

// waitUnread returns when f is a pipe or a terminal and its other end has been
// closed.
func waitUnread(f *os.File) {
	poll := []unix.PollFd{{Fd: int32(f.Fd())}}
	for {
		_, err := unix.Poll(poll, -1)
		if poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return
		}
		if err != unix.EINTR {
			select {} // nothing that can be closed
		}
	}
}

type usageError struct{ error }

func nbrun(ctx context.Context, stderr io.Writer, args []string) error {
	flags := flag.NewFlagSet("nbrun", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	out := flags.String("o", "", "")
	timeout := flags.Duration("timeout", 0, "")
	quiet := flags.Bool("q", false, "")
	var env, goflags []string
	flags.Func("env", "", func(s string) error {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" {
			return fmt.Errorf("want NAME=value")
		}
		env = append(env, s)
		return nil
	})
	flags.Func("goflag", "", func(s string) error {
		goflags = append(goflags, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return &usageError{err}
	}
	if flags.NArg() != 1 {
		return &usageError{fmt.Errorf("want one notebook, got %d arguments", flags.NArg())}
	}
	if *timeout < 0 {
		return &usageError{fmt.Errorf("-timeout %v: want a duration of at least 0", *timeout)}
	}
	in, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	if *out == "" {
		*out = in
	}

	notebook, err := nbformat.Read(in)
	if err != nil {
		return err
	}
	name := filepath.Base(in)
	opt := kernel.Options{
		Dir:        filepath.Dir(in),
		Env:        append([]string{besideThisProgram()}, env...),
		BuildFlags: goflags,
		Timeout:    *timeout,
	}
	if !*quiet {
		opt.Progress = func(c kernel.Cell) {
			verdict := ""
			if c.Err != nil {
				verdict = "  failed"
			}
			fmt.Fprintf(stderr, "%s  cell %d/%d  %.1f s%s\n", name, c.Number, c.Of, c.Took.Round(100*time.Millisecond).Seconds(), verdict)
		}
	}
	err = kernel.Run(ctx, notebook, opt)
	var failed *kernel.CellError
	if err == nil || errors.As(err, &failed) {
		if werr := nbformat.Write(*out, notebook); werr != nil {
			err = errors.Join(err, fmt.Errorf("writing the executed notebook: %w", werr))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// besideThisProgram is PATH with this program's own folder in front, where the
// tools that were installed together with it are.
func besideThisProgram() string {
	path := "PATH=" + os.Getenv("PATH")
	if self, err := os.Executable(); err == nil {
		path = "PATH=" + filepath.Dir(self) + string(filepath.ListSeparator) + os.Getenv("PATH")
	}
	return path
}
