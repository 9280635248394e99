package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Go's vectorised matrix products on amd64 are an experiment that is switched on
// when a program is built, and go run does not. So the commands that compute for
// long build this program once more, with the experiment, and become it.

// minVectorised is the scale from which the run command does so, and
// minVectorisedMusic that of music experiments. Below it, an experiment is played
// in less time than the first build takes; reproduce does so at all scales,
// because the notebooks' cells need the same build of the packages.
const (
	minVectorised      = 0.1
	minVectorisedMusic = 0.0001
)

// isLong tells whether an experiment is worth that build, at the scale that it
// is run at.
func (p *program) isLong(e sim.Experiment) bool {
	if paper.IsMusic(e) {
		return p.scaleOr(paper.UsualScale(e)) >= minVectorisedMusic
	}
	return p.scaleOr(1) >= minVectorised
}

// fast makes this program the vectorised one where it is asked for.
func (p *program) fast(ctx context.Context) error {
	if p.simd == "off" {
		return nil
	}
	root, err := p.repository()
	if err != nil {
		return nil // there are no sources to build from
	}
	return p.vectorise(ctx, root, p.args, p.stderr)
}

// vectorise builds the program with GOEXPERIMENT=simd into notebooks/.bin and
// replaces this process by it, with the same arguments; it returns only where
// that is not to be had, or when ctx ends. Lines about it go to progress.
func vectorise(ctx context.Context, root string, args []string, progress io.Writer) error {
	if runtime.GOARCH != "amd64" || runtime.GOOS == "windows" || isVectorised() || os.Getenv("GOEXPERIMENT") != "" {
		return nil
	}
	if _, err := goProgram(); err != nil || !hasExperiment(ctx, "simd") {
		return ctx.Err()
	}
	binary, unlock, err := buildVectorised(ctx, root, progress)
	if err == nil {
		defer unlock()
		// The lock's file is closed by Exec, which does not return when all is well.
		err = syscall.Exec(binary, append([]string{binary, "-simd=off"}, args...), os.Environ())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(progress, "going on without vectorised matrix products: %v\n", err)
	return nil
}

// isVectorised tells whether this program was built with the experiment.
func isVectorised() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "GOEXPERIMENT" {
			for experiment := range strings.SplitSeq(s.Value, ",") {
				if experiment == "simd" {
					return true
				}
			}
		}
	}
	return false
}

// sayIfSlow writes a line about what go is at, unless done is called before: what is
// up to date is there in a second, and not worth a line.
func sayIfSlow(w io.Writer, line string) (done func()) {
	timer := time.AfterFunc(2*time.Second, func() { fmt.Fprintln(w, line) })
	return func() { timer.Stop() }
}

// buildVectorised builds the program, or finds it up to date, and keeps other
// processes from building it until unlock is called.
func buildVectorised(ctx context.Context, root string, progress io.Writer) (binary string, unlock func() error, err error) {
	binDir := programsOf(root)
	if err := os.MkdirAll(binDir, 0o777); err != nil {
		return "", nil, err
	}
	unlock, err = lock(ctx, filepath.Join(binDir, ".paper-simd.lock"), "this program", progress)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	defer sayIfSlow(progress, "building this program with vectorised matrix products (-simd=off does without)")()
	binary = filepath.Join(binDir, "paper-simd")
	build := func(flags ...string) error {
		args := slices.Concat([]string{"build", "-o", binary}, cellFlags(), flags, []string{"./notebooks/cmd/paper"})
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "PWD="+root, "GOEXPERIMENT=simd", "GOWORK=off")
		interruptible(cmd)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(text))
		}
		return nil
	}
	err = build()
	if err != nil && strings.Contains(err.Error(), "-buildvcs=false") {
		// Git does not tell about a folder of another user. Go run did not ask.
		err = build("-buildvcs=false")
	}
	return binary, unlock, err
}
