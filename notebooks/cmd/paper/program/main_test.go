package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// lamps is a bandit whose candidate 1 is better by 1 to 1.6, depending on the
// run's seed.
type lamps struct{}

func (lamps) Spec() envs.Spec { return envs.Spec{Candidates: 2, Dim: 1} }
func (lamps) New(seeds []uint64) (envs.Environment, error) {
	l := &lit{bonus: make([]float64, len(seeds))}
	for r, seed := range seeds {
		l.bonus[r] = 1 + float64(seed%7)/10
	}
	return l, nil
}

type lit struct{ bonus []float64 }

func (l *lit) Observe() envs.Observation {
	return envs.Observation{Runs: len(l.bonus), Candidates: 2, Dim: 1, Contexts: make([]float32, 2*len(l.bonus))}
}

func (l *lit) ExpectedRewards(dst []float64) {
	for r, bonus := range l.bonus {
		dst[2*r], dst[2*r+1] = 0, bonus
	}
}

func (l *lit) Step(actions []int) (envs.Outcome, error) {
	out := envs.Outcome{Reward: make([]float32, len(actions)), Discount: make([]float32, len(actions))}
	for r, a := range actions {
		out.Reward[r] = float32(float64(a) * l.bonus[r])
	}
	return out, nil
}

// every chooses the better candidate but for every Nth step.
type every struct{ N int }

func (e every) New(envs.Spec, []uint64) (envs.Policy, error) {
	if e.N == 0 {
		return nil, errors.New("every: N is 0")
	}
	return &counting{every: e}, nil
}

type counting struct {
	every
	step int
}

func (c *counting) Act(dst []int, _ envs.Observation) error {
	c.step++
	for r := range dst {
		dst[r] = 1
		if c.step%c.N == 0 {
			dst[r] = 0
		}
	}
	return nil
}

func (c *counting) Update(envs.Transition) error { return nil }

// shell is a program with two small experiments and a folder of its own.
type shell struct {
	t *testing.T
	*program
	out, err bytes.Buffer
	dir      string
	executed []string // notebooks and their environment
}

func newShell(t *testing.T) *shell { return newShellIn(t, t.TempDir()) }

