package kernel

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// guard is a process that ends a kernel's process group when this program ends
// without having done so, even by SIGKILL: it waits for the end of an input that
// nothing else holds open. The kernel itself, when it is told to stop, may end
// before the program of its cell does.
type guard struct {
	cmd   *exec.Cmd
	input io.Closer
}

// startGuard starts the guard of the process group.
func startGuard(group int) (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", `read -r _; kill -s KILL -- "-$0"`, strconv.Itoa(group))}
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

// stop ends the guard and leaves the group as it is.
func (g *guard) stop() {
	g.cmd.Process.Kill()
	g.cmd.Wait()
	g.input.Close()
}
