package cellbuild

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

const (
	// lifetime is that of a recipe. go keeps what it has compiled for five days
	// after it has looked at it for the last time, and a recipe has it not look.
	lifetime = 4 * 24 * time.Hour

	// most recipes that are kept, those that were used last.
	most = 64
)

// shelf is a folder of recipes. The time of a file is that of its last use.
type shelf string

// find looks for a recipe by which a cell can be built. It removes those whose sources
// have changed, or whose time has come.
func (s shelf) find(key string, cell request) (found *recipe, file string) {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil, ""
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), key+"-") {
			continue
		}
		file := filepath.Join(string(s), e.Name())
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		r := new(recipe)
		err = json.Unmarshal(data, r)
		if err == nil && !r.covers(cell.imports) {
			continue
		}
		if age := time.Since(r.Made); err != nil || age > lifetime || len(r.Compile.Args) == 0 || len(r.Link.Args) == 0 || !r.Sources.areCurrent(cell.localModules) {
			os.Remove(file)
			continue
		}
		now := time.Now()
		os.Chtimes(file, now, now)
		return r, file
	}
	return nil, ""
}

// put keeps a recipe, and removes some if there are too many.
func (s shelf) put(key string, r *recipe) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// Words that are no text are not written as they are.
	read := new(recipe)
	if err := json.Unmarshal(data, read); err != nil || !reflect.DeepEqual(read, r) {
		return errGo
	}
	if err := os.MkdirAll(string(s), 0o777); err != nil {
		return err
	}
	imports := sha256.Sum256([]byte(strings.Join(r.Imports, "\n")))
	file := filepath.Join(string(s), fmt.Sprintf("%s-%.8x.json", key, imports))
	f, err := os.CreateTemp(string(s), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	return s.tidy()
}

func (s shelf) tidy() error {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return err
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, info := range infos {
		if i >= most || time.Since(info.ModTime()) > lifetime {
			err = errors.Join(err, os.Remove(filepath.Join(string(s), info.Name())))
		}
	}
	return err
}
