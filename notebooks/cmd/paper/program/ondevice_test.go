package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/pgcr"
)

// -ondevice=on plays on the Go backend too, is recorded, and says what has no
// form in which a device plays it.
func TestOnDevice(t *testing.T) {
	out := t.TempDir()
	run := func(contender, mode string) (status int, stderr string) {
		var stdout, errs bytes.Buffer
		status = command(t.Context(), &stdout, &errs, []string{"-ondevice=" + mode, "-out", out,
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

// With auto, on XLA, the host plays what the device cannot, and says so once; on
// another backend it plays everything, and has nothing to say.
func TestOnDeviceAuto(t *testing.T) {
	e := sim.Experiment{Name: "auto", Problem: envs.Linear{}, Runs: 4, Steps: 8, Seed: 1, Contenders: []sim.Contender{
		{Name: "random", Algorithm: baselines.Random{}}, {Name: "LinUCB", Algorithm: baselines.LinUCB{}}, {Name: "PGCR", Algorithm: pgcr.Config{}},
	}}
	for backend, want := range map[string]string{
		"xla": `played by the host: ondevice: cannot be played on the device: baselines.LinUCB has no script
played by the host: ondevice: cannot be played on the device: baselines.Random has no script
`,
		"Go Backend": "",
	} {
		var stderr bytes.Buffer
		p := &program{Host: cli.NewHost(io.Discard, &stderr)}
		p.OnDevice, p.Stack = "auto", 1
		opt := sim.Options{Workers: 1, Stack: 1}
		p.playOn(backend, e, &opt)
		if _, err := e.Run(t.Context(), sim.Store{Dir: t.TempDir()}, opt); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(stderr.String(), "\n")
		slices.Sort(lines)
		if got := strings.Join(lines, ""); got != want {
			t.Errorf("%s: %q, want %q", backend, got, want)
		}
		if played := opt.Backend != ""; played != (want != "") {
			t.Errorf("%s: recorded as %q", backend, opt.Backend)
		}
	}
}
