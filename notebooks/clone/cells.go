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
// other flags they are other packages. Where the kernel is there, one cell is built,
// so that cellgo has a recipe for most others. A failure is the cells' to tell.
func CompileForCells(ctx context.Context, root string) {
	// What the kernel's cells see, who know their folder by its own name.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	env := append(append(os.Environ(), CellEnv(ctx)...), "GOFLAGS="+cellGoFlags, "PWD="+root, "GOWORK=off")
	err := runGo(ctx, root, env, io.Discard, slices.Concat([]string{"build"}, CellFlags(), []string{"./notebooks/nb", "./envs/..."})...)
	if err == nil && HasKernel(root) {
		buildCell(ctx, root)
	}
}

// cellImports are what most cells import: packages of this module, of the libraries
// that its types come from, and of Go.
var cellImports = []string{
	Module + "/baselines", Module + "/baselines/neural",
	Module + "/envs", Module + "/envs/envtest", Module + "/envs/kkbox", Module + "/envs/kkbox/sevenzip",
	Module + "/envs/logged", Module + "/envs/sim",
	Module + "/notebooks/figure", Module + "/notebooks/nb", Module + "/notebooks/paper",
	Module + "/pgcr",
	"github.com/gomlx/gomlx/core/graph", "github.com/gomlx/gomlx/core/tensors", "github.com/janpfeifer/gonb/gonbui",
	"gonum.org/v1/gonum/floats", "gonum.org/v1/gonum/mat", "gonum.org/v1/gonum/stat", "gonum.org/v1/gonum/stat/distuv",
	"gonum.org/v1/plot", "gonum.org/v1/plot/palette", "gonum.org/v1/plot/plotter", "gonum.org/v1/plot/vg", "gonum.org/v1/plot/vg/draw",
	"bytes", "cmp", "context", "encoding/csv", "encoding/json", "errors", "flag", "fmt", "image/color", "io", "maps", "math", "math/rand/v2",
	"os", "path/filepath", "regexp", "runtime", "slices", "sort", "strconv", "strings", "sync", "time",
}

// buildCell builds a cell that imports all of these, in a folder like that of a
// kernel, and as the kernel does.
func buildCell(ctx context.Context, root string) error {
	goPath, err := GoProgram()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "paper-cell-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	main := "package main\n\nimport (\n\t_ \"" + strings.Join(cellImports, "\"\n\t_ \"") + "\"\n)\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(main), 0o666); err != nil {
		return err
	}
	binDir := Programs(root)
	env := append(append(os.Environ(), KernelEnv(ctx, binDir, goPath)...), "PWD="+folder, "GOWORK=auto")
	for _, args := range [][]string{{"mod", "init", "gonb_0"}, {"work", "init", ".", root}} {
		if err := runGo(ctx, folder, env, io.Discard, args...); err != nil {
			return err
		}
	}
	cell := append([]string{goPath, "build", "-o", filepath.Join(folder, "cell")}, CellFlags()...)
	return run(ctx, folder, env, io.Discard, filepath.Join(binDir, "cellgo"), cell...)
}
