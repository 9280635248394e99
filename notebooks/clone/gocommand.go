package clone

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/contextrec/contextrec/notebooks/internal/group"
)

// runGo runs go in a folder, until ctx ends, and with it all that it has started. The
// error has what it said; which modules it downloads goes to progress as well.
func runGo(ctx context.Context, folder string, env []string, progress io.Writer, args ...string) error {
	// Interrupted, go ends before its compilers, which leave files then.
	temporary, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "paper-go-")
	if err != nil {
		return fmt.Errorf("no temporary folder can be made, see TMPDIR: %w", err)
	}
	defer os.RemoveAll(temporary)
	cmd := exec.CommandContext(ctx, "go", args...)
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

// newFolder makes a folder in another one, for files that are to be put in their
// place when they are whole. It removes those that a killed process has left; nobody
// else may make one at the same time.
func newFolder(in, prefix string) (string, error) {
	left, err := os.ReadDir(in)
	if err != nil {
		return "", err
	}
	for _, entry := range left {
		if name := entry.Name(); len(name) > len(prefix) && name[:len(prefix)] == prefix {
			os.RemoveAll(in + string(os.PathSeparator) + name)
		}
	}
	return os.MkdirTemp(in, prefix)
}
