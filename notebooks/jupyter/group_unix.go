//go:build unix

package jupyter

import "syscall"

// detached puts a program into a group of its own, which the terminal's Ctrl-C
// does not reach.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// stopGroup asks a program that was started with attributes, and those that it
// has started into its group, to end.
func stopGroup(pid int) { syscall.Kill(-pid, syscall.SIGTERM) }

func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
