package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
)

// runNotebook executes the notebook in and writes it with its outputs to out,
// also when a cell fails; the error then tells the cell and why. Lines about
// its progress go to progress. Notebooks read two settings of env:
//
//	PAPER_SCALE  fraction of an experiment's steps
//	PAPER_OUT    absolute path of the output folder; results are in results/
//
// Cells are compiled as this program is, see package clone.
func runNotebook(ctx context.Context, binDir, in, out string, env []string, progress io.Writer) error {
	goPath, err := clone.GoProgram()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return err
	}
	args := []string{"-o", out}
	for _, f := range clone.CellFlags() {
		args = append(args, "-goflag", f)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "nbrun"), append(args, in)...)
	cmd.Env = append(os.Environ(), clone.KernelEnv(ctx, binDir, goPath)...)
	cmd.Env = append(cmd.Env, env...)
	interruptible(cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the notebook runner: %w", err)
	}
	reason := relay(progress, stderr)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && reason != "" {
		return errors.New(reason)
	}
	if err != nil {
		return fmt.Errorf("%s: notebook runner: %w", filepath.Base(in), err)
	}
	return nil
}

// interruptible lets a command end in its own way when its context is
// cancelled: nbrun ends the kernel and removes its files.
func interruptible(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
}

// relay copies the runner's lines up to its error message, and returns that.
func relay(progress io.Writer, stderr io.Reader) (reason string) {
	lines := bufio.NewReader(stderr)
	var message strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if text, ok := strings.CutPrefix(line, "nbrun: "); ok && message.Len() == 0 {
			message.WriteString(text)
		} else if message.Len() > 0 {
			message.WriteString(line)
		} else if line != "" {
			io.WriteString(progress, line)
		}
		if err != nil {
			return strings.TrimSpace(message.String())
		}
	}
}

// executeNotebooks executes notebooks of the folder notebooks, given by file
// name, into the folder out, up to jobs of them, but not more than 2, at the
// same time. One that fails does not keep the others from being executed; the
// error has all that went wrong.
func executeNotebooks(ctx context.Context, root string, names []string, out string, env []string, jobs int, progress io.Writer) error {
	progress = &cli.LockedWriter{W: progress}
	if err := clone.InstallKernel(ctx, root, progress); err != nil {
		return err
	}
	errs := make([]error, len(names))
	free := make(chan struct{}, min(max(jobs, 1), 2))
	var wg sync.WaitGroup
	for i, name := range names {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if ctx.Err() == nil {
				errs[i] = runNotebook(ctx, clone.Programs(root), filepath.Join(root, "notebooks", name), filepath.Join(out, name), env, progress)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}
