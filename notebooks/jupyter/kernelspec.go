package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// specName is the kernel that the notebooks ask for.
const specName = "gonb"

// Kernel is the Go kernel of a clone of this repository.
type Kernel struct {
	Repository string // the clone's folder

	// Env are NAME=value settings of the kernel and its cells. PATH is among
	// them, and the program gonb is in its first folder; what Jupyter itself has
	// on its PATH is looked through after all of it.
	Env []string
}

// spec is a kernelspec, the file kernel.json by which Jupyter knows a kernel:
// https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs.
type spec struct {
	Argv          []string          `json:"argv"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"`
	Env           map[string]string `json:"env"`
	Metadata      struct {
		// Contextrec marks what Install has written.
		Contextrec *mark `json:"contextrec,omitempty"`
	} `json:"metadata"`
}

type mark struct {
	Repository string `json:"repository"`
}

func (k Kernel) spec() (*spec, error) {
	s := &spec{
		DisplayName: "Go (gonb)", Language: "go",
		InterruptMode: "message", // at SIGINT the kernel would not tell the cell
		Env:           map[string]string{},
	}
	s.Metadata.Contextrec = &mark{k.Repository}
	for _, setting := range k.Env {
		name, value, _ := strings.Cut(setting, "=")
		// Jupyter replaces $NAME.
		s.Env[name] = strings.ReplaceAll(value, "$", "$$")
	}
	path := filepath.SplitList(s.Env["PATH"])
	if len(path) == 0 || !filepath.IsAbs(path[0]) {
		return nil, fmt.Errorf("jupyter: PATH of the kernel is %q, want the kernel's folder in it", s.Env["PATH"])
	}
	s.Env["PATH"] += string(filepath.ListSeparator) + "${PATH}"
	s.Argv = []string{filepath.Join(filepath.SplitList(k.path())[0], "gonb"), "--kernel", "{connection_file}"}
	return s, nil
}

func (k Kernel) path() (path string) {
	for _, setting := range k.Env {
		if value, ok := strings.CutPrefix(setting, "PATH="); ok {
			path = value
		}
	}
	return path
}

// write makes a kernelspec's folder.
func (k Kernel) write(folder string) error {
	s, err := k.spec()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	// Jupyter may read at any time.
	f, err := os.CreateTemp(folder, ".kernel-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(folder, specFile))
}

const specFile = "kernel.json"

// Installed tells what [Kernel.Install] or [Kernel.Uninstall] has done.
type Installed struct {
	Folder string // of the kernelspec

	// Before is what was there: the clone whose kernel it was, "" where there was
	// none, and Foreign where it was not of this repository.
	Before string
}

// Foreign stands for a kernel that Install has not written.
const Foreign = "another installation of the kernel"

// Install declares the kernel in the user's folder of kernels, where Jupyter and
// editors find it. What is there of another clone, or was not written by
// Install, is replaced only by force; but a clone's that is gone always is.
func (k Kernel) Install(force bool) (Installed, error) {
	done, err := k.installed()
	if err != nil {
		return done, err
	}
	if done.isOfAnother(k) && !force {
		return done, fmt.Errorf("%s belongs to %s: -force replaces it", done.Folder, done.Before)
	}
	if err := k.write(done.Folder); err != nil {
		return done, fmt.Errorf("the kernel cannot be installed: %w", err)
	}
	return done, nil
}

// Uninstall removes what Install has written and nothing else. It refuses, but
// by force, what belongs to another clone that is still there. Where nothing is
// installed, it does nothing and Before is "".
func (k Kernel) Uninstall(force bool) (Installed, error) {
	done, err := k.installed()
	if err != nil || done.Before == "" {
		return done, err
	}
	if done.Before == Foreign {
		return done, fmt.Errorf("%s was not written by this command and stays", done.Folder)
	}
	if done.isOfAnother(k) && !force {
		return done, fmt.Errorf("%s belongs to %s: -force removes it", done.Folder, done.Before)
	}
	if err := os.Remove(filepath.Join(done.Folder, specFile)); err != nil {
		return done, err
	}
	// A folder in which somebody else has put something stays.
	os.Remove(done.Folder)
	return done, nil
}

// isOfAnother tells whether somebody else may still need what is installed.
func (i Installed) isOfAnother(k Kernel) bool {
	if i.Before == "" || i.Before == k.Repository {
		return false
	}
	_, err := os.Stat(filepath.Join(i.Before, "go.mod"))
	return i.Before == Foreign || err == nil
}

// installed looks what is there.
func (k Kernel) installed() (Installed, error) {
	data, err := dataFolder()
	if err != nil {
		return Installed{}, err
	}
	i := Installed{Folder: filepath.Join(data, "kernels", specName)}
	text, err := os.ReadFile(filepath.Join(i.Folder, specFile))
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return i, err
	}
	i.Before = Foreign
	var s spec
	if json.Unmarshal(text, &s) == nil && s.Metadata.Contextrec != nil && s.Metadata.Contextrec.Repository != "" {
		i.Before = s.Metadata.Contextrec.Repository
	}
	return i, nil
}

// dataFolder is where Jupyter looks for a user's kernels:
// https://docs.jupyter.org/en/latest/use/jupyter-directories.html#data-files.
func dataFolder() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("where Jupyter looks for kernels is not known: %w", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Jupyter"), nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// configFolder is where Jupyter keeps a user's settings.
func configFolder() (string, error) {
	if dir := os.Getenv("JUPYTER_CONFIG_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".jupyter"), err
}

// isWritable tells whether files can be made in a folder, which need not be
// there yet.
func isWritable(folder string) bool {
	for {
		info, err := os.Stat(folder)
		if err == nil {
			if !info.IsDir() {
				return false
			}
			probe, err := os.MkdirTemp(folder, ".probe-")
			os.Remove(probe)
			return err == nil
		}
		if up := filepath.Dir(folder); up != folder && errors.Is(err, fs.ErrNotExist) {
			folder = up
			continue
		}
		return false
	}
}

// withSettings is an environment in which the settings take the place of others
// of their names.
func withSettings(env, settings []string) []string {
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		env = append(env, s)
	}
	return env
}
