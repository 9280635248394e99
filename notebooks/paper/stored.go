package paper

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/envs/sim"
)

// Options returns the options that say where results come from: the version of
// the program and the backend, for the headers of the result files.
func Options() sim.Options {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				version = s.Value[:min(12, len(s.Value))]
			}
			if s.Key == "vcs.modified" && s.Value == "true" {
				version += "+dirty"
			}
		}
	}
	backend := cmp.Or(os.Getenv(compute.ConfigEnvVar), defaultBackend)
	return sim.Options{Version: version, Backend: backend + " " + runtime.GOARCH}
}

// Stored returns the results of an experiment that the store holds at the
// largest scale at which it holds all entries, or most of them, in the order of
// Entries. Results of other settings than the declared ones are left out. None at
// all is no error. Where files are refused, the others are returned beside the
// error; results of different problems, which are of different code, are an error alone.
func Stored(store sim.Store, e sim.Experiment) ([]*sim.Result, error) {
	present, err := store.Results(e.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
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
		for _, entry := range e.Entries {
			// What cannot be read is in err already.
			if r, failed := store.Load(e, entry); failed == nil {
				found = append(found, r)
			}
		}
		if len(found) >= len(best) {
			best = found
		}
	}
	for _, r := range best {
		if r.Check != best[0].Check {
			return nil, errors.Join(err, fmt.Errorf("paper: the results of %s for %q and %q are of different code: run it again", e.Name, best[0].Entry, r.Entry))
		}
	}
	return best, err
}

// Select returns the results of the named entries, in the order of the names. It
// panics when a name has no result.
func Select(results []*sim.Result, names ...string) []*sim.Result {
	var selected []*sim.Result
	for _, name := range names {
		k := slices.IndexFunc(results, func(r *sim.Result) bool { return r.Entry == name })
		if k < 0 {
			panic(fmt.Sprintf("paper: no result of %q", name))
		}
		selected = append(selected, results[k])
	}
	return selected
}

// Without returns the results of all but the named entries.
func Without(results []*sim.Result, names ...string) []*sim.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *sim.Result) bool { return slices.Contains(names, r.Entry) })
}
