//go:build linux || darwin

package sim_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// When the disk is full, Run returns what it computed, names the file and begins
// no other contender; there is no half file, and the next Run goes on with what
// could be kept. The full disk is a limit on the size of files, which binds even
// an administrator.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	want := wanted(t)
	for _, test := range []struct {
		limit uint64
		parts int // that fit
	}{
		{limit: 4096, parts: 0},      // no part fits, nor a result
		{limit: 32 << 10, parts: 20}, // parts fit, results do not
	} {
		dir := t.TempDir()
		log := filepath.Join(t.TempDir(), "log")
		c := startChild(t, order{Dir: dir, Log: log, Workers: 1, FileLimit: test.limit})
		c.begin()
		r := c.report(t)
		if r.Results != 1 {
			t.Errorf("limit %d: %d results were returned", test.limit, r.Results)
		}
		for _, part := range []string{"not kept", filepath.Join(dir, "lesson", "slow-student-"), ".csv", "file too large", `"ε = 0.1 & quick": not begun`} {
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
		if _, bySeed := begun(t, log); len(bySeed) != 20 {
			t.Errorf("limit %d: %d runs were played", test.limit, len(bySeed))
		} else {
			for seed, n := range bySeed {
				if want := 2 - test.parts/20; n != want {
					t.Errorf("limit %d: the run of seed %s was played %d times, want %d", test.limit, seed, n, want)
				}
			}
		}
		wantFiles(t, dir, want)
	}
}

// Things that are no files, in the place of files, are errors that name them:
// nothing waits for the writer of a pipe, and nothing is written through a link.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	var slow string // result, below the store's folder
	for name := range wanted(t) {
		if strings.Contains(name, "slow") {
			slow = name
		}
	}
	kinds := map[string]func(path string) error{
		"pipe":            func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"folder":          func(path string) error { return os.Mkdir(path, 0o777) },
		"link to nowhere": func(path string) error { return os.Symlink(filepath.Join(path, "nowhere", "at", "all"), path) },
		"link to itself":  func(path string) error { return os.Symlink(path, path) },
	}
	for place, name := range map[string]string{
		"result": slow,
		"part":   strings.TrimSuffix(slow, ".csv") + ".parts/run-00003.csv",
		"lock":   strings.TrimSuffix(slow, ".csv") + ".parts/run-00003.lock",
	} {
		for kind, make := range kinds {
			if kind == "link to nowhere" && place != "lock" {
				continue // as good as no file, and replaced by one
			}
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), make(path)); err != nil {
				t.Fatal(err)
			}
			type outcome struct {
				results int
				err     error
			}
			ended := goes(func() outcome {
				results, err := lesson().Run(t.Context(), sim.Store{Dir: dir}, sim.Options{Workers: 1})
				return outcome{len(results), err}
			})
			select {
			case o := <-ended:
				if o.results != 1 || o.err == nil || !strings.Contains(o.err.Error(), path) {
					t.Errorf("%s in place of a %s: %d results, error %v", kind, place, o.results, o.err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s in place of a %s: Run waits", kind, place)
			}
			if place != "result" {
				continue
			}
			listed := goes(func() outcome {
				results, err := sim.Store{Dir: dir}.Results("lesson")
				return outcome{len(results), err}
			})
			select {
			case o := <-listed:
				if o.results != 1 || o.err == nil || !strings.Contains(o.err.Error(), path) {
					t.Errorf("%s in place of a %s: %d are listed, error %v", kind, place, o.results, o.err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s in place of a %s: Results waits", kind, place)
			}
		}
	}
}

func goes[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

// Trying whether a folder can be written changes nothing that is there.
func TestProbeLeavesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := errors.Join(os.WriteFile(precious, []byte("text"), 0o666), os.Mkdir(filepath.Join(dir, "lesson"), 0o777),
		os.Symlink(precious, filepath.Join(dir, "lesson", ".probe")),
		os.WriteFile(filepath.Join(dir, "lesson", ".probe-of a killed process"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	mustRun(t, lesson(), sim.Store{Dir: dir}, sim.Options{})
	if text, err := os.ReadFile(precious); string(text) != "text" {
		t.Errorf("the file is now %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "lesson", ".probe-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
