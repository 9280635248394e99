package kkbox

import (
	"fmt"
	"os"
	"path/filepath"
)

// twinVersion is raised when Synthetic writes other files for the same
// settings: what was made of the files before is another configuration then,
// and files in a Source's Cache are not used.
const twinVersion = 1

// load reads the data of a source.
func (o *opened) load(s Source, progress Progress) error {
	opt := ReadOptions{Progress: progress.reading()}
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
		folder, err := s.keepTwin(progress)
		if err != nil {
			return err
		}
		o.data, o.report, err = Read(folder, opt)
		if err != nil {
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

// keepTwin returns the folder in the Cache that holds the twin's files, having
// written them if it was not there. The folder gets its name when all files are
// in it, so that several programs may come at once.
func (s Source) keepTwin(progress Progress) (string, error) {
	folder := filepath.Join(s.Cache, fmt.Sprintf("kkbox-twin-v%d-%d-users-seed-%d", twinVersion, s.Users, s.Seed))
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(s.Cache, 0o777); err != nil {
		return "", fmt.Errorf("kkbox: Source.Cache: %w", err)
	}
	unfinished, err := os.MkdirTemp(s.Cache, "unfinished-*")
	if err != nil {
		return "", fmt.Errorf("kkbox: Source.Cache: %w", err)
	}
	defer os.RemoveAll(unfinished)
	// One level down, for a temporary folder is its maker's alone.
	made := filepath.Join(unfinished, "twin")
	if err := s.twin().Write(made, progress.writing()); err != nil {
		return "", err
	}
	if err := os.Rename(made, folder); err != nil {
		if _, there := os.Stat(folder); there == nil {
			return folder, nil // another program was faster
		}
		return "", fmt.Errorf("kkbox: Source.Cache: %w", err)
	}
	return folder, nil
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
