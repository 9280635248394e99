package clone

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// programPackage is the program of the command line, in the repository.
const programPackage = "notebooks/cmd/paper/program"

// Become builds the command line's program, where it is not up to date, and
// replaces this process by it, with the arguments; it returns only where it cannot.
// On Windows it waits for the program and returns its exit status. Lines about the
// work go to progress.
//
// The program is that of the clone that the working directory is in, or else of the
// version that its module requires. It is built as notebooks' cells are, see
// [CellFlags] and [CellEnv], so that both have their packages in common. It is kept
// in [Programs] or, where nothing can be written there, in the user's folder of
// caches.
func Become(ctx context.Context, args []string, progress io.Writer) (status int, err error) {
	if _, err := GoProgram(); err != nil {
		return 1, err
	}
	root, outside := Root(".")
	binary, unlock, err := lockProgram(ctx, root, progress)
	if err != nil {
		return 1, err
	}
	defer unlock()
	if err := buildProgram(ctx, root, binary, progress); err != nil {
		if outside != nil && ctx.Err() == nil {
			return 1, fmt.Errorf("%w, or to that of a module that requires %s/%s. There, %v", outside, Module, programPackage, err)
		}
		return 1, err
	}
	if ctx.Err() != nil {
		return 1, ctx.Err()
	}
	if runtime.GOOS == "windows" {
		return start(binary, args)
	}
	// The lock's file is closed by Exec, which does not return when all is well.
	return 1, fmt.Errorf("starting %s: %w", binary, syscall.Exec(binary, append([]string{binary}, args...), os.Environ()))
}

// lockProgram finds the place of the program and keeps other processes from building
// it until unlock is called.
func lockProgram(ctx context.Context, root string, progress io.Writer) (binary string, unlock func() error, err error) {
	var folders []string
	var errs []error
	if root != "" {
		folders = append(folders, Programs(root))
	}
	cache, err := os.UserCacheDir()
	of := root
	if err == nil && of == "" {
		of, err = os.Getwd()
	}
	if err == nil {
		folders = append(folders, filepath.Join(cache, "contextrec", fmt.Sprintf("%.8x", sha256.Sum256([]byte(of)))))
	}
	for _, folder := range folders {
		binary := filepath.Join(folder, programName(buildSettings(), os.Getenv("GOEXPERIMENT")))
		err := os.MkdirAll(folder, 0o777)
		if err == nil {
			err = writable(folder)
		}
		if err == nil {
			unlock, err = lock(ctx, filepath.Join(folder, "."+filepath.Base(binary)+".lock"), "the program", sayAfter, progress)
		}
		if err == nil || ctx.Err() != nil {
			return binary, unlock, err
		}
		errs = append(errs, err)
	}
	return "", nil, fmt.Errorf("the program cannot be kept anywhere: %v", errors.Join(append(errs, err)...))
}

// writable tells why a folder cannot be written into.
func writable(folder string) error {
	probe, err := os.CreateTemp(folder, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// programName is a file name of its own for each way of building the program:
// "paper" and what is unusual about it.
func programName(settings []debug.BuildSetting, experiment string) string {
	name := "paper"
	usual := strings.Split(cellTags(nil), ",")
	for tag := range strings.SplitSeq(cellTags(settings), ",") {
		if !slices.Contains(usual, tag) {
			name += "-" + tag
		}
	}
	if experiment != "" {
		name += "-" + notInNames.ReplaceAllString(experiment, "-")
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

var notInNames = regexp.MustCompile(`[^\w.]+`)

// start runs the program where a process cannot be replaced.
func start(binary string, args []string) (status int, err error) {
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Ctrl-C reaches the program too, which decides what it means.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return 1, fmt.Errorf("starting the program: %w", err)
	}
	return cmd.ProcessState.ExitCode(), nil
}

// buildProgram builds the program of the clone in root or, where that is "", of the
// version that the module of the working directory requires.
func buildProgram(ctx context.Context, root, binary string, progress io.Writer) error {
	line := "building the program (the first time a minute or two)"
	if _, err := os.Stat(binary); err == nil {
		line = "bringing the program up to date"
	}
	defer SayIfSlow(progress, line)()
	target := Module + "/" + programPackage
	env := append(os.Environ(), CellEnv(ctx)...)
	if root != "" {
		target = "./" + programPackage
		env = append(env, "PWD="+root, "GOWORK=off", "GOFLAGS="+cellGoFlags)
	}
	// Go may write into the file that is there, and takes one that was cut off then
	// for whole. It is given another one, with a link to what may be up to date.
	name := filepath.Base(binary)
	folder, err := newFolder(filepath.Dir(binary), name)
	if err != nil {
		return fmt.Errorf("building the program: %w", err)
	}
	defer os.RemoveAll(folder)
	built := filepath.Join(folder, name)
	os.Link(binary, built) // without it, the program is linked again
	build := func(flags ...string) error {
		return runGo(ctx, root, env, progress, slices.Concat([]string{"build", "-o", built}, CellFlags(), flags, []string{target})...)
	}
	err = build()
	if err != nil && strings.Contains(err.Error(), "-buildvcs=false") {
		// Git does not tell about a folder of another user.
		err = build("-buildvcs=false")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("building the program with go build: %w", err)
	}
	return os.Rename(built, binary)
}
