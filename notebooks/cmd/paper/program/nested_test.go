package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/contextrec/contextrec/notebooks/clone"
)

// The kernel is a module of its own, which go test ./... passes by. Its tests in
// a browser, which take minutes, are run by themselves: go -C notebooks/kernel
// test ./browser.
func TestKernelModule(t *testing.T) {
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	// Go test caches by what this process reads; of what it starts it sees nothing,
	// and the module's own tests run cells that import packages outside of it.
	repositoryFiles(t)
	cmd := exec.Command("go", "test", "-count=1", "-skip=^TestBrowser", "./...")
	cmd.Dir = filepath.Join(root, "notebooks", "kernel")
	cmd.Env = append(os.Environ(), "PWD="+cmd.Dir, "GOWORK=off", "GOFLAGS=-mod=readonly")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	t.Logf("%s", text)
}
