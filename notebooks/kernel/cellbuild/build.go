package cellbuild

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Go builds cells with a go command and keeps their recipes.
type Go struct {
	Program string // the go command, an absolute path
	Recipes string // the folder of recipes, which need not be there yet
}

// Build does what the go command does with the arguments in the working directory,
// if that is a plain build of a cell that succeeds, and tells whether it has done so.
// Where it has not, nothing is changed, and the go command is to be run. It is silent,
// also where go would have had a warning.
func (g Go) Build(ctx context.Context, args []string) bool {
	folder, err := os.Getwd()
	if err != nil {
		return false
	}
	cell, err := newRequest(folder, args)
	if err != nil {
		return false
	}
	key, err := cell.key(g.Program)
	if err != nil {
		return false
	}
	// In the kernel's folder, which is removed when the kernel ends.
	work, err := os.MkdirTemp(folder, ".cellbuild-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(work)
	recipes := shelf(g.Recipes)
	if known, file := recipes.find(key, cell); known != nil {
		if known.follow(ctx, cell, work) == nil {
			return true
		}
		if known.isComplete() || ctx.Err() != nil {
			return false // go says what is wrong
		}
		os.Remove(file)
	}

	before, times, sourcesErr := allSources(cell.localModules)
	trace, err := g.build(ctx, cell, work)
	if err != nil {
		return false
	}
	// The cell is built. That it has no recipe is no failure.
	if sourcesErr != nil {
		return true
	}
	made, err := newRecipe(ctx, g.Program, cell, before, times, trace)
	if err != nil {
		return true
	}
	again, err := newRequest(folder, args)
	if err != nil {
		return true
	}
	if keyAgain, err := again.key(g.Program); err == nil && keyAgain == key && slices.Equal(again.imports, cell.imports) {
		recipes.put(key, made)
	}
	return true
}

// build has go build a cell and show what it does. It leaves its files in a folder.
func (g Go) build(ctx context.Context, cell request, work string) (trace string, err error) {
	args := append([]string{"build", "-x", "-work", "-o", cell.output}, cell.flags...)
	cmd := exec.CommandContext(ctx, g.Program, args...)
	cmd.Dir = cell.folder
	cmd.Env = append(cmd.Environ(), "GOTMPDIR="+work)
	// Interrupted, go ends in order.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	return stderr.String(), err
}

// follow builds a cell by the recipe, with a folder for all temporary files. The
// commands succeed and have nothing to say, or else it is go that is to say it.
func (r *recipe) follow(ctx context.Context, cell request, work string) error {
	main := filepath.Join(work, "b001")
	if err := os.MkdirAll(filepath.Join(main, "exe"), 0o777); err != nil {
		return err
	}
	words := strings.NewReplacer("$WORK", work)
	imports, links, err := r.configs(cell.module, work)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{importCfg: imports, linkCfg: links} {
		if err := os.WriteFile(words.Replace(file), []byte(text), 0o666); err != nil {
			return err
		}
	}
	for _, c := range []command{r.Compile, r.linkOf(cell)} {
		c = c.replace(words)
		cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
		cmd.Dir = cell.folder
		cmd.Env = cmd.Environ()
		for name, value := range r.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		// The linker keeps files beside those of the C compiler.
		cmd.Env = append(append(cmd.Env, c.Env...), "TMPDIR="+work)
		if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
			return fmt.Errorf("%s: %w\n%s", c.Args[0], err, said)
		}
	}
	return os.Rename(words.Replace(linked), cell.output)
}
