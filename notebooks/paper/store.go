package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	var best []*sim.Result
	for _, n := range slices.Compact(steps) {
		e.Steps = n
		var found []*sim.Result
		for _, c := range e.Contenders {
			// What cannot be read is in err already.
			if r, failed := store.Load(e, c); failed == nil {
				found = append(found, r)
			}
		}
		if len(found) > 0 && len(found) >= len(best) {
			best = found
		}
	}
	return best, err
}

// TheoryFile is the name of the theory study's result in the store's folder.
const TheoryFile = "theory.json"

// Save keeps the theory study's result in the store's folder, in place of an
// earlier one.
func (t *TheoryResult) Save(store sim.Store) error {
	text, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return fmt.Errorf("paper: the theory study: %w", err)
	}
	if err := os.MkdirAll(store.Dir, 0o777); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	path := filepath.Join(store.Dir, TheoryFile)
	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	if err := os.WriteFile(temporary, append(text, '\n'), 0o666); err != nil {
		os.Remove(temporary)
		return fmt.Errorf("paper: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	return nil
}

// StoredTheory returns what Save kept. The error wraps [fs.ErrNotExist] when
// there is nothing.
func StoredTheory(store sim.Store) (*TheoryResult, error) {
	path := filepath.Join(store.Dir, TheoryFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	t := new(TheoryResult)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("paper: %s is damaged (remove it and run the study again): %w", path, err)
	}
	return t, nil
}
