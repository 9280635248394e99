package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// -ondevice=on plays on the Go backend too, is recorded, and says what has no
// form in which a device plays it.
func TestOnDevice(t *testing.T) {
	out := t.TempDir()
	run := func(contender, mode string) (status int, stderr string) {
		var stdout, errs bytes.Buffer
		status = command(t.Context(), &stdout, &errs, []string{"-simd=off", "-ondevice=" + mode, "-out", out,
			"run", "toy-bernoulli", "-scale", "0.001", "-only", contender})
		return status, errs.String()
	}
	if status, stderr := run("vanilla PG", "on"); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	files, _ := filepath.Glob(filepath.Join(out, "results", "toy-bernoulli", "vanilla-pg-*.csv"))
	if len(files) != 1 {
		t.Fatalf("results %v", files)
	}
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), " ondevice=on\n") {
		t.Errorf("the result does not tell that the device played (error %v)", err)
	}
	if status, stderr := run("random", "on"); status != 1 || !strings.Contains(stderr, "baselines.Random has no script") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if status, stderr := run("random", "yes"); status != 2 || !strings.Contains(stderr, `-ondevice is "yes", want auto, on or off`) {
		t.Errorf("status %d: %s", status, stderr)
	}
}
