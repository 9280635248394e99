//go:build !unix

package group

import (
	"os"
	"syscall"
)

// Own is nothing special: there are no groups.
func Own() *syscall.SysProcAttr { return nil }

// Interrupt ends the program, for it cannot be asked to.
func Interrupt(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Stop ends the program.
func Stop(pid int) { Interrupt(pid) }

// Kill ends the program.
func Kill(pid int) { Interrupt(pid) }
