//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
)

// python makes a program that does what the shell script says, in the place of a
// Python that has PyTorch or JAX.
func python(t *testing.T, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script), 0o777); err != nil {
		t.Fatal(err)
	}
	return name
}

func benchCommand(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = command(ctx, &out, &errs, append([]string{"bench", "-time=1ms"}, args...))
	return status, out.String(), errs.String()
}

// The rows of this program and of its peers stand in one table; what is not there
// is told.
func TestBench(t *testing.T) {
	peers := python(t, `case "$1$*" in
*torch_step.py*"--loop host --threads 1 --clock wall --seconds 0.001 1,64,5,40-10") printf '1,64,5,40-10\tPyTorch 9\t30\t10\t20\n' ;;
*torch_step.py*) ;;
*) echo "Traceback" >&2; echo "ModuleNotFoundError: No module named 'jax'" >&2; exit 1 ;;
esac`)
	status, stdout, stderr := benchCommand(t.Context(), "-only=^toy/R=1/", "-python="+peers, "-format=csv")
	if status != 0 || !strings.HasSuffix(stderr, "no rows of JAX: "+peers+": ModuleNotFoundError: No module named 'jax'\n") {
		t.Fatalf("status %d: %s", status, stderr)
	}
	timings, err := paper.ReadTimings(strings.NewReader(stdout))
	if err != nil || len(timings) != 4 {
		t.Fatalf("%v in\n%s", err, stdout)
	}
	for i, operation := range []string{"act", "update", "step", "update"} {
		at := timings[i]
		if at.Operation != operation || at.Runs != 1 || !strings.HasPrefix(at.Shape, "toy ") || at.Machine == "" || at.Version == "" {
			t.Errorf("timing %d: %+v", i, at)
		}
		if peer := timings[3]; i < 3 && at.Backend == peer.Backend {
			t.Errorf("timing %d: %+v", i, at)
		}
	}
	if peer := timings[3]; peer.Backend != "PyTorch 9" || peer.Micros != 20 || peer.Low != 10 || peer.High != 30 {
		t.Errorf("the peer's timing is %+v", peer)
	}

	if status, stdout, _ = benchCommand(t.Context(), "-only=toy/R=20/act/go", "-clock=cpu"); status != 0 || !strings.Contains(stdout, "; time of the processor;") || strings.Contains(stdout, "2 threads") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
	status, stdout, _ = benchCommand(t.Context(), "-only=toy/R=1/act/go", "-format=markdown")
	if status != 0 || !strings.Contains(stdout, "\n| shape | R | backend | act | update | step | spread |\n| --- |") ||
		!strings.Contains(stdout, "\n| toy 40-10-1, B=64, M=5 | 1 | go") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
	if status, stdout, _ = benchCommand(t.Context(), "-only=sessions/R=1/act/go"); status != 0 || !strings.Contains(stdout, "\nSHAPE  ") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
}

func TestBenchErrors(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-format=html"}, 2, `-format is "html", want text, markdown or csv`},
		{[]string{"-time=-1s"}, 2, "-time is -1s, want more"},
		{[]string{"-clock=sun"}, 2, `-clock is "sun", want wall or cpu`},
		{[]string{"-only=("}, 2, "-only: error parsing regexp"},
		{[]string{"-only=^elephant/"}, 1, `no benchmark that is there is called "^elephant/"`},
		{[]string{"toy"}, 2, "toy"},
		{[]string{"-only=/update/PyTorch/", "-python=" + python(t, "echo hello")}, 1, `no rows of PyTorch: it says "hello\n"`},
	} {
		if status, _, stderr := benchCommand(t.Context(), c.args...); status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, %s", c.args, status, stderr)
		}
	}
}

