package paper

import (
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend" // the backend that needs nothing but Go

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/clone"
)

// Importing this package decides where the networks are computed: by the pure Go
// backend, or by XLA in a program built with the tag xla. The environment
// variable GOMLX_BACKEND, where it is not empty, overrides it.
//
// The Go backend's own default, go:ops_parallel, can block for ever in graphs
// that stack runs: a batched product takes workers while it holds one. Without
// operations at the same time it still divides each product among goroutines,
// which costs a tenth of the processor's time where the workers of an experiment
// keep all processors busy. So both are off.
func init() {
	compute.DefaultConfig = defaultBackend
	compute.Register(gobackend.BackendName, openGo)
}

// openGo is the Go backend's constructor, for every configuration that it knows.
// Its own prints a line to stdout, in the middle of whatever a program writes
// there, when it sets the parallelism; here that is set afterwards. The field is
// of an internal type, which can be reached by reflection alone.
func openGo(config string) (compute.Backend, error) {
	var rest []string
	parallelism, set := 0, false
	for option := range strings.SplitSeq(config, ",") {
		value, found := strings.CutPrefix(option, "parallelism=")
		n, err := strconv.Atoi(value)
		if !found || err != nil {
			rest = append(rest, option)
			continue
		}
		parallelism, set = n, true
	}
	if !set {
		return gobackend.New(config)
	}
	backend, err := gobackend.New(strings.Join(rest, ","))
	if err != nil {
		return nil, err
	}
	field := reflect.Indirect(reflect.ValueOf(backend)).FieldByName("Workers")
	if !field.IsValid() {
		return gobackend.New(config) // of a version that is made otherwise
	}
	workers, ok := field.Interface().(interface{ SetMaxParallelism(int) })
	if !ok {
		return gobackend.New(config)
	}
	workers.SetMaxParallelism(parallelism)
	return backend, nil
}

// Options returns the options that say where results come from: the version of
// this module and the backend, for the headers of the result files.
func Options() sim.Options {
	version, experiments := "devel", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version, experiments = provenance(info)
	}
	backend := defaultBackend
	if config := os.Getenv(compute.ConfigEnvVar); config != "" {
		backend = config
	}
	parts := []string{backend, runtime.GOARCH}
	if experiments != "" {
		parts = append(parts, experiments)
	}
	return sim.Options{Version: version, Backend: strings.Join(parts, " ")}
}

// provenance is the module's version, or its revision where it has none, or
// "devel", and the Go experiments that the program was built with, of which
// simd matters for speed and rounding.
func provenance(info *debug.BuildInfo) (version, experiments string) {
	version = info.Main.Version
	if info.Main.Path != clone.Module {
		for _, dep := range info.Deps {
			if dep.Path == clone.Module {
				version = dep.Version
			}
		}
	}
	revision, modified := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		case "GOEXPERIMENT":
			experiments = s.Value
		}
	}
	if version == "" || version == "(devel)" {
		version = "devel"
		if revision != "" && info.Main.Path == clone.Module {
			version = revision[:min(12, len(revision))]
			if modified {
				version += "+dirty"
			}
		}
	}
	return version, experiments
}