func newShellIn(t *testing.T, dir string) *shell {
	s := &shell{t: t, dir: dir}
	experiment := func(name string) sim.Experiment {
		return sim.Experiment{
			Name: name, Problem: lamps{}, Runs: 3, Steps: 1000, Seed: 1,
			Contenders: []sim.Contender{{Name: paper.EpsilonGreedy, Algorithm: every{10}}, {Name: paper.PGCR, Algorithm: every{100}}},
		}
	}
	tuning := experiment(paper.TuningLinear)
	tuning.Contenders = []sim.Contender{{Name: "A, n 10", Algorithm: every{10}}, {Name: "A, n 20", Algorithm: every{20}}, {Name: "B b, n 10", Algorithm: every{10}}}
	root := filepath.Join(s.dir, "repository")
	if err := os.MkdirAll(filepath.Join(root, "notebooks"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"toy-linear.ipynb", "theory.ipynb"} {
		if err := os.WriteFile(filepath.Join(root, "notebooks", name), []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s.program = &program{
		Host: &cli.Host{
			Stdout: &s.out, Stderr: &s.err,
			Repository: func() (string, error) { return root, nil },
			Install:    func(context.Context, string, io.Writer) error { return nil },
		},
		experiments: []sim.Experiment{experiment(paper.ToyLinear), experiment(paper.ToyMixed)},
		tuning:      []sim.Experiment{tuning},
		theory: func(context.Context, float64) (*paper.TheoryResult, error) {
			interval := paper.Interval{Mean: 0, Low: -0.001, High: 0.001}
			ratio := []paper.VarianceRatio{{N: 1, Ratio: interval}}
			return &paper.TheoryResult{Setting: "5 draws", Bias: []paper.Interval{interval}, BiasOf: make([]paper.BiasOf, 1), Critic: ratio, Actor: ratio}, nil
		},
		execute: func(_ context.Context, _ string, names []string, out string, env []string, _ int, _ io.Writer) error {
			s.executed = append(append(append(s.executed, names...), out), env...)
			return nil
		},
	}
	return s
}

// run runs a command line and checks its exit status. The output starts anew.
func (s *shell) run(status int, args ...string) {
	s.t.Helper()
	s.runContext(s.t.Context(), status, args...)
}

func (s *shell) runContext(ctx context.Context, status int, args ...string) {
	s.t.Helper()
	s.out.Reset()
	s.err.Reset()
	s.Flags, s.verbose, s.reproducing = cli.Flags{}, false, false
	if got := s.main(ctx, args); got != status {
		s.t.Errorf("paper %s: exit status %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), got, status, &s.out, &s.err)
	}
}

func (s *shell) contains(text string, want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.t.Errorf("%q is not in: %s", w, text)
		}
	}
}

// oneLine checks that the program said one thing on stderr and nothing else.
func (s *shell) oneLine(want ...string) {
	s.t.Helper()
	text := s.err.String()
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "error: ") || s.out.Len() > 0 {
		s.t.Errorf("not one line of an error: %q, stdout %q", text, &s.out)
	}
	s.contains(text, want...)
}

func TestWrongCommandLines(t *testing.T) {
	s := newShell(t)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"run toy-linaer", []string{`no experiment "toy-linaer"`, "mean toy-linear?", "toy-linear, toy-mixed, tuning-linear"}},
		{"run toy-linear MIXED", []string{`no experiment "MIXED"`, "toy-linear, toy-mixed"}},
		{"plot elephant", []string{`no experiment "elephant". Known are`}},
		{"run", []string{"which experiments"}},
		{"run toy-linear -scale 0", []string{"-scale is 0"}},
		{"run toy-linear -scale -0.5", []string{"-scale is -0.5"}},
		{"run toy-linear -scale=NaN", []string{"-scale is NaN"}},
		{"run toy-linear --scale +Inf", []string{"-scale is +Inf"}},
		{"run toy-linear -scale much", []string{"-scale is \"much\", want a number\n"}},
		{"run toy-linear -scale", []string{"-scale wants a value: fraction of the steps (default: "}},
		{"run toy-linear -workers 1.5", []string{"-workers is \"1.5\", want a whole number\n"}},
		{"run toy-linear -workers 99999999999999999999", []string{"-workers is \"99999999999999999999\", which is too large\n"}},
		{"run toy-linear -workers -99999999999999999999", []string{"-workers is \"-99999999999999999999\", which is too small\n"}},
		{"run toy-linear -scale 1e999", []string{"-scale is \"1e999\", which is too large\n"}},
		{"bench -time 2", []string{"-time is \"2\", want a time such as 1s\n"}},
		{"synthetic twin -seed -1", []string{"-seed is \"-1\", want a whole number that is not negative\n"}},
		{"table -verbose=yes", []string{"-verbose is \"yes\", want true or false\n"}},
		{"run toy-linear -workers -3", []string{"-workers is -3, want a positive number"}},
		{"run toy-linear -workers 0", []string{"-workers is 0, want a positive number"}},
		{"run toy-linear -stack -1", []string{"-stack is -1, want a positive number"}},
		{"run toy-linear --stack=0", []string{"-stack is 0, want a positive number"}},
		{"run toy-linear -elephant", []string{"there is no flag -elephant\n"}},
		{"run toy-linear -scael 0.1", []string{"there is no flag -scael. Did you mean -scale?"}},
		{"run toy-linear --worker=2", []string{"there is no flag -worker. Did you mean -workers?"}},
		{"run toy-linear -onyl PGCR", []string{"there is no flag -onyl. Did you mean -only?"}},
		{"list -onyl PGCR", []string{"there is no flag -onyl\n"}},
		{"table -vrbose", []string{"there is no flag -vrbose. Did you mean -verbose?"}},
		{"list -x", []string{"'x'", "-x"}},
		{"run theory", []string{`no experiment "theory"`, "paper notebooks theory"}},
		{"rum", []string{`unknown command "rum"`, "run"}},
		{"table toy-linear", []string{"paper table wants no names, and was given toy-linear. For example: paper table -out notebooks/published\n"}},
		{"list x y", []string{"paper list wants no names, and was given x y. For example: paper list\n"}},
		{"bench x", []string{"paper bench wants no names, and was given x. For example: paper bench -only toy\n"}},
		{"reproduce x", []string{"paper reproduce wants no names, and was given x. For example: paper reproduce -scale 0.1, or paper run toy-linear\n"}},
		{"synthetic", []string{"paper synthetic wants one folder to write into, and was given nothing. For example: paper synthetic twin -users 300\n"}},
		{"synthetic a b", []string{"paper synthetic wants one folder to write into, and was given a b."}},
		{"site", []string{"paper site wants a folder to write into, and was given nothing. For example: paper site pages, or paper site pages toy-linear\n"}},
		{"lab a b", []string{"paper lab wants one notebook at most, and was given a b. For example: paper lab quickstart\n"}},
		{"kernel", []string{"paper kernel install, or paper kernel uninstall\n"}},
		{"kernel remove", []string{"paper kernel wants install or uninstall, and was given remove. For example: paper kernel install\n"}},
		{"kernel install x", []string{"paper kernel install wants no names, and was given x."}},
		{"kernel uninstall x", []string{"paper kernel uninstall wants no names, and was given x."}},
		{"notebooks elephant", []string{"elephant.ipynb", "theory.ipynb, toy-linear.ipynb"}},
	} {
		s.run(2, strings.Fields(c.args)...)
		s.oneLine(c.want...)
	}
	if files, _ := filepath.Glob(filepath.Join(s.dir, "repository", "notebooks", "out", "*")); files != nil {
		t.Errorf("wrong command lines left %v", files)
	}
}

