package clone

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Module is the path of this module.
const Module = "github.com/contextrec/contextrec"

// Root finds the root of this repository from a folder in it, "." for the
// working directory: the absolute path of the nearest folder upwards whose go.mod
// is this module's. The error says which folder is not in the repository.
func Root(from string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if first, _, _ := strings.Cut(string(mod), "\n"); err == nil && strings.TrimSpace(first) == "module "+Module {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in the repository of %s: change to its folder", from, Module)
		}
	}
}
