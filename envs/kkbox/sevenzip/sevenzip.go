// Package sevenzip reads the 7z archives in which Kaggle gives the files of the
// challenge, X.csv.7z, for [kkbox.Source] and [kkbox.Read].
package sevenzip

import (
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"path"
	"strings"

	lib "github.com/bodgit/sevenzip"
)

// Unpacker is the kkbox.Unpacker of 7z archives without a password.
type Unpacker struct{}

// Unpack opens the file of a base name in an archive of size bytes.
func (Unpacker) Unpack(archive io.ReaderAt, size int64, name string) (text io.ReadCloser, err error) {
	defer recovered(&err) // the library trusts some of what it reads
	opened, err := lib.NewReader(archive, size)
	if err != nil {
		return nil, damaged(err)
	}
	for _, f := range opened.File {
		if path.Base(strings.ReplaceAll(f.Name, `\`, "/")) == name && !f.FileInfo().IsDir() {
			r, err := f.Open()
			if err != nil {
				return nil, damaged(err)
			}
			return &unpacked{r, crc32.NewIEEE(), f.CRC32}, nil
		}
	}
	return nil, fmt.Errorf("has no %s among its %d files", name, len(opened.File))
}

type unpacked struct {
	io.ReadCloser
	sum  hash.Hash32
	want uint32 // 0 where the archive has no checksum
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	defer recovered(&err)
	n, err = u.ReadCloser.Read(p)
	u.sum.Write(p[:n])
	if err == io.EOF && u.want != 0 && u.want != u.sum.Sum32() {
		err = errors.New("the checksum differs")
	}
	if err != nil && err != io.EOF {
		err = damaged(err)
	}
	return n, err
}

func recovered(err *error) {
	if broken := recover(); broken != nil {
		*err = damaged(fmt.Errorf("%v", broken))
	}
}

func damaged(err error) error {
	return fmt.Errorf("the archive has a password, is damaged or cut off, get it again: %w", err)
}
