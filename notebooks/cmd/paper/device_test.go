//go:build !xla

package main

import (
	"strings"
	"testing"
)

func TestDeviceNeedsXLA(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "")
	status, _, stderr := typed(t.Context(), "run", "toy-linear", "-scale", "0.0005", "-device", "on", "-out", t.TempDir())
	if status != 1 || !strings.Contains(stderr, "needs XLA") {
		t.Errorf("status %d, stderr %q; want 1 and what a loop on the device needs", status, stderr)
	}
}
