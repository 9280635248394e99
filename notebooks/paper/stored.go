package paper

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/envs/sim"
)

// Options returns the options that say where results come from: the version of
// the program and the backend, for the headers of the result files.
func Options() sim.Options {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(strings.Trim(info.Main.Version, "()"), version) // "(devel)" outside of a repository
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
	problem, _ := sim.Declaration(e.Problem) // what cannot be recorded is not stored
	found := map[int][]*sim.Result{}         // by steps
	for _, n := range e.Entries {
		algorithm, _ := sim.Declaration(n.Algorithm)
		for _, r := range present {
			if r.Entry == n.Name && r.Algorithm == algorithm && r.Problem == problem && r.Runs == e.Runs && r.Seed == e.Seed {
				found[r.Steps] = append(found[r.Steps], r)
			}
		}
	}
	var best []*sim.Result
	for _, steps := range slices.Sorted(maps.Keys(found)) {
		if len(found[steps]) >= len(best) {
			best = found[steps]
		}
	}
	for _, r := range best {
		if r.Check != best[0].Check {
			return nil, errors.Join(err, fmt.Errorf("paper: the results of %s for %q and %q are of different code: run it again", e.Name, best[0].Entry, r.Entry))
		}
	}
	return best, err
}

// WithPeers returns the results of an experiment and, after them, those that other
// programs made of the same streams, as notebooks/published/peers does. Those of other
// runs, steps or seeds are left out, and those that met other rewards are an error.
func WithPeers(store sim.Store, results []*sim.Result) ([]*sim.Result, error) {
	if len(results) == 0 {
		return results, nil
	}
	peers, err := store.Results(results[0].Experiment)
	if errors.Is(err, fs.ErrNotExist) {
		return results, nil
	}
	results = slices.Clip(results)
	for _, r := range peers {
		switch {
		case r.Problem != results[0].Problem || !paired(r, results[0]):
		case r.Check != results[0].Check:
			err = errors.Join(err, fmt.Errorf("paper: %s has met other rewards in %s than %s has: run it again", r.Entry, r.Experiment, results[0].Entry))
		default:
			results = append(results, r)
		}
	}
	return results, err
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
