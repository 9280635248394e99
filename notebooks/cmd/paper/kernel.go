package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// kernelPrograms are what a notebook is executed with: the kernel, the program
// that it completes imports with, and the one that drives it.
var kernelPrograms = []string{"gonb", "goimports", "nbrun"}

// stampFile names, in the folder of the programs, what they were built from.
const stampFile = ".built-from"

// programsOf is the folder of what a clone of this repository builds for itself.
func programsOf(root string) string { return filepath.Join(root, "notebooks", ".bin") }

// installKernel builds the programs that execute notebooks, in the versions
// that notebooks/kernel/go.mod pins, into the folder of the clone's programs, which
// it returns. Where they are there already it only reads a few files. One process
// builds and others wait for it.
func installKernel(ctx context.Context, root string, progress io.Writer) (binDir string, err error) {
	source := filepath.Join(root, "notebooks", "kernel")
	binDir = programsOf(root)
	stamp, err := kernelStamp(source)
	if err != nil {
		return "", fmt.Errorf("sources of the notebook kernel: %w", err)
	}
	if isBuiltFrom(binDir, stamp) {
		return binDir, nil
	}
	if _, err := goProgram(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(binDir, 0o777); err != nil {
		return "", fmt.Errorf("folder of the notebook kernel: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(binDir, ".kernel.lock"), "the notebook kernel", progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isBuiltFrom(binDir, stamp) {
		return binDir, nil
	}

	fmt.Fprintln(progress, "building the notebook kernel (about a minute, once)")
	// Without a stamp, a build that does not end well is done again.
	if err := os.Remove(filepath.Join(binDir, stampFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("folder of the notebook kernel: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "install", "tool", "./nbrun")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "PWD="+source, "GOBIN="+binDir, "GOWORK=off", "GOFLAGS=-mod=readonly")
	interruptible(cmd)
	if text, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("building the notebook kernel with go install: %w\n%s", err, bytes.TrimSpace(text))
	}
	if err := os.WriteFile(filepath.Join(binDir, stampFile), []byte(stamp), 0o666); err != nil {
		return "", fmt.Errorf("folder of the notebook kernel: %w", err)
	}
	return binDir, nil
}

// lock waits until no other process builds what, which the file stands for.
func lock(ctx context.Context, file, what string, progress io.Writer) (unlock func() error, err error) {
	lock := flock.New(file)
	ok, err := lock.TryLock()
	if err == nil && !ok {
		fmt.Fprintf(progress, "another process builds %s: waiting for it\n", what)
		_, err = lock.TryLockContext(ctx, 200*time.Millisecond)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s to build %s: %w", file, what, err)
	}
	return lock.Unlock, nil
}

// kernelStamp identifies what the programs are built from: the sources with the
// pinned versions in go.mod and go.sum, and the compiler.
func kernelStamp(source string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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

func goProgram() (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("go is not on PATH: it builds the notebook kernel and compiles each cell")
	}
	return path, nil
}

// interruptible lets a command end in its own way when its context is
// cancelled: nbrun ends the kernel and removes its files.
func interruptible(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
}

// runNotebook executes the notebook in and writes it with its outputs to out,
// also when a cell fails; the error then tells the cell and why. Lines about
// its progress go to progress. Notebooks read two settings of env:
//
//	PAPER_SCALE  fraction of an experiment's steps
//	PAPER_OUT    absolute path of the output folder; results are in results/
//
// Cells are compiled with cellFlags, which have the build tags of this program, and
// on amd64 with the vectorised matrix products unless GOEXPERIMENT is set.
func runNotebook(ctx context.Context, binDir, in, out string, env []string, progress io.Writer) error {
	goPath, err := goProgram()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return err
	}
	args := []string{"-o", out}
	for _, f := range cellFlags() {
		args = append(args, "-goflag", f)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "nbrun"), append(args, in)...)
	cmd.Env = append(os.Environ(), kernelEnv(ctx, binDir, goPath)...)
	cmd.Env = append(cmd.Env, env...)
	interruptible(cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the notebook runner: %w", err)
	}
	reason := relay(progress, stderr)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && reason != "" {
		return errors.New(reason)
	}
	if err != nil {
		return fmt.Errorf("%s: notebook runner: %w", filepath.Base(in), err)
	}
	return nil
}

// cellFlags are the flags that cells are compiled with. They leave out debug
// information, of which a panic needs nothing to tell its line: a cell is linked in
// half the time that go build takes. The vectorised program has the same flags, so
// that both have their packages in common. Other programs have not: where there
// is no vectorised one, packages are compiled once more for cells.
func cellFlags() []string {
	var settings []debug.BuildSetting
	if info, ok := debug.ReadBuildInfo(); ok {
		settings = info.Settings
	}
	return []string{"-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-tags=" + cellTags(settings)}
}

// kernelEnv are the settings of a kernel, which make a cell what it is whoever
// runs it. On PATH are the kernel's programs and Go, then what this process has.
func kernelEnv(ctx context.Context, binDir, goPath string) []string {
	path := []string{binDir, filepath.Dir(goPath), os.Getenv("PATH")}
	env := []string{
		"PATH=" + strings.Join(path, string(filepath.ListSeparator)),
		"GOFLAGS=-mod=readonly",
		// A cell must not load hundreds of megabytes from the network by itself.
		"GOMLX_NO_AUTO_INSTALL=1",
	}
	if runtime.GOARCH == "amd64" && os.Getenv("GOEXPERIMENT") == "" && hasExperiment(ctx, "simd") {
		env = append(env, "GOEXPERIMENT=simd")
	}
	return env
}

// relay copies the runner's lines up to its error message, and returns that.
func relay(progress io.Writer, stderr io.Reader) (reason string) {
	lines := bufio.NewReader(stderr)
	var message strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if text, ok := strings.CutPrefix(line, "nbrun: "); ok && message.Len() == 0 {
			message.WriteString(text)
		} else if message.Len() > 0 {
			message.WriteString(line)
		} else if line != "" {
			io.WriteString(progress, line)
		}
		if err != nil {
			return strings.TrimSpace(message.String())
		}
	}
}

// cellTags are the tags that a program was built with, and those that make net and
// os/user, which libraries of GoMLX and GoNB import, do without C: to link C takes
// longer.
func cellTags(settings []debug.BuildSetting) string {
	tags := []string{"netgo", "osusergo"}
	for _, s := range settings {
		if s.Key == "-tags" {
			tags = append(tags, strings.Split(s.Value, ",")...)
		}
	}
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ",")
}

