//go:build xla && cgo

package paper

import (
	"os"

	"github.com/gomlx/go-xla/compute/xla" // needs a PJRT plugin, see docker/xla.sh
)

const defaultBackend = "xla"

// GoMLX downloads a plugin by itself where it finds none, from a host that many networks
// refuse. Here it is asked to with GOMLX_NO_AUTO_INSTALL=0.
func init() { xla.EnableAutoInstall(os.Getenv(xla.NoAutoInstallEnv) == "0") }
