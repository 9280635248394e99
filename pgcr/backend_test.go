package pgcr_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

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

// eval runs a graph of float64 inputs and returns the values of its results.
func eval(t testing.TB, f func(in []*graph.Node) []*graph.Node, inputs ...*tensors.Tensor) [][]float64 {
	t.Helper()
	exec, err := graph.NewExec(backend, f)
	if err != nil {
		t.Fatal(err)
	}
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	results, err := exec.Call(args...)
	if err != nil {
		t.Fatal(err)
	}
	values := make([][]float64, len(results))
	for i, r := range results {
		if values[i], err = tensors.CopyFlatData[float64](r); err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// normal returns a tensor of standard normal values.
func normal(rng *rand.Rand, dims ...int) *tensors.Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return tensors.FromFlatDataAndDimensions(v, dims...)
}

func fixed(v float64, dims ...int) *tensors.Tensor {
	return tensors.FromScalarAndDimensions(v, dims...)
}

// bothForms runs a test with the graphs of the Go backend and with those of a
// backend that fuses operations.
func bothForms(test func()) {
	defer pgcr.FuseAll(false)
	for _, fuse := range []bool{false, true} {
		pgcr.FuseAll(fuse)
		test()
	}
}
