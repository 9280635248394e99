package sim

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/contextrec/contextrec/envs"
)

// Contender is a named algorithm.
type Contender struct {
	Name      string
	Algorithm envs.Algorithm
}

// Experiment is the whole configuration of a comparison: the literal is the
// configuration. All contenders meet the same problem streams.
type Experiment struct {
	// Name is the folder of the results: letters, digits, '-', '_' and '.'.
	Name       string
	Problem    envs.Problem
	Contenders []Contender
	Runs       int // independent repetitions, 1 to 100,000
	Steps      int // decisions a run, 1 to 1,000,000,000
	Seed       uint64
}

const (
	maxRuns  = 100_000
	maxSteps = 1_000_000_000
	minScale = 10 // the fewest steps that Scale leaves
)

// Scale returns the experiment with Steps multiplied by fraction and rounded,
// but with 10 steps at least (or Steps, where that is less). The name stays:
// results of different scales lie side by side, as different configurations.
// It panics when fraction is not a positive finite number.
func (e Experiment) Scale(fraction float64) Experiment {
	if !(fraction > 0) || math.IsInf(fraction, 1) {
		panic(fmt.Sprintf("sim: scale %v is not a positive number", fraction))
	}
	scaled := math.Round(float64(e.Steps) * fraction)
	scaled = min(scaled, maxSteps+1) // too many for an int; Validate names it
	e.Steps = max(int(scaled), min(e.Steps, minScale))
	return e
}

// Validate reports the first setting that cannot be run, by field and value.
// Run calls it before it does anything. Settings of the problem and of the
// algorithms are theirs to check, when they are made, but they must be such that
// their JSON tells all of them, for it names the result: without a MarshalJSON
// method, fields are exported and of no interface type. A field with the tag
// `json:"-"` is none of the settings and decides no result.
func (e Experiment) Validate() error {
	if err := checkExperimentName(e.Name); err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("sim: experiment %q: %s", e.Name, fmt.Sprintf(format, args...))
	}
	if isNil(e.Problem) {
		return bad("Problem is nil")
	}
	if e.Runs < 1 || e.Runs > maxRuns {
		return bad("Runs is %d, want 1 to %d", e.Runs, maxRuns)
	}
	if e.Steps < 1 || e.Steps > maxSteps {
		return bad("Steps is %d, want 1 to %d", e.Steps, maxSteps)
	}
	if len(e.Contenders) == 0 {
		return bad("Contenders is empty")
	}
	names := make(map[string]bool)
	files := make(map[string]string)
	for i, c := range e.Contenders {
		field := fmt.Sprintf("Contenders[%d]", i)
		if err := checkText(c.Name); err != nil || strings.ContainsAny(c.Name, `/\`) || strings.TrimSpace(c.Name) != c.Name || c.Name == "" {
			return bad("%s.Name is %q, want a text without slashes, control characters and outer spaces", field, c.Name)
		}
		if names[c.Name] {
			return bad("%s.Name is %q, which another contender has", field, c.Name)
		}
		names[c.Name] = true
		if isNil(c.Algorithm) {
			return bad("%s.Algorithm (%q) is nil", field, c.Name)
		}
		head, err := e.head(c)
		if err != nil {
			return bad("%s (%q): %v", field, c.Name, err)
		}
		if other, ok := files[head.fileName()]; ok {
			return bad("contenders %q and %q have the same setting and would share the file %s", other, c.Name, head.fileName())
		}
		files[head.fileName()] = c.Name
	}
	return nil
}

// head is the contender's result without its curves: the configuration.
func (e Experiment) head(c Contender) (Result, error) {
	problem, err := declaration(e.Problem)
	if err != nil {
		return Result{}, err
	}
	algorithm, err := declaration(c.Algorithm)
	if err != nil {
		return Result{}, err
	}
	return Result{
		Experiment: e.Name,
		Contender:  c.Name,
		Problem:    problem,
		Algorithm:  algorithm,
		Runs:       e.Runs,
		Steps:      e.Steps,
		Seed:       e.Seed,
	}, nil
}

func checkExperimentName(name string) error {
	odd := func(r rune) bool {
		return !(r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_.", r))
	}
	if name == "" || len(name) > 100 || name[0] == '.' || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("sim: experiment Name is %q, want 1 to 100 letters, digits, '-', '_' and '.', for it names a folder", name)
	}
	return nil
}

// checkText reports whether a text can stand in a header line.
func checkText(s string) error {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || len(s) > 200 {
		return fmt.Errorf("%q is not a line of up to 200 bytes of UTF-8", s)
	}
	return nil
}
