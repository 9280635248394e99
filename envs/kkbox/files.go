package kkbox

import (
	"archive/zip"
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

// Read reads the files of a folder: train.csv, songs.csv, song_extra_info.csv, and test.csv where it
// is there, of which the counts of songs are used.
//
// Every file may be there as X.csv or as X.csv.7z, in the folder or in one within, and likewise in a
// zip file, and is looked for in that order; 7z files take an Unpacker, which may be nil without
// them. Columns are found by name. The folder may hold a part of the data: what differs from the
// whole is in the Notes. What was read is kept beside the files in contextrec.cache, and read from
// there as long as no file has another name, size or modification time.
func Read(folder string, unpacker Unpacker) (*Dataset, error) {
	places := []fs.FS{os.DirFS(folder)}
	zips, _ := filepath.Glob(filepath.Join(folder, "*.zip"))
	for _, path := range zips {
		z, err := zip.OpenReader(path)
		if err != nil {
			return nil, fmt.Errorf("kkbox: %s: %w", path, err)
		}
		defer z.Close()
		places = append(places, z)
	}
	var sources []*source
	key := "contextrec kkbox 5" // of the cache; 5 is the version of the reader
	for _, name := range []string{"train.csv", "test.csv", "songs.csv", "song_extra_info.csv"} {
		s, err := locate(places, name)
		if err == nil {
			key += fmt.Sprintf("\n%q %d %d", s.path, s.info.Size(), s.info.ModTime().UnixNano())
		} else if name != "test.csv" {
			return nil, fmt.Errorf("kkbox: %s: %w", folder, err)
		}
		sources = append(sources, s)
	}
	kept := filepath.Join(folder, "contextrec.cache")
	if data := loadCache(kept, key); data != nil {
		return data, nil
	}
	r := &reading{data: &Dataset{Types: []string{""}}, songs: map[string]int32{}}
	for i, read := range []func(t *table) error{r.train, r.test, r.catalogue, r.extra} {
		if sources[i] != nil {
			if err := r.file(sources[i], unpacker, read); err != nil {
				return nil, fmt.Errorf("kkbox: %s: %s: %w", folder, sources[i].path, err)
			}
		}
	}
	var b bytes.Buffer // which takes all that is written
	gob.NewEncoder(&b).Encode(cache{key, r.data})
	if err := sim.WriteFile(kept, b.Bytes()); err != nil {
		r.data.Notes = append(r.data.Notes, fmt.Sprintf("the data cannot be kept for the next time: %v", err))
	}
	return r.data, nil
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

// cache is what Read leaves in the folder of the data. It may be removed at any time.
type cache struct {
	Key  string // differs where a file has another name, size or modification time
	Data *Dataset
}

// loadCache returns nil where there is no whole cache of these files.
func loadCache(file, key string) *Dataset {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	var c cache
	if gob.NewDecoder(f).Decode(&c) != nil || c.Key != key {
		return nil
	}
	return c.Data
}
