package paper_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// declared is a problem with two equal candidates, which the algorithm below
// chooses from without looking.
type declared struct{ Setting int }

func (declared) Spec() envs.Spec { return envs.Spec{Candidates: 2, Dim: 1} }
func (declared) New(seeds []uint64) (envs.Environment, error) {
	return idle{len(seeds)}, nil
}

type idle struct{ runs int }

func (i idle) Observe() envs.Observation {
	return envs.Observation{Runs: i.runs, Candidates: 2, Dim: 1, Contexts: make([]float32, 2*i.runs)}
}

func (i idle) Step([]int) (envs.Outcome, error) {
	return envs.Outcome{Reward: make([]float32, i.runs), Discount: make([]float32, i.runs)}, nil
}

type algorithm struct{ Setting int }

func (algorithm) New(envs.Spec, []uint64) (envs.Policy, error) { return first{}, nil }

type first struct{}

func (first) Act(dst []int, _ envs.Observation) error { clear(dst); return nil }
func (first) Update(envs.Transition) error            { return nil }

func declaration(contenders ...string) sim.Experiment {
	e := sim.Experiment{Name: "toy", Problem: declared{1}, Runs: 2, Steps: 500, Seed: 4}
	for i, name := range contenders {
		e.Contenders = append(e.Contenders, sim.Contender{Name: name, Algorithm: algorithm{i}})
	}
	return e
}

// keep runs contender i of e alone.
func keep(t *testing.T, store sim.Store, e sim.Experiment, i, steps int) {
	t.Helper()
	e.Steps, e.Contenders = steps, e.Contenders[i:i+1]
	if _, err := e.Run(t.Context(), store, sim.Options{}); err != nil {
		t.Fatal(err)
	}
}

func TestStored(t *testing.T) {
	store := sim.Store{Dir: t.TempDir()}
	e := declaration("a", "b")
	stored := func(wantSteps int, wantNames ...string) {
		t.Helper()
		results, err := paper.Stored(store, e)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range results {
			names = append(names, r.Contender)
			if r.Steps != wantSteps {
				t.Errorf("%s has %d steps, want %d", r.Contender, r.Steps, wantSteps)
			}
		}
		if !reflect.DeepEqual(names, wantNames) {
			t.Errorf("stored are %v, want %v", names, wantNames)
		}
	}
	stored(0)
	keep(t, store, e, 1, 100)
	stored(100, "b")
	keep(t, store, e, 0, 100)
	stored(100, "a", "b")
	keep(t, store, e, 0, 1000) // a longer run, but incomplete
	stored(100, "a", "b")
	keep(t, store, e, 1, 1000)
	stored(1000, "a", "b")
	e.Problem = declared{2} // the declaration was changed since
	stored(0)

	damaged := filepath.Join(store.Dir, "toy", "a-00000000.csv")
	if err := os.WriteFile(damaged, []byte("nonsense"), 0o666); err != nil {
		t.Fatal(err)
	}
	e.Problem = declared{1}
	results, err := paper.Stored(store, e)
	if len(results) != 2 || err == nil || !strings.Contains(err.Error(), damaged) {
		t.Errorf("beside a damaged file: %d results, error %v", len(results), err)
	}
}

func TestStoredTheory(t *testing.T) {
	store := sim.Store{Dir: filepath.Join(t.TempDir(), "results")}
	if _, err := paper.StoredTheory(store); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing stored: %v", err)
	}
	want := &paper.TheoryResult{
		Setting: "10 draws",
		Bias:    []paper.Interval{{Mean: 0.1, Low: -0.25, High: 1.0 / 3}},
		Critic:  []paper.VarianceRatio{{N: 4, Ratio: paper.Interval{Mean: 0.25, Low: 0.2, High: 0.3}}},
	}
	for range 2 {
		if err := want.Save(store); err != nil {
			t.Fatal(err)
		}
	}
	got, err := paper.StoredTheory(store)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, read %+v, %v", want, got, err)
	}
	files, _ := filepath.Glob(filepath.Join(store.Dir, "*"))
	if len(files) != 1 {
		t.Errorf("the folder holds %v", files)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := paper.StoredTheory(store); err == nil || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("a damaged file: %v", err)
	}
}
