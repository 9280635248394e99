package pgcr_test

import (
	"errors"
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
		{linked: []string{"go"}, want: pgcr.SequentialGo},
		{linked: []string{"go"}, byDefault: "xla", want: pgcr.SequentialGo},
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

// A backend that does not open says in one line what to do. The texts are those of
// go-xla v0.4.1 and of CUDA's PJRT plugin.
func TestBackendThatDoesNotOpen(t *testing.T) {
	var fails error
	compute.Register("broken", func(string) (compute.Backend, error) { return nil, fails })
	for _, c := range []struct{ text, want string }{
		{"no plugins found for backend \"xla\" -- either use the absolute path", "there is no PJRT plugin for it that can be used here (one for CUDA is passed over where there is no NVIDIA GPU)"},
		{`Plugin "cuda" for backend "xla" not found: available plugins found ["cpu"]`, "there is no PJRT plugin"},
		{"backend \"xla\":: while creating plugin cuda: INTERNAL: no supported devices found for platform CUDA", "finds no GPU that it can use: see what nvidia-smi says"},
		{"Unexpected PJRT_Client_Create_Args size: expected 120, got 96. Check installed software versions.", "is of another version than this program can use"},
		{"tried to load \"/x/pjrt_c_api_cuda_plugin.so\", but failed to find symbol \"GetPjrtApi\",\nskipping", "is of another version"},
		{"failed to dynamically load PJRT plugin from \"x\": \"libcudart.so.13: cannot open\"", "cannot be loaded: it, or a library that it needs, is missing or damaged"},
		{"RESOURCE_EXHAUSTED: failed to allocate 75.3GiB", "the GPU has no memory left"},
		{"the moon is in the way", `opening the backend "broken:cuda": the moon is in the way`},
	} {
		fails = errors.New(c.text)
		backend, err := pgcr.OpenConfig("broken:cuda")
		if backend != nil || err == nil {
			t.Fatalf("%s: opened", c.text)
		}
		text := err.Error()
		if !strings.Contains(text, c.want) || strings.Contains(text, "\n") || !strings.HasSuffix(text, strings.ReplaceAll(c.text, "\n", " ")) {
			t.Errorf("%s: %s", c.text, text)
		}
		if helps := strings.Contains(text, "GOMLX_BACKEND=go:ops_sequential"); helps != !strings.Contains(c.text, "moon") {
			t.Errorf("what to do instead, in %s", text)
		}
	}
	if _, err := pgcr.OpenConfig("nowhere"); err == nil || !strings.Contains(err.Error(), `opening the backend "nowhere"`) {
		t.Errorf("a backend that is not there: %v", err)
	}
}
