//go:build !linux

package browser

import "syscall"

func attributes(syscall.Signal) *syscall.SysProcAttr { return nil }
