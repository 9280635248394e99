//go:build !xla

package paper

import _ "github.com/gomlx/compute/gobackend" // needs nothing but Go

const defaultBackend = "go:ops_sequential"
