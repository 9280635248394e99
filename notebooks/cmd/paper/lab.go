package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/sim"
)

// lab copies the notebooks to a folder in which the reader may change them, and
// runs Jupyter there, in place of this program: signals are Jupyter's.
func (p *program) lab(cmd *cobra.Command, args []string) error {
	jupyter, err := findJupyter()
	if err != nil {
		return err
	}
	dir, _ := filepath.Abs(p.dir) // there is a working directory
	if err := copyNotebooks(p.root, dir); err != nil {
		return fmt.Errorf("%w (-dir names the folder of the copy)", err)
	}
	kernels := filepath.Join(programs(p.root), "jupyter")
	if err := p.makeKernel(cmd.Context(), filepath.Join(kernels, "kernels", "gonb")); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\n%s has the notebooks (those that were there stay), results go to %s\n", dir, p.out)
	fmt.Fprintf(p.stdout, "to keep a change: cp %q %q\n\n", filepath.Join(dir, "NAME.ipynb"), filepath.Join(p.root, "notebooks"))
	args = append([]string{jupyter}, args...)
	if os.Geteuid() == 0 {
		args = append(args, "--allow-root")
	}
	if err := os.Chdir(dir); err != nil { // Jupyter shows its working directory
		return err
	}
	path := kernels + string(filepath.ListSeparator) + os.Getenv("JUPYTER_PATH")
	return syscall.Exec(jupyter, args, append(os.Environ(), "PWD="+dir, "JUPYTER_PATH="+path))
}

func findJupyter() (string, error) {
	for _, name := range []string{"jupyter-lab", "jupyter-notebook"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errors.New("neither jupyter-lab nor jupyter-notebook is on PATH: " +
		"\"pip install jupyterlab\" in a virtual environment, or \"apt-get install --no-install-recommends jupyter-notebook\", installs one")
}

// copyNotebooks copies the notebooks and what they read, but for what is there and may be changed.
func copyNotebooks(root, dir string) error {
	from := filepath.Join(root, "notebooks")
	entries, err := os.ReadDir(from)
	for _, entry := range entries {
		to := filepath.Join(dir, entry.Name())
		if _, there := os.Stat(to); there == nil || entry.IsDir() || err != nil {
			continue
		}
		var data []byte
		if data, err = os.ReadFile(filepath.Join(from, entry.Name())); err == nil {
			err = sim.WriteFile(to, data)
		}
	}
	return err
}

// makeKernel builds the kernel, and gopls for completion and documentation, and writes its
// kernelspec, the file by which Jupyter knows it:
// https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs.
func (p *program) makeKernel(ctx context.Context, folder string) error {
	if err := p.prepareKernel(ctx, "golang.org/x/tools/gopls"); err != nil {
		return err
	}
	goProgram, _ := exec.LookPath("go") // it has just built the kernel
	env := p.kernelEnv()
	env["PATH"] = strings.Join([]string{programs(p.root), filepath.Dir(goProgram), "${PATH}"}, string(filepath.ListSeparator))
	data, _ := json.MarshalIndent(map[string]any{ // strings
		"argv":         []string{filepath.Join(programs(p.root), "gonb"), "--kernel", "{connection_file}"},
		"display_name": "Go (gonb)", "language": "go", "interrupt_mode": "message", "env": env,
	}, "", " ")
	return sim.WriteFile(filepath.Join(folder, "kernel.json"), data)
}

// installKernel writes into the folder of the user's kernels. A kernel that this
// program has not written stays.
func (p *program) installKernel(cmd *cobra.Command, _ []string) error {
	home, err := os.UserHomeDir()
	data := filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "jupyter")
	if runtime.GOOS == "darwin" {
		data = filepath.Join(home, "Library", "Jupyter")
	}
	if data, _ = filepath.Abs(cmp.Or(os.Getenv("JUPYTER_DATA_DIR"), data)); err != nil && os.Getenv("JUPYTER_DATA_DIR") == "" {
		return fmt.Errorf("%w: JUPYTER_DATA_DIR names the folder of Jupyter's data, too", err)
	}
	folder := filepath.Join(data, "kernels", "gonb")
	text, err := os.ReadFile(filepath.Join(folder, "kernel.json"))
	if err == nil && !strings.Contains(string(text), `"CONTEXTREC"`) {
		return fmt.Errorf("%s was not written by this command and stays: remove it yourself", folder)
	}
	if err := p.makeKernel(cmd.Context(), folder); err != nil {
		return fmt.Errorf("%w (JUPYTER_DATA_DIR names the folder of Jupyter's data)", err)
	}
	fmt.Fprintf(p.stdout, "\n%s has the kernel \"Go (gonb)\" of %s; removing the folder removes it\n", folder, p.root)
	return nil
}