// An interrupt stops a peer too, and what was measured by then is printed.
func TestBenchIsInterrupted(t *testing.T) {
	began := filepath.Join(t.TempDir(), "began")
	sleeper := python(t, "trap 'exit 130' INT; touch "+began+"; while :; do sleep 0.05; done")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(began); err == nil {
				stop()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	status, stdout, stderr := benchCommand(ctx, "-only=^toy/R=1/act|^toy/R=1/update/PyTorch", "-python="+sleeper)
	if status != 130 || !strings.Contains(stdout, "toy 40-10-1") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}

// A first call that takes long, as one that compiles does, leaves the number of
// operations in a turn as it would be without.
func TestBenchFirstCall(t *testing.T) {
	b := &bench{time: 50 * time.Millisecond, clock: "wall"}
	var calls []int
	took, err := b.measure(t.Context(), func(_ context.Context, times int) error {
		if calls = append(calls, times); len(calls) == 1 {
			time.Sleep(b.time)
		}
		time.Sleep(time.Duration(times) * 50 * time.Microsecond)
		return nil
	})
	if err != nil || len(took) != turns {
		t.Fatal(took, err)
	}
	if last := calls[len(calls)-1]; calls[0] != 1 || last < 10 {
		t.Errorf("it is called for %v operations", calls)
	}
}

// The numbers of a device's loop are of several turns, in the time that is given
// for them.
func TestBenchDevice(t *testing.T) {
	backend, err := pgcr.OpenConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Finalize()
	s := benchShapes[0]
	s.spec, s.problem = envs.Linear{Dim: 3}.Spec(), envs.Linear{Dim: 3}
	s.config = pgcr.Config{Hidden: []int{4}, BatchSize: 10, Backend: backend}
	b := &bench{only: regexp.MustCompile(""), time: 20 * time.Millisecond, clock: "wall"}
	if err := b.device(t.Context(), s, paper.Timing{Backend: "xla:cpu", Loop: "device", Shape: "toy", Runs: 2}); err != nil {
		t.Fatal(err)
	}
	if len(b.timings) != 2 || b.timings[0].Operation != "update" || b.timings[1].Operation != "step" {
		t.Fatalf("%+v", b.timings)
	}
	for _, timing := range b.timings {
		if !(0 < timing.Low && timing.Low < timing.High) {
			t.Errorf("%+v is not of several turns", timing)
		}
	}
}

// A GPU belongs to the rows that it computed, which have a table of their own.
func TestBenchGPU(t *testing.T) {
	folder := filepath.Dir(python(t, ""))
	if err := os.WriteFile(filepath.Join(folder, "nvidia-smi"), []byte("#!/bin/sh\necho NVIDIA X1\necho NVIDIA X1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	peers := python(t, `case "$*" in
*torch_step.py*"--threads 1 "*) printf '1,64,5,40-10\tPyTorch 9\t30\t10\t20\n' ;;
*jax_step.py*"--loop device"*) printf '1,64,5,40-10\tJAX 9 gpu\t30\t10\t20\n' ;;
esac`)
	only := "-only=^toy/R=1/update/(PyTorch|JAX)/"
	status, stdout, stderr := benchCommand(t.Context(), only, "-python="+peers, "-format=csv")
	timings, err := paper.ReadTimings(strings.NewReader(stdout))
	if status != 0 || err != nil || len(timings) != 2 {
		t.Fatalf("status %d, %v: %s%s", status, err, stdout, stderr)
	}
	if cpu, gpu := timings[0], timings[1]; strings.Contains(cpu.Machine, "NVIDIA") || gpu.Machine != cpu.Machine+", NVIDIA X1" {
		t.Errorf("the machines are %q, %q", cpu.Machine, gpu.Machine)
	}
	for format, header := range map[string]string{"text": "\nSHAPE ", "markdown": "\n| shape |"} {
		if status, stdout, stderr := benchCommand(t.Context(), only, "-python="+peers, "-format="+format); status != 0 || strings.Count(stdout, header) != 2 ||
			strings.Count(stdout, ", NVIDIA X1; version") != 1 {
			t.Errorf("%s: status %d: %s%s", format, status, stdout, stderr)
		}
	}
}
