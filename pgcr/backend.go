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

// SequentialGo is the configuration in which the Go backend is used: one operation
// at a time, and in the order in which the graph has them. The backend's own order
// puts products between an exponential and what it is of; after a vectorised
// product, math.Exp takes fifty times as long on some processors, until something
// larger is copied.
const SequentialGo = "go:ops_sequential,creation_order"

// OpenBackend returns the given backend or, where it is nil, the default one of
// GoMLX, compute.New(), which is opened once for all agents of the program.
//
// The Go backend's own default, go:ops_parallel, can block for ever in graphs
// that stack runs. Where nothing says otherwise, SequentialGo takes its
// place; where the environment asks for it, that is an error.
func OpenBackend(backend compute.Backend) (compute.Backend, error) {
	if backend != nil {
		return backend, nil
	}
	return defaultBackend()
}

var defaultBackend = sync.OnceValues(func() (compute.Backend, error) {
	config, err := backendConfig(compute.List())
	if err != nil {
		return nil, err
	}
	return OpenConfig(config)
})

// OpenConfig opens a backend by a configuration as GOMLX_BACKEND has it, such as
// SequentialGo or "xla:cuda". The error, of one line, says what to do.
func OpenConfig(config string) (backend compute.Backend, err error) {
	defer func() {
		if v := recover(); v != nil { // GoMLX panics for a backend that is not there
			err = fmt.Errorf("%v", v)
		}
		if err != nil {
			text := strings.Join(strings.Fields(err.Error()), " ")
			backend, err = nil, fmt.Errorf("pgcr: opening the backend %q: %s%s", config, advice(text), text)
		}
	}()
	return compute.NewWithConfig(config)
}

// advice says what it means that a backend does not open, by the words of the
// errors of go-xla and of PJRT plugins; empty where they say enough.
func advice(text string) string {
	const instead = ", or compute without XLA, with GOMLX_BACKEND=go:ops_sequential: "
	for _, a := range []struct {
		words  []string
		advice string
	}{
		{[]string{"no plugins found", "not found: available plugins", "not found in paths", "auto-install"},
			"there is no PJRT plugin for it that can be used here (one for CUDA is passed over where there is no NVIDIA GPU); put one into the folder that PJRT_PLUGIN_LIBRARY_PATH names" + instead},
		{[]string{"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device", "no supported devices", "No visible GPU", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver version is insufficient"},
			"the PJRT plugin finds no GPU that it can use: see what nvidia-smi says" + instead},
		{[]string{"installed software versions", "Unexpected PJRT_", "struct_size", "failed to find symbol", "PJRT API version"},
			"the PJRT plugin is of another version than this program can use: take one of the versions that go-xla names" + instead},
		{[]string{"failed to dynamically load", "failed to load PJRT plugin"},
			"the PJRT plugin cannot be loaded: it, or a library that it needs, is missing or damaged; put a whole one into the folder that PJRT_PLUGIN_LIBRARY_PATH names" + instead},
		{[]string{"RESOURCE_EXHAUSTED", "out of memory"},
			"the GPU has no memory left, other programs may hold it: see what nvidia-smi says" + instead},
	} {
		for _, w := range a.words {
			if strings.Contains(text, w) {
				return a.advice
			}
		}
	}
	return ""
}

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
		config = SequentialGo
	}
	return config, nil
}
