package kkbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// twinVersion is raised when Synthetic writes other files for the same
// settings: what was made of the files before is another configuration then,
// and files in a Source's Cache are not used.
const twinVersion = 1

// load reads the data of a source.
func (o *opened) load(s Source, progress Progress) error {
	opt := ReadOptions{Unpacker: s.Unpacker, Progress: progress.reading()}
	var err error
	switch {
	case s.Folder != "":
		if o.data, o.report, err = Read(s.Folder, opt); err != nil {
			return err
		}
		o.checksum = checksum(o.data)
		o.identity = "data " + o.checksum
		return nil
	case s.Cache != "":
		if o.data, o.report, err = s.keptTwin(progress); err != nil {
			return err
		}
	default:
		files, err := s.twin().Files()
		if err != nil {
			return err
		}
		if o.data, o.report, err = ReadFS(files, opt); err != nil {
			return err
		}
	}
	o.identity = fmt.Sprintf("twin %d of %d users, seed %d", twinVersion, s.Users, s.Seed)
	return nil
}

func (s Source) twin() Synthetic { return Synthetic{Users: s.Users, Seed: s.Seed} }

// twinSum is the file in a kept twin's folder that tells the twin from any
// other data: what is read is held against it, whatever has become of the files.
const twinSum = "twin.sha256"

// keptTwin reads the twin from its folder in the Cache. If the folder is not
// there, or what it holds is not what was put there, it is made anew. The folder
// gets its name when all is in it, so that several programs may come at once.
func (s Source) keptTwin(progress Progress) (*Dataset, Report, error) {
	folder := filepath.Join(s.Cache, fmt.Sprintf("kkbox-twin-v%d-%d-users-seed-%d", twinVersion, s.Users, s.Seed))
	opt := ReadOptions{Progress: progress.reading()}
	if data, report, err := Read(folder, opt); err == nil {
		if sum, err := os.ReadFile(filepath.Join(folder, twinSum)); err == nil && string(sum) == data.sum() {
			return data, report, nil
		}
	}
	bad := func(err error) (*Dataset, Report, error) {
		return nil, Report{}, fmt.Errorf("kkbox: Source.Cache: %w", err)
	}
	if err := os.MkdirAll(s.Cache, 0o777); err != nil {
		return bad(err)
	}
	unfinished, err := os.MkdirTemp(s.Cache, "unfinished-*")
	if err != nil {
		return bad(err)
	}
	defer os.RemoveAll(unfinished)
	// One level down, for a temporary folder is its maker's alone.
	made := filepath.Join(unfinished, "twin")
	if err := s.twin().Write(context.Background(), made, progress.writing()); err != nil {
		return nil, Report{}, err
	}
	data, report, err := Read(made, opt)
	if err != nil {
		return nil, Report{}, err
	}
	if err := os.WriteFile(filepath.Join(made, twinSum), []byte(data.sum()), 0o666); err != nil {
		return bad(err)
	}
	if err := os.Rename(folder, filepath.Join(unfinished, "damaged")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return bad(fmt.Errorf("a damaged twin cannot be replaced: %w", err))
	}
	if err := os.Rename(made, folder); err != nil {
		if _, there := os.Stat(folder); there != nil { // else another program was faster
			return bad(err)
		}
	}
	return data, report, nil
}

// sum is the SHA-256 of all that the dataset holds, as a line of hexadecimal
// digits.
func (d *Dataset) sum() string {
	b, err := encodeCache("", d, Report{})
	if err != nil {
		panic(err) // it encodes nothing but numbers and texts
	}
	return fmt.Sprintf("%x\n", sha256.Sum256(b))
}

func (p Progress) reading() func(file string, done, total int64) {
	if p == nil {
		return nil
	}
	return func(file string, done, total int64) { p("reading "+file, done, total) }
}

func (p Progress) writing() func(done, total int64) {
	if p == nil {
		return nil
	}
	return func(done, total int64) { p("making synthetic data", done, total) }
}
