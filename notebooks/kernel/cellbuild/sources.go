package cellbuild

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sources are folders with a package each, of modules whose sources may change, with
// the digests of their source files.
type sources map[string]string

// mostFolders of local modules are looked through: where there are more, looking
// takes longer than it saves.
const mostFolders = 10_000

// allSources are those of the modules, with all folders that can be a package of them.
// Times are those of the folders' last changes.
func allSources(modules []module) (found sources, times map[string]string, err error) {
	found, times = sources{}, map[string]string{}
	folders := 0
	for _, m := range modules {
		err := fs.WalkDir(os.DirFS(m.folder), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil && d == nil {
				return err
			}
			if !d.IsDir() {
				return nil
			}
			if folders++; folders > mostFolders {
				return errGo
			}
			folder := filepath.Join(m.folder, filepath.FromSlash(name))
			if err != nil || name != "." && (isIgnored(d.Name()) || exists(filepath.Join(folder, "go.mod"))) {
				return fs.SkipDir
			}
			times[folder] = changed(folder)
			if text, err := digest(folder); err == nil {
				found[folder] = text
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return found, times, nil
}

// changed tells when a folder and its source files have changed.
func changed(folder string) string {
	var b strings.Builder
	entries, _ := os.ReadDir(folder)
	names := []string{"."}
	for _, e := range entries {
		if isSource(e.Name()) {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		fmt.Fprintln(&b, name, info.ModTime().UnixNano())
	}
	return b.String()
}

// of picks the folders of those packages, among the linked ones, that are of the
// modules. Which of several modules a package is of, only go can say, and also whether
// it comes from elsewhere where the folder is not there.
func (s sources) of(packages []string, modules []module) (sources, error) {
	picked := sources{}
	for _, p := range packages {
		folder := ""
		for _, m := range modules {
			rest, ok := strings.CutPrefix(p, m.path)
			if !ok || rest != "" && rest[0] != '/' {
				continue
			}
			if folder != "" {
				return nil, errGo
			}
			folder = filepath.Join(m.folder, filepath.FromSlash(rest))
		}
		if folder == "" {
			continue
		}
		digest, ok := s[folder]
		if !ok {
			return nil, errGo
		}
		picked[folder] = digest
	}
	return picked, nil
}

// areCurrent tells whether the sources are what they were, and still of the modules.
func (s sources) areCurrent(modules []module) bool {
	for folder, was := range s {
		if now, err := digest(folder); err != nil || now != was {
			return false
		}
		for !slices.ContainsFunc(modules, func(m module) bool { return m.folder == folder }) {
			up := filepath.Dir(folder)
			if up == folder || exists(filepath.Join(folder, "go.mod")) {
				return false
			}
			folder = up
		}
	}
	return true
}

// haveEmbeds tells whether a package may have files besides its sources.
func (s sources) haveEmbeds() bool {
	for _, digest := range s {
		if strings.HasSuffix(digest, embeds) {
			return true
		}
	}
	return false
}

// embeds marks the digest of a folder with a directive to embed files, which are not
// looked at.
const embeds = " and what is embedded"

// digest identifies the source files of a folder by their names and contents.
func digest(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	mark := ""
	for _, e := range entries {
		if !isSource(e.Name()) {
			continue
		}
		file := filepath.Join(folder, e.Name())
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		if info.IsDir() {
			continue
		}
		if !info.Mode().IsRegular() {
			return "", errGo
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if !strings.HasSuffix(e.Name(), "_test.go") && strings.Contains(string(text), "//go:embed") {
			mark = embeds
		}
		fmt.Fprintf(h, "%q %d\n", e.Name(), len(text))
		h.Write(text)
	}
	return fmt.Sprintf("%x%s", h.Sum(nil), mark), nil
}

// isSource tells whether go build looks at a file of this name, for packages in Go or
// partly in other languages. Of tests it reads to what package they belong.
func isSource(name string) bool {
	if isIgnored(name) {
		return false
	}
	switch filepath.Ext(name) {
	case ".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx",
		".f", ".F", ".for", ".f90", ".s", ".S", ".sx", ".swig", ".swigcxx", ".syso":
		return true
	}
	return false
}

// isIgnored tells whether go passes a file of this name by. (A folder of such a name
// can be imported; its package has no recipe.)
func isIgnored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// exists tells whether there is something of this name.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
