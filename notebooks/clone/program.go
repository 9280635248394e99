package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// programPackage is the program of the command line, in the repository.
const programPackage = "notebooks/cmd/paper/program"

// Become builds the command line's program, where it is not up to date, and
// replaces this process by it, with the arguments; it returns only where it cannot.
// In a folder outside of the repository, as in a module that requires this one, and
// where nothing can be written into the repository, the program is a process that
// it waits for: it returns its exit status then. Lines about the work go to
// progress.
//
// The program is built as notebooks' cells are, so that both have their packages in
// common, and so with Go's vectorised matrix products, see [CellFlags] and
// [CellEnv].
func Become(ctx context.Context, args []string, progress io.Writer) (status int, err error) {
	if _, err := GoProgram(); err != nil {
		return 1, err
	}
	root, outside := Root(".")
	folder := Programs(root)
	if outside == nil {
		outside = writable(folder)
	}
	if outside != nil || runtime.GOOS == "windows" {
		return start(ctx, root, args, progress)
	}
	unlock, err := lock(ctx, filepath.Join(folder, ".paper.lock"), "the program", sayAfter, progress)
	if err != nil {
		return 1, err
	}
	defer unlock()
	binary := filepath.Join(folder, "paper")
	if err := buildProgram(ctx, root, binary, progress); err != nil {
		return 1, err
	}
	// The lock's file is closed by Exec, which does not return when all is well.
	return 1, fmt.Errorf("starting %s: %w", binary, syscall.Exec(binary, append([]string{binary}, args...), os.Environ()))
}

// writable tells why a folder, which need not be there, cannot be written into.
func writable(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	probe, err := os.CreateTemp(folder, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// start runs the program, built into a folder that is gone when it has ended.
func start(ctx context.Context, root string, args []string, progress io.Writer) (status int, err error) {
	folder, err := os.MkdirTemp("", "paper-")
	if err != nil {
		return 1, fmt.Errorf("building the program: %w", err)
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "paper")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if err := buildProgram(ctx, root, binary, progress); err != nil {
		return 1, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A terminal's Ctrl-C reaches the program, which decides what it means.
	signal.Ignore(os.Interrupt)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	defer signal.Stop(terminate)
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("starting the program: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-terminate:
			cmd.Process.Signal(syscall.SIGTERM)
		case <-ended:
		}
	}()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// buildProgram builds the program of the clone in root or, where that is "", of the
// version that the module of the working directory requires.
func buildProgram(ctx context.Context, root, binary string, progress io.Writer) error {
	defer SayIfSlow(progress, "building the program (a minute or two, once)")()
	target := "./" + programPackage
	env := append(os.Environ(), CellEnv(ctx)...)
	if root == "" {
		target = Module + "/" + programPackage
	} else {
		env = append(env, "PWD="+root, "GOWORK=off")
	}
	build := func(flags ...string) error {
		cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", binary}, CellFlags(), flags, []string{target})...)
		cmd.Dir, cmd.Env = root, env
		Interruptible(cmd)
		text, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("building the program with go build: %w\n%s", err, bytes.TrimSpace(text))
		}
		return nil
	}
	err := build()
	if err != nil && strings.Contains(err.Error(), "-buildvcs=false") {
		// Git does not tell about a folder of another user. Go run did not ask.
		err = build("-buildvcs=false")
	}
	return err
}

// sayAfter is how long something may take without a word. What is up to date is
// there in a second, and not worth a line.
const sayAfter = 2 * time.Second

// SayIfSlow writes a line about what go is at, unless done is called soon.
func SayIfSlow(w io.Writer, line string) (done func()) {
	timer := time.AfterFunc(sayAfter, func() { fmt.Fprintln(w, line) })
	return func() { timer.Stop() }
}
