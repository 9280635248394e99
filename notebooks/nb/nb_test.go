package nb_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/nb"
	"github.com/contextrec/contextrec/notebooks/submit"
)

// Cells end programs, so each test runs its cell in another process: this
// one again, with the cell's name in the environment.
const cellVariable = "NB_TEST_CELL"

func TestMain(m *testing.M) {
	if name := os.Getenv(cellVariable); name != "" {
		cells[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var cells = map[string]func(){
	"show": func() { nb.Show(line(), "a line") },
	"grid": func() { nb.ShowGrid(2, "three lines", line(), line(), line()) },
	"texts": func() {
		nb.Text("1 < 2\n  & 3")
		nb.HTML("<hr>", "---")
	},
	"table": func() { nb.Table([]string{"name", "x"}, [][]string{{"a < b", "1"}, {"c", "22\n3"}}) },
	"must":  func() { fmt.Println(nb.Must(7, nil)) },
	"must not": func() {
		nb.Text("before")
		nb.Must(os.Open("/no/such/file"))
		nb.Text("after")
	},
	"bar": func() {
		update, erase := nb.Bar()
		update(sim.Status{Total: 100, Done: 25, Entry: "PG<R", Regret: 12.34})
		update(sim.Status{Total: 100, Done: 100})
		erase()
	},
	"scale": func() { fmt.Println(nb.Scale(sim.Experiment{Steps: 20_000})) },
	"store": func() { fmt.Println(nb.Store().Dir) },
	"run": func() {
		for range 2 {
			for _, r := range nb.Run(experiment) {
				fmt.Println(r.Entry, r.Runs, r.Steps)
			}
		}
	},
	"warned": func() {
		noisy := experiment
		noisy.Problem = envs.Linear{RewardNoise: 1e5}
		nb.Run(noisy)
	},
	"submit": func() {
		other := experiment
		other.Name = "other"
		nb.Submit(other, submit.Job{To: "slurm"})
		for _, r := range nb.Submit(experiment, submit.Job{To: "slurm"}) {
			fmt.Println(r.Entry, r.Runs, r.Steps)
		}
	},
	"interrupted run": func() {
		nb.Context()
		stopped := experiment
		stopped.Entries = []sim.Entry{{Name: "stopper", Algorithm: first{Stop: true}}}
		nb.Run(stopped)
	},
}

func line() *plot.Plot {
	p := plot.New()
	p.Title.Text = "title"
	p.Add(plotter.NewFunction(func(x float64) float64 { return x }))
	return p
}

var experiment = sim.Experiment{
	Name:    "test",
	Problem: envs.Linear{},
	Entries: []sim.Entry{{Name: "first", Algorithm: first{}}},
	Runs:    3,
	Steps:   200,
}

// first always takes the first candidate. It says when it is made, and can
// interrupt its own process in the middle of a run.
type first struct{ Stop bool }

func (f first) New(envs.Spec, []uint64) (envs.Policy, error) {
	fmt.Println("made")
	return &firstPolicy{stop: f.Stop}, nil
}

type firstPolicy struct{ stop bool }

func (p *firstPolicy) Act(dst []int, _ envs.Observation) error {
	clear(dst)
	if p.stop {
		p.stop = false
		syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-nb.Context().Done()
	}
	return nil
}

func (*firstPolicy) Update(envs.Transition) error { return nil }

// outcome is what a cell has done.
type outcome struct {
	shown          []protocol.DisplayData
	stdout, stderr string
	status         int
}

// run runs a cell as an ordinary program.
func run(t *testing.T, cell string, env ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "GONB_PIPE=", "PAPER_SCALE=", "PAPER_OUT=", "GONB_DIR=", cellVariable+"="+cell), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout: stdout.String(), stderr: stderr.String(), status: cmd.ProcessState.ExitCode()}
}

// runInNotebook runs a cell as the GoNB kernel does, with two named pipes: one
// for what is to be shown, one for answers.
func runInNotebook(t *testing.T, cell string, env ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	pipe, back := filepath.Join(dir, "pipe"), filepath.Join(dir, "back")
	var files []*os.File
	for _, name := range []string{pipe, back} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		// Opened for both, so that it does not wait for the other side.
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var shown []protocol.DisplayData
	done := make(chan struct{})
	go func() {
		defer close(done)
		in, out := gob.NewDecoder(files[0]), gob.NewEncoder(files[1])
		for {
			var d protocol.DisplayData
			if in.Decode(&d) != nil {
				return
			}
			if v, ok := d.Data[protocol.MIMECommValue].(protocol.CommValue); ok {
				out.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: v.Value})
				continue
			}
			shown = append(shown, d)
		}
	}()
	o := run(t, cell, append(env, "GONB_PIPE="+pipe, "GONB_PIPE_BACK="+back)...)
	files[0].Close()
	files[1].Close()
	<-done
	o.shown = shown
	return o
}

