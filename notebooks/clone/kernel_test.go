package clone

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// fakeKernel makes a repository whose three kernel programs do nothing but
// print a word, so that they build quickly.
func fakeKernel(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	files := map[string]string{"go.mod": "module fake\n\ngo 1.26\n\ntool fake/gonb\n\ntool fake/goimports\n"}
	for _, name := range kernelPrograms {
		files[name+"/main.go"] = "package main\n\nfunc main() { println(\"old\") }\n"
	}
	for name, text := range files {
		writeFile(t, filepath.Join(root, "notebooks", "kernel", name), text)
	}
	return root
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestInstallKernel(t *testing.T) {
	root := fakeKernel(t)
	// Two at once: one builds, and both have the result.
	var logs [2]bytes.Buffer
	var wg sync.WaitGroup
	for i := range logs {
		wg.Go(func() {
			if err := InstallKernel(t.Context(), root, &logs[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all := logs[0].String() + logs[1].String(); strings.Count(all, "building the notebook kernel") != 1 {
		t.Errorf("two at once log %q, want one that builds", all)
	}
	binDir := Programs(root)
	for _, name := range kernelPrograms {
		if _, err := os.Stat(filepath.Join(binDir, name)); err != nil {
			t.Error(err)
		}
	}

	// Nothing to do: no program is started, for there is none on PATH.
	path := os.Getenv("PATH")
	t.Setenv("PATH", "")
	var log bytes.Buffer
	if err := InstallKernel(t.Context(), root, &log); err != nil || log.Len() > 0 {
		t.Errorf("up to date: %v, log %q; want silence", err, log.String())
	}

	// A changed source is built again, and so is a program that is gone.
	source := filepath.Join(root, "notebooks", "kernel", "nbrun", "main.go")
	writeFile(t, source, "package main\n\nfunc main() { println(\"new\") }\n")
	if err := InstallKernel(t.Context(), root, io.Discard); err == nil || !strings.Contains(err.Error(), "go is not on PATH") {
		t.Errorf("without go the error is %v", err)
	}
	t.Setenv("PATH", path)
	if err := os.Remove(filepath.Join(binDir, "gonb")); err != nil {
		t.Fatal(err)
	}
	if err := InstallKernel(t.Context(), root, io.Discard); err != nil {
		t.Fatal(err)
	}
	if program, err := os.ReadFile(filepath.Join(binDir, "nbrun")); err != nil || !bytes.Contains(program, []byte("new")) {
		t.Errorf("the changed program was not built, %v", err)
	}
	if _, err := os.Stat(filepath.Join(binDir, "gonb")); err != nil {
		t.Error(err)
	}

	// What go says is in the error, and the next try does not take the old
	// programs for good.
	writeFile(t, source, "package main\n\nfunc main() { undefined() }\n")
	for range 2 {
		if err := InstallKernel(t.Context(), root, io.Discard); err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
			t.Errorf("error of sources that do not compile is %v", err)
		}
	}
}

func TestInstallKernelWaitsForAnother(t *testing.T) {
	root := fakeKernel(t)
	binDir := Programs(root)
	if err := os.MkdirAll(binDir, 0o777); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(filepath.Join(binDir, ".kernel.lock"))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var log bytes.Buffer
	if err := InstallKernel(ctx, root, &log); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want the context's", err)
	}
	if !strings.Contains(log.String(), "another process builds the notebook kernel") {
		t.Errorf("log is %q", log.String())
	}
}

func TestInstallKernelWithoutSources(t *testing.T) {
	if err := InstallKernel(t.Context(), t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "sources of the notebook kernel") {
		t.Errorf("error is %v", err)
	}
}

func TestCellTags(t *testing.T) {
	for tags, want := range map[string]string{"": "netgo,osusergo", "xla": "netgo,osusergo,xla", "osusergo,xla,netgo": "netgo,osusergo,xla"} {
		settings := []debug.BuildSetting{{Key: "-compiler", Value: "gc"}}
		if tags != "" {
			settings = append(settings, debug.BuildSetting{Key: "-tags", Value: tags})
		}
		if got := cellTags(settings); got != want {
			t.Errorf("with %q: %q, want %q", tags, got, want)
		}
	}
}
