package paper_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/notebooks/paper"
)

func TestBackend(t *testing.T) {
	t.Setenv(compute.ConfigEnvVar, "other:thing")
	if o := paper.Options(); !strings.HasPrefix(o.Backend, "other:thing "+runtime.GOARCH) {
		t.Errorf("the environment's backend is recorded as %q", o.Backend)
	}
	// Empty it says as little as not at all.
	os.Setenv(compute.ConfigEnvVar, "") // until the test ends, as below, by Setenv
	if o := paper.Options(); !strings.HasPrefix(o.Backend, compute.DefaultConfig+" "+runtime.GOARCH) {
		t.Errorf("with an empty environment variable the backend is recorded as %q", o.Backend)
	}
	os.Unsetenv(compute.ConfigEnvVar)
	o := paper.Options()
	if o.Version == "" || strings.ContainsAny(o.Version, "()\n") {
		t.Errorf("the version is %q", o.Version)
	}
	if !strings.HasPrefix(o.Backend, compute.DefaultConfig+" "+runtime.GOARCH) {
		t.Errorf("the backend is recorded as %q, the default is %q", o.Backend, compute.DefaultConfig)
	}
	b, err := compute.New()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Finalize()
	if name := strings.Fields(strings.ToLower(b.Name()))[0]; !strings.HasPrefix(o.Backend, name) {
		t.Errorf("the backend is %q, recorded as %q", b.Name(), o.Backend)
	}
}

// What the Go backend is told about its parallelism reaches it, and nothing is
// printed: a notebook's cell or a command's table would have the line in it.
func TestGoBackendIsQuiet(t *testing.T) {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	os.Stdout = file
	for config, want := range map[string]string{
		"go:ops_sequential,parallelism=0": "(parallelism=0)",
		"go:parallelism=3":                "(parallelism=3)",
		"go":                              fmt.Sprintf("(parallelism=%d)", 2*runtime.GOMAXPROCS(0)),
	} {
		b, err := compute.NewWithConfig(config)
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if got := b.Description(); !strings.HasSuffix(got, want) {
			t.Errorf("%s is described as %q, want %q in it", config, got, want)
		}
		b.Finalize()
	}
	for _, config := range []string{"go:parallelism=many", "go:elephant"} {
		if b, err := compute.NewWithConfig(config); err == nil {
			t.Errorf("%s gives %v, want an error", config, b)
		}
	}
	if text, err := os.ReadFile(file.Name()); err != nil || len(text) > 0 {
		t.Errorf("it prints %q, %v", text, err)
	}
}
