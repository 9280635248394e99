package cellbuild

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// errUnclear says that nothing can be said about sources, so that go must look.
var errUnclear = errors.New("sources that go must look at")

// sources are folders with a package each, of modules whose sources may change.
type sources map[string]string // the package's folder, and its module's

// find tells which of some packages are of modules whose sources may change, and
// where they are.
func find(packages []string, modules []module) (sources, error) {
	found := sources{}
	for _, p := range packages {
		var of module
		for _, m := range modules {
			if rest, ok := strings.CutPrefix(p, m.path); ok && (rest == "" || rest[0] == '/') {
				if len(m.path) == len(of.path) && m != of {
					return nil, errUnclear // two folders for a module
				}
				if len(m.path) > len(of.path) {
					of = m
				}
			}
		}
		if of.path == "" {
			continue
		}
		folder := filepath.Join(of.folder, filepath.FromSlash(p[len(of.path):]))
		found[folder] = of.folder
	}
	return found, nil
}

// state is what go would see of the sources.
type state struct {
	digest string    // of the source files, by their contents
	latest time.Time // change of a file or folder
	embed  bool      // whether a file may be made part of a package, which is not looked at
}

func (s sources) state() (state, error) {
	var now state
	h := sha256.New()
	for _, folder := range slices.Sorted(maps.Keys(s)) {
		info, err := os.Stat(folder)
		if err != nil {
			return now, err
		}
		now.changed(info)
		entries, err := os.ReadDir(folder)
		if err != nil {
			return now, err
		}
		fmt.Fprintf(h, "%q\n", folder)
		for _, e := range entries {
			if !isSource(e.Name()) {
				continue
			}
			file := filepath.Join(folder, e.Name())
			info, err := os.Stat(file)
			if err != nil {
				return now, err
			}
			if !info.Mode().IsRegular() {
				return now, errUnclear
			}
			now.changed(info)
			text, err := os.ReadFile(file)
			if err != nil {
				return now, err
			}
			now.embed = now.embed || bytes.Contains(text, []byte("//go:embed"))
			fmt.Fprintf(h, "%q %d\n", e.Name(), len(text))
			h.Write(text)
		}
		// A go.mod in between would make it a package of another module.
		for up := folder; up != s[folder]; up = filepath.Dir(up) {
			if exists(filepath.Join(up, "go.mod")) || up == filepath.Dir(up) {
				return now, errUnclear
			}
		}
	}
	now.digest = fmt.Sprintf("%x", h.Sum(nil))
	return now, nil
}

func (s *state) changed(info fs.FileInfo) {
	if t := info.ModTime(); t.After(s.latest) {
		s.latest = t
	}
}
