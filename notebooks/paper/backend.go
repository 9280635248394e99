package paper

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // the backend that needs nothing but Go

	"github.com/contextrec/contextrec/envs/sim"
)

// Importing this package decides where the networks are computed: the pure Go
// backend go:ops_sequential, or XLA in a program built with the tag xla. The
// environment variable GOMLX_BACKEND overrides it, as in every GoMLX program.
//
// The Go backend's own default, go:ops_parallel, can block for ever in graphs
// that stack runs: a batched product takes workers while it holds one.
func init() { compute.DefaultConfig = defaultBackend }

// Options returns the options that say where results come from: the version of
// this module and the backend, for the headers of the result files.
func Options() sim.Options {
	version, experiments := "devel", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version, experiments = provenance(info)
	}
	backend := defaultBackend
	if config, set := os.LookupEnv(compute.ConfigEnvVar); set {
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
	if info.Main.Path != module {
		for _, dep := range info.Deps {
			if dep.Path == module {
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
		if revision != "" && info.Main.Path == module {
			version = revision[:min(12, len(revision))]
			if modified {
				version += "+dirty"
			}
		}
	}
	return version, experiments
}
