//go:build unix

package cli

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// The second Ctrl-C ends the program even where nobody reads what the first one
// made it say.
func TestSecondSignalWithBlockedStderr(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	full := make([]byte, 4096)
	for err == nil {
		write.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = write.Write(full)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), waitForSignals+"=1")
	cmd.Stderr = write
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Errorf("the program says %q, %v", line, err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for deadline := time.Now().Add(20 * time.Second); ; {
		select {
		case <-ended:
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
				t.Errorf("the program ended by %v, want an interrupt", cmd.ProcessState)
			}
			return
		case <-time.After(50 * time.Millisecond):
			if time.Now().After(deadline) {
				cmd.Process.Kill()
				t.Fatal("the program goes on after many interrupts")
			}
			cmd.Process.Signal(os.Interrupt)
		}
	}
}