func TestHelp(t *testing.T) {
	s := newShell(t)
	// The launcher has these commands too, and hands them over.
	var own, handed []string
	for _, c := range s.commands().Commands() {
		own = append(own, c.Use+": "+c.Short)
	}
	for _, d := range cli.OfProgram {
		handed = append(handed, d.Use+": "+d.Short)
	}
	for _, c := range []*cobra.Command{s.Lab(), s.Kernel()} {
		handed = append(handed, c.Use+": "+c.Short)
	}
	slices.Sort(own)
	slices.Sort(handed)
	if !slices.Equal(own, handed) {
		t.Errorf("the launcher knows the commands %q, the program %q", handed, own)
	}
	s.run(0)
	s.contains(s.out.String(), "list", "run", "plot", "table", "notebooks", "reproduce", "-scale", "-out")
}

func TestListAndRun(t *testing.T) {
	s := newShell(t)
	s.run(0, "list")
	const before = `EXPERIMENT  RUNS  STEPS  STORED  CONTENDERS
toy-linear  3     1000   -       epsilon-greedy; PGCR
toy-mixed   3     1000   -       epsilon-greedy; PGCR

TUNING STUDY   RUNS  STEPS  STORED  SETTINGS
tuning-linear  3     1000   -       2 of A; 1 of B b
`
	if s.out.String() != before {
		t.Errorf("got\n%s\nwant\n%s", &s.out, before)
	}
	s.run(0, "run", "toy-linear", "-scale", "0.5")
	lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	if len(lines) != 4 || lines[0] != "toy-linear: 3 runs of 500 steps" {
		t.Fatalf("run printed %q", lines)
	}
	// The best comes first: 5 misses in 500 steps, and 50, at 1 to 1.6 each.
	if f := strings.Fields(lines[2]); f[0] != "PGCR" || len(f[1]) != len("5.0") {
		t.Errorf("the first line is %q", lines[2])
	}
	if f := strings.Fields(lines[3]); f[0] != "epsilon-greedy" || len(f[1]) != len("50.0") {
		t.Errorf("the second line is %q", lines[3])
	}
	first := s.out.String()
	s.run(0, "run", "--scale=0.5", "toy-linear")
	if s.out.String() != first {
		t.Errorf("run again, it prints\n%s\nnot\n%s", &s.out, first)
	}
	s.run(0, "list")
	s.contains(s.out.String(), "2 of 2 at scale 0.5")
}

