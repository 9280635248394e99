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
		{"the kernel of the notebooks", func() error { return p.prepareKernel(ctx) }},
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

// prepareKernel builds the programs that execute notebooks, and further tools, in the versions
// that notebooks/kernel/go.mod pins, downloads every module that a cell's go.work names, and
// compiles what cells import. After it a cell needs no network.
func (p *program) prepareKernel(ctx context.Context, tools ...string) error {
	fmt.Fprintln(p.stdout, "building the kernel and what cells import (the first time a minute or two)")
	for _, step := range [][]string{
		append([]string{"go", "-C", "notebooks/kernel", "install", "golang.org/x/tools/cmd/goimports", "./nbrun"}, tools...),
		{"bash", "notebooks/kernel/gonb.sh"},
		{"go", "mod", "download"},
		{"go", "build", "./envs/...", "./baselines/...", "./pgcr/...", "./notebooks/nb"},
	} {
		cmd := interruptible(ctx, step[0], step[1:]...)
		cmd.Dir = p.root
		cmd.Env = append(cmd.Environ(), "GOBIN="+programs(p.root), "GOWORK=off", "GOFLAGS=-mod=readonly")
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(step, " "), err, bytes.TrimSpace(said.Bytes()))
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
// the set-up cell, where results go, and the flags that its cells know.
func (p *program) kernelEnv() map[string]string {
	env := map[string]string{
		"CONTEXTREC": p.root, "PAPER_OUT": p.out,
		"GOMLX_NO_AUTO_INSTALL": "1", // a cell loads no backend from the network
	}
	if p.data != "" {
		env["PAPER_DATA"] = p.data
	}
	if p.scale != 0 {
		env["PAPER_SCALE"] = fmt.Sprint(p.scale)
	}
	return env
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
	env := os.Environ()
	for name, value := range p.kernelEnv() {
		env = append(env, name+"="+value)
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
	return errors.Join(errs...)
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
