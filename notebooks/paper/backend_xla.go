//go:build xla && cgo

package paper

import (
	"os"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla" // needs a PJRT plugin, see docker/xla.sh
	"github.com/gomlx/go-xla/pjrt"
)

const defaultBackend = "xla"

// GoMLX downloads a plugin by itself where it finds none, from a host that many networks refuse.
// Here it is asked to with GOMLX_NO_AUTO_INSTALL=0.
//
// The plugin for the CPU is asked for one device. It makes four by itself, and a thread for each
// even where there are fewer cores, which then take turns within every product: on one core the
// updates of music took a third longer. Those that do not know the option are opened without it.
func init() {
	xla.EnableAutoInstall(os.Getenv(xla.NoAutoInstallEnv) == "0")
	compute.Register(xla.BackendName, func(config string) (compute.Backend, error) {
		backend, err := xla.NewWithOptions(config, pjrt.NamedValuesMap{"cpu_device_count": int64(1)})
		if err != nil {
			return xla.New(config)
		}
		return backend, nil
	})
}