func TestRunOnly(t *testing.T) {
	s := newShell(t)
	s.run(0, "run", "toy-linear", "toy-mixed", "-only", paper.PGCR)
	if text := s.out.String(); strings.Contains(text, paper.EpsilonGreedy) || strings.Count(text, paper.PGCR) != 2 {
		t.Errorf("one contender of two experiments prints\n%s", text)
	}
	for name, meant := range map[string]string{"PCGR": paper.PGCR, "pgcr": paper.PGCR, "Epsilon-Greedy": paper.EpsilonGreedy} {
		s.run(2, "run", "toy-linear", "-only", name)
		s.oneLine(`"`+name+`". Did you mean "`+meant+`"?`, paper.PGCR+"; "+paper.EpsilonGreedy)
	}
	s.run(2, "run", "toy-linear", "-only", "elephant")
	s.oneLine(`"elephant". Known are: ` + paper.PGCR)
}

// What is named twice is done once.
func TestNamedTwice(t *testing.T) {
	s := newShell(t)
	s.run(0, "run", "toy-mixed", "toy-linear", "toy-mixed", "-scale", "0.1")
	if text := s.out.String(); strings.Count(text, "toy-mixed: 3 runs") != 1 || strings.Index(text, "toy-mixed") > strings.Index(text, "toy-linear") {
		t.Errorf("run prints\n%s", text)
	}
	s.run(0, "plot", "toy-linear", "toy-linear")
	if n := strings.Count(s.out.String(), "toy-linear.png"); n != 1 {
		t.Errorf("plot draws it %d times", n)
	}
	s.run(0, "notebooks", "theory", "theory.ipynb")
	if n := strings.Count(strings.Join(s.executed, "\n"), "theory.ipynb"); n != 1 {
		t.Errorf("it is executed %d times", n)
	}
}

// Folders may be called as they like: all commands work, and what stands after a
// flag is its value.
func TestFolderNames(t *testing.T) {
	for _, name := range []string{"plain", "a [b] c", "[", "*", `back\slash`, "-weird", "--", "--out=x"} {
		s := newShellIn(t, filepath.Join(t.TempDir(), name))
		s.run(0, "notebooks")
		if len(s.executed) != 5 || s.executed[0] != "theory.ipynb" {
			t.Errorf("in %q the notebooks %q are executed", name, s.executed)
		}
		t.Chdir(s.dir)
		for _, args := range [][]string{{"run", "toy-linear", "-scale", "0.1"}, {"plot"}, {"table", "-v"}, {"list"}, {"-v", "table"}} {
			if args[0] == "-v" {
				args = []string{"-out", name, "table", "-v"} // before the command
			} else {
				args = append(args, "-out", name)
			}
			s.run(0, args...)
		}
		s.run(0, "table", "-out", name, "-v")
		s.contains(s.out.String(), filepath.Join(s.dir, name, "results", "toy-linear", "pgcr-"))
		if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 2 {
			t.Errorf("with -out %s there are %v, %v", name, entries, err)
		}
	}
}

// Nothing to execute is an error, not a success.
func TestNoNotebooks(t *testing.T) {
	s := newShell(t)
	root, _ := s.Repository()
	for _, name := range []string{"theory.ipynb", "toy-linear.ipynb"} {
		if err := os.Remove(filepath.Join(root, "notebooks", name)); err != nil {
			t.Fatal(err)
		}
	}
	s.run(1, "notebooks")
	s.oneLine("no notebooks in " + filepath.Join(root, "notebooks"))
	s.run(1, "reproduce")
	s.contains(s.err.String(), "no notebooks in ")
}

