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

	// Program is the kernel, gonb, and Go the command that it compiles cells
	// with: absolute paths.
	Program, Go string

	// CellGo is a program that is called with Go and its arguments and does what it
	// does, sooner and in silence where it builds a cell; "" is none.
	CellGo string

	// BuildFlags are flags of "go build" for all cells, which a %goflags line of
	// a notebook comes after.
	BuildFlags []string

	// Env are NAME=value settings of the kernel and its cells. What Jupyter has
	// on its PATH is looked through after the one that is set here.
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

// spec is the kernelspec that will be in a folder.
func (k Kernel) spec(folder string) *spec {
	s := &spec{
		Argv:        []string{k.Program, "--kernel", "{connection_file}"},
		DisplayName: "Go (gonb)", Language: "go",
		InterruptMode: "message", // to the kernel alone, which knows what runs
		Env:           map[string]string{},
	}
	s.Metadata.Contextrec = &mark{k.Repository}
	path := []string{filepath.Join(folder, commands)}
	for _, setting := range k.Env {
		name, value, _ := strings.Cut(setting, "=")
		if name == "PATH" {
			path = append(path, filepath.SplitList(value)...)
			continue
		}
		s.Env[name] = escape(value)
	}
	s.Env["PATH"] = escape(strings.Join(once(path), string(filepath.ListSeparator))) + string(filepath.ListSeparator) + "${PATH}"
	return s
}

// once leaves every folder where it is first. An empty one would be the folder
// that a cell happens to be in.
func once(folders []string) []string {
	var kept []string
	for _, f := range folders {
		if f == "" {
			continue
		}
		if f = filepath.Clean(f); !slices.Contains(kept, f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// escape keeps Jupyter from replacing $NAME.
func escape(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// commands is the folder, in a kernelspec's, that is first on the kernel's PATH.
const commands = "bin"

// goCommand is a go that compiles cells with the build flags: the kernel can be
// told them by a notebook only, and the environment's are the notebook's to set.
// It collects its garbage later, which links a cell sooner. While the file is there,
// cells wait; "" is none.
func (k Kernel) goCommand(file string) string {
	var flags strings.Builder
	for _, f := range k.BuildFlags {
		flags.WriteString(" " + shellWord(f))
	}
	wait := ""
	if file != "" {
		wait = "\t" + waitWhile(file)
	}
	program := shellWord(k.Go)
	cells := ""
	if k.CellGo != "" {
		cells = fmt.Sprintf("\t[ ! -x %[1]s ] || exec %[1]s %[2]s build%[3]s \"$@\"\n", shellWord(k.CellGo), program, flags.String())
	}
	return fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = build ]; then\n%[4]s\tshift\n\texport GOGC=\"${GOGC:-400}\"\n%[2]s\texec %[1]s build%[3]s \"$@\"\nfi\nexec %[1]s \"$@\"\n", program, cells, flags.String(), wait)
}

// waitWhile is a line of a shell's that waits while a file is there, and ends the
// shell when this process is gone, which would have removed it.
func waitWhile(file string) string {
	return fmt.Sprintf("while [ -e %s ]; do kill -0 %d 2>/dev/null || exit 1; sleep 0.1; done\n", shellWord(file), os.Getpid())
}

func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// after is the kernel as one that begins to work when the file is gone. Its
// kernelspec may be in use before the program is there.
func (k Kernel) after(file, folder string) (Kernel, error) {
	wait := filepath.Join(folder, "gonb-when-built")
	text := fmt.Sprintf("#!/bin/sh\n%sexec %s \"$@\"\n", waitWhile(file), shellWord(k.Program))
	k.Program = wait
	return k, replace(wait, text, 0o755)
}

// write makes a kernelspec's folder. While the file is there, cells wait; "" is
// none.
func (k Kernel) write(folder, file string) error {
	data, err := json.MarshalIndent(k.spec(folder), "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, commands), 0o777); err != nil {
		return err
	}
	if err := replace(filepath.Join(folder, commands, "go"), k.goCommand(file), 0o755); err != nil {
		return err
	}
	return replace(filepath.Join(folder, specFile), string(data)+"\n", 0o644)
}

// replace writes a file that others may read or run at any time.
func replace(path, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
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
	if err := k.Installable(force); err != nil {
		return Installed{}, err
	}
	done, err := k.installed()
	if err != nil {
		return done, err
	}
	if err := k.write(done.Folder, ""); err != nil {
		return done, fmt.Errorf("the kernel cannot be installed: %w", err)
	}
	return done, nil
}

// Installable tells why Install would refuse.
func (k Kernel) Installable(force bool) error {
	there, err := k.installed()
	if err != nil {
		return err
	}
	if there.isOfAnother(k) && !force {
		return fmt.Errorf("%s belongs to %s: -force replaces it", there.Folder, there.Before)
	}
	return nil
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
	for _, file := range []string{filepath.Join(commands, "go"), specFile} {
		if err := os.Remove(filepath.Join(done.Folder, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
	}
	// A folder in which somebody else has put something stays.
	os.Remove(filepath.Join(done.Folder, commands))
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
