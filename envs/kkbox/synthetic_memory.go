package kkbox

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"time"
)

// memory is a file system of one folder of files by name.
type memory map[string]blob

// blob is the content of a file, and the writer of it.
type blob []byte

func (b *blob) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// Open implements fs.FS.
func (m memory) Open(name string) (fs.File, error) {
	if name == "." {
		return &memoryFolder{entries: m.entries()}, nil
	}
	content, ok := m[name]
	if !ok || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryFile{Reader: bytes.NewReader(content), info: memoryInfo{name, int64(len(content))}}, nil
}

func (m memory) entries() []fs.DirEntry {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	var entries []fs.DirEntry
	for _, name := range names {
		entries = append(entries, fs.FileInfoToDirEntry(memoryInfo{name, int64(len(m[name]))}))
	}
	return entries
}

// memoryFile is an open file. It reads, seeks, and reads at an offset.
type memoryFile struct {
	*bytes.Reader
	info memoryInfo
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *memoryFile) Close() error               { return nil }

// memoryFolder is the open folder.
type memoryFolder struct {
	entries []fs.DirEntry
	at      int
}

func (d *memoryFolder) Stat() (fs.FileInfo, error) { return memoryInfo{".", 0}, nil }
func (d *memoryFolder) Close() error               { return nil }

func (d *memoryFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *memoryFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.entries[d.at:]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 && len(rest) > n {
		rest = rest[:n]
	}
	d.at += len(rest)
	return slices.Clone(rest), nil
}

// memoryInfo describes a file, or the folder by the name ".".
type memoryInfo struct {
	name string
	size int64
}

func (i memoryInfo) Name() string       { return i.name }
func (i memoryInfo) Size() int64        { return i.size }
func (i memoryInfo) ModTime() time.Time { return time.Time{} }
func (i memoryInfo) IsDir() bool        { return i.name == "." }
func (i memoryInfo) Sys() any           { return nil }

func (i memoryInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
