package clone

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// CellFlags are the flags that cells are compiled with. They leave out debug
// information, of which a panic needs nothing to tell its line: a cell is linked in
// half the time that go build takes. The tags are those of this process's program,
// and two more.
func CellFlags() []string {
	return []string{"-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-tags=" + cellTags(buildSettings())}
}

// buildSettings are those of this process's program.
func buildSettings() []debug.BuildSetting {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return info.Settings
}

// cellGoFlags is the value of GOFLAGS with which cells are compiled, whatever it is
// elsewhere.
const cellGoFlags = "-mod=readonly"

// KernelEnv are the settings of a kernel, which make a cell what it is whoever
// runs it. On PATH are the kernel's programs and Go, then what this process has.
func KernelEnv(ctx context.Context, binDir, goPath string) []string {
	path := []string{binDir, filepath.Dir(goPath), os.Getenv("PATH")}
	env := []string{
		"PATH=" + strings.Join(path, string(filepath.ListSeparator)),
		"GOFLAGS=" + cellGoFlags,
		// A cell must not load hundreds of megabytes from the network by itself.
		"GOMLX_NO_AUTO_INSTALL=1",
	}
	return append(env, CellEnv(ctx)...)
}

// CellEnv are the settings that cells are compiled with beside [CellFlags]: on amd64
// Go's vectorised matrix products are an experiment. Where GOEXPERIMENT is set, it
// stays as it is.
func CellEnv(ctx context.Context) []string {
	if runtime.GOARCH == "amd64" && os.Getenv("GOEXPERIMENT") == "" && hasExperiment(ctx, "simd") {
		return []string{"GOEXPERIMENT=simd"}
	}
	return nil
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

// CompileForCells compiles the packages that the cells import, before the first
// cell, which otherwise takes as long. It does so as the kernel does, for with
// other flags they are other packages. A failure is the cells' to tell.
func CompileForCells(ctx context.Context, root string) {
	env := append(append(os.Environ(), CellEnv(ctx)...), "GOFLAGS="+cellGoFlags, "PWD="+root, "GOWORK=off")
	runGo(ctx, root, env, io.Discard, slices.Concat([]string{"build"}, CellFlags(), []string{"./notebooks/nb", "./envs/..."})...)
}
