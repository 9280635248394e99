package kkbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Unpacker reads the 7z archives in which Kaggle gives the files. The package
// envs/kkbox/sevenzip has one. The library that it takes is not linked here since
// it is a quarter of what a program of this module links, which every cell of a
// notebook waits for.
type Unpacker interface {
	// Unpack opens the file of a base name in an archive of size bytes, which
	// stays open until the text has been closed. The text has total bytes; where
	// it is damaged, to read it gives an error, at its end at the latest. Errors
	// need not name the archive. Archives are unpacked side by side, and a text is
	// read by another goroutine than has opened it.
	Unpack(archive io.ReaderAt, size int64, name string) (text io.ReadCloser, total int64, err error)
}

// ErrDamaged is what errors are about archives that cannot be read.
var ErrDamaged = errors.New("the archive is damaged or cut off, get it again")

// unpack opens the file of that name in an archive, which it closes at an error.
func unpack(f io.ReadCloser, size int64, name string, unpacker Unpacker) (text io.ReadCloser, total int64, err error) {
	if unpacker == nil {
		f.Close()
		return nil, 0, errors.New("is a 7z archive, and there is no Unpacker: use that of envs/kkbox/sevenzip, or unpack the file with 7-Zip")
	}
	r, closer, err := randomAccess(f, size)
	if err != nil {
		return nil, 0, err
	}
	if text, total, err = unpacker.Unpack(r, size, name); err != nil {
		closer.Close()
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{text, closers{closer, text}}, total, nil
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
		// The disk may be full, too.
		if own, ok := errors.AsType[*fs.PathError](err); !ok || own.Path != temporary.Name() {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return nil, nil, err
	}
	return temporary, closer, nil
}

// removal is a file that goes when it is closed.
type removal string

func (r removal) Close() error { return os.Remove(string(r)) }

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
