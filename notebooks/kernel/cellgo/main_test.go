package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cellgo is the program, in a folder of its own, and the go command.
func cellgo(t *testing.T) (program, goPath string) {
	t.Helper()
	goPath, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "cellgo")
	if out, err := exec.Command(goPath, "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program, goPath
}

func TestCellgo(t *testing.T) {
	program, goPath := cellgo(t)
	folder := t.TempDir()
	builds := filepath.Join(t.TempDir(), "builds")
	counting := filepath.Join(t.TempDir(), "go")
	script := "#!/bin/sh\n[ \"$1\" != build ] || echo \"$@\" >>'" + builds + "'\nexec '" + goPath + "' \"$@\"\n"
	if err := os.WriteFile(counting, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":  "module gonb_1\n\ngo 1.26.0\n",
		"go.work": "go 1.26.0\n\nuse .\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = folder
		cmd.Env = append(cmd.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, word := range []string{`"one"`, `"two"`, "three", `"four"`} {
		text := "package main\n\nfunc main() { println(" + word + ") }\n"
		if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		said, err := run(program, counting, "build", "-o", "out")
		if word == "three" {
			if err == nil || said != "# gonb_1\n./main.go:3:23: undefined: three\n" {
				t.Errorf("of a cell with a mistake it says %q, %v", said, err)
			}
			continue
		}
		if err != nil || said != "" {
			t.Fatalf("it says %q, %v", said, err)
		}
		if said, err := run(filepath.Join(folder, "out")); err != nil || said != strings.Trim(word, `"`)+"\n" {
			t.Errorf("the cell of %s says %q, %v", word, said, err)
		}
	}
	// The first, and the one with a mistake, which it tells.
	if text, err := os.ReadFile(builds); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("go has built\n%s%v, want two cells", text, err)
	}
	if recipes, err := filepath.Glob(filepath.Join(filepath.Dir(program), ".recipes", "*.json")); err != nil || len(recipes) != 1 {
		t.Errorf("its recipes are %v, %v, want one", recipes, err)
	}

	// All else is go's.
	for _, args := range [][]string{{"env", "GOVERSION"}, {"build", "nothing"}, {}} {
		said, err := run(program, append([]string{goPath}, args...)...)
		want, wantErr := run(goPath, args...)
		if said != want || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("of %q it says %q, %v; go says %q, %v", args, said, err, want, wantErr)
		}
	}
	if said, err := run(program); err == nil || said != "usage: cellgo GO ARGUMENT...\n" {
		t.Errorf("of nothing it says %q, %v", said, err)
	}
	if said, err := run(program, filepath.Join(folder, "no go"), "version"); err == nil || !strings.Contains(said, "no go: no such file") {
		t.Errorf("without go it says %q, %v", said, err)
	}
}

// A stop ends go, and leaves nothing.
func TestCellgoStops(t *testing.T) {
	program, _ := cellgo(t)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module gonb_1\n\ngo 1.26.0\n",
		"go.work": "go 1.26.0\n\nuse .\n",
		"main.go": "package main\n\nfunc main() {}\n",
		"go":      "#!/bin/sh\necho >started\nexec sleep 600\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, filepath.Join(folder, "go"), "build", "-o", "out")
	cmd.Dir = folder
	cmd.Env = append(cmd.Environ(), "GOFLAGS=", "GOWORK=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(folder, "started")); err == nil {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ends with %v, want status 130", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 5 {
		t.Errorf("in the folder are %v, %v", entries, err)
	}
}