// Commands that read say when they were sent to a folder that is not there. The
// usual one need not be.
func TestMistypedOut(t *testing.T) {
	s := newShell(t)
	file := filepath.Join(s.dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(s.dir, "publishde")
	for _, command := range []string{"list", "table", "plot", "plot toy-linear"} {
		s.run(1, append(strings.Fields(command), "-out", missing)...)
		s.oneLine("there is no folder "+missing, "-out")
		s.run(1, append(strings.Fields(command), "-out", file)...)
		s.oneLine(file+" is no folder", "-out")
	}
	s.run(0, "list")
	s.run(0, "table")
	s.run(0, "run", "toy-linear", "-scale", "0.1", "-out", missing) // makes it
	s.run(0, "list", "-out", missing)
}

func TestRunFailures(t *testing.T) {
	s := newShell(t)
	s.experiments[0].Contenders = append(s.experiments[0].Contenders, sim.Contender{Name: "broken", Algorithm: every{0}})
	s.run(1, "run", "toy-linear", "toy-mixed")
	s.contains(s.err.String(), "error: ", "broken", "N is 0")
	s.contains(s.out.String(), "toy-linear: 3 runs", "toy-mixed: 3 runs", "PGCR")

	file := filepath.Join(s.dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s.run(1, "run", "toy-mixed", "-out", file)
	s.contains(s.err.String(), "error: ", file)

	s.Repository = func() (string, error) { return "", errors.New("no repository here") }
	s.run(1, "run", "toy-mixed")
	s.oneLine("no repository here", "-out")
}

func TestInterrupt(t *testing.T) {
	s := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"run", "toy-linear"}, {"reproduce"}} {
		s.runContext(ctx, 130, args...)
		s.contains(s.err.String(), "interrupted", "goes on from there")
		if strings.Contains(s.err.String(), "context canceled\nerror") {
			t.Errorf("paper %v says %s", args, &s.err)
		}
	}
}

// stopping is every, and interrupts when so many of its policies have been made.
type stopping struct {
	every
	After int
	Stop  func()
	made  *int
}

func (s stopping) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

func (s stopping) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if *s.made++; *s.made == s.After {
		s.Stop()
	}
	return s.every.New(spec, seeds)
}

// One line says what an interrupt kept, the list has it too, and so has a result
// that failed beside it.
func TestInterruptInExperiment(t *testing.T) {
	s := newShell(t)
	s.experiments[0].Contenders[1].Algorithm = every{0} // fails
	s.experiments[0].Contenders = append(s.experiments[0].Contenders, sim.Contender{Name: "third", Algorithm: every{50}})
	interrupt := func(after int, args ...string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.experiments[0].Contenders[2].Algorithm = stopping{every: every{50}, After: after, Stop: cancel, made: new(int)}
		s.runContext(ctx, 130, append([]string{"run", "toy-linear", "toy-mixed", "-workers", "1"}, args...)...)
		if text := s.err.String(); strings.Count(text, "stopped: ") != 1 || strings.Contains(text, "interrupted") || strings.Contains(text, "canceled") || strings.Contains(text, "was stopped") {
			t.Errorf("an interrupt says %s", text)
		}
		s.contains(s.err.String(), "error: sim: ", "N is 0", "the same command goes on from there\n")
	}
	interrupt(1, "-scale", "0.5", "-stack", "1")
	s.contains(s.err.String(), "stopped: 3 of 9 runs of toy-linear are kept, what was under way is lost, and the same")
	interrupt(2, "-stack", "2") // of runs 0 and 1, and of run 2
	s.contains(s.err.String(), "stopped: 5 of 9 runs of toy-linear are kept, what was under way is lost (a smaller -stack loses less), and")
	s.run(0, "list")
	s.contains(s.out.String(), "1 of 3 at scale 1, 2 runs begun at scale 1  ")
	interrupt(3, "-scale", "0.1", "-stack", "1")
	s.run(0, "list")
	s.contains(s.out.String(), "1 of 3 at scale 1, 2 runs begun at scale 0.1, 2 runs begun at scale 1  ")
}

