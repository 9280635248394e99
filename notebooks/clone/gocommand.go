package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/contextrec/contextrec/notebooks/internal/group"
)

// GoProgram is the path of the go command.
func GoProgram() (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("go is not on PATH: it builds the program, the kernel and each cell")
	}
	return path, nil
}

// runGo runs go in a folder, see run.
func runGo(ctx context.Context, folder string, env []string, progress io.Writer, args ...string) error {
	return run(ctx, folder, env, progress, "go", args...)
}

// run runs go, or a program that runs it, in a folder, until ctx ends, and with it
// all that it has started. The error has what it said; which modules it downloads goes
// to progress as well.
func run(ctx context.Context, folder string, env []string, progress io.Writer, program string, args ...string) error {
	// Interrupted, go ends before its compilers, which leave files then.
	temporary, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "paper-go-")
	if err != nil {
		return fmt.Errorf("no temporary folder can be made, see TMPDIR: %w", err)
	}
	defer os.RemoveAll(temporary)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = folder, append(env, "GOTMPDIR="+temporary)
	said := saying{progress: progress}
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = group.Own()
	cmd.Cancel = func() error { return group.Interrupt(cmd.Process.Pid) }
	cmd.WaitDelay = 2 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			group.Kill(cmd.Process.Pid) // who does not listen
		}
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said.text.Bytes()))
	}
	return nil
}

// newFolder makes a folder in another one, for the files of what, which are to be put
// in their place when they are whole. It removes those that a killed process has
// left; nobody else may make one of what at the same time.
func newFolder(in, what string) (string, error) {
	prefix := ".new-" + what + "+"
	entries, err := os.ReadDir(in)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		number, ok := strings.CutPrefix(entry.Name(), prefix)
		if ok && strings.Trim(number, "0123456789") == "" {
			os.RemoveAll(filepath.Join(in, entry.Name()))
		}
	}
	return os.MkdirTemp(in, prefix)
}
