//go:build unix

package group

import "syscall"

// Own puts a program into a group of its own, which the terminal's Ctrl-C does not
// reach.
func Own() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Interrupt does to a group what Ctrl-C would.
func Interrupt(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) }

// Stop asks a group to end.
func Stop(pid int) { syscall.Kill(-pid, syscall.SIGTERM) }

// Kill ends a group.
func Kill(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
