package jupyter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// onPath makes PATH these folders, and keeps what this machine has out.
func onPath(t *testing.T, folders ...string) {
	t.Helper()
	t.Setenv("PATH", strings.Join(folders, ":"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("VIRTUAL_ENV", "")
}

func TestFind(t *testing.T) {
	a, b := t.TempDir(), filepath.Join(t.TempDir(), "with blanks")
	onPath(t, a, b)
	want := func(path, name, version string) {
		t.Helper()
		p, err := jupyter.Find(t.Context())
		if err != nil || p.Path != path || p.Name != name || p.Version != version {
			t.Errorf("found %+v, %v; want %s, %s %s", p, err, path, name, version)
		}
	}
	notebook := fake(t, b, "jupyter-notebook", "6.4.12")
	want(notebook, "Jupyter Notebook", "6.4.12")
	// JupyterLab is better, also when it comes later; but not one that is too old
	// or broken.
	script(t, a, "jupyter-lab", "echo 2.3.2")
	want(notebook, "Jupyter Notebook", "6.4.12")
	lab := fake(t, b, "jupyter-lab", "4.2.5")
	want(lab, "JupyterLab", "4.2.5")
	script(t, a, "jupyter-lab", "echo 'Traceback' >&2; exit 1")
	want(lab, "JupyterLab", "4.2.5")
	if err := os.Remove(lab); err != nil {
		t.Fatal(err)
	}
	want(notebook, "Jupyter Notebook", "6.4.12")
	fake(t, b, "jupyter-notebook", "7.0.6")
	want(notebook, "Jupyter Notebook", "7.0.6")
	// Where pip puts what is one user's, which need not be on PATH.
	onPath(t, a)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	want(fake(t, filepath.Join(home, ".local", "bin"), "jupyter-lab", "4.0.9"), "JupyterLab", "4.0.9")
}

func TestFindNothing(t *testing.T) {
	a := t.TempDir()
	onPath(t, a)
	fails := func(want string) {
		t.Helper()
		_, err := jupyter.Find(t.Context())
		if err == nil || strings.Contains(err.Error(), "\n") || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	sudo := "sudo "
	if os.Geteuid() == 0 {
		sudo = ""
	}
	fails("Jupyter is not installed; https://jupyter.org/install says how to install it")
	for _, i := range []struct{ program, command string }{
		{"pip3", "pip3 install --user jupyterlab"},
		{"brew", "brew install jupyterlab"},
		{"pacman", sudo + "pacman -S jupyterlab"},
		{"dnf", sudo + "dnf install /usr/bin/jupyter-lab"},
		{"apt-get", sudo + "apt-get install --no-install-recommends jupyter-notebook"},
	} {
		script(t, a, i.program, "")
		fails("Jupyter is not installed; this installs it: " + i.command)
	}
	lab := script(t, a, "jupyter-lab", "echo 2.3.2")
	broken := script(t, a, "jupyter-notebook", "echo \"Traceback:\nModuleNotFoundError: No module named 'tornado'\" >&2; exit 1")
	install := "; this installs it: " + sudo + "apt-get install --no-install-recommends jupyter-notebook"
	fails("no Jupyter that works: " + lab + " has version 2.3.2, older than 3, " + broken + " is broken: ModuleNotFoundError: No module named 'tornado'" + install)
	script(t, a, "jupyter-notebook", "echo hello")
	fails("no Jupyter that works: " + lab + " has version 2.3.2, older than 3, " + broken + " does not tell its version" + install)
	t.Setenv("VIRTUAL_ENV", a)
	fails("no Jupyter that works: " + lab + " has version 2.3.2, older than 3, " + broken + " does not tell its version; this installs it: pip install jupyterlab")
}
