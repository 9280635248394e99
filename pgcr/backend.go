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

// OpenBackend opens a GoMLX backend by a configuration as GOMLX_BACKEND has it, such as "go" or
// "xla:cpu". "" is what GOMLX_BACKEND says or, where it says nothing, the backend that the program
// links; it is opened once and shared.
//
// The Go backend is always opened as "go:ops_sequential": its own default can block for ever in
// graphs that hold several runs.
//
// In programs that are built with GOEXPERIMENT=simd, on amd64, it multiplies matrices by vector
// instructions: music then takes half of the time on an AMD processor. On an Intel one the toy
// problems take twice the time, since its kernels leave the vector registers so that scalar code waits.
func OpenBackend(config string) (compute.Backend, error) {
	if config == "" {
		return sharedBackend()
	}
	return open(config)
}

var sharedBackend = sync.OnceValues(func() (compute.Backend, error) {
	linked := slices.Sorted(slices.Values(compute.List()))
	if len(linked) == 0 {
		return nil, errors.New(`pgcr: the program links no backend: import _ "github.com/gomlx/compute/gobackend", for one`)
	}
	config := os.Getenv(compute.ConfigEnvVar)
	if config == "" {
		config = linked[0]
		for _, name := range linked {
			if name != "go" { // linked on purpose; of xla's names the last
				config = name
			}
		}
	}
	return open(config)
})

func open(config string) (backend compute.Backend, err error) {
	defer func() {
		if v := recover(); v != nil { // GoMLX panics for a backend that is not there
			err = fmt.Errorf("%v", v)
		}
		if err != nil && strings.Contains(err.Error(), "no plugins found") {
			err = errors.New("XLA finds no plugin in PJRT_PLUGIN_LIBRARY_PATH or, where that is not set, ~/.local/lib/go-xla: docker/xla.sh fetches one")
		}
		if err != nil {
			backend, err = nil, fmt.Errorf("pgcr: opening the backend %q (the program links %s): %s",
				config, strings.Join(compute.List(), ", "), strings.Join(strings.Fields(err.Error()), " "))
		}
	}()
	if name, options, _ := strings.Cut(config, ":"); name == "go" && !strings.Contains(options, "ops_sequential") {
		config = strings.TrimSuffix("go:ops_sequential,"+options, ",")
	}
	return compute.NewWithConfig(config)
}
