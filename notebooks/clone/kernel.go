package clone

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// kernelPrograms are what a notebook is executed with: the kernel, the program
// that it completes imports with, the go command that it builds cells with, and the
// one that drives it.
var kernelPrograms = []string{"gonb", "goimports", "cellgo", "nbrun"}

// stampFile names, in the folder of the programs, what they were built from.
const stampFile = ".built-from"

// Programs is the folder of what a clone of this repository builds for itself.
func Programs(root string) string { return filepath.Join(root, "notebooks", ".bin") }

// InstallKernel builds the programs that execute notebooks, in the versions
// that notebooks/kernel/go.mod pins, into [Programs]. Where they are there already
// it only reads a few files. One process builds and others wait for it.
func InstallKernel(ctx context.Context, root string, progress io.Writer) error {
	source := filepath.Join(root, "notebooks", "kernel")
	binDir := Programs(root)
	stamp, err := kernelStamp(source)
	if err != nil {
		return fmt.Errorf("sources of the notebook kernel: %w", err)
	}
	if isBuiltFrom(binDir, stamp) {
		return nil
	}
	if _, err := GoProgram(); err != nil {
		return err
	}
	if err := os.MkdirAll(binDir, 0o777); err != nil {
		return fmt.Errorf("folder of the notebook kernel: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(binDir, ".kernel.lock"), "the notebook kernel", 0, progress)
	if err != nil {
		return err
	}
	defer unlock()
	if isBuiltFrom(binDir, stamp) {
		return nil
	}

	fmt.Fprintln(progress, "building the notebook kernel (the first time a minute or so)")
	// Without a stamp, a build that does not end well is done again.
	if err := os.Remove(filepath.Join(binDir, stampFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder of the notebook kernel: %w", err)
	}
	built, err := newFolder(binDir, "kernel")
	if err != nil {
		return fmt.Errorf("folder of the notebook kernel: %w", err)
	}
	defer os.RemoveAll(built)
	env := append(os.Environ(), "PWD="+source, "GOBIN="+built, "GOWORK=off", "GOFLAGS="+cellGoFlags)
	if err := runGo(ctx, source, env, progress, "install", "tool", "./cellgo", "./nbrun"); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("building the notebook kernel with go install: %w", err)
	}
	for _, name := range kernelPrograms {
		if err := os.Rename(filepath.Join(built, name), filepath.Join(binDir, name)); err != nil {
			return fmt.Errorf("folder of the notebook kernel: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(binDir, stampFile), []byte(stamp), 0o666); err != nil {
		return fmt.Errorf("folder of the notebook kernel: %w", err)
	}
	return nil
}

// HasKernel tells whether the kernel is there and up to date.
func HasKernel(root string) bool {
	stamp, err := kernelStamp(filepath.Join(root, "notebooks", "kernel"))
	return err == nil && isBuiltFrom(Programs(root), stamp)
}

// lock waits until no other process builds what, which the file stands for. After
// some patience it says so. Where the file system has no locks, everybody gets it.
func lock(ctx context.Context, file, what string, patience time.Duration, progress io.Writer) (unlock func() error, err error) {
	lock := flock.New(file, flock.SetPermissions(0o666))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		done := say(progress, patience, "another process builds "+what+": waiting for it")
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
		done()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("locking %s to build %s: %w", file, what, err)
	}
	return lock.Unlock, nil
}

// kernelStamp identifies what the programs are built from: the sources with the
// pinned versions in go.mod and go.sum, and the compiler.
func kernelStamp(source string) (string, error) {
	h := sha256.New()
	// They are built without this process's experiments, which are part of its version.
	version, _, _ := strings.Cut(runtime.Version(), "-X:")
	fmt.Fprintln(h, version, runtime.GOOS, runtime.GOARCH)
	files := os.DirFS(source)
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := d.Name()
		if strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "go.sum" {
			return nil
		}
		data, err := fs.ReadFile(files, path)
		fmt.Fprintf(h, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	return fmt.Sprintf("%x\n", h.Sum(nil)), err
}

func isBuiltFrom(binDir, stamp string) bool {
	for _, name := range kernelPrograms {
		if info, err := os.Stat(filepath.Join(binDir, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	have, err := os.ReadFile(filepath.Join(binDir, stampFile))
	return err == nil && string(have) == stamp
}
