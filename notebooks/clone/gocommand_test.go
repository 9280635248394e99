package clone

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// goThatIsInterrupted puts a go on PATH that writes the beginning of each program,
// starts a compiler, and waits for an interrupt. It says in the file begun when it
// has begun, and where its files are.
func goThatIsInterrupted(t *testing.T) (begun string) {
	t.Helper()
	bin := t.TempDir()
	begun = filepath.Join(bin, "begun")
	writeFile(t, filepath.Join(bin, "go"), `#!/bin/sh
case $1 in
build) rm -f "$3"; printf half > "$3" ;;
install) for name in gonb goimports nbrun; do printf half > "$GOBIN/$name"; done ;;
*) exit ;;
esac
printf object > "$GOTMPDIR/object"
sleep 1000 &
echo "$! $GOTMPDIR" > '`+begun+`.new'
mv '`+begun+`.new' '`+begun+`'
wait
`)
	if err := os.Chmod(filepath.Join(bin, "go"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return begun
}

// A build that is interrupted while it writes leaves what was there, nothing of its
// own, and nobody at work.
func TestInterruptedBuild(t *testing.T) {
	root := fakeKernel(t)
	begun := goThatIsInterrupted(t)
	folder := Programs(root)
	for _, name := range append([]string{"paper"}, kernelPrograms...) {
		writeFile(t, filepath.Join(folder, name), "old "+name)
	}
	builds := map[string]func(context.Context) error{
		"program": func(ctx context.Context) error {
			return buildProgram(ctx, root, filepath.Join(folder, "paper"), io.Discard)
		},
		"kernel": func(ctx context.Context) error { return InstallKernel(ctx, root, io.Discard) },
	}
	// Another program's, which may be built just now.
	other := filepath.Join(folder, ".new-paper-xla+1", "paper")
	writeFile(t, other, "half")
	for name, build := range builds {
		os.Remove(begun)
		// What a killed process has left goes too.
		writeFile(t, filepath.Join(folder, ".new-paper+1", "paper"), "half")
		writeFile(t, filepath.Join(folder, ".new-kernel+1", "gonb"), "half")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var compiler, temporary string
		go func() {
			defer cancel()
			for ctx.Err() == nil {
				if text, err := os.ReadFile(begun); err == nil {
					compiler, temporary, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		if err := build(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v", name, err)
		}
		for _, program := range append([]string{"paper"}, kernelPrograms...) {
			if text, err := os.ReadFile(filepath.Join(folder, program)); string(text) != "old "+program {
				t.Errorf("%s: %s is %q, %v", name, program, text, err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(folder, ".new-"+map[string]string{"program": "paper", "kernel": "kernel"}[name]+"+*")); left != nil {
			t.Errorf("%s: left are %q", name, left)
		}
		if _, err := os.Stat(temporary); temporary == "" || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the temporary folder %q: %v", name, temporary, err)
		}
		for deadline := time.Now().Add(10 * time.Second); isRunning(compiler); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the compiler %s still runs", name, compiler)
			}
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if HasKernel(root) {
		t.Error("the kernel is taken for built")
	}
}

func TestNoTemporaryFolder(t *testing.T) {
	t.Setenv("GOTMPDIR", filepath.Join(t.TempDir(), "none"))
	if err := runGo(t.Context(), ".", os.Environ(), io.Discard, "version"); err == nil || !strings.Contains(err.Error(), "see TMPDIR") {
		t.Errorf("error is %v", err)
	}
}

// isRunning tells whether there is a process of that number.
func isRunning(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	p, err := os.FindProcess(n)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
