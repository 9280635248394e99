package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	for name, text := range map[string]string{
		"go.mod":  "module cell\n\ngo 1.26.0\n",
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
		said, err := run(program, goPath, "build", "-o", "out")
		if word == "three" {
			if err == nil || said != "# cell\n./main.go:3:23: undefined: three\n" {
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
