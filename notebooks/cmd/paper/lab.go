package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs/sim"
)

func (p *program) labCommand() *cobra.Command {
	var dir string
	lab := &cobra.Command{
		Use: "lab [-- JUPYTER'S ARGUMENTS]", Short: "Open a copy of the notebooks in JupyterLab or Jupyter Notebook",
		RunE: func(cmd *cobra.Command, args []string) error { return p.lab(cmd, dir, args) },
	}
	home, _ := os.UserHomeDir() // else the copy is made in the working directory
	lab.Flags().StringVar(&dir, "dir", filepath.Join(home, "contextrec-notebooks"), "folder of the copy")
	return lab
}

// lab copies the notebooks to a folder in which the reader may change them, and
// runs Jupyter there, in place of this program: signals are Jupyter's.
func (p *program) lab(cmd *cobra.Command, dir string, args []string) error {
	jupyter, err := findJupyter()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	made, err := copyNotebooks(p.root, dir)
	if err != nil {
		return fmt.Errorf("%w (-dir names the folder of the copy)", err)
	}
	kernels := filepath.Join(programs(p.root), "jupyter")
	if err := p.makeKernel(cmd.Context(), filepath.Join(kernels, "kernels", "gonb")); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\n%s has the notebooks (copied now: %d files; those that were there stay), results go to %s\n", dir, made, p.out)
	fmt.Fprintf(p.stdout, "to keep a change: cp %s %s\n\n", filepath.Join(dir, "NAME.ipynb"), filepath.Join(p.root, "notebooks"))
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

// findJupyter is the path of the front end that is installed.
func findJupyter() (string, error) {
	for _, name := range []string{"jupyter-lab", "jupyter-notebook"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errors.New("neither jupyter-lab nor jupyter-notebook is on PATH: " +
		"\"pip install jupyterlab\" in a virtual environment, or \"apt-get install --no-install-recommends jupyter-notebook\", installs one")
}

// copyNotebooks copies the notebooks and the files that they read, but for those
// that are there already, which may be changed, and counts them.
func copyNotebooks(root, dir string) (made int, err error) {
	if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
		return 0, fmt.Errorf("-dir is %s: a copy in the repository would be in git's way", dir)
	}
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
		made++
	}
	return made, err
}

// spec is a kernelspec, the file kernel.json by which Jupyter knows a kernel:
// https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs.
type spec struct {
	Argv          []string          `json:"argv"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"`
	Env           map[string]string `json:"env"`
}

// makeKernel builds the kernel and declares it in a folder of kernels.
func (p *program) makeKernel(ctx context.Context, folder string) error {
	if err := p.prepareKernel(ctx, true); err != nil {
		return err
	}
	goProgram, err := exec.LookPath("go") // it has just built the kernel
	if err != nil {
		return err
	}
	s := spec{
		Argv:        []string{filepath.Join(programs(p.root), "gonb"), "--kernel", "{connection_file}"},
		DisplayName: "Go (gonb)", Language: "go", InterruptMode: "message",
		Env: kernelEnv(p.root, p.out),
	}
	s.Env["PATH"] = strings.Join([]string{programs(p.root), filepath.Dir(goProgram), "${PATH}"}, string(filepath.ListSeparator))
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return sim.WriteFile(filepath.Join(folder, "kernel.json"), append(data, '\n'))
}

func (p *program) kernelCommand() *cobra.Command {
	kernel := &cobra.Command{Use: "kernel", Short: "Declare the notebooks' kernel to Jupyter and editors, or remove it"}
	kernel.AddCommand(
		&cobra.Command{Use: "install", Short: "Declare the kernel gonb for this user", Args: cobra.NoArgs, RunE: p.installKernel},
		&cobra.Command{Use: "uninstall", Short: "Remove what install has written", Args: cobra.NoArgs, RunE: p.uninstallKernel})
	return kernel
}

// installed is the folder of the user's kernel gonb, and the repository whose
// kernel is there, "" where none is. One that this program has not written is an
// error.
func installed() (folder, repository string, err error) {
	home, err := os.UserHomeDir()
	data := filepath.Join(home, ".local", "share", "jupyter")
	if runtime.GOOS == "darwin" {
		data = filepath.Join(home, "Library", "Jupyter")
	}
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		data, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", "", err
	}
	folder = filepath.Join(data, "kernels", "gonb")
	text, err := os.ReadFile(filepath.Join(folder, "kernel.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return folder, "", nil
	}
	var s spec
	if err == nil && json.Unmarshal(text, &s) != nil || s.Env["CONTEXTREC"] == "" {
		err = fmt.Errorf("%s was not written by this command and stays: remove it yourself", folder)
	}
	return folder, s.Env["CONTEXTREC"], err
}

func (p *program) installKernel(cmd *cobra.Command, _ []string) error {
	folder, _, err := installed()
	if err != nil {
		return err
	}
	if err := p.makeKernel(cmd.Context(), folder); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\n%s has the kernel \"Go (gonb)\" of %s\n", folder, p.root)
	p.next("kernel uninstall")
	return nil
}

func (p *program) uninstallKernel(*cobra.Command, []string) error {
	folder, from, err := installed()
	if err != nil {
		return err
	}
	if from == "" {
		fmt.Fprintln(p.stdout, "no kernel is installed")
		return nil
	}
	fmt.Fprintf(p.stdout, "removed %s, the kernel of %s\n", folder, from)
	return os.RemoveAll(folder)
}
