package paper_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/contextrec/contextrec/envs/logged"
	"github.com/contextrec/contextrec/notebooks/paper"
)

var regen = flag.Bool("regen", false, "write the files that tests compare with")

// The file is what NewsLog makes, and reading it gives that back.
func TestNewsLogFile(t *testing.T) {
	log, expected := paper.NewsLog()
	var made bytes.Buffer
	if err := log.Write(&made); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", paper.NewsLogFile)
	if *regen {
		if err := os.WriteFile(path, made.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(stored, []byte("\r\n"), []byte("\n")), made.Bytes()) {
		t.Errorf("%s is not what NewsLog makes: go test ./notebooks/paper -run TestNewsLogFile -regen", path)
	}
	if len(stored) > 200_000 {
		t.Errorf("%s has %d bytes, the limit is 200,000", path, len(stored))
	}
	read, err := logged.ReadFile(path, logged.Format{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, log) {
		t.Error("what is read of the file is another log")
	}
	if len(expected) != log.Len()*log.Candidates {
		t.Errorf("%d expected rewards of %d decisions", len(expected), log.Len())
	}
}

// The law of the log: propensities are those of the choices, and rewards those
// that are expected.
func TestNewsLogLaw(t *testing.T) {
	log, expected := paper.NewsLog()
	var freshest, surplus, variance float64
	for i, c := range log.Chosen {
		best := 0
		for k := range 3 {
			if log.Context(i, k)[1] > log.Context(i, best)[1] {
				best = k
			}
		}
		if want := map[bool]float64{true: 0.6, false: 0.2}[c == best]; log.Propensity[i] != want {
			t.Fatalf("decision %d: candidate %d where %d is the freshest, propensity %v", i, c, best, log.Propensity[i])
		}
		if c == best {
			freshest++
		}
		e := expected[3*i+c]
		surplus += float64(log.Reward[i]) - e
		variance += e * (1 - e)
	}
	n := float64(log.Len())
	if sd := math.Sqrt(0.6 * 0.4 * n); math.Abs(freshest-0.6*n) > 4*sd {
		t.Errorf("the freshest is chosen %v times of %v", freshest, n)
	}
	if math.Abs(surplus) > 4*math.Sqrt(variance) {
		t.Errorf("rewards less their expectations sum to %.1f, with a standard deviation of %.1f", surplus, math.Sqrt(variance))
	}
}
