//go:build !unix

package jupyter

import (
	"os"
	"syscall"
)

func detached() *syscall.SysProcAttr { return nil }

func stopGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