// good checks that a cell has ended well and returns what it showed.
func (o outcome) good(t *testing.T, shown int) []protocol.DisplayData {
	t.Helper()
	if o.status != 0 || o.stderr != "" || o.stdout != "" || len(o.shown) != shown {
		t.Fatalf("status %d, stderr %q, stdout %q, %d outputs; want %d outputs alone", o.status, o.stderr, o.stdout, len(o.shown), shown)
	}
	return o.shown
}

// picture decodes the PNG of an output and checks its sizes.
func picture(t *testing.T, d protocol.DisplayData, alt string, pixels image.Point, width, height int) {
	t.Helper()
	raw, _ := d.Data[protocol.MIMEImagePNG].([]byte)
	im, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if im.Bounds().Size() != pixels {
		t.Errorf("the picture has %v pixels, want %v", im.Bounds().Size(), pixels)
	}
	if got := d.Data[protocol.MIMETextPlain]; got != alt {
		t.Errorf("text is %q, want %q", got, alt)
	}
	if got, want := d.Metadata["image/png"], (map[string]int{"width": width, "height": height}); !reflect.DeepEqual(got, want) {
		t.Errorf("metadata is %v, want %v", got, want)
	}
}

// Pixels are inches times 192; the sizes in the metadata are inches times 96,
// the pixels of CSS.
func TestShow(t *testing.T) {
	picture(t, runInNotebook(t, "show").good(t, 1)[0], "a line", image.Pt(1229, 768), 614, 384)
	// Three plots of 9.6/2 by 9.6/2*0.66 inches in two rows.
	picture(t, runInNotebook(t, "grid").good(t, 1)[0], "three lines", image.Pt(1843, 1217), 922, 608)
	if o := run(t, "show"); o.stdout != "a line\n" {
		t.Errorf("outside a notebook it prints %q, want the text", o.stdout)
	}
}

func TestTexts(t *testing.T) {
	want := []map[protocol.MIMEType]any{
		{protocol.MIMETextHTML: "<pre>1 &lt; 2\n  &amp; 3</pre>", protocol.MIMETextPlain: "1 < 2\n  & 3"},
		{protocol.MIMETextHTML: "<hr>", protocol.MIMETextPlain: "---"},
	}
	for i, d := range runInNotebook(t, "texts").good(t, len(want)) {
		if !reflect.DeepEqual(d.Data, want[i]) {
			t.Errorf("output %d is %v, want %v", i, d.Data, want[i])
		}
	}
	if o := run(t, "texts"); o.stdout != "1 < 2\n  & 3\n---\n" {
		t.Errorf("outside a notebook it prints %q", o.stdout)
	}
}

func TestTable(t *testing.T) {
	d := runInNotebook(t, "table").good(t, 1)[0]
	const plain = "name   x\na < b  1\nc      22; 3"
	if got := d.Data[protocol.MIMETextPlain]; got != plain {
		t.Errorf("text is %q, want %q", got, plain)
	}
	rich := fmt.Sprint(d.Data[protocol.MIMETextHTML])
	if strings.Count(rich, "<tr>") != 3 || strings.Count(rich, "<th ") != 2 || strings.Count(rich, "<td ") != 4 || !strings.Contains(rich, ">a &lt; b</td>") || !strings.Contains(rich, ">22<br>3</td>") {
		t.Errorf("table is %s", rich)
	}
	if o := run(t, "table"); o.stdout != plain+"\n" {
		t.Errorf("outside a notebook it prints %q", o.stdout)
	}
}

func TestMust(t *testing.T) {
	if o := run(t, "must"); o.status != 0 || o.stdout != "7\n" {
		t.Errorf("status %d, stdout %q; want 0 and the value", o.status, o.stdout)
	}
	o := runInNotebook(t, "must not")
	if o.status != 1 || o.stderr != "open /no/such/file: no such file or directory\n" {
		t.Errorf("status %d, stderr %q; want 1 and the error", o.status, o.stderr)
	}
	if len(o.shown) != 1 || o.shown[0].Data[protocol.MIMETextPlain] != "before" {
		t.Errorf("outputs are %v, want what came before the error", o.shown)
	}
}

func TestUnreachableNotebookFailsTheCell(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	o := run(t, "texts", "GONB_PIPE="+gone, "GONB_PIPE_BACK="+gone)
	if o.status != 1 || !strings.Contains(o.stderr, "nb: the notebook cannot be reached: ") {
		t.Errorf("status %d, stderr %q; want 1 and the reason", o.status, o.stderr)
	}
}

