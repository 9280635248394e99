package browser

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// begin starts a program that ends with the test: it is told so by a signal, also,
// on Linux, where the test is killed. It returns the program's first line that has
// mark in it, from there on.
func begin(t *testing.T, cmd *exec.Cmd, stop syscall.Signal, mark string) string {
	t.Helper()
	const grace = 20 * time.Second
	said := &lookout{mark: mark, found: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = attributes(stop)
	// What the program has started and has not ended holds its outputs open.
	cmd.WaitDelay = grace
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// The program is told when the thread ends that has started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(stop)
		select {
		case <-ended:
		case <-time.After(grace):
			cmd.Process.Kill()
			<-ended
			t.Errorf("%s was told to end and did not in %v:\n%s", cmd.Path, grace, said)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case line := <-said.found:
		return line
	case <-ended:
		t.Fatalf("%s ends (%v):\n%s", cmd.Path, cmd.ProcessState, said)
	case <-ctx.Done():
		t.Fatalf("%s does not say %q:\n%s", cmd.Path, mark, said)
	}
	return ""
}

// lookout keeps what is written to it, and waits for a line.
type lookout struct {
	mark  string
	found chan string

	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lookout) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	if _, after, ok := strings.Cut(l.buf.String(), l.mark); ok && l.mark != "" {
		if line, _, whole := strings.Cut(after, "\n"); whole {
			l.found <- l.mark + line
			l.mark = ""
		}
	}
	return len(p), nil
}

func (l *lookout) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
