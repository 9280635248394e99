package pgcr_test

import (
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/pgcr"
)

func TestBackendConfig(t *testing.T) {
	old := compute.DefaultConfig
	defer func() { compute.DefaultConfig = old }()
	for _, c := range []struct {
		linked         []string
		env, byDefault string
		want, fails    string // the configuration, or a part of the error
	}{
		{linked: []string{"go"}, want: "go:ops_sequential"},
		{linked: []string{"go"}, byDefault: "xla", want: "go:ops_sequential"},
		{linked: []string{"go", "xla"}, byDefault: "xla", want: "xla"},
		{linked: []string{"go"}, byDefault: "go:ops_sequential,parallelism=0", want: "go:ops_sequential,parallelism=0"},
		{linked: []string{"go", "xla"}, env: "xla:cuda", want: "xla:cuda"},
		{linked: []string{"go"}, env: "go:ops_sequential", want: "go:ops_sequential"},
		{linked: []string{"go"}, env: "go", fails: "can block for ever"},
		{linked: []string{"go"}, env: "go:ops_parallel", fails: "can block for ever"},
		{linked: []string{"go"}, env: "xla", fails: `asks for the backend "xla"; the program links go`},
		{linked: nil, fails: `import _ "github.com/gomlx/compute/gobackend"`},
	} {
		compute.DefaultConfig = c.byDefault
		t.Setenv(compute.ConfigEnvVar, c.env)
		got, err := pgcr.BackendConfig(c.linked)
		if got != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
