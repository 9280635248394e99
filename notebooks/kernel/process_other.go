//go:build !linux

package kernel

import "syscall"

// attributes put the kernel into a group of its own: the terminal's Ctrl-C must
// not reach it before we have told it what to do, and the whole group is ended
// with it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
