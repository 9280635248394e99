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
	"github.com/contextrec/contextrec/notebooks/clone"
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

// measured is a result of the theory study, as small as one can be.
func measured() *paper.TheoryResult {
	ratio := []paper.VarianceRatio{{N: 4, Ratio: paper.Interval{Mean: 0.25, Low: 0.2, High: 0.3}}}
	return &paper.TheoryResult{
		Scale:   0.5,
		Setting: "10 draws <&>",
		Bias:    []paper.Interval{{Mean: 0.1, Low: -0.25, High: 1.0 / 3}},
		BiasOf:  []paper.BiasOf{{Agents: paper.Untrained, Marginal: 0.125}},
		Critic:  ratio,
		Actor:   ratio,
		Offset:  []paper.OffsetRatio{{N: 1, Offset: []float64{-1, 1}, Ratio: []float64{2, 3}}},
	}
}

func TestStoredTheory(t *testing.T) {
	store := sim.Store{Dir: filepath.Join(t.TempDir(), "results")}
	if _, err := paper.StoredTheory(store); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing stored: %v", err)
	}
	want := measured()
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
}

// Verdicts rest on the file: whatever is not what Save wrote is refused. White
// space says nothing.
func TestDamagedTheory(t *testing.T) {
	store := sim.Store{Dir: t.TempDir()}
	path := filepath.Join(store.Dir, paper.TheoryFile)
	if err := measured().Save(store); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, damaged := range []string{
		"", "{", "{}", "null", "[]", `{"Scale": 1}`,
		text[:len(text)/2],
		text + "{}",
		strings.Replace(text, "0.25", "0.26", 1),
		strings.Replace(text, `"N": 4`, `"N": 5`, 1),
		strings.Replace(text, `"Low"`, `"low"`, 1),
		strings.Replace(text, `"Setting": "10 draws`, `"More": 1, "Setting": "10 draws`, 1),
		strings.Replace(text, "contextrec theory 1", "contextrec theory 2", 1),
	} {
		if damaged == text {
			t.Fatalf("a damage changed nothing in %s", text)
		}
		if err := os.WriteFile(path, []byte(damaged), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := paper.StoredTheory(store)
		if err == nil || !strings.Contains(err.Error(), path) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q is read as %+v, %v", damaged, got, err)
		}
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(strings.ReplaceAll(text, "\t", "  "), "\n", "\r\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := paper.StoredTheory(store); err != nil {
		t.Errorf("with other white space: %v", err)
	}
}

// A result with gaps is not stored.
func TestIncompleteTheory(t *testing.T) {
	store := sim.Store{Dir: t.TempDir()}
	for field, spoil := range map[string]func(*paper.TheoryResult){
		"Scale":  func(r *paper.TheoryResult) { r.Scale = 0 },
		"Bias":   func(r *paper.TheoryResult) { r.Bias = nil },
		"BiasOf": func(r *paper.TheoryResult) { r.BiasOf = append(r.BiasOf, paper.BiasOf{}) },
		"Critic": func(r *paper.TheoryResult) { r.Critic = nil },
		"Actor":  func(r *paper.TheoryResult) { r.Actor = nil },
		"Offset": func(r *paper.TheoryResult) { r.Offset[0].Ratio = r.Offset[0].Ratio[:1] },
	} {
		r := measured()
		spoil(r)
		if err := r.Save(store); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("with a wrong %s Save says %v", field, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(store.Dir, "*")); files != nil {
		t.Errorf("the folder holds %v", files)
	}
}

// The published study is complete and unharmed.
func TestPublishedTheory(t *testing.T) {
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	r, err := paper.StoredTheory(sim.Store{Dir: filepath.Join(root, "notebooks", "published", "results")})
	if err != nil {
		t.Fatal(err)
	}
	if r.Scale != 1 {
		t.Errorf("it is of scale %v, want the full one", r.Scale)
	}
}
