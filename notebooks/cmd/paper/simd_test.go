package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// vectoriseIn makes the test's program call vectorise in a repository, named by
// its value, and nothing else: what becomes another program ends no test.
const vectoriseIn = "TEST_VECTORISE_IN"

// waitForSignals makes the test's program wait for the first signal, and then
// for ever.
const waitForSignals = "TEST_WAIT_FOR_SIGNALS"

func TestMain(m *testing.M) {
	if root := os.Getenv(vectoriseIn); root != "" {
		err := vectorise(context.Background(), root, os.Args[1:], os.Stderr)
		fmt.Println("the program that was, error:", err)
		os.Exit(3)
	}
	if os.Getenv(waitForSignals) != "" {
		ctx := untilSignal(context.Background(), os.Stderr)
		fmt.Println("ready")
		<-ctx.Done()
		select {}
	}
	os.Exit(m.Run())
}

const fakeProgram = `package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "GOEXPERIMENT" {
			fmt.Println(s.Value, os.Args[1:])
		}
	}
	os.Exit(7)
}
`

func TestVectorise(t *testing.T) {
	root := t.TempDir()
	source := filepath.Join(root, "notebooks", "cmd", "paper", "main.go")
	writeFile(t, filepath.Join(root, "go.mod"), "module fake\n\ngo 1.26\n")
	writeFile(t, source, fakeProgram)
	run := func(env ...string) (stdout, stderr string, status int) {
		t.Helper()
		var out, err bytes.Buffer
		cmd := exec.Command(os.Args[0], "run", "a b", "-scale", "1")
		cmd.Stdout, cmd.Stderr = &out, &err
		cmd.Env = append(append(os.Environ(), "GOEXPERIMENT=", vectoriseIn+"="+root), env...)
		cmd.Run()
		return out.String(), err.String(), cmd.ProcessState.ExitCode()
	}
	const as = "the program that was, error: <nil>\n"
	if runtime.GOARCH != "amd64" || isVectorised() || !hasExperiment(t.Context(), "simd") {
		if stdout, stderr, status := run(); stdout != as || stderr != "" || status != 3 {
			t.Fatalf("with nothing to gain it prints %q, %q, status %d", stdout, stderr, status)
		}
		return
	}
	for range 2 { // built, and found up to date
		if stdout, stderr, status := run(); stdout != "simd [-simd=off run a b -scale 1]\n" || status != 7 {
			t.Fatalf("the vectorised program prints %q, %q, status %d", stdout, stderr, status)
		}
	}
	for _, env := range []string{"GOEXPERIMENT=nosimd", "PATH="} {
		if stdout, stderr, status := run(env); stdout != as || stderr != "" || status != 3 {
			t.Errorf("with %s it prints %q, %q, status %d", env, stdout, stderr, status)
		}
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
		if stdout, stderr, status := run(vectoriseIn + "=" + inside); stdout != "simd [-simd=off run a b -scale 1]\n" || status != 7 {
			t.Errorf("below a go.work of %q it prints %q, %q, status %d", work, stdout, stderr, status)
		}
	}
	writeFile(t, source, "package main\n\nfunc main() { undefined() }\n")
	stdout, stderr, status := run()
	if stdout != as || status != 3 || !strings.HasPrefix(stderr, "going on without vectorised matrix products: go build: ") || !strings.Contains(stderr, "undefined: undefined") {
		t.Errorf("with sources that do not compile it prints %q, %q, status %d", stdout, stderr, status)
	}
}
