package paper

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/contextrec/contextrec/envs/sim"
)

// Stored returns the results of an experiment that the store holds at the
// largest scale at which it holds all contenders, or most of them, in the order
// of Contenders. Results of other settings than the declared ones are left out.
// None at all is no error. Where files are refused, the others are returned
// beside the error.
func Stored(store sim.Store, e sim.Experiment) ([]*sim.Result, error) {
	scales, err := StoredScales(store, e)
	var best []*sim.Result
	for _, found := range scales {
		if len(found) >= len(best) {
			best = found
		}
	}
	return best, err
}

// StoredScales returns the results of an experiment that the store holds, each
// scale's by themselves and the smallest scale first. Otherwise it is as Stored.
func StoredScales(store sim.Store, e sim.Experiment) ([][]*sim.Result, error) {
	present, err := store.Results(e.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && present == nil {
		return nil, err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var steps []int
	for _, r := range present {
		steps = append(steps, r.Steps)
	}
	slices.Sort(steps)
	var scales [][]*sim.Result
	for _, n := range slices.Compact(steps) {
		e.Steps = n
		var found []*sim.Result
		for _, c := range e.Contenders {
			// What cannot be read is in err already.
			if r, failed := store.Load(e, c); failed == nil {
				found = append(found, r)
			}
		}
		if len(found) > 0 {
			scales = append(scales, found)
		}
	}
	return scales, err
}

// TheoryFile is the name of the theory study's result in the store's folder: a
// JSON object with the format, the result, and the SHA-256 of the result without
// white space.
const TheoryFile = "theory.json"

const theoryFormat = "contextrec theory 1"

type theoryFile struct {
	Format string
	SHA256 string
	Result json.RawMessage
}

// Save keeps the theory study's result in the store's folder, in place of an
// earlier one. It is an error when the result has gaps.
func (t *TheoryResult) Save(store sim.Store) error {
	err := t.complete()
	var result []byte
	if err == nil {
		result, err = json.Marshal(t)
	}
	if err != nil {
		return fmt.Errorf("paper: the theory study: %w", err)
	}
	text, err := json.MarshalIndent(theoryFile{theoryFormat, fmt.Sprintf("%x", sha256.Sum256(result)), result}, "", "\t")
	if err != nil {
		return fmt.Errorf("paper: the theory study: %w", err)
	}
	return ReplaceFile(filepath.Join(store.Dir, TheoryFile), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// StoredTheory returns what Save kept. The error wraps [fs.ErrNotExist] when
// there is nothing. A file that Save did not write, or that was changed since, is
// an error that names it: verdicts rest on it.
func StoredTheory(store sim.Store) (*TheoryResult, error) {
	path := filepath.Join(store.Dir, TheoryFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	t, err := parseTheory(text)
	if err != nil {
		return nil, fmt.Errorf("paper: %s is damaged or of another version (remove it and run the study again): %w", path, err)
	}
	return t, nil
}

func parseTheory(text []byte) (*TheoryResult, error) {
	var file theoryFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Format != theoryFormat {
		return nil, fmt.Errorf("its Format is %q, want %q", file.Format, theoryFormat)
	}
	var result bytes.Buffer
	if err := json.Compact(&result, file.Result); err != nil {
		return nil, err
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(result.Bytes())); sum != file.SHA256 {
		return nil, fmt.Errorf("the SHA-256 of its Result is %s, it says %q", sum, file.SHA256)
	}
	in := json.NewDecoder(&result)
	in.DisallowUnknownFields()
	t := new(TheoryResult)
	if err := in.Decode(t); err != nil {
		return nil, err
	}
	return t, t.complete()
}

// complete reports what is missing of a result, or does not fit together.
func (t *TheoryResult) complete() error {
	switch {
	case !(t.Scale > 0) || math.IsInf(t.Scale, 1):
		return fmt.Errorf("Scale is %v, want a positive number", t.Scale)
	case len(t.Bias) == 0 || len(t.Critic) == 0 || len(t.Actor) == 0:
		return fmt.Errorf("Bias, Critic and Actor have %d, %d and %d entries, want some of each", len(t.Bias), len(t.Critic), len(t.Actor))
	case len(t.BiasOf) != len(t.Bias):
		return fmt.Errorf("BiasOf has %d entries, Bias has %d", len(t.BiasOf), len(t.Bias))
	}
	for i, o := range t.Offset {
		if len(o.Ratio) != len(o.Offset) {
			return fmt.Errorf("Offset[%d] has %d ratios at %d offsets", i, len(o.Ratio), len(o.Offset))
		}
	}
	return nil
}

// ReplaceFile makes a file of what write writes, in place of an earlier one, and
// the folder that it is in: whoever reads it meanwhile, and whoever is
// interrupted, has a whole file. The error names the file.
func ReplaceFile(path string, write func(w io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	temporary := path + "." + rand.Text() + ".tmp"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	if err = errors.Join(write(f), f.Sync(), f.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
		return fmt.Errorf("paper: writing %s: %w", path, err)
	}
	return nil
}
