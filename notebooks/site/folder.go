package site

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listFile is the file of a site that names all others. It is how a site is
// told from a folder of somebody's own.
const listFile = ".paper-site"

// replaceFolder makes a folder of files, by slash path, at once: whoever looks
// finds what was there before, or all of the files. It replaces nothing but what
// it has written itself.
func replaceFolder(dir string, files map[string][]byte) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	there, err := isReplaceable(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	beside := filepath.Join(parent, ".site-"+rand.Text())
	defer os.RemoveAll(beside)
	names := slices.Sorted(maps.Keys(files))
	list := strings.Join(names, "\n") + "\n"
	if err := writeFile(beside, listFile, []byte(list)); err != nil {
		return err
	}
	for _, name := range names {
		if err := writeFile(beside, name, files[name]); err != nil {
			return err
		}
	}
	if !there {
		return os.Rename(beside, dir)
	}
	old := beside + "-old"
	if err := os.Rename(dir, old); err != nil {
		return err
	}
	if err := os.Rename(beside, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return os.RemoveAll(old)
}

func writeFile(dir, name string, data []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

// isReplaceable tells whether something is at dir, and refuses what is not a
// site, or has files that are not the site's.
func isReplaceable(dir string) (there bool, err error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, fmt.Errorf("%s is a file, want a folder", dir)
	}
	disk := os.DirFS(dir)
	list, err := fs.ReadFile(disk, listFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	ours := map[string]bool{}
	if err == nil {
		ours[listFile] = true
		for name := range strings.Lines(string(list)) {
			ours[strings.TrimSuffix(name, "\n")] = true
		}
	}
	return true, fs.WalkDir(disk, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() || ours[name]:
			return err
		case len(ours) == 0:
			return fmt.Errorf("%s is no site, and has files that would be lost: name a folder that is empty or not there", dir)
		}
		return fmt.Errorf("%s has a file that is not the site's and would be lost: %s", dir, name)
	})
}
