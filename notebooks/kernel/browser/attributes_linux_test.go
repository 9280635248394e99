package browser

import "syscall"

// attributes have a program told to end when the test is killed.
func attributes(stop syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: stop}
}