func TestPlot(t *testing.T) {
	s := newShell(t)
	s.run(1, "plot")
	s.oneLine("no results in ", "paper run")
	s.run(1, "plot", "toy-linear")
	s.oneLine("no results of toy-linear", "paper run toy-linear")

	s.run(0, "run", "toy-linear", "-scale", "0.1")
	s.run(0, "plot")
	figures := filepath.Join(s.dir, "repository", "notebooks", "out", "figures")
	for _, name := range []string{"toy-linear.png", "toy-linear-interval.png", "toy-linear-loglog.png"} {
		path := filepath.Join(figures, name)
		s.contains(s.out.String(), path+"\n")
		if data, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(data, []byte("\x89PNG")) {
			t.Errorf("%s is no PNG file: %v", path, err)
		}
	}
	s.run(0, "run", "toy-linear", "-scale", "0.05", "-only", paper.EpsilonGreedy)
	s.run(0, "plot", "toy-linear", "-scale", "0.05")
	if want := "toy-linear: drawn without PGCR, of which nothing is stored at scale 0.05: paper run toy-linear -scale 0.05 adds them\n"; s.err.String() != want {
		t.Errorf("of figures without contenders it says %q, want %q", &s.err, want)
	}
	s.run(1, "plot", "toy-linear", "-scale", "1")
	s.oneLine("no results of toy-linear at scale 1 in ", "there are some at scale 0.05, 0.1\n")
	s.run(1, "plot", "-scale", "0.2")
	s.oneLine("no results at scale 0.2 in ", "paper run NAME -scale 0.2")
	s.run(1, "plot", "toy-mixed", "-scale", "0.1")
	s.oneLine("no results of toy-mixed", "paper run toy-mixed -scale 0.1 makes them")
}

