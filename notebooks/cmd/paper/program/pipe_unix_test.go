//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe among the results, which nobody writes into, is told and not waited for.
func TestPipeAmongResults(t *testing.T) {
	s := newShell(t)
	s.run(0, "run", "toy-linear")
	files, _ := filepath.Glob(filepath.Join(s.dir, "repository", "notebooks", "out", "results", "toy-linear", "*.csv"))
	if len(files) != 2 {
		t.Fatalf("results are %q", files)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(files[0], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"list", "table", "plot"} {
		s.run(1, command)
		s.contains(s.err.String(), files[0], "it is no file")
	}
}
