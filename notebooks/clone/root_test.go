package clone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/clone"
)

func TestRoot(t *testing.T) {
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "notebooks", "clone", "root_test.go")); err != nil || !filepath.IsAbs(root) {
		t.Errorf("root is %s: %v", root, err)
	}
	// The nested module's folder, which has a go.mod too, is in the repository.
	if again, err := clone.Root(filepath.Join("..", "kernel", "nbrun")); again != root || err != nil {
		t.Errorf("from the kernel's folder the root is %s, %v; want %s", again, err, root)
	}
	outside := t.TempDir()
	if _, err := clone.Root(outside); err == nil || !strings.Contains(err.Error(), outside+" is not in the repository") {
		t.Errorf("outside the error is %v", err)
	}
}
