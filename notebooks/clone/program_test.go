package clone

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
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
	tags := CellFlags()[2] + " "
	want := tags + experiment + called
	below := filepath.Dir(source)
	for _, dir := range []string{root, below, root} { // built, and found up to date
		if stdout, stderr, status := run(dir); stdout != want || stderr != "" || status != 7 {
			t.Fatalf("the program prints %q, %q, status %d, want %q", stdout, stderr, status, want)
		}
	}
	if stdout, _, status := run(root, "GOEXPERIMENT=nosimd"); stdout != tags+"GOEXPERIMENT=nosimd "+called || status != 7 {
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

	// Where it cannot be kept, and in a module that requires this one, it is kept in
	// the user's folder of caches.
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	name, caches := programName(buildSettings(), ""), t.TempDir()
	inCaches := []string{"XDG_CACHE_HOME=" + caches, "HOME=" + caches, "GOCACHE=" + strings.TrimSpace(string(goCache))}
	readOnly, _ := fakeClone(t)
	writeFile(t, Programs(readOnly), "a file, which stops root too")
	locked, _ := fakeClone(t)
	if err := os.MkdirAll(filepath.Join(Programs(locked), "."+name+".lock"), 0o777); err != nil { // another user's, which cannot be opened
		t.Fatal(err)
	}
	other := t.TempDir()
	writeFile(t, filepath.Join(other, "go.mod"), "module other\n\ngo 1.26\n\nrequire "+Module+" v1.0.0\n\nreplace "+Module+" => "+root+"\n")
	for i, dir := range []string{readOnly, locked, other} {
		if stdout, stderr, status := run(dir, append(inCaches, "GOFLAGS=-mod=mod")...); stdout != want || status != 7 {
			t.Errorf("in %s it prints %q, %q, status %d", dir, stdout, stderr, status)
		}
		programs, _ := filepath.Glob(filepath.Join(caches, "*", "contextrec", "*", name))
		if own, _ := filepath.Glob(filepath.Join(caches, "contextrec", "*", name)); len(own)+len(programs) != i+1 {
			t.Errorf("after %d clones there are the programs %q", i+1, append(own, programs...))
		}
	}
	nowhere := t.TempDir()
	stdout, _, status := run(nowhere, inCaches...)
	for _, text := range []string{nowhere + " is not in the repository of " + Module + ": change to its folder, or to that of a module that requires " + Module + "/" + programPackage, "go.mod file not found"} {
		if !strings.Contains(stdout, text) || status != 1 {
			t.Errorf("outside of all modules it prints %q, status %d, want %q", stdout, status, text)
		}
	}

	writeFile(t, source, "package main\n\nfunc main() { undefined() }\n")
	if stdout, _, status := run(root); !strings.HasPrefix(stdout, "the program that was, error: building the program with go build: ") || !strings.Contains(stdout, "undefined: undefined") || status != 1 {
		t.Errorf("with sources that do not compile it prints %q, status %d", stdout, status)
	}
}

func TestProgramName(t *testing.T) {
	extension := ""
	if runtime.GOOS == "windows" {
		extension = ".exe"
	}
	for _, c := range []struct{ tags, experiment, want string }{
		{"", "", "paper"}, {"netgo", "", "paper"}, {"xla,netgo", "", "paper-xla"}, {"", "nosimd,a b", "paper-nosimd-a-b"}, {"b,a", "x", "paper-a-b-x"},
	} {
		var settings []debug.BuildSetting
		if c.tags != "" {
			settings = append(settings, debug.BuildSetting{Key: "-tags", Value: c.tags})
		}
		if got := programName(settings, c.experiment); got != c.want+extension {
			t.Errorf("with tags %q and experiment %q it is %s, want %s", c.tags, c.experiment, got, c.want)
		}
	}
}

// Which modules go downloads, which may take long, is passed on; the rest is kept.
func TestSaying(t *testing.T) {
	var progress bytes.Buffer
	s := saying{progress: &progress}
	for _, part := range []string{"go: down", "loading a v1\ngo: do", "wnloading b v2\n# x\n", "x.go:1: undefined\n", "go: downloading c"} {
		if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write is %d, %v", n, err)
		}
	}
	if want := "go: downloading a v1\ngo: downloading b v2\n"; progress.String() != want {
		t.Errorf("passed on is %q, want %q", &progress, want)
	}
	if want := "# x\nx.go:1: undefined\n"; !strings.Contains(s.text.String(), want) {
		t.Errorf("kept is %q, want %q in it", &s.text, want)
	}
}
