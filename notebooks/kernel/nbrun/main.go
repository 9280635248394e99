// Nbrun executes a notebook in the GoNB kernel, without a browser, Jupyter or
// Python, and stores it with its outputs.
//
//	nbrun [-o out.ipynb] [-timeout 1h] notebook.ipynb
//
// The notebook's folder is the working directory of its cells. Without -o the notebook itself is
// replaced. It is written also when a cell fails, with the error in it, and left alone when the run
// is interrupted. Gonb, goimports and go are looked for beside nbrun and on PATH. The exit status is 1
// when a cell fails, 130 when it was interrupted.
//
// It talks to the kernel by the Jupyter wire protocol
// (https://jupyter-client.readthedocs.io/en/stable/messaging.html). A cell fails that does not
// compile, takes longer than the time limit or puts out more than 1 MiB of text and pictures, or
// whose program or shell line does not exit with 0, and so does a command that GoNB does not know.
// Equal results give equal files, byte for byte.
//
// Faults of GoNB remain. A comment //line in a cell ends the kernel, which leaves its gopls running; a
// cell that reads stdin waits for the time limit; a line that begins with ! or % is a command even within
// a comment or a raw string.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx := untilSignal()
	out := flag.String("o", "", "write the executed notebook to this `file`")
	timeout := flag.Duration("timeout", time.Hour, "the longest that one cell may take")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: nbrun [-o out.ipynb] [-timeout 1h] notebook.ipynb")
		os.Exit(2)
	}
	err := nbrun(ctx, flag.Arg(0), *out, *timeout)
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "interrupted: nothing is written")
		os.Exit(130)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// untilSignal ends with a signal. A broken pipe, such as the socket of a kernel that has died, ends
// neither it nor this program, which has a kernel to end.
func untilSignal() context.Context {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return ctx
}

// nbrun executes the notebook in and writes it to out; "" stands for in itself.
func nbrun(ctx context.Context, in, out string, timeout time.Duration) error {
	in, _ = filepath.Abs(in) // there is a working directory
	n, err := readNotebook(in)
	if err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil {
		os.Setenv("PATH", filepath.Dir(self)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	k, err := startKernel(ctx, filepath.Dir(in))
	if err != nil {
		return err
	}
	defer k.stop()
	name := filepath.Base(in)
	if err = k.run(ctx, name, prepare(n), timeout); ctx.Err() == nil {
		err = errors.Join(err, writeNotebook(cmp.Or(out, in), n))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
