package cellbuild

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
// It is silent. Where it has not, nothing is changed but that the cell's program may
// be gone, and the go command is to be run.
func (g Go) Build(ctx context.Context, args []string) bool {
	folder, err := os.Getwd()
	if err != nil {
		return false
	}
	r, err := newRequest(folder, args)
	if err != nil {
		return false
	}
	key, err := r.key(g.Program)
	if err != nil {
		return false
	}
	work, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "cellbuild-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(work)
	recipes := shelf(g.Recipes)
	if known := recipes.find(key, r); known != nil {
		return known.follow(ctx, r, work) == nil
	}
	began := time.Now()
	trace, err := g.build(ctx, r, work)
	if err != nil {
		return false
	}
	// A cell without a recipe is built all the same.
	if made, err := take(ctx, g.Program, r, began, trace); err == nil {
		recipes.put(key, made)
	}
	return true
}

// build has go build a cell and show what it does. It leaves its files in a folder.
func (g Go) build(ctx context.Context, r request, work string) (trace string, err error) {
	args := append([]string{"build", "-x", "-work", "-o", r.output}, r.flags...)
	cmd := exec.CommandContext(ctx, g.Program, args...)
	cmd.Dir = r.folder
	cmd.Env = append(cmd.Environ(), "GOTMPDIR="+work)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	return stderr.String(), err
}

// follow builds a cell by the recipe, with a folder for its files.
func (r *recipe) follow(ctx context.Context, cell request, work string) error {
	if err := os.Mkdir(filepath.Join(work, "b001"), 0o777); err != nil {
		return err
	}
	words := strings.NewReplacer(linked, cell.output, "$WORK", work)
	imports, links, err := r.configs(cell.module, work)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{importCfg: imports, linkCfg: links} {
		if err := os.WriteFile(words.Replace(file), []byte(text), 0o666); err != nil {
			return err
		}
	}
	for _, c := range []command{r.Compile, r.Link} {
		c = c.in(words)
		cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
		cmd.Dir = cell.folder
		cmd.Env = cmd.Environ()
		for name, value := range r.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, c.Env...)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", c.Args[0], err)
		}
	}
	return nil
}
