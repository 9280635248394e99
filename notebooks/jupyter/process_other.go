//go:build !linux

package jupyter

import "syscall"

// attributes detach Jupyter, which would ask at Ctrl-C whether it is meant.
func attributes() *syscall.SysProcAttr { return detached() }
