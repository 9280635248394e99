//go:build xla

package ondevice_test

import _ "github.com/gomlx/go-xla/compute/xla"
