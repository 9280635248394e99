package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Notebooks returns the file names of the named notebooks, or of all.
func Notebooks(root string, names []string) ([]string, error) {
	folder := filepath.Join(root, "notebooks")
	all, err := FilesNamed(folder, ".ipynb")
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no notebooks in %s", folder)
	}
	if len(names) == 0 {
		return all, nil
	}
	var out []string
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".ipynb") + ".ipynb"
		if !slices.Contains(all, name) {
			hint := ""
			if near := Nearest(name, all); near != "" {
				hint = fmt.Sprintf(". Did you mean %s?", strings.TrimSuffix(near, ".ipynb"))
			}
			return nil, Usage(fmt.Errorf("there is no notebook %s in %s; there are: %s%s", name, folder, strings.Join(all, ", "), hint))
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// FilesNamed are the names of a folder's files that end in suffix, sorted.
func FilesNamed(folder, suffix string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}
