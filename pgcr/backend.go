package pgcr

import (
	"cmp"
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
	linked := compute.List()
	if len(linked) == 0 {
		return nil, errors.New(`pgcr: the program links no backend: import _ "github.com/gomlx/compute/gobackend", for one`)
	}
	return open(cmp.Or(os.Getenv(compute.ConfigEnvVar), slices.Max(linked))) // "xla" before "go": it is linked on purpose
})

func open(config string) (backend compute.Backend, err error) {
	name, options, _ := strings.Cut(config, ":")
	if name == "go" && !strings.Contains(options, "ops_sequential") {
		config = strings.TrimSuffix("go:ops_sequential,"+options, ",")
	}
	if err = errors.New("it is not linked"); slices.Contains(compute.List(), name) { // else GoMLX would panic
		backend, err = compute.NewWithConfig(config)
	}
	if err != nil && strings.Contains(err.Error(), "no plugins found") {
		err = errors.New("XLA finds no plugin in PJRT_PLUGIN_LIBRARY_PATH or, where that is not set, ~/.local/lib/go-xla: docker/xla.sh fetches one")
	}
	if err != nil {
		return nil, fmt.Errorf("pgcr: opening the backend %q (the program links %s): %s",
			config, strings.Join(compute.List(), ", "), strings.Join(strings.Fields(err.Error()), " "))
	}
	return backend, nil
}
