// Package sevenzip reads the 7z archives in which Kaggle gives the files of the
// challenge, X.csv.7z, for [kkbox.Source] and [kkbox.Read].
package sevenzip

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"

	lib "github.com/bodgit/sevenzip"
)

// Unpacker is the kkbox.Unpacker of 7z archives without a password.
type Unpacker struct{}

// Unpack opens the file of a base name in an archive.
func (Unpacker) Unpack(archive []byte, name string) (text io.ReadCloser, err error) {
	defer explain(&err)
	opened, err := lib.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	for _, f := range opened.File {
		if path.Base(f.Name) == name && !f.FileInfo().IsDir() {
			r, err := f.Open()
			return &unpacked{ReadCloser: r, want: f.CRC32}, err
		}
	}
	return nil, fmt.Errorf("has no %s among its %d files", name, len(opened.File))
}

type unpacked struct {
	io.ReadCloser
	sum, want uint32 // checksums; want is 0 where the archive has none
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	defer explain(&err)
	n, err = u.ReadCloser.Read(p)
	u.sum = crc32.Update(u.sum, crc32.IEEETable, p[:n])
	if err == io.EOF && u.want != 0 && u.want != u.sum {
		err = errors.New("the checksum differs")
	}
	return n, err
}

// explain says what an error may come from. The library trusts some of what it reads: its panics
// are errors.
func explain(err *error) {
	if broken := recover(); broken != nil {
		*err = fmt.Errorf("%v", broken)
	}
	if *err != nil && *err != io.EOF {
		*err = fmt.Errorf("the archive cannot be read, get it again if it is damaged or cut off, unpack it if it has a password: %w", *err)
	}
}
