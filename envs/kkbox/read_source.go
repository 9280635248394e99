package kkbox

import (
	"archive/zip"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bodgit/sevenzip"
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
func (s *fileForm) open(fsys fs.FS) (text io.ReadCloser, total int64, err error) {
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
		var u *unpacked
		if u, total, err = unpack(f, total, s.name); err == nil {
			f = readAhead(u)
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

// randomAccess reads a file at any place. What can be read in order alone is
// copied into a temporary file, which goes with the closer. The file is closed
// with it, or at an error.
func randomAccess(f io.ReadCloser, size int64) (io.ReaderAt, io.Closer, error) {
	if r, ok := f.(io.ReaderAt); ok {
		return r, f, nil
	}
	defer f.Close()
	temporary, err := os.CreateTemp("", "kkbox-*")
	if err != nil {
		return nil, nil, err
	}
	closer := closers{removal(temporary.Name()), temporary}
	n, err := io.Copy(temporary, f)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		closer.Close()
		return nil, nil, err
	}
	return temporary, closer, nil
}

// removal is a file that goes when it is closed.
type removal string

func (r removal) Close() error { return os.Remove(string(r)) }

// unpacked is the text of a file in a 7z archive.
type unpacked struct {
	io.Closer
	text io.Reader
	left int64 // bytes to come
	sum  hash.Hash32
	want uint32 // 0 where the archive has no checksum
}

// unpack opens the file of that name in a 7z archive, which it closes at an
// error.
func unpack(f io.ReadCloser, size int64, name string) (text *unpacked, total int64, err error) {
	r, closer, err := randomAccess(f, size)
	if err != nil {
		return nil, 0, damaged(err)
	}
	held := closers{closer}
	defer func() {
		if broken := recover(); broken != nil {
			err = damaged(fmt.Errorf("%v", broken)) // the library trusts some of what it reads
		}
		if err != nil {
			held.Close()
		}
	}()
	archive, err := sevenzip.NewReader(r, size)
	if err != nil {
		return nil, 0, damaged(err)
	}
	at := slices.IndexFunc(archive.File, func(f *sevenzip.File) bool {
		return path.Base(strings.ReplaceAll(f.Name, `\`, "/")) == name && !f.FileInfo().IsDir()
	})
	if at < 0 {
		var names []string
		for _, f := range archive.File[:min(len(archive.File), 5)] {
			names = append(names, clip([]byte(f.Name)))
		}
		return nil, 0, fmt.Errorf("has no %s: it holds %d files, %q", name, len(archive.File), names)
	}
	file := archive.File[at]
	opened, err := file.Open()
	if err != nil {
		return nil, 0, damaged(err)
	}
	held = append(held, opened)
	total = int64(file.UncompressedSize)
	return &unpacked{Closer: held, text: opened, left: total, sum: crc32.NewIEEE(), want: file.CRC32}, total, nil
}

// damaged says what to do about an archive that cannot be read.
func damaged(err error) error {
	if refused, ok := errors.AsType[*sevenzip.ReadError](err); ok && refused.Encrypted {
		return fmt.Errorf("the archive is packed with a password, which is not asked for here: unpack it with 7-Zip: %w", err)
	}
	return fmt.Errorf("the archive is damaged or cut off, get it again: %w", err)
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

// ahead reads blocks of a text while those before are used: to unpack takes
// longer than to parse.
type ahead struct {
	text   io.ReadCloser
	blocks chan aheadBlock
	used   chan []byte
	stop   chan struct{}
	ended  chan struct{}

	now  aheadBlock // what is left of the current block
	full []byte     // all of it
}

type aheadBlock struct {
	bytes []byte
	err   error // after the bytes
}

func readAhead(text io.ReadCloser) *ahead {
	const blocks = 4
	a := &ahead{text: text, blocks: make(chan aheadBlock, blocks), used: make(chan []byte, blocks),
		stop: make(chan struct{}), ended: make(chan struct{})}
	for range blocks {
		a.used <- make([]byte, readBlock)
	}
	go a.run()
	return a
}

func (a *ahead) run() {
	defer close(a.ended)
	for {
		var block aheadBlock
		select {
		case block.bytes = <-a.used:
		case <-a.stop:
			return
		}
		n, err := io.ReadFull(a.text, block.bytes)
		if err == io.ErrUnexpectedEOF {
			err = io.EOF // an archive that is cut off says so in other words
		}
		block.bytes, block.err = block.bytes[:n], err
		a.blocks <- block // there is room, since blocks are no more than that
		if err != nil {
			return
		}
	}
}

func (a *ahead) Read(p []byte) (int, error) {
	if len(a.now.bytes) == 0 && a.now.err == nil {
		if a.full != nil {
			a.used <- a.full
		}
		a.now = <-a.blocks
		a.full = a.now.bytes[:cap(a.now.bytes)]
	}
	n := copy(p, a.now.bytes)
	a.now.bytes = a.now.bytes[n:]
	if len(a.now.bytes) == 0 && a.now.err != nil {
		return n, a.now.err
	}
	return n, nil
}

func (a *ahead) Close() error {
	close(a.stop)
	<-a.ended
	return a.text.Close()
}
