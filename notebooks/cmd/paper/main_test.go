package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// typed runs a command line as a user types it.
func typed(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = command(ctx, slices.Clone(args), &out, &err)
	return status, out.String(), err.String()
}

func TestWrongCommandLines(t *testing.T) {
	out := t.TempDir()
	for line, want := range map[string]string{
		"nonsense":                         `unknown command "nonsense"`,
		"run":                              "requires at least 1 arg",
		"submit toy-linear greed":          "say which experiment, one",
		"export when":                      "say which one: " + self + " list when names them",
		"run toy":                          "there is no experiment \"toy\"; known are: toy-linear",
		"run toy-lineal":                   "known are: toy-linear",
		"run toy-linear -scale 0":          "-scale is 0",
		"run toy-linear --scale=-1":        "-scale is -1",
		"run toy-linear -scale much":       "scale",
		"run toy-linear -device cuda":      `-device is "cuda"`,
		"plot -format gif":                 `-format is "gif"`,
		"plot -width 0":                    "-width is 0",
		"run toy-linear -shard 3/2":        `-shard is "3/2"`,
		"run toy-linear -shard 1/2x":       `-shard is "1/2x"`,
		"plot toy-linear -scale 0.1":       "unknown flag: --scale\n" + self + " plot -h",
		"kernel remove":                    `invalid argument "remove"`,
		"table toy-linear":                 "toy-linear",
		"table -format html":               `-format is "html"`,
		"reproduce -out " + out + " extra": "extra",
		"lab -nonsense":                    "--nonsense",
		"notebooks quickstart -workers 2":  "--workers",
	} {
		status, stdout, stderr := typed(t.Context(), strings.Fields(line)...)
		if status != 2 || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("paper %s: status %d, stderr %q, stdout %q; want 2 and %q", line, status, stderr, stdout, want)
		}
	}
	if entries, _ := os.ReadDir(out); len(entries) > 0 {
		t.Errorf("a wrong command line has made %v", entries)
	}
}

// What a newcomer does with one experiment.
func TestOneExperiment(t *testing.T) {
	out := t.TempDir()
	step := func(want string, args ...string) {
		t.Helper()
		status, stdout, stderr := typed(t.Context(), append(args, "-out", out)...)
		if status != 0 || !strings.Contains(stdout, want) {
			t.Fatalf("paper %v: status %d\n%s%s\nwant %q", args, status, stdout, stderr, want)
		}
	}
	step("toy-linear", "list")
	step("next: "+self+" plot toy-linear -out \""+out, "run", "toy-linear", "-scale", "0.0005")
	step("10 steps", "list")
	step("100 % was stored", "run", "toy-linear", "-scale", "0.0005")
	step("of 9 algorithms\n  ", "run", "toy-linear", "-scale", "0.0005", "-fresh")
	step("toy-linear-loglog.png", "plot", "toy-linear")
	step("toy-linear.svg", "plot", "toy-linear", "-format", "svg", "-width", "4", "-only", "PGCR", "-only", "random")
	step("linear", "table")
	step("next: "+self+" plot toy-linear -runs 2 -seed 0 -out \""+out, "run", "toy-linear", "-scale", "0.0005", "-runs", "2", "-seed", "0")
	step("ablation-linear", "list")
	step("  vanilla PG\n", "list", "toy-linear")
	step("reward a step", "run", "when-mdp", "-scale", "0.001") // which has no regret
	step("when-mdp.png", "plot", "when-mdp")
	step("music", "run", "music-stateless", "-scale", "0.000002", "-runs", "1")
	step("music-stateless.png", "plot", "music-stateless", "-runs", "1", "-only", "label oracle") // which is left out beside others
	step("toy-linear              2 ", "list", "-runs", "2", "-seed", "0")
	for line, want := range map[string]string{
		"plot toy-bernoulli":             "nothing is stored of toy-bernoulli",
		"plot toy-linear -only nonsense": "list toy-linear names",
		"notebooks nonsense":             "known are: ",
		`train x -columns {"Kind":1}`:    "unknown field",
		"train x -columns {}}":           "after top-level value",
	} {
		if status, _, stderr := typed(t.Context(), append(strings.Fields(line), "-out", out)...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", line, status, stderr)
		}
	}
	for _, made := range []string{"figures/toy-linear.png", "figures/toy-linear.svg", "figures/toy-linear-loglog.png", "claims.md"} {
		if info, err := os.Stat(filepath.Join(out, made)); err != nil || info.Size() == 0 {
			t.Errorf("%s was not made: %v", made, err)
		}
	}
}

