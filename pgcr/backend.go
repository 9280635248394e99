package pgcr

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
)

// OpenBackend returns the given backend or, where it is nil, the default one of
// GoMLX, compute.New(), which is opened once for all agents of the program.
//
// The Go backend's own default, go:ops_parallel, can block for ever in graphs
// that stack runs. Where nothing says otherwise, go:ops_sequential takes its
// place; where the environment asks for it, that is an error.
func OpenBackend(backend compute.Backend) (compute.Backend, error) {
	if backend != nil {
		return backend, nil
	}
	return defaultBackend()
}

var defaultBackend = sync.OnceValues(func() (backend compute.Backend, err error) {
	defer func() { // GoMLX panics for a backend that is not there
		if v := recover(); v != nil {
			backend, err = nil, fmt.Errorf("pgcr: opening the default backend: %v", v)
		}
	}()
	config, err := backendConfig(compute.List())
	if err != nil {
		return nil, err
	}
	if backend, err = compute.NewWithConfig(config); err != nil {
		return nil, fmt.Errorf("pgcr: opening the backend %q: %w", config, err)
	}
	return backend, nil
})

// backendConfig is what compute.New would open, made safe.
func backendConfig(linked []string) (string, error) {
	if len(linked) == 0 {
		return "", errors.New(`pgcr: the program links no backend: import _ "github.com/gomlx/compute/gobackend", for one`)
	}
	name := func(config string) string {
		name, _, _ := strings.Cut(config, ":")
		return name
	}
	sequential := func(config string) bool {
		_, options, _ := strings.Cut(config, ":")
		return slices.Contains(strings.Split(options, ","), "ops_sequential")
	}
	config, set := os.LookupEnv(compute.ConfigEnvVar)
	switch {
	case set && config != "" && !slices.Contains(linked, name(config)):
		return "", fmt.Errorf("pgcr: %s asks for the backend %q; the program links %s", compute.ConfigEnvVar, config, strings.Join(linked, ", "))
	case set && name(config) == "go" && !sequential(config):
		return "", fmt.Errorf("pgcr: %s is %q, with which stacked runs can block for ever; want go:ops_sequential", compute.ConfigEnvVar, config)
	case set && config != "":
		return config, nil
	case slices.Contains(linked, name(compute.DefaultConfig)):
		config = compute.DefaultConfig
	default:
		slices.Sort(linked)
		config = linked[0]
	}
	if config == "go" {
		config = "go:ops_sequential"
	}
	return config, nil
}
