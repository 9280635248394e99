package paper_test

import (
	"os"
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
	os.Unsetenv(compute.ConfigEnvVar) // until the test ends, by Setenv
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
