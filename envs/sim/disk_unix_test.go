//go:build linux || darwin

package sim_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

// limitFiles makes writes beyond a size fail, as on a full disk.
func limitFiles(bytes uint64) {
	if bytes == 0 {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		panic(err)
	}
}

// When the disk is full, Run returns what it computed and names the file; there
// is no half file, and the next Run goes on with what could be kept. The full
// disk is a limit on the size of files, which binds even an administrator.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	want := wanted(t)
	for _, test := range []struct {
		limit uint64
		parts int // that fit
	}{
		{limit: 4096, parts: 0},      // no part fits, nor a result
		{limit: 32 << 10, parts: 40}, // parts fit, results do not
	} {
		dir := t.TempDir()
		log := filepath.Join(t.TempDir(), "log")
		c := startChild(t, order{Dir: dir, Log: log, Workers: 2, FileLimit: test.limit})
		c.begin()
		r := c.report(t)
		if r.Results != 2 {
			t.Errorf("limit %d: %d results were returned", test.limit, r.Results)
		}
		for _, part := range []string{"not kept", filepath.Join(dir, "lesson", "slow-student-"), filepath.Join(dir, "lesson", "0.1-quick-"), ".csv", "file too large"} {
			if !strings.Contains(r.Error, part) {
				t.Errorf("limit %d: error %q does not have %q", test.limit, r.Error, part)
			}
		}
		if n := len(parts(t, dir)); n != test.parts {
			t.Errorf("limit %d: %d parts, want %d", test.limit, n, test.parts)
		}
		for name := range files(t, dir) {
			if want[name] != "" || strings.HasSuffix(name, ".tmp") || strings.Contains(name, "probe") {
				t.Errorf("limit %d: there is a file %s", test.limit, name)
			}
		}
		os.Remove(log)
		mustRun(t, loggedLesson(log, 0, 0), sim.Store{Dir: dir}, sim.Options{})
		if test.parts == 40 {
			if _, err := os.Stat(log); err == nil {
				t.Errorf("limit %d: kept runs were played again", test.limit)
			}
		}
		wantFiles(t, dir, want)
	}
}
