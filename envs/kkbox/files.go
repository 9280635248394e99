package kkbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Unpacker reads the 7z archives in which Kaggle gives the files. The package envs/kkbox/sevenzip
// has one; it is apart so that programs that do not read archives do not link it.
type Unpacker interface {
	// Unpack opens the file of a base name in an archive of size bytes, which
	// stays open until the text is closed. Where the text is damaged, reading it
	// gives an error, at its end at the latest.
	Unpack(archive io.ReaderAt, size int64, name string) (text io.ReadCloser, err error)
}

// place is the folder of the files, or one of its zip files.
type place struct {
	fs.FS
	path string // for messages
}

// source is one of the files, in the form in which it is there.
type source struct {
	place
	name, form string // train.csv, and the name of it in place
	info       fs.FileInfo
}

// locate finds a file as X.csv or X.csv.7z, at the top or in a folder.
func locate(places []place, name string) (*source, error) {
	for _, p := range places {
		for _, pattern := range []string{name, "*/" + name, name + ".7z", "*/" + name + ".7z"} {
			forms, _ := fs.Glob(p, pattern)
			for _, form := range forms {
				if info, err := fs.Stat(p, form); err == nil && info.Mode().IsRegular() {
					return &source{place{p, p.path + form}, name, form, info}, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("%s: %w: looked for it as %s and %s.7z, in folders, and in %d zip files", name, fs.ErrNotExist, name, name, len(places)-1)
}

func (s *source) open(unpacker Unpacker, read func(text io.Reader) error) error {
	file, err := s.Open(s.form)
	if err != nil {
		return err
	}
	defer file.Close()
	if !strings.HasSuffix(s.form, ".7z") {
		return read(file)
	}
	if unpacker == nil {
		return errors.New("is a 7z archive, and there is no Unpacker: use that of envs/kkbox/sevenzip, or unpack the file with 7-Zip")
	}
	archive, anywhere := file.(io.ReaderAt)
	if !anywhere { // it is in a zip file
		all, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		archive = bytes.NewReader(all)
	}
	unpacked, err := unpacker.Unpack(archive, s.info.Size(), s.name)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	return read(unpacked)
}
