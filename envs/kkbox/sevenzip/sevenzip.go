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
	"slices"
	"strings"

	lib "github.com/bodgit/sevenzip"

	"github.com/contextrec/contextrec/envs/kkbox"
)

// Unpacker is the [kkbox.Unpacker] of 7z archives. Those with a password are
// refused.
type Unpacker struct{}

var _ kkbox.Unpacker = Unpacker{}

// unpacked is the text of a file in a 7z archive.
type unpacked struct {
	io.Closer
	text io.Reader
	left int64 // bytes to come
	sum  hash.Hash32
	want uint32 // 0 where the archive has no checksum
}

// Unpack opens a file of the archive.
func (Unpacker) Unpack(r io.ReaderAt, size int64, name string) (text io.ReadCloser, total int64, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = damaged(fmt.Errorf("%v", broken)) // the library trusts some of what it reads
		}
	}()
	archive, err := lib.NewReader(r, size)
	if err != nil {
		return nil, 0, damaged(err)
	}
	at := slices.IndexFunc(archive.File, func(f *lib.File) bool {
		return path.Base(strings.ReplaceAll(f.Name, `\`, "/")) == name && !f.FileInfo().IsDir()
	})
	if at < 0 {
		var names []string
		for _, f := range archive.File[:min(len(archive.File), 5)] {
			names = append(names, f.Name)
		}
		return nil, 0, fmt.Errorf("has no %s: it holds %d files, %.200q", name, len(archive.File), names)
	}
	file := archive.File[at]
	opened, err := file.Open()
	if err != nil {
		return nil, 0, damaged(err)
	}
	total = int64(file.UncompressedSize)
	return &unpacked{Closer: opened, text: opened, left: total, sum: crc32.NewIEEE(), want: file.CRC32}, total, nil
}

// damaged says what to do about an archive that cannot be read.
func damaged(err error) error {
	if refused, ok := errors.AsType[*lib.ReadError](err); ok && refused.Encrypted {
		return fmt.Errorf("the archive is packed with a password, which is not asked for here: unpack it with 7-Zip: %w", err)
	}
	return fmt.Errorf("%w: %w", kkbox.ErrDamaged, err)
}

// Read checks the length and the checksum at the end of the text.
func (u *unpacked) Read(p []byte) (n int, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			n, err = 0, damaged(fmt.Errorf("%v", broken))
		}
	}()
	n, err = u.text.Read(p)
	u.left -= int64(n)
	u.sum.Write(p[:n])
	switch {
	case err != nil && err != io.EOF:
		return n, damaged(err)
	case err == io.EOF && u.left != 0:
		return n, damaged(io.ErrUnexpectedEOF)
	case err == io.EOF && u.want != 0 && u.want != u.sum.Sum32():
		return n, damaged(errors.New("the checksum differs"))
	}
	return n, err
}
