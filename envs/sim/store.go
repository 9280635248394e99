package sim

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Store is a folder of results. The zero value is the folder "results" of the
// working directory. A result lies in
//
//	<Dir>/<experiment>/<entry>-<8 hex digits of the configuration>.csv
//
// and the parts of one that is not finished in a folder beside it, with ".parts"
// in place of ".csv". A changed setting is another file. Files that are damaged,
// or that hold something else than their name says, are errors that name file and
// line; they are never overwritten. Files that do not end in .csv are ignored.
type Store struct{ Dir string }

// Load returns the result of one entry of an experiment, as it is stored: that
// the code has not changed since then is what Run looks at. The error wraps
// [fs.ErrNotExist] when it is not there.
func (s Store) Load(e Experiment, n Entry) (*Result, error) {
	want, err := e.head(n)
	if err != nil {
		return nil, fmt.Errorf("sim: experiment %q, entry %q: %w", e.Name, n.Name, err)
	}
	r, err := load(s.path(&want), &want)
	if err != nil {
		return nil, err
	}
	if err = r.complete(); err != nil {
		return nil, refuse(s.path(&want), err)
	}
	return r, nil
}

// Results returns all results that are there under an experiment's name, of all
// scales and settings, in the order of the file names. The error wraps
// [fs.ErrNotExist] when the experiment has no folder. Where some files are
// refused, the results of the others are returned beside the joined errors.
func (s Store) Results(experiment string) ([]*Result, error) {
	folder := filepath.Join(cmp.Or(s.Dir, "results"), experiment)
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	var results []*Result
	var refused []error
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".csv" {
			continue
		}
		path := filepath.Join(folder, file.Name())
		r, err := load(path, nil)
		if err == nil {
			err = r.complete()
			if s.path(r) != path {
				err = fmt.Errorf("this configuration belongs into %s", s.path(r))
			}
			if err != nil {
				err = refuse(path, err)
			}
		}
		if err == nil {
			results = append(results, r)
		} else if !errors.Is(err, fs.ErrNotExist) { // it was removed since the folder was read
			refused = append(refused, err)
		}
	}
	return results, errors.Join(refused...)
}

// path is the file of a result.
func (s Store) path(r *Result) string {
	return filepath.Join(cmp.Or(s.Dir, "results"), r.Experiment, r.fileName())
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// fileName is the entry's name, made safe, and the first 8 hex digits of the
// SHA-256 of the header lines experiment, problem, algorithm, runs, steps, seed.
func (r *Result) fileName() string {
	hash := sha256.New()
	for _, f := range r.configuration() {
		if f.key != "entry" {
			fmt.Fprintf(hash, "%s: %s\n", f.key, f.text())
		}
	}
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(r.Entry), "-"), ".-")
	return cmp.Or(name, "entry") + "-" + hex.EncodeToString(hash.Sum(nil)[:4]) + ".csv"
}

// load reads the result, or the part of one, at path, and refuses another
// configuration than that of want, which may be nil.
func load(path string, want *Result) (*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	r, err := parse(text)
	if err != nil {
		return nil, refuse(path, err)
	}
	if want != nil {
		have := r.configuration()
		for i, f := range want.configuration() {
			if f.text() != have[i].text() {
				return nil, refuse(path, fmt.Errorf("line %d: %s is %q, want %q", i+2, f.key, have[i].text(), f.text()))
			}
		}
	}
	return r, nil
}

func refuse(path string, err error) error {
	return fmt.Errorf("sim: %s: %w (remove the file to have it computed again)", path, err)
}

// WriteFile writes a file under a temporary name and renames it when it is safe
// on disk, so that a file of that name is never half written. It makes the
// folder where it is missing. The temporary name begins with a dot and ends in
// .tmp; it stays behind when the process is killed.
func WriteFile(path string, text []byte) error {
	folder, name := filepath.Split(path)
	temporary := filepath.Join(folder, "."+name+"-"+rand.Text()+".tmp")
	err := os.MkdirAll(filepath.Clean(folder), 0o777)
	if err != nil {
		return fmt.Errorf("sim: writing %s: %w", path, err)
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, err = bytes.NewReader(text).WriteTo(f)
		if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
			err = os.Rename(temporary, path)
		}
		if err != nil {
			os.Remove(temporary)
		}
	}
	if err != nil {
		return fmt.Errorf("sim: writing %s: %w", path, err)
	}
	return nil
}