// What is exported is what an environment offers, expects and pays, whatever is chosen.
func TestExport(t *testing.T) {
	status, stdout, stderr := typed(t.Context(), strings.Fields("export toy-mixed -scale 0.0005 -runs 2 -seed 7")...)
	header, data, _ := strings.Cut(stdout, "\n")
	if status != 0 || !strings.Contains(header, `"checkpoints":[1,2,3,4,5,6,7,8,9,10],`) || len(data) != 10*2*5*(40*4+8+4) {
		t.Fatalf("status %d, %s%s and %d bytes", status, stderr, header, len(data))
	}
	e := paper.Mixed()
	e.Seed = 7
	env, err := e.Problem.New(e.ProblemSeeds(0, 2))
	if err != nil {
		t.Fatal(err)
	}
	r := strings.NewReader(data)
	contexts, expected, rewards, want := make([]float32, 2*5*40), make([]float64, 2*5), make([]float32, 2*5), make([]float64, 2*5)
	for step := range 10 {
		for _, part := range []any{contexts, expected, rewards} {
			if err := binary.Read(r, binary.LittleEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		env.(envs.Oracle).ExpectedRewards(want)
		same := slices.Equal(contexts, env.Observe().Contexts) && slices.Equal(expected, want)
		outcome, err := env.Step([]int{step % 5, 4 - step%5})
		if !same || err != nil || outcome.Reward[0] != rewards[step%5] || outcome.Reward[1] != rewards[9-step%5] {
			t.Errorf("step %d: %v, contexts and expected rewards are the same: %v; it pays %v, exported are %v", step, err, same, outcome.Reward, rewards)
		}
	}
	if status, _, stderr := typed(t.Context(), "export", "music-state", "-scale", "0.000002"); status != 1 || !strings.Contains(stderr, "cannot be exported") {
		t.Errorf("music: status %d, %s", status, stderr)
	}
}

// The jobs of an array share a folder, and the last one has the results.
func TestShards(t *testing.T) {
	out := t.TempDir()
	for shard, want := range []string{"part 1 of 2 is kept; there are results when all parts are\n", "next: " + self + " plot"} {
		line := fmt.Sprintf("run toy-linear -scale 0.0005 -shard %d/2 -out %s", shard+1, out)
		if status, stdout, stderr := typed(t.Context(), strings.Fields(line)...); status != 0 || !strings.Contains(stdout, want) || strings.Contains(stdout, " plot") != (shard == 1) {
			t.Fatalf("paper %s: status %d\n%s%s\nwant %q", line, status, stdout, stderr, want)
		}
		want = []string{"toy-linear              20    20000    -\n", "20000    9 of 9 algorithms, 10 steps\n"}[shard]
		_, stdout, _ := typed(t.Context(), "list", "-out", out)
		if !strings.Contains(stdout, want) {
			t.Errorf("after part %d paper list says\n%s", shard+1, stdout)
		}
		for line := range strings.Lines(stdout) {
			if len(line) > 101 && !strings.Contains(line, self) {
				t.Errorf("a line of %d columns: %s", len(line)-1, line)
			}
		}
	}
}

// A search is submitted twice: its first round, and when that is stored, its finals.
func TestSubmitSearch(t *testing.T) {
	out := t.TempDir()
	line := "tuning-toy-linear -runs 1 -scale 0.0005 -out " + out
	t.Setenv("PAPER_TASKS", "1")
	t.Setenv("JOB_COMPLETION_INDEX", "0")
	for i, folder := range []string{"tuning-toy-linear", "finals-tuning-toy-linear"} {
		t.Setenv("PAPER_JOB", "")
		_, batch, _ := typed(t.Context(), strings.Fields("submit -to slurm -print "+line)...)
		_, job, _ := strings.Cut(batch, "PAPER_JOB=")
		job, _, _ = strings.Cut(job, " ")
		t.Setenv("PAPER_JOB", job)
		if status, stdout, stderr := typed(t.Context(), strings.Fields("run "+line)...); status != 0 {
			t.Fatalf("task of job %q: status %d\n%s%s", job, status, stdout, stderr)
		}
		files, _ := filepath.Glob(filepath.Join(out, "results", "*", "*.csv"))
		here, _ := filepath.Glob(filepath.Join(out, "results", folder, "*.csv"))
		if want := []int{224, 56}[i]; len(here) != want || len(files) != 224+56*i {
			t.Errorf("%s: %d of %d results", folder, len(here), len(files))
		}
	}
}

// A notebook that was executed with the same sources in the same setting is not executed again.
func TestFreshNotebooks(t *testing.T) {
	root := t.TempDir()
	source, nbrun := filepath.Join(root, "a.go"), "#!/bin/sh\necho executed\ngrep -q right "+root+"/a.go && touch $4\n"
	if err := cmp.Or(os.MkdirAll(programs(root), 0o777), os.WriteFile(filepath.Join(programs(root), "nbrun"), []byte(nbrun), 0o777)); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		p      program
		source string
		made   bool
	}{
		{program{scale: 1}, "right", true},
		{program{scale: 1}, "right", false},
		{program{scale: 1, fresh: true}, "right", true},
		{program{scale: 2}, "right", true},
		{program{scale: 2}, "wrong", true},
		{program{scale: 2}, "wrong", true},
		{program{scale: 2}, "right, too", true},
		{program{scale: 2}, "right, too", false},
	} {
		var said bytes.Buffer
		step.p.root, step.p.out, step.p.stdout = root, filepath.Join(root, "out"), &said
		if err := os.WriteFile(source, []byte(step.source), 0o666); err != nil {
			t.Fatal(err)
		}
		err := step.p.execute(t.Context(), []string{"a"})
		if strings.Contains(said.String(), "executed\n") != step.made || (err != nil) != (step.source == "wrong") {
			t.Errorf("step %d: %s, error %v", i, said.String(), err)
		}
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	status, stdout, stderr := typed(ctx, "run", "toy-linear", "-scale", "0.0005", "-out", t.TempDir())
	if status != 130 || !strings.Contains(stderr, "interrupted in toy-linear: ") || !strings.Contains(stderr, "0 of 180 runs are kept") || strings.Contains(stdout+stderr, "fail") {
		t.Errorf("status %d\n%s%s\nwant 130 and that it was interrupted", status, stdout, stderr)
	}
}

// Every command of the README is one, with arguments that it takes; those that
// take a moment are run.
func TestREADME(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	found := regexp.MustCompile("go run ./notebooks/cmd/paper([^`#\n]*)").FindAllStringSubmatch(read(t, root, "README.md"), -1)
	if len(found) == 0 {
		t.Fatal("there is no command in the README")
	}
	for _, f := range found {
		args := strings.Fields(strings.ReplaceAll(f[1], "FOLDER", out))
		if len(args) == 0 {
			continue
		}
		var stdout, stderr bytes.Buffer
		p := &program{stdout: &stdout, stderr: &stderr}
		for i, a := range args {
			if oneDash.MatchString(a) {
				args[i] = "-" + a
			}
		}
		cmd, rest, err := p.commands().Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err == nil {
			err = p.check(cmd, cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("paper%s: %v", f[1], err)
		}
		if cmd.Name() == "run" && !strings.Contains(f[1], "music") {
			if status, _, stderr := typed(t.Context(), append(args, "--scale", "0.0005", "--out", out)...); status != 0 {
				t.Errorf("paper%s: status %d, %s", f[1], status, stderr)
			}
		}
	}
}

// Each notebook begins with the set-up cell, and is stored as it was executed.
func TestStoredNotebooks(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	names := notebooksOf(root)
	if len(names) == 0 {
		t.Fatal("there are no notebooks")
	}
	for _, name := range names {
		count := 0
		for _, c := range storedCells(t, filepath.Join(root, "notebooks", name+".ipynb")) {
			if c.Type != "code" {
				continue
			}
			if count++; c.Count != count {
				t.Errorf("%s: code cell %d has the execution count %d", name, count, c.Count)
			}
			for _, o := range c.Outputs {
				if o.Type == "error" {
					t.Errorf("%s: code cell %d has failed", name, count)
				}
			}
			if count == 1 && string(c.Source) != setupCell {
				t.Errorf("%s begins with\n%s\nwant the set-up cell\n%s", name, c.Source, setupCell)
			}
		}
	}
}

// setupCell makes a cell's program a module in a workspace with this repository,
// which a copy of the notebooks elsewhere knows by CONTEXTREC.
const setupCell = `%noautoget
%env GOFLAGS="-mod=readonly -ldflags=-w"
%env GOWORK=auto
!*rm -f go.work go.work.sum && go work init . "${CONTEXTREC:-$(cd "$GONB_DIR" && dirname "$(GOWORK=off go env GOMOD)")}"`

// Notebooks run from an empty store, without a network, and with settings in the environment that
// break cells unless the set-up cell repairs them: those where a user begins, and those that
// reproduce, which executes all others, leaves out.
func TestNotebooks(t *testing.T) {
	if testing.Short() {
		t.Skip("notebooks are not executed in a short test")
	}
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range notebooksOf(root) { // go test caches by what this process reads
		read(t, root, "notebooks/"+name+".ipynb")
	}
	p := &program{stdout: t.Output(), stderr: t.Output(), root: root, out: t.TempDir()}
	if err := p.prepareKernel(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"GOFLAGS": "-mod=mod", "GOWORK": "off", "GOPROXY": "off"} {
		t.Setenv(name, value)
	}
	music := slices.DeleteFunc(notebooksOf(root), func(name string) bool { return !strings.HasPrefix(name, "music-") })
	for scale, names := range map[float64][]string{0.002: {"quickstart", "own-data", "own-problem"}, 0.000004: music} {
		p.scale = scale
		if err := p.execute(t.Context(), names); err != nil {
			t.Error(err)
		}
	}
}

// lab copies the notebooks, keeps those that were changed, and runs the Jupyter
// that is installed, which finds the kernel.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("the kernel is not built in a short test")
	}
	folder := t.TempDir()
	paper, copied := filepath.Join(folder, "paper"), filepath.Join(folder, "copy")
	if text, err := exec.Command("go", "build", "-o", paper, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	jupyter := "#!/bin/sh\npwd\necho \"$*\"\ncat \"${JUPYTER_PATH%%:*}/kernels/gonb/kernel.json\"\n"
	if err := os.WriteFile(filepath.Join(folder, "jupyter-lab"), []byte(jupyter), 0o755); err != nil {
		t.Fatal(err)
	}
	lab := exec.Command(paper, "lab", "-dir", copied, "-out", filepath.Join(folder, "out"), "--", "--port", "7777")
	lab.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	text, err := lab.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	_, said, _ := strings.Cut(string(text), "to keep a change: ")
	for _, want := range []string{"\n" + copied + "\n", "--port 7777", "gonb", "CONTEXTREC", "${PATH}"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	root, _ := repository()
	mine := filepath.Join(copied, "quickstart.ipynb")
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := copyNotebooks(root, copied); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(mine); string(text) != "mine" {
		t.Error("a changed notebook was replaced")
	}
	t.Setenv("PATH", "/nowhere")
	if _, err := findJupyter(); err == nil || !strings.Contains(err.Error(), "pip install jupyterlab") {
		t.Errorf("without Jupyter the error is %v", err)
	}
}

// Without a home lab copies to another place outside of the repository.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	p := &program{}
	p.commands()
	if root, _ := repository(); !filepath.IsAbs(p.dir) || strings.HasPrefix(p.dir, root) {
		t.Errorf("lab copies to %s", p.dir)
	}
}

// A kernel that this program has not written stays, in each place where Jupyter looks.
func TestKernelOfOthers(t *testing.T) {
	for _, place := range []struct{ variable, folder string }{{"HOME", ".local/share/jupyter"}, {"XDG_DATA_HOME", "jupyter"}, {"JUPYTER_DATA_DIR", ""}} {
		if place.folder != "" && runtime.GOOS == "darwin" {
			continue // where it is another folder
		}
		data := t.TempDir()
		t.Setenv(place.variable, data)
		file := filepath.Join(data, place.folder, "kernels", "gonb", "kernel.json")
		if err := sim.WriteFile(file, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := typed(t.Context(), "kernel", "install")
		if text, _ := os.ReadFile(file); status != 1 || string(text) != "{}" || !strings.Contains(stderr, "stays") {
			t.Errorf("%s: status %d, %s, the file is %s", place.variable, status, stderr, text)
		}
	}
}
