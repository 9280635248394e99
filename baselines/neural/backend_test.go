package neural_test

import (
	"os"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
)

var backend compute.Backend

func TestMain(m *testing.M) {
	if _, set := os.LookupEnv(compute.ConfigEnvVar); !set {
		compute.DefaultConfig = "go:ops_sequential"
	}
	backend = compute.MustNew()
	os.Exit(m.Run())
}
