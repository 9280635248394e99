package sim

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
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
//	<Dir>/<experiment>/<entry>-<8 hex digits of the settings>.csv
//
// and the parts of one that is not finished beside it in a folder that ends in
// ".parts", as runs-<first>-<last>.part. Files that are damaged, or hold something else
// than their name says, are errors that name the file, and are not overwritten. The
// file of a result is text: lines such as "# runs: 20" for the settings, the columns
//
//	run,step,reward,regret
//
// and a last line with the number of rows and the hash of all bytes before it. Reward and
// regret are cumulated, in the shortest form that reads back as the same float64; regret
// is empty where there is no Oracle.
type Store struct{ Dir string }

// Load returns the result of one entry of an experiment as it is stored; Run also looks whether the
// code has changed since. The error wraps [fs.ErrNotExist] when there is no such result.
func (s Store) Load(e Experiment, n Entry) (*Result, error) {
	want, err := e.head(n)
	if err != nil {
		return nil, fmt.Errorf("sim: experiment %q, entry %q: %w", e.Name, n.Name, err)
	}
	return s.load(s.path(&want))
}

// Results returns all results under an experiment's name, of all scales and settings, in the order of
// the file names. The error wraps [fs.ErrNotExist] when the experiment has no folder. Where some
// files are refused, the results of the others are returned beside the joined errors.
func (s Store) Results(experiment string) ([]*Result, error) {
	return s.loadAll(filepath.Dir(s.path(&Result{Experiment: experiment})), ".csv")
}

// loadAll returns the results, or the parts, in a folder, and errors as Results does.
func (s Store) loadAll(folder, ext string) (all []*Result, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ext {
			continue
		}
		if r, refused := s.load(filepath.Join(folder, file.Name())); refused == nil {
			all = append(all, r)
		} else if !errors.Is(refused, fs.ErrNotExist) { // it was removed since the folder was read
			err = errors.Join(err, refused)
		}
	}
	return all, err
}

// PartRuns are the runs in the folder of the parts of a result, by the names of its files.
func PartRuns(folder string) map[int]bool {
	parts, _ := os.ReadDir(folder) // most often there is no such folder
	runs := map[int]bool{}
	for _, part := range parts {
		var first, last int
		if n, _ := fmt.Sscanf(part.Name(), partName, &first, &last); n == 2 {
			for run := first; run <= last; run++ {
				runs[run] = true
			}
		}
	}
	return runs
}

// Path is the file of an entry's result, which need not be there.
func (s Store) Path(e Experiment, n Entry) (string, error) {
	r, err := e.head(n)
	return s.path(&r), err
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// path is the file of a result: the entry's name, made safe, and a hash of all settings.
func (s Store) path(r *Result) string {
	v := r.values()
	sum := sha256.Sum256([]byte(strings.Join(v[:7], "\n")))
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(r.Entry), "-"), ".-")
	return filepath.Join(cmp.Or(s.Dir, "results"), r.Experiment, fmt.Sprintf("%s-%x.csv", cmp.Or(name, "entry"), sum[:4]))
}

const partExt, partName = ".part", "runs-%05d-%05d.part"

func (s Store) parts(r *Result) string { return strings.TrimSuffix(s.path(r), ".csv") + ".parts" }

func (s Store) load(path string) (*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	part := filepath.Ext(path) == partExt
	r, err := parse(text, !part)
	if err == nil && s.path(r) != path && !(part && s.parts(r) == filepath.Dir(path)) {
		err = fmt.Errorf("its settings are those of %s", s.path(r))
	}
	if err != nil {
		return nil, fmt.Errorf("sim: %s: %w (remove the file to have it computed again)", path, err)
	}
	return r, nil
}

// WriteFile writes a file under a temporary name, which begins with a dot, and renames it, so that
// a file of the name is never half written. It makes the folder where that is missing.
func WriteFile(path string, text []byte) error {
	folder, name := filepath.Split(path)
	temporary := filepath.Join(folder, "."+name+"-"+rand.Text())
	var err error
	for range 3 { // another process may have just removed the folder
		err = cmp.Or(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(temporary, text, 0o666))
		if err == nil {
			err = os.Rename(temporary, path)
		}
		if err == nil {
			return nil
		}
	}
	os.Remove(temporary)
	return fmt.Errorf("sim: writing %s: %w", path, err)
}
