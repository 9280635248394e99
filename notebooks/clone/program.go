package clone

import (
	"bytes"
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
			return 1, fmt.Errorf("%w, or to that of a module that requires %s/%s: %w", outside, Module, programPackage, err)
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
	if root != "" {
		folders = append(folders, Programs(root))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		of := root
		if of == "" {
			of, _ = os.Getwd()
		}
		folders = append(folders, filepath.Join(cache, "contextrec", fmt.Sprintf("%.8x", sha256.Sum256([]byte(of)))))
	}
	var errs []error
	for _, folder := range folders {
		binary := filepath.Join(folder, programName(buildSettings(), os.Getenv("GOEXPERIMENT")))
		err := os.MkdirAll(folder, 0o777)
		if err == nil {
			unlock, err = lock(ctx, filepath.Join(folder, "."+filepath.Base(binary)+".lock"), "the program", sayAfter, progress)
		}
		if err == nil || ctx.Err() != nil {
			return binary, unlock, err
		}
		errs = append(errs, err)
	}
	return "", nil, fmt.Errorf("the program cannot be kept anywhere: %w", errors.Join(errs...))
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
	defer SayIfSlow(progress, "building the program (the first time a minute or two)")()
	target := Module + "/" + programPackage
	env := append(os.Environ(), CellEnv(ctx)...)
	if root != "" {
		target = "./" + programPackage
		env = append(env, "PWD="+root, "GOWORK=off", "GOFLAGS="+cellGoFlags)
	}
	build := func(flags ...string) error {
		cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", binary}, CellFlags(), flags, []string{target})...)
		cmd.Dir, cmd.Env = root, env
		said := saying{progress: progress}
		cmd.Stdout, cmd.Stderr = &said, &said
		Interruptible(cmd)
		err := cmd.Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("building the program with go build: %w\n%s", err, bytes.TrimSpace(said.text.Bytes()))
		}
		return nil
	}
	err := build()
	if err != nil && strings.Contains(err.Error(), "-buildvcs=false") {
		// Git does not tell about a folder of another user.
		err = build("-buildvcs=false")
	}
	return err
}
