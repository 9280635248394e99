// Package tooltest finds the programs that tests run notebooks with.
package tooltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Bin makes a folder that holds the named programs, each of them a tool of this
// module or on PATH. Tools are built where the build cache does not have them.
func Bin(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		file, err := find(name)
		if err == nil {
			err = os.Symlink(file, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatalf("program %s: %v", name, err)
		}
	}
	return dir
}

func find(name string) (string, error) {
	if name == "gonb" || name == "goimports" {
		return tools[name]()
	}
	return exec.LookPath(name)
}

var tools = map[string]func() (string, error){
	"gonb":      sync.OnceValues(func() (string, error) { return tool("gonb") }),
	"goimports": sync.OnceValues(func() (string, error) { return tool("goimports") }),
}

func tool(name string) (string, error) {
	out, err := exec.Command("go", "tool", "-n", name).Output()
	return strings.TrimSpace(string(out)), err
}

// Path is a value of PATH with all that a notebook needs and no more.
func Path(t testing.TB) string {
	t.Helper()
	return Bin(t, "gonb", "goimports", "go") + ":/usr/bin:/bin"
}
