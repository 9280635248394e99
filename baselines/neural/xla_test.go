//go:build xla

package neural_test

import _ "github.com/gomlx/go-xla/compute/xla" // becomes the backend of all tests
