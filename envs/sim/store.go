package sim

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Store is a folder of finished results. The zero value is the folder
// "results" of the working directory. A result lies in
//
//	<Dir>/<experiment>/<contender>-<8 hex digits of the configuration>.csv
//
// A file that is there is finished; a changed setting is another file. While
// runs are missing, those that are finished lie in a folder beside it, with
// ".parts" in place of ".csv", which goes when the result is there.
//
// Files that are damaged, or that hold something else than their name says, are
// errors that name the file and the line. They are never overwritten: remove
// the file to have it computed again. Files that do not end in .csv are ignored.
type Store struct{ Dir string }

// Load returns the result of one contender of an experiment. The error wraps
// [fs.ErrNotExist] when it is not there.
func (s Store) Load(e Experiment, c Contender) (*Result, error) {
	if err := checkExperimentName(e.Name); err != nil {
		return nil, err
	}
	want, err := e.head(c)
	if err != nil {
		return nil, fmt.Errorf("sim: experiment %q: contender %q: %w", e.Name, c.Name, err)
	}
	return want.loadAs(s.Path(&want), whole)
}

// Results returns all results that are there under an experiment's name, of all
// scales and settings, in the order of the file names. The error wraps
// [fs.ErrNotExist] when the experiment has no folder. Where some files are
// refused, the results of the others are returned beside the joined errors.
func (s Store) Results(experiment string) ([]*Result, error) {
	if err := checkExperimentName(experiment); err != nil {
		return nil, err
	}
	folder := s.folder(experiment)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	var results []*Result
	var refused []error
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".csv" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		r, err := load(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the folder was read
		}
		if err == nil && filepath.Join(r.Experiment, r.fileName()) != filepath.Join(experiment, entry.Name()) {
			err = refuse(path, fmt.Errorf("lines 2 to 8: this configuration belongs into %s", filepath.Join(r.Experiment, r.fileName())))
		}
		if err == nil {
			if err = r.complete(); err != nil {
				err = refuse(path, err)
			}
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		results = append(results, r)
	}
	return results, errors.Join(refused...)
}

func (s Store) folder(experiment string) string {
	dir := s.Dir
	if dir == "" {
		dir = "results"
	}
	return filepath.Join(dir, experiment)
}

// Path is the file in which a result of an experiment lies, once it is finished.
func (s Store) Path(r *Result) string { return filepath.Join(s.folder(r.Experiment), r.fileName()) }

// probe makes the experiment's folder and reports whether it can be written,
// before hours of work go into something that cannot be kept.
func (s Store) probe(experiment string) error {
	folder := s.folder(experiment)
	err := os.MkdirAll(folder, 0o777)
	if err == nil {
		err = writable(folder)
	}
	if err != nil {
		return fmt.Errorf("sim: results cannot be kept in %s: %w", folder, err)
	}
	return nil
}

// writable tries to write a file in a folder, and leaves nothing there.
func writable(folder string) error {
	const prefix = ".probe-"
	f, err := os.CreateTemp(folder, prefix)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	err = errors.Join(err, f.Close())
	// What a killed process has left, the next removes.
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(folder, entry.Name()))))
		}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// partsOf is the folder of the parts of the result at path.
func partsOf(path string) string { return strings.TrimSuffix(path, ".csv") + ".parts" }

// load reads the result, or the part of one, at path.
func load(path string) (*Result, error) {
	// Opening a pipe waits for a writer, perhaps for ever.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, refuse(path, fmt.Errorf("it is no file, but %v", info.Mode().Type()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	defer f.Close()
	r, err := read(f)
	if err != nil {
		return nil, refuse(path, err)
	}
	return r, nil
}

// loadAs reads the result at path, or its part that is one run, and refuses
// another configuration than that of r.
func (r *Result) loadAs(path string, run int) (*Result, error) {
	found, err := load(path)
	if err != nil {
		return nil, err
	}
	have := found.configuration()
	for i, f := range r.configuration() {
		if f.text() != have[i].text() {
			return nil, refuse(path, fmt.Errorf("line %d: %s is %q, want %q", i+2, f.key, have[i].text(), f.text()))
		}
	}
	if run == whole {
		err = found.complete()
	} else if found.Reward[run] == nil {
		err = fmt.Errorf("run %d is missing", run)
	}
	if err != nil {
		return nil, refuse(path, err)
	}
	return found, nil
}

// whole is where the number of a run is asked for and all are meant.
const whole = -1

func refuse(path string, err error) error {
	return fmt.Errorf("sim: %s: %w (remove the file to have it computed again)", path, err)
}

// write keeps a text under a temporary name in the folder of parts and gives it
// its name when it is safe on disk: nobody ever reads half a file, and what a
// killed writer leaves goes with the folder.
func write(path, parts string, text []byte) error {
	temporary := filepath.Join(parts, rand.Text()+".tmp")
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Sync(), f.Close())
		if err == nil {
			err = os.Rename(temporary, path)
		}
		if err != nil {
			os.Remove(temporary)
		}
	}
	if err != nil {
		return fmt.Errorf("sim: %s: %w", path, err)
	}
	return nil
}

// syncFolder makes new names survive a power failure, where the operating
// system can.
func syncFolder(path string) {
	if d, err := os.Open(path); err == nil {
		d.Sync()
		d.Close()
	}
}