// hasExperiment tells whether the installed Go knows an experiment: they come
// and go with its releases, and an unknown one fails every cell.
func hasExperiment(ctx context.Context, name string) bool {
	cmd := exec.CommandContext(ctx, "go", "env", "GOEXPERIMENT")
	cmd.Env = append(os.Environ(), "GOEXPERIMENT="+name, "GOWORK=off")
	return cmd.Run() == nil
}

// executeNotebooks executes notebooks of the folder notebooks, given by file
// name, into the folder out, up to jobs of them, but not more than 2, at the
// same time. One that fails does not keep the others from being executed; the
// error has all that went wrong.
func executeNotebooks(ctx context.Context, root string, names []string, out string, env []string, jobs int, progress io.Writer) error {
	progress = &lockedWriter{w: progress}
	binDir, err := installKernel(ctx, root, progress)
	if err != nil {
		return err
	}
	errs := make([]error, len(names))
	free := make(chan struct{}, min(max(jobs, 1), 2))
	var wg sync.WaitGroup
	for i, name := range names {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if ctx.Err() == nil {
				errs[i] = runNotebook(ctx, binDir, filepath.Join(root, "notebooks", name), filepath.Join(out, name), env, progress)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// lockedWriter keeps lines of notebooks that run at the same time apart.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
