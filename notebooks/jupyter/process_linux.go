package jupyter

import "syscall"

// attributes detach Jupyter, which would ask at Ctrl-C whether it is meant. If
// this program dies without having ended it, it is told to stop.
func attributes() *syscall.SysProcAttr {
	a := detached()
	a.Pdeathsig = syscall.SIGTERM
	return a
}
