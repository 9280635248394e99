package jupyter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Program is a front end that is installed.
type Program struct {
	Name    string // "JupyterLab", "Jupyter Notebook"
	Version string
	Path    string

	page, file string // paths of its pages: of the folder, and of what comes before a notebook's name
}

// frontEnds are those that can open the notebooks, the better first.
var frontEnds = []struct {
	program, name string
	oldest        int // major version
	page, file    string
}{
	{"jupyter-lab", "JupyterLab", 3, "lab", "lab/tree/"},
	{"jupyter-notebook", "Jupyter Notebook", 6, "tree", "notebooks/"},
}

// Find returns the best front end that works: JupyterLab, else Notebook 7 or 6.
// It looks on PATH and in the folder where "pip install --user" puts programs.
// The error says what is there and why it cannot be used, and the command that
// installs one on this system.
func Find(ctx context.Context) (Program, error) {
	folders := filepath.SplitList(os.Getenv("PATH"))
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, ".local", "bin"))
	}
	var refused []string
	for _, f := range frontEnds {
		for i, folder := range folders {
			path, err := exec.LookPath(filepath.Join(folder, f.program))
			if !filepath.IsAbs(folder) || slices.Contains(folders[:i], folder) || err != nil {
				continue
			}
			version, err := versionOf(ctx, path)
			if ctx.Err() != nil {
				return Program{}, ctx.Err()
			}
			if err == nil && major(version) < f.oldest {
				err = fmt.Errorf("has version %s, older than %d", version, f.oldest)
			}
			if err != nil {
				refused = append(refused, fmt.Sprintf("%s %v", path, err))
				continue
			}
			return Program{Name: f.name, Version: version, Path: path, page: f.page, file: f.file}, nil
		}
	}
	if len(refused) > 0 {
		return Program{}, fmt.Errorf("no Jupyter that works: %s; %s", strings.Join(refused, ", "), howToInstall())
	}
	return Program{}, fmt.Errorf("Jupyter is not installed; %s", howToInstall())
}

var versionLine = regexp.MustCompile(`(?m)^(\d+)(\.\d+)+\S*$`)

func versionOf(ctx context.Context, path string) (string, error) {
	// A start of Python from a cold disk takes some seconds.
	const patience = time.Minute
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(limited, path, "--version")
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if limited.Err() != nil {
		return "", fmt.Errorf("does not tell its version within %v", patience)
	}
	if err != nil {
		return "", fmt.Errorf("is broken: %s", lastLine(stderr.String(), err.Error()))
	}
	version := versionLine.FindString(strings.ReplaceAll(string(out), "\r\n", "\n"))
	if version == "" {
		return "", errors.New("does not tell its version")
	}
	return version, nil
}

func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first)
	return n
}

// lastLine is where a Python program says why it ended.
func lastLine(text, otherwise string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return otherwise
}

// installers are commands that install a front end, by the program that they
// need. Dnf takes the name of a file for a package's, which differs between
// releases.
var installers = []struct {
	program, arguments string
	asRoot             bool
}{
	{"apt-get", "install --no-install-recommends jupyter-notebook", true},
	{"dnf", "install /usr/bin/jupyter-lab", true},
	{"pacman", "-S jupyterlab", true},
	{"brew", "install jupyterlab", false},
	{"pipx", "install jupyterlab", false},
	{"pip3", "install --user jupyterlab", false},
}

// howToInstall has the command that installs a front end on this system.
func howToInstall() string {
	const by = "this installs it: "
	if os.Getenv("VIRTUAL_ENV") != "" {
		return by + "pip install jupyterlab"
	}
	for _, i := range installers {
		if _, err := exec.LookPath(i.program); err != nil {
			continue
		}
		command := i.program + " " + i.arguments
		if i.asRoot && os.Geteuid() != 0 {
			command = "sudo " + command
		}
		return by + command
	}
	return "https://jupyter.org/install says how to install it"
}
