//go:build xla && cgo

package paper

import (
	"fmt"
	"os"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla" // needs a PJRT plugin, see docker/xla.sh
	"github.com/gomlx/go-xla/pjrt"
)

const defaultBackend = "xla"

// An older plugin lacks functions, and a call of one ends the program. This is the oldest one tried.
const oldestPlugin = 81

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
			backend, err = xla.NewWithOptions(config, nil)
		}
		if err != nil {
			return nil, err
		}
		plugin, _ := pjrt.GetPlugin(backend.PluginName()) // which backend has loaded
		if major, minor := plugin.Version(); major != 0 || minor < oldestPlugin {
			return nil, fmt.Errorf("the plugin %s has version %d.%d of XLA's interface, and this program needs 0.%d or later: docker/xla.sh fetches one",
				plugin.Path(), major, minor, oldestPlugin)
		}
		return backend, nil
	})
}
