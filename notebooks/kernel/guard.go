package kernel

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// guard is a process that ends a kernel's process group when this program ends
// without having done so, even by SIGKILL: it waits for the end of an input that
// nothing else holds open. The kernel itself, when it is told to stop, may end
// before the program of its cell does.
type guard struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

// startGuard starts a guard, which ends nothing until it is told what.
func startGuard() (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", `read -r group && { read -r _; kill -s KILL -- "-$group"; }`)}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // away from the terminal's Ctrl-C
	input, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	g.input = input
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	return g, nil
}

// watch tells the guard the process group.
func (g *guard) watch(group int) error {
	_, err := fmt.Fprintln(g.input, group)
	return err
}

// stop ends the guard and leaves the group as it is.
func (g *guard) stop() {
	g.cmd.Process.Kill()
	g.cmd.Wait() // it closes the input
}