// A contender whose file is refused is not told as one of which nothing is
// stored.
func TestPlotOfDamagedResults(t *testing.T) {
	s := newShell(t)
	s.run(0, "run", "toy-linear", "-scale", "0.05")
	files, _ := filepath.Glob(filepath.Join(s.dir, "repository", "notebooks", "out", "results", "toy-linear", "pgcr-*.csv"))
	if len(files) != 1 {
		t.Fatalf("of PGCR there are %v", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, files[0], string(text[:len(text)/2]))
	for _, args := range [][]string{{"plot", "toy-linear"}, {"plot", "toy-linear", "-scale", "0.05"}} {
		s.run(1, args...)
		s.contains(s.out.String(), "toy-linear.png")
		s.contains(s.err.String(), files[0])
		if strings.Contains(s.err.String(), "nothing is stored") {
			t.Errorf("%v says %q", args, &s.err)
		}
	}
}

// A command that is proposed can be pasted, whatever its folder is called.
func TestProposedCommand(t *testing.T) {
	s := newShell(t)
	out := filepath.Join(s.dir, "a;b (it's)*")
	s.run(0, "run", "toy-linear", "-scale", "0.05", "-only", paper.EpsilonGreedy, "-out", out)
	s.run(0, "plot", "toy-linear", "-out", out)
	s.contains(s.err.String(), ": paper run toy-linear -scale 0.05 -out '"+s.dir+`/a;b (it'\''s)*' adds them`+"\n")
	for text, want := range map[string]string{
		"": "''", "../a_b/C-1.5:=@%+,": "../a_b/C-1.5:=@%+,", "a b": "'a b'", "~": "'~'", "a&b": "'a&b'", "a\nb": "'a\nb'", "é": "'é'", "'": `''\'''`,
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}

func TestTuning(t *testing.T) {
	s := newShell(t)
	s.run(0, "run", "tuning-linear", "-scale", "0.1")
	s.contains(s.out.String(), "tuning-linear: 3 runs of 100 steps", "B b, n 10")
	s.run(0, "list")
	s.contains(s.out.String(), "tuning-linear  3     1000   3 of 3 at scale 0.1  2 of A; 1 of B b\n")
	s.run(1, "plot") // draws what the paper has
	s.oneLine("no results in ")
	s.run(0, "plot", "tuning-linear")
	figures := filepath.Join(s.dir, "repository", "notebooks", "out", "figures")
	if want := filepath.Join(figures, "tuning-linear-a.png") + "\n" + filepath.Join(figures, "tuning-linear-b-b.png") + "\n"; s.out.String() != want {
		t.Errorf("plot names %q, want %q", &s.out, want)
	}
	s.run(0, "reproduce", "-scale", "0.05")
	if strings.Contains(s.out.String(), "tuning") {
		t.Errorf("reproduce runs a tuning study:\n%s", &s.out)
	}
}

func TestTable(t *testing.T) {
	s := newShell(t)
	other := filepath.Join(s.dir, "published")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	s.run(0, "table", "-out", other)
	if n := strings.Count(s.out.String(), "  not run   "); n != 10 {
		t.Errorf("%d of 10 claims are not run:\n%s", n, &s.out)
	}
	s.run(0, "run", "toy-linear", "-out", other)
	s.run(0, "table", "-v", "-out", other)
	s.contains(s.out.String(), "3 runs of 1000 steps", "+ toy-linear: PGCR",
		filepath.Join(other, "results", "toy-linear", "pgcr-"), "PGCR, 3 runs of 1000 steps, version ")

	// A damaged file is named, and the others are judged all the same.
	files, _ := filepath.Glob(filepath.Join(other, "results", "toy-linear", "pgcr-*.csv"))
	if len(files) != 1 {
		t.Fatalf("PGCR has the files %v", files)
	}
	if err := os.Truncate(files[0], 100); err != nil {
		t.Fatal(err)
	}
	s.run(1, "table", "-out", other)
	s.contains(s.out.String(), "no result of PGCR")
	s.contains(s.err.String(), files[0])
}

func TestReproduce(t *testing.T) {
	s := newShell(t)
	out := filepath.Join(s.dir, "elsewhere")
	s.run(0, "reproduce", "-out", out)
	s.contains(s.out.String(), "Everything at scale 0.05", "toy-linear: 3 runs of 50 steps", "toy-mixed: 3 runs of 50 steps",
		"== theory:", "== figures:", "== notebooks:", "== claims:", "10  reproduced", "That took", out)
	want := []string{"theory.ipynb", "toy-linear.ipynb", filepath.Join(out, "notebooks"), "PAPER_SCALE=0.05", "PAPER_OUT=" + out}
	if !reflect.DeepEqual(s.executed, want) {
		t.Errorf("executed %q, want %q", s.executed, want)
	}
	// The measured theory is kept: a smaller scale must not replace it.
	s.theory = func(context.Context, float64) (*paper.TheoryResult, error) { return nil, errors.New("measured again") }
	s.run(0, "reproduce", "-out", out, "-scale", "0.05")
	s.contains(s.out.String(), "stored already, of scale 0.1")
	s.run(1, "reproduce", "-out", out, "-scale", "0.2")
	s.contains(s.err.String(), "measured again")
	for _, name := range []string{"claims.md", "results/theory.json", "figures/toy-mixed-loglog.png"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

// Whoever reads claims.md while it is written anew has the whole old one: it is
// another file.
func TestClaimsAreReplaced(t *testing.T) {
	s := newShell(t)
	out := filepath.Join(s.dir, "out")
	path, reader := filepath.Join(out, "claims.md"), filepath.Join(s.dir, "reader")
	writeFile(t, path, "old")
	if err := os.Link(path, reader); err != nil {
		t.Fatal(err)
	}
	s.run(0, "reproduce", "-out", out)
	if text, err := os.ReadFile(reader); err != nil || string(text) != "old" {
		t.Errorf("who had opened claims.md reads %.40q, %v", text, err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "|") {
		t.Errorf("claims.md is %.40q, %v", text, err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 3 { // with results and figures
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// A theory that is there but cannot be trusted is not replaced in silence.
func TestReproduceRefusesDamagedTheory(t *testing.T) {
	s := newShell(t)
	out := filepath.Join(s.dir, "out")
	path := filepath.Join(out, "results", paper.TheoryFile)
	for _, text := range []string{"", "{}", `{"Scale":1}`} {
		writeFile(t, path, text)
		s.run(1, "reproduce", "-out", out)
		s.contains(s.err.String(), path, "error: theory failed")
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%q became %.40q, %v", text, now, err)
		}
	}
}

// What fails is told, and the rest is done.
func TestReproduceGoesOn(t *testing.T) {
	s := newShell(t)
	s.theory = func(context.Context, float64) (*paper.TheoryResult, error) { return nil, errors.New("no theory today") }
	s.Install = func(context.Context, string, io.Writer) error { return errors.New("no kernel today") }
	s.run(1, "reproduce", "-scale", "0.05")
	s.contains(s.err.String(), "error: no theory today\n", "error: no kernel today\n", "error: theory failed", "error: kernel of the notebooks failed", "error: notebooks failed")
	s.contains(s.out.String(), "toy-linear: 3 runs of 50 steps", "== claims:")
	if s.executed != nil {
		t.Errorf("executed %q without a kernel", s.executed)
	}
}
