package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"

	"github.com/contextrec/contextrec/envs"
)

// Entry is a named algorithm of an experiment.
type Entry struct {
	Name      string
	Algorithm envs.Algorithm
}

// Experiment is the whole configuration of a comparison. All entries meet the same problem streams.
type Experiment struct {
	Name    string // of the folder of results: letters, digits, '-', '_' and '.'
	Problem envs.Problem
	Entries []Entry
	Runs    int // independent repetitions, 1 to 100,000
	Steps   int // decisions a run, 1 to 1,000,000,000
	Seed    uint64
}

const maxRuns, maxSteps = 100_000, 1_000_000_000

var folderName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$`)

// Scale returns the experiment with Steps multiplied by fraction and rounded, but with at least 10
// steps (or Steps, where that is less). It panics when fraction is not a positive finite number.
func (e Experiment) Scale(fraction float64) Experiment {
	if !(fraction > 0) || math.IsInf(fraction, 1) {
		panic(fmt.Sprintf("sim: got scale %v, want a positive number", fraction))
	}
	scaled := min(math.Round(float64(e.Steps)*fraction), maxSteps+1) // which Validate refuses
	e.Steps = max(int(scaled), min(e.Steps, 10))
	return e
}

// Validate returns an error that names the first field that is out of bounds,
// and its value. Settings of the problem and of the algorithms are checked when
// they are made, but JSON must be able to show them. Run calls it first.
func (e Experiment) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("sim: experiment %q: %w", e.Name, fmt.Errorf(format, args...))
	}
	switch {
	case !folderName.MatchString(e.Name):
		return bad("Name is not 1 to 100 letters, digits, '-', '_' and '.'")
	case e.Problem == nil:
		return bad("Problem is nil")
	case len(e.Entries) == 0:
		return bad("Entries is empty")
	case e.Runs < 1 || e.Runs > maxRuns:
		return bad("Runs is %d, want 1 to %d", e.Runs, maxRuns)
	case e.Steps < 1 || e.Steps > maxSteps:
		return bad("Steps is %d, want 1 to %d", e.Steps, maxSteps)
	}
	names := map[string]bool{}
	for i, n := range e.Entries {
		if n.Name == "" || len(n.Name) > 200 || strings.TrimSpace(n.Name) != n.Name || strings.ContainsFunc(n.Name, unicode.IsControl) {
			return bad("Entries[%d].Name is %q, want one line of 1 to 200 bytes without spaces around it", i, n.Name)
		}
		if names[n.Name] || n.Algorithm == nil {
			return bad("Entries[%d] is %q with algorithm %v, want a name of only one entry and an algorithm", i, n.Name, n.Algorithm)
		}
		names[n.Name] = true
		if _, err := e.head(n); err != nil {
			_, err2 := e.Problem.New(e.ProblemSeeds(0, 1)) // of a setting that JSON cannot show it tells the name
			_, err3 := n.Algorithm.New(e.Problem.Spec(), e.PolicySeeds(0, 1))
			return bad("Entries[%d] (%q): %w", i, n.Name, errors.Join(err2, err3, err))
		}
	}
	return nil
}

// head is the entry's result without curves.
func (e Experiment) head(n Entry) (Result, error) {
	problem, err := Declaration(e.Problem)
	algorithm, err2 := Declaration(n.Algorithm)
	return Result{Experiment: e.Name, Entry: n.Name, Problem: problem, Algorithm: algorithm,
		Runs: e.Runs, Steps: e.Steps, Seed: e.Seed}, errors.Join(err, err2)
}

// Declaration is a declared value as Go type and JSON, such as
// `baselines.LinUCB {"Alpha":1}`. A pointer declares what it points to.
func Declaration(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		err = fmt.Errorf("%T cannot be recorded as JSON: %w", v, err)
	}
	return strings.TrimLeft(fmt.Sprintf("%T %s", v, text), "*"), err
}

// ProblemSeeds returns the problem seeds of n runs from the first on: of run r the
// first 8 bytes, little-endian, of the SHA-256 of "contextrec problem <Seed> <r>". All
// entries have the same seeds, so that they are compared in pairs, run by run.
func (e Experiment) ProblemSeeds(first, n int) []uint64 { return e.seeds("problem", first, n) }

// PolicySeeds returns the policy seeds, which are made with the word "policy".
func (e Experiment) PolicySeeds(first, n int) []uint64 { return e.seeds("policy", first, n) }

func (e Experiment) seeds(role string, first, n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		sum := sha256.Sum256(fmt.Appendf(nil, "contextrec %s %d %d", role, e.Seed, first+i))
		seeds[i] = binary.LittleEndian.Uint64(sum[:])
	}
	return seeds
}
