package jupyter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/contextrec/contextrec/notebooks/internal/group"
)

// attributes detach Jupyter, which would ask at Ctrl-C whether it is meant. If
// this program dies without having ended it, it is told to stop.
func attributes() *syscall.SysProcAttr {
	a := group.Own()
	a.Pdeathsig = syscall.SIGTERM
	return a
}

// endMarked ends all processes that have a setting, NAME=value, in the
// environment that they were started with. Jupyter starts each kernel in a
// session of its own, so that neither a group nor, when the server is gone, a
// parent tells whose it is.
func endMarked(setting string) {
	const (
		// A kernel removes its files when it is told to stop.
		grace = 3 * time.Second
		// What hangs in the system cannot be killed.
		most = 2 * grace
	)
	told := map[int]bool{}
	for start := time.Now(); time.Since(start) < most; time.Sleep(10 * time.Millisecond) {
		left := false
		for _, pid := range processes() {
			// Found first and looked at then, it is the same process that is told.
			p, err := os.FindProcess(pid)
			if err != nil {
				continue
			}
			if hasSetting(pid, setting) {
				left = true
				if time.Since(start) > grace {
					p.Kill()
				} else if !told[pid] {
					p.Signal(syscall.SIGTERM)
				}
				told[pid] = true
			}
			p.Release()
		}
		if !left {
			return
		}
	}
}

// processes are those of the machine, by number.
func processes() (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func hasSetting(pid int, setting string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false // gone, or another user's
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if string(kv) == setting {
			return true
		}
	}
	return false
}
