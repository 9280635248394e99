package sim

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Part is what is kept of a contender of which some runs are missing yet.
type Part struct {
	Contender   string
	Steps, Runs int // of the experiment
	Kept        int // finished runs
}

// Parts returns what the store holds of contenders that are not finished, at all
// numbers of Steps, the smallest first, and then in the order of Contenders.
// What was played in other settings than the declared ones is left out. Files are
// counted and not read: Run tells which of them are damaged. None at all is no
// error.
func (s Store) Parts(e Experiment) ([]Part, error) {
	if err := checkExperimentName(e.Name); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.folder(e.Name))
	if err = ignoreMissing(err); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	var parts []Part
	for _, entry := range entries {
		if !entry.IsDir() || filepath.Ext(entry.Name()) != ".parts" {
			continue
		}
		part, err := s.part(e, filepath.Join(s.folder(e.Name), entry.Name()))
		if err != nil {
			return nil, err
		}
		if part.Kept > 0 {
			parts = append(parts, part)
		}
	}
	order := func(p Part) int {
		return slices.IndexFunc(e.Contenders, func(c Contender) bool { return c.Name == p.Contender })
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Steps, b.Steps), cmp.Compare(order(a), order(b)))
	})
	return parts, nil
}

// part is that of one folder of parts, of no runs where they are not of a
// contender of e, or where its result has come.
func (s Store) part(e Experiment, folder string) (Part, error) {
	var first *Result // which says of what the others are
	kept := 0
	for run := range e.Runs {
		path := filepath.Join(folder, fmt.Sprintf("run-%05d.csv", run))
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		kept++
		if first == nil {
			if r, err := load(path); err == nil {
				first = r
			}
		}
	}
	if first == nil {
		return Part{}, nil
	}
	e.Steps = first.Steps
	for _, c := range e.Contenders {
		if c.Name != first.Contender {
			continue
		}
		head, err := e.head(c)
		if err != nil {
			return Part{}, fmt.Errorf("sim: experiment %q: contender %q: %w", e.Name, c.Name, err)
		}
		path := s.Path(&head)
		if _, err := os.Lstat(path); partsOf(path) == folder && errors.Is(err, fs.ErrNotExist) {
			return Part{c.Name, e.Steps, e.Runs, kept}, nil
		}
	}
	return Part{}, nil
}
