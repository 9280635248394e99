package clone

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// becomeIn makes the test's program become that of the folder that it is in, and
// nothing else: what becomes another program ends no test.
const becomeIn = "TEST_BECOME"

func TestMain(m *testing.M) {
	if os.Getenv(becomeIn) != "" {
		status, err := Become(context.Background(), os.Args[1:], os.Stderr)
		fmt.Println("the program that was, error:", err)
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// fakeProgram tells how it was built and what it was called with.
const fakeProgram = `package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	built := ""
	for _, s := range info.Settings {
		if s.Key == "GOEXPERIMENT" || s.Key == "-tags" {
			built += s.Key + "=" + s.Value + " "
		}
	}
	fmt.Println(built, os.Args[1:])
	os.Exit(7)
}
`

// fakeClone is a repository of this module's name with that program alone.
func fakeClone(t *testing.T) (root, source string) {
	t.Helper()
	root = t.TempDir()
	source = filepath.Join(root, filepath.FromSlash(programPackage), "main.go")
	writeFile(t, filepath.Join(root, "go.mod"), "module "+Module+"\n\ngo 1.26\n")
	writeFile(t, source, fakeProgram)
	return root, source
}

func TestBecome(t *testing.T) {
	root, source := fakeClone(t)
	run := func(dir string, env ...string) (stdout, stderr string, status int) {
		t.Helper()
		var out, err bytes.Buffer
		cmd := exec.Command(os.Args[0], "run", "a b", "-scale", "1")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &err
		cmd.Env = append(append(os.Environ(), "GOEXPERIMENT=", becomeIn+"=1"), env...)
		cmd.Run()
		return out.String(), err.String(), cmd.ProcessState.ExitCode()
	}
	experiment := ""
	if len(CellEnv(t.Context())) > 0 {
		experiment = "GOEXPERIMENT=simd "
	}
	const called = " [run a b -scale 1]\n"
	want := "-tags=netgo,osusergo " + experiment + called
	below := filepath.Dir(source)
	for _, dir := range []string{root, below, root} { // built, and found up to date
		if stdout, stderr, status := run(dir); stdout != want || stderr != "" || status != 7 {
			t.Fatalf("the program prints %q, %q, status %d, want %q", stdout, stderr, status, want)
		}
	}
	if stdout, _, status := run(root, "GOEXPERIMENT=nosimd"); stdout != "-tags=netgo,osusergo GOEXPERIMENT=nosimd "+called || status != 7 {
		t.Errorf("without the experiment it prints %q, status %d", stdout, status)
	}
	if stdout, _, status := run(root, "PATH="); stdout != "the program that was, error: go is not on PATH: it builds the program, the kernel and each cell\n" || status != 1 {
		t.Errorf("without go it prints %q, status %d", stdout, status)
	}
	// A workspace above the repository is about other modules, whole or broken.
	for _, work := range []string{"go 1.26\n\nuse ./other\n", "nonsense\n"} {
		workspace := t.TempDir()
		writeFile(t, filepath.Join(workspace, "go.work"), work)
		writeFile(t, filepath.Join(workspace, "other", "go.mod"), "module other\n\ngo 1.26\n")
		inside := filepath.Join(workspace, "repository")
		if err := os.CopyFS(inside, os.DirFS(root)); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, status := run(inside); stdout != want || status != 7 {
			t.Errorf("below a go.work of %q it prints %q, %q, status %d", work, stdout, stderr, status)
		}
	}

	// Where it cannot be kept, and in a module that requires this one, it is built
	// elsewhere, and nothing of it is left.
	temporary := t.TempDir()
	readOnly, _ := fakeClone(t)
	writeFile(t, Programs(readOnly), "a file, which stops root too")
	other := t.TempDir()
	writeFile(t, filepath.Join(other, "go.mod"), "module other\n\ngo 1.26\n\nrequire "+Module+" v1.0.0\n\nreplace "+Module+" => "+root+"\n")
	for _, dir := range []string{readOnly, other} {
		if stdout, stderr, status := run(dir, "TMPDIR="+temporary, "GOFLAGS=-mod=mod"); stdout != want+"the program that was, error: <nil>\n" || status != 7 {
			t.Errorf("in %s it prints %q, %q, status %d", dir, stdout, stderr, status)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}

	writeFile(t, source, "package main\n\nfunc main() { undefined() }\n")
	if stdout, _, status := run(root); !strings.HasPrefix(stdout, "the program that was, error: building the program with go build: ") || !strings.Contains(stdout, "undefined: undefined") || status != 1 {
		t.Errorf("with sources that do not compile it prints %q, status %d", stdout, status)
	}
}
