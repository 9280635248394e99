//go:build xla

package paper

import _ "github.com/gomlx/go-xla/compute/xla" // needs cgo and a PJRT plugin

const defaultBackend = "xla"
