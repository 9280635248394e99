package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// notebooksOf are the names of the repository's notebooks, without .ipynb.
func notebooksOf(root string) []string {
	paths, _ := filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb")) // the pattern is right
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".ipynb")
	}
	return paths
}

func (p *program) notebooks(cmd *cobra.Command, args []string) error {
	known := notebooksOf(p.root)
	for _, name := range args {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no notebook %q; known are: %s", name, strings.Join(known, ", "))
		}
	}
	if len(args) == 0 {
		args = known
	}
	p.fresh = true
	ctx := cmd.Context()
	err := p.inTurn(ctx, []section{
		{"the kernel of the notebooks", func() error { return p.prepareKernel(ctx, false) }},
		{"notebooks", func() error { return p.execute(ctx, args) }},
	})
	if err == nil {
		fmt.Fprintf(p.stdout, "\nThe executed notebooks are in %s\n", filepath.Join(p.out, "notebooks"))
		p.next("lab")
	}
	return err
}

// programs is the folder of what a clone of this repository builds for itself.
func programs(root string) string { return filepath.Join(root, "notebooks", ".bin") }

// prepareKernel builds the programs that execute notebooks, for Jupyter gopls too,
// in the versions that notebooks/kernel/go.mod pins, compiles what cells import, and
// downloads every module that their go.work names. After it a cell needs no network.
func (p *program) prepareKernel(ctx context.Context, forJupyter bool) error {
	fmt.Fprintln(p.stdout, "building the kernel and what cells import (the first time a minute or two)")
	workspace, err := os.MkdirTemp("", "paper-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(workspace)
	tools := []string{"go", "install", "golang.org/x/tools/cmd/goimports", "./nbrun"}
	if forJupyter {
		tools = append(tools, "golang.org/x/tools/gopls")
	}
	for _, step := range []struct {
		folder, gowork string
		args           []string
	}{
		{filepath.Join(p.root, "notebooks", "kernel"), "off", tools},
		{p.root, "off", []string{"bash", "notebooks/kernel/gonb.sh"}},
		{p.root, "off", []string{"go", "build", "./envs/...", "./baselines/...", "./pgcr/...", "./notebooks/nb"}},
		{workspace, "off", []string{"go", "mod", "init", "cell"}},
		{workspace, "auto", []string{"go", "work", "init", ".", p.root}},
		{workspace, "auto", []string{"go", "list", "-m", "-json", "..."}},
		{workspace, "auto", []string{"go", "list", "-deps", "github.com/contextrec/contextrec/..."}},
	} {
		cmd := interruptible(ctx, step.args[0], step.args[1:]...)
		cmd.Dir = step.folder
		cmd.Env = append(os.Environ(), "PWD="+step.folder, "GOBIN="+programs(p.root), "GOWORK="+step.gowork, "GOFLAGS=-mod=readonly")
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("%s: %w\n%s", strings.Join(step.args, " "), err, bytes.TrimSpace(said.Bytes())))
		}
	}
	return nil
}

// interruptible is a command that ends in its own way when ctx does.
func interruptible(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// kernelEnv are the settings of a kernel beside PATH: where this repository is, for
// the set-up cell, and where results go.
func kernelEnv(root, out string) map[string]string {
	return map[string]string{
		"CONTEXTREC": root, "PAPER_OUT": out,
		"GOMLX_NO_AUTO_INSTALL": "1", // a cell loads no backend from the network
	}
}

// execute executes notebooks into the output folder, two at the same time, but for those that
// were executed with these sources if p.fresh is false. One that fails keeps none of the others
// from being executed.
func (p *program) execute(ctx context.Context, names []string) error {
	out := filepath.Join(p.out, "notebooks")
	key, err := p.sources()
	if err = cmp.Or(err, os.MkdirAll(out, 0o777)); err != nil {
		return err
	}
	env := append(os.Environ(), "PAPER_DATA="+p.data)
	for name, value := range kernelEnv(p.root, p.out) {
		env = append(env, name+"="+value)
	}
	if p.scale != 0 {
		env = append(env, fmt.Sprintf("PAPER_SCALE=%v", p.scale))
	}
	errs := make([]error, len(names))
	free := make(chan struct{}, 2)
	var running sync.WaitGroup
	for i, name := range names {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			if ctx.Err() != nil {
				return
			}
			file := name + ".ipynb"
			mark := filepath.Join(out, "."+file+".sources")
			made, _ := os.ReadFile(mark)
			if _, err := os.Stat(filepath.Join(out, file)); err == nil && string(made) == key && !p.fresh {
				fmt.Fprintf(p.stdout, "%s: executed with this code before\n", name)
				return
			}
			os.Remove(mark)
			limit := time.Duration(max(1, 100*p.scale) * float64(time.Hour)) // of a cell
			cmd := interruptible(ctx, filepath.Join(programs(p.root), "nbrun"),
				"-timeout", limit.String(), "-o", filepath.Join(out, file), filepath.Join(p.root, "notebooks", file))
			cmd.Env = env
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = p.stdout, &said
			if err := cmd.Run(); err != nil {
				errs[i] = errors.New(cmp.Or(strings.TrimSpace(said.String()), name+": "+err.Error()))
				return
			}
			errs[i] = sim.WriteFile(mark, []byte(key))
		})
	}
	running.Wait()
	return cmp.Or(ctx.Err(), errors.Join(errs...))
}

// sources is a hash of the settings and files of which notebooks are made.
func (p *program) sources() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, p.scale, os.Getenv("PAPER_SCALE"), p.data, paper.Options().Backend, runtime.Version())
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err == nil && d.IsDir() && path != p.root && (name[0] == '.' || name == "out" || name == "published") {
			return filepath.SkipDir
		}
		if !slices.Contains([]string{".go", ".mod", ".sum", ".ipynb", ".csv", ".tsv"}, filepath.Ext(name)) || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}
