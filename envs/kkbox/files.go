package kkbox

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/contextrec/contextrec/envs/sim"
)

// Unpacker reads the 7z archives in which Kaggle gives the files. The package envs/kkbox/sevenzip
// has one; it is apart so that programs that do not read archives do not link it.
type Unpacker interface {
	// Unpack opens the file of a base name in an archive. Where the text is
	// damaged, reading it gives an error, at its end at the latest.
	Unpack(archive []byte, name string) (text io.ReadCloser, err error)
}

// source is one of the files, in the form in which it is there.
type source struct {
	fs.FS
	name, path string // train.csv, and the name of it in FS
	info       fs.FileInfo
}

// locate finds a file as X.csv or X.csv.7z, at the top of a place or in a folder.
func locate(places []fs.FS, name string) (*source, error) {
	for _, p := range places {
		for _, pattern := range []string{name, "*/" + name, name + ".7z", "*/" + name + ".7z"} {
			paths, _ := fs.Glob(p, pattern)
			for _, path := range paths {
				if info, err := fs.Stat(p, path); err == nil && info.Mode().IsRegular() {
					return &source{p, name, path, info}, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("%s: %w: looked for it as %s and %s.7z, in folders, and in %d zip files", name, fs.ErrNotExist, name, name, len(places)-1)
}

// open opens the text of the file. An archive is unpacked from memory, for it may be in a zip file.
func (s *source) open(unpacker Unpacker) (io.ReadCloser, error) {
	if !strings.HasSuffix(s.path, ".7z") {
		return s.Open(s.path)
	}
	if unpacker == nil {
		return nil, errors.New("is a 7z archive, and there is no Unpacker: use that of envs/kkbox/sevenzip, or unpack the file with 7-Zip")
	}
	archive, err := fs.ReadFile(s, s.path)
	if err != nil {
		return nil, err
	}
	return unpacker.Unpack(archive, s.name)
}

// cacheFile is what Read leaves in the folder of the data. It may be removed at any time.
const cacheFile = "contextrec.cache"

type cache struct {
	Key  string // differs where a file has another name, size or modification time
	Data *Dataset
}

// loadCache returns nil where there is no whole cache of these files.
func loadCache(folder, key string) *Dataset {
	f, err := os.Open(filepath.Join(folder, cacheFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	var kept cache
	if gob.NewDecoder(f).Decode(&kept) != nil || kept.Key != key {
		return nil
	}
	return kept.Data
}

// keepCache writes the cache in one go: no program reads half of one.
func keepCache(folder, key string, data *Dataset) error {
	var b bytes.Buffer
	gob.NewEncoder(&b).Encode(cache{key, data}) // a buffer takes all that is written
	return sim.WriteFile(filepath.Join(folder, cacheFile), b.Bytes())
}
