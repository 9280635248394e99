package kkbox

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// fileForm is one of the files, in the form in which it is there.
type fileForm struct {
	name  string // train.csv, say
	outer string // the file of the folder that holds it
	inner string // its name in outer, which is a zip then; else ""

	size     int64     // of outer
	modified time.Time // outer
}

// path says where the file is, for messages.
func (s *fileForm) path() string {
	if s.inner == "" {
		return s.outer
	}
	return s.outer + ": " + s.inner
}

// locate finds the form of each file, nil for those that are not there. The
// error names all that are needed and missing.
func locate(fsys fs.FS, names []string, needed int) ([]*fileForm, error) {
	found := make([]*fileForm, len(names))
	missing := func() bool { return slices.Contains(found, nil) }
	for i, name := range names {
		for _, form := range []string{name, path.Join(name, name), name + ".7z"} {
			info, err := fs.Stat(fsys, form)
			if err == nil && info.Mode().IsRegular() {
				found[i] = &fileForm{name: name, outer: form, size: info.Size(), modified: info.ModTime()}
				break
			}
		}
	}
	var zips []string
	var refused []error
	if missing() {
		entries, err := fs.ReadDir(fsys, ".")
		if err != nil {
			refused = append(refused, err)
		}
		for _, entry := range entries {
			if path.Ext(entry.Name()) != ".zip" || entry.IsDir() {
				continue
			}
			zips = append(zips, entry.Name())
			if err := locateInZip(fsys, entry.Name(), names, found); err != nil {
				refused = append(refused, fmt.Errorf("%s: %w", entry.Name(), err))
			}
		}
	}
	var lacking []string
	for i, s := range found[:needed] {
		if s == nil {
			lacking = append(lacking, names[i])
		}
	}
	if len(lacking) == 0 {
		return found, nil
	}
	x := lacking[0]
	in := "there is no zip file to look into"
	if len(zips) > 0 {
		in = "and within " + strings.Join(zips, ", ")
	}
	err := fmt.Errorf("%s: %w: looked for each as %s, %s and %s; %s",
		strings.Join(lacking, ", "), fs.ErrNotExist, x, path.Join(x, x), x+".7z", in)
	return nil, errors.Join(append([]error{err}, refused...)...)
}

// locateInZip fills in what is not found yet and in the zip file, at any depth.
func locateInZip(fsys fs.FS, outer string, names []string, found []*fileForm) error {
	z, info, err := openZip(fsys, outer)
	if err != nil {
		return err
	}
	defer z.Close()
	for i, name := range names {
		if found[i] != nil {
			continue
		}
		for _, base := range []string{name, name + ".7z"} {
			at := slices.IndexFunc(z.File, func(f *zip.File) bool {
				return path.Base(f.Name) == base && !strings.HasSuffix(f.Name, "/")
			})
			if at >= 0 {
				found[i] = &fileForm{name: name, outer: outer, inner: z.File[at].Name, size: info.Size(), modified: info.ModTime()}
				break
			}
		}
	}
	return nil
}

// zipReader is a zip file that is open.
type zipReader struct {
	*zip.Reader
	io.Closer
}

func openZip(fsys fs.FS, name string) (*zipReader, fs.FileInfo, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	r, closer, err := randomAccess(f, info.Size())
	if err != nil {
		return nil, nil, err
	}
	z, err := zip.NewReader(r, info.Size())
	if err != nil {
		closer.Close()
		return nil, nil, fmt.Errorf("is no zip file that can be read: %w", err)
	}
	return &zipReader{Reader: z, Closer: closer}, info, nil
}

// open returns the text of the file, and how many bytes it has.
func (s *fileForm) open(fsys fs.FS, unpacker Unpacker) (text io.ReadCloser, total int64, err error) {
	var f io.ReadCloser
	var closers closers
	if s.inner == "" {
		f, err = fsys.Open(s.outer)
		total = s.size
	} else {
		var z *zipReader
		if z, _, err = openZip(fsys, s.outer); err == nil {
			closers = append(closers, z)
			at := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == s.inner })
			if at < 0 {
				err = fs.ErrNotExist
			} else {
				f, err = z.File[at].Open()
				total = int64(z.File[at].UncompressedSize64)
			}
		}
	}
	if err == nil && strings.HasSuffix(s.path(), ".7z") {
		if f, total, err = unpack(f, total, s.name, unpacker); err == nil {
			f = readAhead(f)
		}
	}
	if err != nil {
		closers.Close()
		return nil, 0, &FileError{File: s.path(), Err: err}
	}
	closers = append(closers, f)
	return struct {
		io.Reader
		io.Closer
	}{f, closers}, total, nil
}

// closers are closed together, the last first.
type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, one := range slices.Backward(c) {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
