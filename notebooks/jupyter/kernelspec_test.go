package jupyter_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// clone is a folder that looks like one of this repository, and its kernel. Its
// go says what it was called with.
func clone(t *testing.T, folder string) jupyter.Kernel {
	t.Helper()
	root := filepath.Join(t.TempDir(), folder)
	if err := os.MkdirAll(root, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return jupyter.Kernel{
		Repository: root,
		Program:    script(t, filepath.Join(root, "kernel's"), "gonb", "echo kernel"),
		Go:         script(t, filepath.Join(root, "go's"), "go", `for a in "$@"; do echo "<$a>"; done; echo "GOGC=$GOGC"`),
		BuildFlags: []string{"-ldflags=-s -w", "-tags=it's"},
		Env:        []string{"COLOUR=$blue", "PATH=/programs of the kernel:/go:/usr/bin:/go/:/usr/bin::/$bin:/programs of the kernel:/bin"},
	}
}

// userFolder is where kernels of the test's user are.
func userFolder(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data of a user")
	t.Setenv("JUPYTER_DATA_DIR", data)
	return filepath.Join(data, "kernels", "gonb")
}

func TestInstall(t *testing.T) {
	k, folder := clone(t, "a clone"), userFolder(t)
	done, err := k.Install(false)
	if err != nil || done.Folder != folder || done.Before != "" {
		t.Fatalf("installed %+v, %v; want %s", done, err, folder)
	}
	text, err := os.ReadFile(filepath.Join(folder, "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Argv          []string
		DisplayName   string `json:"display_name"`
		Language      string
		InterruptMode string `json:"interrupt_mode"`
		Env           map[string]string
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%q", spec.Argv), fmt.Sprintf("%q", []string{k.Program, "--kernel", "{connection_file}"}); got != want {
		t.Errorf("argv is %s, want %s", got, want)
	}
	if spec.DisplayName != "Go (gonb)" || spec.Language != "go" || spec.InterruptMode != "message" {
		t.Errorf("the kernel is %+v", spec)
	}
	if got, want := fmt.Sprintf("%q", spec.Env), fmt.Sprintf("%q", map[string]string{
		"COLOUR": "$$blue", // Every folder once, where it was first.
		"PATH":   folder + "/bin:/programs of the kernel:/go:/usr/bin:/$$bin:/bin:${PATH}",
	}); got != want {
		t.Errorf("settings are %s, want %s", got, want)
	}
	// The go that the kernel finds adds the flags where cells are compiled, and the
	// GOGC that nobody has set.
	for _, c := range []struct{ gogc, args, want string }{
		{"", "build -o x .", "<build> <-ldflags=-s -w> <-tags=it's> <-o> <x> <.> GOGC=400"},
		{"", "env GOMOD", "<env> <GOMOD> GOGC="},
		{"", "", "GOGC="},
		{"50", "build .", "<build> <-ldflags=-s -w> <-tags=it's> <.> GOGC=50"},
		{"off", "build .", "<build> <-ldflags=-s -w> <-tags=it's> <.> GOGC=off"},
		{"50", "env", "<env> GOGC=50"},
	} {
		t.Setenv("GOGC", c.gogc) // which is put back after the test
		if c.gogc == "" {
			os.Unsetenv("GOGC")
		}
		out, err := exec.Command(filepath.Join(folder, "bin", "go"), strings.Fields(c.args)...).CombinedOutput()
		if got := strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), " "); err != nil || got != c.want {
			t.Errorf("with GOGC %q, go %s becomes go %s, %v; want %s", c.gogc, c.args, got, err, c.want)
		}
	}

	// With a program for cells, that is called with go where one is compiled.
	k.CellGo = script(t, filepath.Join(k.Repository, "cell's"), "cellgo", `echo "cellgo $*"`)
	if _, err := k.Install(false); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"build -o x": "cellgo " + k.Go + " build -ldflags=-s -w -tags=it's -o x",
		"env GOMOD":  "<env> <GOMOD> GOGC=off",
	} {
		t.Setenv("GOGC", "off")
		out, err := exec.Command(filepath.Join(folder, "bin", "go"), strings.Fields(args)...).CombinedOutput()
		if got := strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), " "); err != nil || got != want {
			t.Errorf("go %s becomes %s, %v; want %s", args, got, err, want)
		}
	}

	// Where that is gone, go does it.
	if err := os.Remove(k.CellGo); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(folder, "bin", "go"), "build").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "<build>\n<-ldflags=-s -w>\n") {
		t.Errorf("without the program go build is %q, %v", out, err)
	}

	// Again, as after an update.
	if done, err := k.Install(false); err != nil || done.Before != k.Repository {
		t.Errorf("installed %+v, %v", done, err)
	}
	if done, err := k.Uninstall(false); err != nil || done.Before != k.Repository || done.Folder != folder {
		t.Errorf("removed %+v, %v", done, err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder is still there")
	}
	if done, err := k.Uninstall(false); err != nil || done.Before != "" {
		t.Errorf("of nothing it removed %+v, %v", done, err)
	}
}

