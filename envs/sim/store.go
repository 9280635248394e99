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
	r, _, err := load(s.path(&want))
	if err != nil {
		return nil, err
	}
	return r, want.matches(r, s.path(&want))
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
		if entry.IsDir() || filepath.Ext(entry.Name()) != ".csv" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		r, _, err := load(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the folder was read
		}
		if err == nil && r.Experiment != experiment {
			err = refuse(path, fmt.Errorf("line 2: experiment is %q", r.Experiment))
		}
		if err == nil && r.fileName() != entry.Name() {
			err = refuse(path, fmt.Errorf("lines 2 to 8: the file of this configuration is named %s", r.fileName()))
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		results = append(results, r)
	}
	return results, errors.Join(refused...)
}

// Save keeps a result that was computed without Run. The error wraps
// [fs.ErrExist] when the store has a result of this configuration.
func (s Store) Save(r *Result) error {
	if err := checkExperimentName(r.Experiment); err != nil {
		return err
	}
	path := s.path(r)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("sim: %s: %w", path, fs.ErrExist)
	}
	if err := os.MkdirAll(partsOf(path), 0o777); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if err := write(path, r, whole); err != nil {
		return err
	}
	os.RemoveAll(partsOf(path)) // what remains of it is removed by the next Run
	return nil
}

func (s Store) folder(experiment string) string {
	dir := s.Dir
	if dir == "" {
		dir = "results"
	}
	return filepath.Join(dir, experiment)
}

func (s Store) path(r *Result) string { return filepath.Join(s.folder(r.Experiment), r.fileName()) }

// probe makes the experiment's folder and reports whether it can be written,
// before hours of work go into something that cannot be kept.
func (s Store) probe(experiment string) error {
	folder := s.folder(experiment)
	err := os.MkdirAll(folder, 0o777)
	if err == nil {
		// One name for all: what a killed process leaves, the next removes.
		name := filepath.Join(folder, ".probe")
		err = errors.Join(os.WriteFile(name, make([]byte, 4096), 0o666), ignoreMissing(os.Remove(name)))
	}
	if err != nil {
		return fmt.Errorf("sim: results cannot be kept in %s: %w", folder, err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// partsOf is the folder of the parts of the result at path.
func partsOf(path string) string { return strings.TrimSuffix(path, ".csv") + ".parts" }

// partName is the file name of one run in the folder of parts.
func partName(run int) string { return fmt.Sprintf("run-%05d.csv", run) }

// load reads the result, or the part of one, at path.
func load(path string) (r *Result, run int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("sim: %w", err)
	}
	defer f.Close()
	text, err := readAll(f)
	if err == nil {
		r, run, err = parse(text)
	}
	if err != nil {
		return nil, 0, refuse(path, err)
	}
	return r, run, nil
}

func refuse(path string, err error) error {
	return fmt.Errorf("sim: %s: %w (remove the file to have it computed again)", path, err)
}

// matches reports a difference of r, which was read at path, from the wanted
// configuration.
func (want *Result) matches(r *Result, path string) error {
	have := r.configuration()
	for i, f := range want.configuration() {
		if f.text() != have[i].text() {
			return refuse(path, fmt.Errorf("line %d: %s is %q, want %q", i+2, f.key, have[i].text(), f.text()))
		}
	}
	return nil
}

// write keeps a result, or one run of it, under a temporary name in the folder
// of parts and gives it its name when it is safe on disk: nobody ever reads half
// a file, and what a killed writer leaves goes with the folder.
func write(path string, r *Result, run int) (err error) {
	text, err := format(r, run)
	if err != nil {
		return fmt.Errorf("sim: %s: %w", path, err)
	}
	folder := filepath.Dir(path)
	if run == whole {
		folder = partsOf(path)
	}
	temporary := filepath.Join(folder, rand.Text()+".tmp")
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("sim: %s: %w", path, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
		return fmt.Errorf("sim: %s: %w", path, err)
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a new name survive a power failure where the operating
// system can; where it cannot, the run would be played again.
func syncFolder(path string) {
	if d, err := os.Open(path); err == nil {
		d.Sync()
		d.Close()
	}
}
