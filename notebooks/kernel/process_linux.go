package kernel

import "syscall"

// attributes put the kernel into a group of its own: the terminal's Ctrl-C must
// not reach it before we have told it what to do, and the whole group is ended
// with it. If this program dies without having ended it, the kernel is told to
// stop, and stops its cell.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