func TestInstallWhereAnotherCloneIs(t *testing.T) {
	first, second := clone(t, "first"), clone(t, "second")
	folder := userFolder(t)
	if _, err := first.Install(false); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Install(false); err == nil || err.Error() != folder+" belongs to "+first.Repository+": -force replaces it" {
		t.Errorf("error is %v", err)
	}
	if _, err := second.Uninstall(false); err == nil || err.Error() != folder+" belongs to "+first.Repository+": -force removes it" {
		t.Errorf("error is %v", err)
	}
	if done, err := second.Install(true); err != nil || done.Before != first.Repository {
		t.Errorf("by force %+v, %v", done, err)
	}
	// The second is gone; nobody needs its kernel.
	if err := os.RemoveAll(second.Repository); err != nil {
		t.Fatal(err)
	}
	if done, err := first.Install(false); err != nil || done.Before != second.Repository {
		t.Errorf("after the other is gone %+v, %v", done, err)
	}
	// What somebody has put beside it stays.
	note := filepath.Join(folder, "note")
	if err := os.WriteFile(note, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Uninstall(false); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 || left[0].Name() != "note" {
		t.Errorf("left are %v, %v; want the note", left, err)
	}
}

func TestInstallWhereAnotherKernelIs(t *testing.T) {
	k, folder := clone(t, "clone"), userFolder(t)
	file := filepath.Join(folder, "kernel.json")
	for _, text := range []string{`{"argv": ["gonb"], "display_name": "Go (gonb)"}`, "no JSON"} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Install(false); err == nil || err.Error() != folder+" belongs to "+jupyter.Foreign+": -force replaces it" {
			t.Errorf("error is %v", err)
		}
		for _, force := range []bool{false, true} {
			if _, err := k.Uninstall(force); err == nil || err.Error() != folder+" was not written by this command and stays" {
				t.Errorf("error is %v", err)
			}
		}
		if left, err := os.ReadFile(file); err != nil || string(left) != text {
			t.Errorf("the kernel is %q, %v; want it as it was", left, err)
		}
	}
	if done, err := k.Install(true); err != nil || done.Before != jupyter.Foreign {
		t.Errorf("by force %+v, %v", done, err)
	}
}

// Jupyter's rules for a user's data.
func TestInstallFolder(t *testing.T) {
	k, home := clone(t, "clone"), t.TempDir()
	t.Setenv("JUPYTER_DATA_DIR", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", home)
	want := filepath.Join(home, ".local", "share", "jupyter")
	xdg := filepath.Join(home, "xdg", "jupyter")
	if runtime.GOOS == "darwin" {
		want = filepath.Join(home, "Library", "Jupyter")
		xdg = want
	}
	if done, err := k.Install(false); err != nil || done.Folder != filepath.Join(want, "kernels", "gonb") {
		t.Errorf("installed %+v, %v; want it in %s", done, err, want)
	}
	t.Setenv("XDG_DATA_HOME", filepath.Join(home, "xdg"))
	if done, err := k.Install(false); err != nil || done.Folder != filepath.Join(xdg, "kernels", "gonb") {
		t.Errorf("installed %+v, %v; want it in %s", done, err, xdg)
	}
	// A home that cannot be written, even by root: a file stands in its place.
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", filepath.Join(k.Repository, "go.mod"))
	if _, err := k.Install(false); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v, want one line", err)
	}
}
