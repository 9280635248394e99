package kkbox

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Unpacker reads the 7z archives in which Kaggle gives the files. The package envs/kkbox/sevenzip
// has one; it is apart so that programs that do not read archives do not link it.
type Unpacker interface {
	// Unpack opens the file of a base name in an archive of size bytes, which
	// stays open until the text is closed. Where the text is damaged, reading it
	// gives an error, at its end at the latest.
	Unpack(archive io.ReaderAt, size int64, name string) (text io.ReadCloser, err error)
}

// source is one of the files, in the form in which it is there.
type source struct {
	name         string    // train.csv, say
	outer, inner string    // the file of the folder, and its name in outer where that is a zip, else ""
	size         int64     // of outer
	modified     time.Time // outer
}

// path says where the file is, for messages.
func (s *source) path() string {
	return filepath.Base(s.outer) + strings.TrimSuffix(": "+s.inner, ": ")
}

// locate finds a file of a folder as X.csv, as X.csv in a folder X.csv, as
// X.csv.7z, or in a zip file, either way.
func locate(folder, name string) (*source, error) {
	found := func(form, inner string) *source {
		outer := filepath.Join(folder, form)
		info, err := os.Stat(outer)
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		return &source{name, outer, inner, info.Size(), info.ModTime()}
	}
	for _, form := range []string{name, filepath.Join(name, name), name + ".7z"} {
		if s := found(form, ""); s != nil {
			return s, nil
		}
	}
	zips, _ := fs.Glob(os.DirFS(folder), "*.zip")
	for _, outer := range zips {
		z, err := zip.OpenReader(filepath.Join(folder, outer))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", outer, err)
		}
		z.Close()
		for _, f := range z.File {
			if base := path.Base(f.Name); base == name && f.Mode().IsRegular() || base == name+".7z" {
				return found(outer, f.Name), nil
			}
		}
	}
	return nil, fmt.Errorf("%s: %w: looked for it as %s, %s/%s, %s.7z, and in %d zip files", name, fs.ErrNotExist, name, name, name, name, len(zips))
}

// open calls read with the text of the file.
func (s *source) open(unpacker Unpacker, read func(text io.Reader) error) error {
	outer, err := os.Open(s.outer)
	if err != nil {
		return err
	}
	defer outer.Close()
	var file fs.File = outer
	if s.inner != "" {
		z, err := zip.NewReader(outer, s.size)
		if err != nil {
			return err
		}
		if file, err = z.Open(s.inner); err != nil {
			return err
		}
		defer file.Close()
	}
	if !strings.HasSuffix(s.path(), ".7z") {
		return read(file)
	}
	if unpacker == nil {
		return errors.New("is a 7z archive, and there is no Unpacker: use that of envs/kkbox/sevenzip, or unpack the file with 7-Zip")
	}
	archive, anywhere := file.(io.ReaderAt)
	size := s.size
	if !anywhere { // it is in a zip file
		all, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		archive, size = bytes.NewReader(all), int64(len(all))
	}
	unpacked, err := unpacker.Unpack(archive, size, s.name)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	return read(unpacked)
}