func TestBar(t *testing.T) {
	shown := runInNotebook(t, "bar").good(t, 2)
	first := fmt.Sprint(shown[0].Data[protocol.MIMETextHTML])
	for _, part := range []string{`value="25" max="100"`, " 25 %", "PG&lt;R", "regret 12.3"} {
		if !strings.Contains(first, part) {
			t.Errorf("bar is %s, want %s in it", first, part)
		}
	}
	if shown[0].DisplayID == "" || shown[1].DisplayID != shown[0].DisplayID || shown[1].Data[protocol.MIMETextHTML] != "" {
		t.Errorf("last output is %v, want the bar erased", shown[1])
	}
	if o := run(t, "bar"); !strings.HasSuffix(o.stderr, ": done in 0.0 s; 0 % was stored\n") { // it is no terminal here
		t.Errorf("outside a notebook it prints %q", o.stderr)
	}
}

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		cell, env string
		want      outcome
	}{
		{"scale", "PAPER_SCALE=", outcome{stdout: "0.01\n"}},
		{"scale", "PAPER_SCALE=1", outcome{stdout: "1\n"}},
		{"scale", "PAPER_SCALE=NaN", outcome{stderr: "PAPER_SCALE is \"NaN\", want a positive number\n", status: 1}},
		{"store", "PAPER_OUT=/somewhere", outcome{stdout: "/somewhere/results\n"}},
		{"store", "GONB_DIR=/notebooks", outcome{stdout: "/notebooks/out/results\n"}},
	} {
		if o := run(t, c.cell, c.env); !reflect.DeepEqual(o, c.want) {
			t.Errorf("%s with %s: %+v, want %+v", c.cell, c.env, o, c.want)
		}
	}
}

func TestRun(t *testing.T) {
	out := t.TempDir()
	o := run(t, "run", "PAPER_SCALE=0.25", "PAPER_OUT="+out)
	// 200 steps at a scale of 0.25; the second time they come from the store.
	results := strings.ReplaceAll(o.stdout, "made\n", "")
	const short = "50 of 200 steps; %env PAPER_SCALE=1 asks for all\n"
	if want := short + "first 3 50\n" + short + "first 3 50\n"; results != want || o.status != 0 {
		t.Errorf("status %d, it prints %q, want %q\n%s", o.status, o.stdout, want, o.stderr)
	}
	if files, _ := filepath.Glob(filepath.Join(out, "results", "test", "first-*.csv")); len(files) != 1 {
		t.Errorf("files are %v, want one result", files)
	}
}

// What cannot be learned is said once, wherever the cell runs.
func TestWarnings(t *testing.T) {
	const warning = "rewards are of the size"
	if o := run(t, "warned", "PAPER_OUT="+t.TempDir()); o.status != 0 || strings.Count(o.stdout+o.stderr, warning) != 1 {
		t.Errorf("status %d, it prints %q and %q, want one warning", o.status, o.stdout, o.stderr)
	}
	said := 0
	for _, d := range runInNotebook(t, "warned", "PAPER_OUT="+t.TempDir()).shown {
		said += strings.Count(fmt.Sprint(d.Data[protocol.MIMETextPlain]), warning)
	}
	if said != 1 {
		t.Errorf("the notebook shows %d warnings, want 1", said)
	}
}

// A cell submits its own program to a cluster, which plays it here, and shows what is there.
func TestSubmit(t *testing.T) {
	bin, out := t.TempDir(), t.TempDir()
	sbatch := `#!/bin/bash
file=$(cat)
for i in 1 2 3; do SLURM_CPUS_ON_NODE=1 SLURM_ARRAY_TASK_ID=$i bash -c "$file" >>"$PAPER_OUT/log" 2>&1; done
`
	if err := os.WriteFile(filepath.Join(bin, "sbatch"), []byte(sbatch), 0o777); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "PAPER_OUT=" + out, "PAPER_SCALE=0.001"}
	if o := run(t, "submit", env...); o.status != 0 || strings.Count(o.stdout, "submitted") != 2 || !strings.Contains(o.stdout, "first 3 200\n") {
		log, _ := os.ReadFile(filepath.Join(out, "log"))
		t.Errorf("status %d, it prints %q, %s\n%s", o.status, o.stdout, o.stderr, log)
	}
	if log, err := os.ReadFile(filepath.Join(out, "log")); !strings.Contains(string(log), "test: done in ") {
		t.Errorf("tasks do not tell how far they are: %s %v", log, err)
	}
	if o := run(t, "submit", env...); o.status != 0 || !strings.HasSuffix(o.stdout, "first 3 200\n") || strings.Contains(o.stdout, "submitted") {
		t.Errorf("again: status %d, it prints %q, %s", o.status, o.stdout, o.stderr)
	}
	lost, _ := filepath.Glob(filepath.Join(out, "results", "test", "*.csv"))
	if err := os.Remove(lost[0]); err != nil {
		t.Fatal(err)
	}
	if o := run(t, "submit", env...); o.status != 0 || !strings.Contains(o.stdout, "0 of 3 runs are finished") {
		t.Errorf("with a missing result: status %d, it prints %q, %s", o.status, o.stdout, o.stderr)
	}
}

func TestRunIsInterrupted(t *testing.T) {
	o := run(t, "interrupted run", "PAPER_SCALE=1", "PAPER_OUT="+t.TempDir())
	if o.status != 1 || !strings.Contains(o.stderr, "runs are kept in") {
		t.Errorf("status %d, stderr %q; want 1 and that it was interrupted", o.status, o.stderr)
	}
}
