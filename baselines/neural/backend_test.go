package neural_test

import (
	"os"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"

	"github.com/contextrec/contextrec/pgcr"
)

var backend compute.Backend

func TestMain(m *testing.M) {
	if _, set := os.LookupEnv(compute.ConfigEnvVar); !set {
		compute.DefaultConfig = pgcr.SequentialGo
	}
	backend = compute.MustNew()
	os.Exit(m.Run())
}
