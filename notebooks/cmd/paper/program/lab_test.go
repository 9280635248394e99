package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/clone"
)

// withJupyter puts a JupyterLab on PATH that writes what it is started with to a
// file and says that it is there, and makes the shell's kernel.
func withJupyter(t *testing.T, s *shell) (started string) {
	t.Helper()
	goPath, err := clone.GoProgram()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	started = filepath.Join(bin, "started")
	lab := `#!/bin/sh
if [ "$1" = --version ]; then echo 4.2.5; exit; fi
{ echo "$*"; env; cat "$JUPYTER_PATH/kernels/gonb/kernel.json" "$JUPYTER_PATH/kernels/gonb/bin/go" "$JUPYTER_PATH/gonb-when-built"; } > '` + started + `'
trap 'exit 0' TERM
echo some news
echo '{"url": "http://127.0.0.1:8888/", "token": "'$FAKE_TOKEN'", "password": '$FAKE_PASSWORD'}' > "$JUPYTER_RUNTIME_DIR/jpserver-1.json"
while :; do sleep 0.05; done
`
	writeFile(t, filepath.Join(bin, "jupyter-lab"), lab)
	if err := os.Chmod(filepath.Join(bin, "jupyter-lab"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.Join([]string{bin, filepath.Dir(goPath), "/usr/bin", "/bin"}, string(filepath.ListSeparator)))
	t.Setenv("FAKE_TOKEN", "secret")
	t.Setenv("FAKE_PASSWORD", "false")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	t.Setenv("SSH_CONNECTION", "a b")
	t.Setenv("JUPYTER_PATH", "")
	t.Setenv("JUPYTER_DATA_DIR", filepath.Join(s.dir, "data of the user"))
	s.Install = func(context.Context, string, io.Writer) error { return nil }
	return started
}

// goThatBuilds puts a go on PATH that builds until it is interrupted, and then
// takes a moment; what it does is in the file built.
func goThatBuilds(t *testing.T) (goPath, built string) {
	t.Helper()
	bin := t.TempDir()
	goPath, built = filepath.Join(bin, "go"), filepath.Join(bin, "built")
	writeFile(t, goPath, `#!/bin/sh
if [ "$1" != build ]; then exit; fi
trap 'sleep 0.3; echo ended >> "'`+built+`'"; exit 1' INT
echo "$0 $*" > '`+built+`'
while :; do sleep 0.02; done
`)
	if err := os.Chmod(goPath, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return goPath, built
}

// ready is a buffer that tells when it holds a line of an address.
type ready struct {
	mu  sync.Mutex
	b   bytes.Buffer
	now func()
}

func (r *ready) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes.Contains(p, []byte("http")) {
		r.now()
	}
	return r.b.Write(p)
}

func (r *ready) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func TestLab(t *testing.T) {
	s := newShell(t)
	started := withJupyter(t, s)
	lab := func(args ...string) (jupyter string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		shown := &ready{now: cancel} // Ctrl-C
		s.Stdout = shown
		s.runContext(ctx, 0, append([]string{"lab"}, args...)...)
		s.Stdout = &s.out
		s.contains(s.err.String(), "Jupyter and its kernels have ended")
		text, err := os.ReadFile(started)
		if err != nil {
			t.Fatal(err)
		}
		return shown.String() + string(text)
	}
	root := filepath.Join(s.dir, "repository")
	s.contains(lab(),
		"JupyterLab 4.2.5 has the notebooks, until Ctrl-C, at\nhttp://127.0.0.1:8888/lab?token=secret\n",
		"--notebook-dir="+filepath.Join(root, "notebooks"),
		// What the headless runner gives a cell, this kernel gives it too.
		filepath.Join(root, "notebooks", ".bin", "gonb"), `"GOFLAGS": "-mod=readonly"`, `"GOMLX_NO_AUTO_INSTALL": "1"`, filepath.Join(root, "notebooks", ".bin", "cellgo")+"' '", "build '"+strings.Join(clone.CellFlags(), "' '")+"'",
		"/bin:"+filepath.Join(root, "notebooks", ".bin")+":",
	)
	// Flags are settings of the notebooks.
	out := filepath.Join(s.dir, "elsewhere")
	s.contains(lab("toy-linear", "-scale", "0.5", "-out", out), "/lab/tree/toy-linear.ipynb?token=secret\n", "PAPER_SCALE=0.5\n", "PAPER_OUT="+out+"\n")
	data := filepath.Join(s.dir, "songs")
	s.contains(lab("-data", data, "-port", "18889"), "PAPER_DATA="+data+"\n", "--port=18889 --port-retries=0")
	// What there is to say of the user's settings of Jupyter.
	if said := s.err.String(); strings.Contains(said, "password") || strings.Contains(said, "warning") || strings.Contains(said, "news") {
		t.Errorf("it says %q", said)
	}
	t.Setenv("FAKE_PASSWORD", "true")
	lab("-log")
	s.contains(s.err.String(), "some news\n", "it may ask for the password")
	t.Setenv("FAKE_PASSWORD", "false")
	t.Setenv("FAKE_TOKEN", "")
	s.contains(lab(), "at\nhttp://127.0.0.1:8888/lab\n")
	s.contains(s.err.String(), "warning: your settings of Jupyter let in everybody on this machine, without a token")
}

// What begins when the pages are there has ended when the command has, and says
// what it has to say beside Jupyter.
func TestLabAwaitsWhatItBegan(t *testing.T) {
	s := newShell(t)
	withJupyter(t, s)
	goPath, built := goThatBuilds(t)
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	writeFile(t, filepath.Join(filepath.Dir(goPath), opener), "#!/bin/sh\nexit 3\n")
	if err := os.Chmod(filepath.Join(filepath.Dir(goPath), opener), 0o777); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var said ready
	said.now = func() {
		go func() {
			defer cancel() // Ctrl-C
			for ctx.Err() == nil {
				if _, err := os.Stat(built); err == nil && strings.Contains(said.String(), "no browser can be opened") {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	s.Stdout, s.Stderr = &said, &said
	s.runContext(ctx, 0, "lab", "-browser", "-log")
	s.contains(said.String(), "some news\n", "no browser can be opened: "+opener+": exit status 3\n", "Jupyter and its kernels have ended\n")
	text, err := os.ReadFile(built)
	if want := goPath + " build " + strings.Join(clone.CellFlags(), " ") + " ./notebooks/nb ./envs/...\nended\n"; err != nil || string(text) != want {
		t.Errorf("go did %q, %v, want %q", text, err, want)
	}
}

func TestLabFails(t *testing.T) {
	s := newShell(t)
	withJupyter(t, s)
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"lab toy-linaer", 2, "no notebook toy-linaer.ipynb"},
		{"lab theory toy-linear", 2, "one notebook at most"},
		{"lab -port 0", 2, "-port is 0, want 1 to 65535"},
		{"lab -port 65536", 2, "-port is 65536"},
		{"lab -browser -no-browser", 2, "exclude each other"},
		{"kernel", 2, "paper kernel install, or paper kernel uninstall"},
		{"kernel remove", 2, "remove"},
		{"kernel install all", 2, "all"},
	} {
		s.run(c.status, strings.Fields(c.args)...)
		s.oneLine(c.want)
	}
	// A front end that does not get to its pages tells why.
	bin := t.TempDir()
	writeFile(t, filepath.Join(bin, "jupyter-lab"), "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 4.2.5; exit; fi\necho no traitlets; exit 3\n")
	if err := os.Chmod(filepath.Join(bin, "jupyter-lab"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s.run(1, "lab")
	if want := "error: JupyterLab ended by itself (exit status 3):\nno traitlets\n"; !strings.HasSuffix(s.err.String(), want) {
		t.Errorf("it says %q, want %q at its end", &s.err, want)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("VIRTUAL_ENV", "")
	s.run(1, "lab")
	s.oneLine("Jupyter is not installed; ")
	s.run(1, "kernel", "install")
	s.oneLine("go is not on PATH")
}

func TestKernelInstall(t *testing.T) {
	s := newShell(t)
	withJupyter(t, s)
	root, folder := filepath.Join(s.dir, "repository"), filepath.Join(s.dir, "data of the user", "kernels", "gonb")
	writeFile(t, filepath.Join(root, "go.mod"), "")
	said := func(want string) {
		t.Helper()
		if s.out.String() != want {
			t.Errorf("it says %q, want %q", &s.out, want)
		}
	}
	installed := fmt.Sprintf("the kernel \"Go (gonb)\" of %s is installed in %s\n", root, folder)
	for range 2 {
		s.run(0, "kernel", "install")
		said(installed)
	}

	// What the cells import is compiled by the kernel's Go, until Ctrl-C.
	path := os.Getenv("PATH")
	goPath, built := goThatBuilds(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(built); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	s.runContext(ctx, 130, "kernel", "install")
	said(installed)
	text, err := os.ReadFile(built)
	if want := goPath + " build " + strings.Join(clone.CellFlags(), " ") + " ./notebooks/nb ./envs/...\nended\n"; err != nil || string(text) != want {
		t.Errorf("go did %q, %v, want %q", text, err, want)
	}
	t.Setenv("PATH", path)

	other := newShell(t)
	// Whose it is, is looked at before the minute that building takes.
	other.Install = func(context.Context, string, io.Writer) error {
		t.Error("a kernel is built that cannot be installed")
		return nil
	}
	other.run(1, "kernel", "install")
	other.oneLine(folder + " belongs to " + root + ": -force replaces it")
	other.Install = s.Install
	other.run(0, "kernel", "install", "-force")
	other.contains(other.out.String(), "it takes the place of "+root+"\n")
	writeFile(t, filepath.Join(other.dir, "repository", "go.mod"), "")
	s.run(1, "kernel", "uninstall")
	s.oneLine("-force removes it")
	other.run(0, "kernel", "uninstall")
	other.contains(other.out.String(), "is removed from "+folder)
	s.run(0, "kernel", "uninstall")
	said("no kernel is installed in " + folder + "\n")

	// A clone that is gone is no reason to keep its kernel.
	s.run(0, "kernel", "install")
	if err := os.Remove(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	s.Repository = func() (string, error) { return "", errors.New("no repository here") }
	s.run(0, "kernel", "uninstall")
	said("the kernel of " + root + " is removed from " + folder + "\n")
}
