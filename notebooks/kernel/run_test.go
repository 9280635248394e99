package kernel_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/kernel"
	"github.com/contextrec/contextrec/notebooks/kernel/internal/tooltest"
	"github.com/contextrec/contextrec/notebooks/kernel/nbformat"
)

// notebook is a notebook of code cells.
func notebook(cells ...string) *nbformat.Notebook {
	n := new(nbformat.Notebook)
	for i, source := range cells {
		n.Cells = append(n.Cells, nbformat.Cell{Type: nbformat.Code, ID: fmt.Sprint("c", i), Source: source})
	}
	return n
}

// run runs a notebook in this package's folder, so that its cells can import
// what this module requires.
func run(t *testing.T, n *nbformat.Notebook, opt kernel.Options) error {
	t.Helper()
	if opt.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		opt.Dir = dir
	}
	opt.Env = append([]string{"PATH=" + tooltest.Path(t)}, opt.Env...)
	return kernel.Run(t.Context(), n, opt)
}

const setup = `%noautoget
%env GOFLAGS=-mod=readonly
%env GOWORK=auto
!*rm -f go.work go.work.sum && go work init . "$(cd "$GONB_DIR" && dirname "$(GOWORK=off go env GOMOD)")"`

// outputNotebook puts out all that a cell can. Its expected outputs follow from
// the sources alone.
func outputNotebook() *nbformat.Notebook {
	return notebook(
		setup,
		"!printf 'loading 10%%\\rloading 20%%\\nnext\\r\\nnowhere\\rNO\\n'; echo oops >&2; echo more",
		"import (\n\t\"image\"\n\t\"image/color\"\n\n\t\"github.com/janpfeifer/gonb/gonbui\"\n)\n\n"+
			"%%\npicture := image.NewRGBA(image.Rect(0, 0, 3, 2))\npicture.Set(2, 1, color.RGBA{200, 100, 50, 255})\n"+
			"for i := range 500 {\n\tfmt.Println(i)\n\tgonbui.UpdateHTML(\"bar\", fmt.Sprint(i))\n}\n"+
			"gonbui.DisplayImage(picture)\ngonbui.UpdateHTML(\"kept\", \"first\")\ngonbui.UpdateHTML(\"bar\", \"\")\ngonbui.Sync()",
		"",
		"%%\ngonbui.UpdateHTML(\"kept\", \"<b>last</b> & more\")\ngonbui.Sync()",
	)
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	n := outputNotebook()
	n.Cells[0].Outputs = []nbformat.Output{{Type: nbformat.Stream, Name: "stdout", Text: "of an earlier run"}}
	if err := run(t, n, kernel.Options{}); err != nil {
		t.Fatal(err)
	}

	want := []struct{ count, outputs int }{{1, 1}, {2, 2}, {3, 3}, {0, 0}, {4, 0}}
	for i, c := range n.Cells {
		if c.ExecutionCount != want[i].count || len(c.Outputs) != want[i].outputs {
			t.Fatalf("cell %d: execution count %d, %d outputs %v; want %d, %d", i, c.ExecutionCount, len(c.Outputs), c.Outputs, want[i].count, want[i].outputs)
		}
	}
	// What a terminal would show of the carriage returns: the second percentage
	// over the first, "\r\n" as an end of line, and NO over the start of "nowhere".
	shell := n.Cells[1].Outputs
	if got, want := shell[0].Text, "loading 20%\nnext\nNOwhere\nmore\n"; shell[0].Name != "stdout" || got != want {
		t.Errorf("%s of the shell line is %q, want %q", shell[0].Name, got, want)
	}
	if got, want := shell[1].Text, "oops\n"; shell[1].Name != "stderr" || got != want {
		t.Errorf("%s of the shell line is %q, want %q", shell[1].Name, got, want)
	}
	// 500 lines in one stream; the erased bar is gone; the kept output has the
	// text that a later cell gave it.
	program := n.Cells[2].Outputs
	if got := program[0].Text; strings.Count(got, "\n") != 500 || !strings.HasSuffix(got, "\n499\n") {
		t.Errorf("stdout of the program has %d lines and ends with %q", strings.Count(got, "\n"), got[max(0, len(got)-10):])
	}
	if got := program[2].Data["text/html"]; got != "<b>last</b> & more" {
		t.Errorf("the updated output is %q", got)
	}
	raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(program[1].Data["image/png"]))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := color.RGBAModel.Convert(picture.At(2, 1)), (color.RGBA{200, 100, 50, 255}); picture.Bounds().Dx() != 3 || picture.Bounds().Dy() != 2 || got != want {
		t.Errorf("picture %v with %v at (2, 1), want 3x2 with %v", picture.Bounds(), got, want)
	}
	if got := fmt.Sprint(n.Metadata["kernelspec"]); got != "map[display_name:Go (gonb) language:go name:gonb]" {
		t.Errorf("kernelspec is %s", got)
	}
}

func TestSameNotebookSameFile(t *testing.T) {
	t.Parallel()
	var files [2][]byte
	for i := range files {
		n := outputNotebook()
		if err := run(t, n, kernel.Options{}); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[i], err = n.Encode(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("two runs give different files:\n%s\n%s", files[0], files[1])
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, source   string
		reason, output string // output: a part of it
		cell           int
	}{
		{"compile error", "%%\nvar x int = \"text\"\nfmt.Println(x, y)", "failed", "undefined: y", 1},
		{"syntax error", "func f( {", "failed", "expected", 1},
		{"panic", "%%\npanic(\"at the disco\")", "failed", "panic: at the disco", 1},
		{"exit status", "%%\nfmt.Println(\"bye\")\nos.Exit(3)", "failed", "bye\nexit status 3", 1},
		{"test", "%test\nfunc TestIt(t *testing.T) { t.Error(\"wrong\") }", "failed", "wrong", 1},
		{"cd", "%cd /no/such/folder", "failed", "no such file", 1},
		{"shell line", "!echo before; exit 7", "exit status 7", "before\nexit status 7", 1},
		{"shell line in the kernel's folder", "!*false", "exit status 1", "exit status 1", 1},
		{"shell line that does not end the cell", "!false\n!echo on", "exit status 1", "on\nexit status 1", 1},
		{"shell line killed", "!kill -9 $$", "signal: killed", "signal: killed", 1},
		{"script", "%%bash\necho in\nexit 5", "exit status 5", "in\nexit status 5", 1},
		{"unknown command", "%nosuchcmd", `command "%nosuchcmd" unknown or not implemented`, "nosuchcmd", 1},
		{"text on stderr", "%%\nfmt.Fprintln(os.Stderr, \"warning: exit status 1 is nothing\")", "", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := notebook("%noautoget\n%env GOFLAGS=-mod=readonly", test.source, "!echo not reached")
			n.Cells[2].Outputs = []nbformat.Output{{Type: nbformat.Stream, Name: "stdout", Text: "of an earlier run"}}
			err := run(t, n, kernel.Options{})
			if test.cell == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var failed *kernel.CellError
			if !errors.As(err, &failed) {
				t.Fatalf("error is %v, want a *CellError", err)
			}
			if failed.Number != 2 || failed.Of != 3 || failed.Source != test.source || failed.Reason != test.reason {
				t.Errorf("cell %d of %d, source %q, reason %q; want 2 of 3, %q, %q", failed.Number, failed.Of, failed.Source, failed.Reason, test.source, test.reason)
			}
			if !strings.Contains(failed.Output, test.output) {
				t.Errorf("output is %q, want %q in it", failed.Output, test.output)
			}
			for _, part := range append(strings.Split(test.source, "\n"), "cell 2 of 3", test.reason) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("message lacks %q:\n%v", part, err)
				}
			}
			if len(n.Cells[1].Outputs) == 0 {
				t.Error("the notebook does not hold the error")
			}
			if n.Cells[2].ExecutionCount != 0 || len(n.Cells[2].Outputs) != 0 {
				t.Errorf("the cell after the one that failed has outputs %v", n.Cells[2].Outputs)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	n := notebook("!echo begun; exec sleep 1000")
	err := run(t, n, kernel.Options{Timeout: 300 * time.Millisecond})
	var failed *kernel.CellError
	if !errors.As(err, &failed) || failed.Reason != "timeout after 300ms" {
		t.Fatalf("error is %v, want a timeout", err)
	}
	if out := n.Cells[0].Outputs; len(out) == 0 || out[len(out)-1].ErrorName != "Timeout" || out[0].Text != "begun\n" {
		t.Errorf("outputs are %v, want what came before and the timeout", out)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	// The file says that the cell runs.
	dir := t.TempDir()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	err := kernel.Run(ctx, notebook("!exec sleep 1000 > runs"), kernel.Options{Dir: dir, Env: []string{"PATH=" + tooltest.Path(t)}})
	var failed *kernel.CellError
	if !errors.Is(err, context.Canceled) || errors.As(err, &failed) {
		t.Errorf("error is %v, want context.Canceled and no *CellError", err)
	}
}

// A program of a cell is interrupted as by the button of a front end: it may
// end in its own way.
func TestCancelReachesTheProgram(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	n := notebook("%noautoget", "import (\n\t\"os\"\n\t\"os/signal\"\n)\n%%\nc := make(chan os.Signal, 1)\nsignal.Notify(c, os.Interrupt)\n"+
		"os.WriteFile(\"runs\", nil, 0o666)\n<-c\nfmt.Println(\"saved\")")
	err := kernel.Run(ctx, n, kernel.Options{Dir: dir, Env: []string{"PATH=" + tooltest.Path(t)}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if out := n.Cells[1].Outputs; len(out) != 1 || out[0].Text != "saved\n" {
		t.Errorf("outputs are %v, want what the program printed after the interrupt", out)
	}
}

func TestMissingPrograms(t *testing.T) {
	for _, test := range []struct {
		have []string
		want string
	}{
		{[]string{"gonb", "goimports"}, "go is not on PATH: the kernel compiles each cell with it"},
		{[]string{"gonb", "go"}, "goimports is not on PATH"},
		{[]string{"goimports", "go"}, "gonb, the notebook kernel, is not on PATH"},
	} {
		err := kernel.Run(t.Context(), notebook("!true"), kernel.Options{Dir: t.TempDir(), Env: []string{"PATH=" + tooltest.Bin(t, test.have...)}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("with %v alone the error is %v, want %q", test.have, err, test.want)
		}
	}
}

func TestNoTemporaryFolder(t *testing.T) {
	path := tooltest.Path(t) // building what is on it takes temporary files
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	err := kernel.Run(t.Context(), notebook("!true"), kernel.Options{Dir: t.TempDir(), Env: []string{"PATH=" + path}})
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error is %v, want one that names TMPDIR and the folder", err)
	}
}

func TestKernelDies(t *testing.T) {
	t.Parallel()
	t.Run("at its start", func(t *testing.T) {
		t.Parallel()
		bin := tooltest.Bin(t, "go", "goimports")
		if err := os.WriteFile(filepath.Join(bin, "gonb"), []byte("#!/bin/sh\necho no room >&2\nexit 9\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		err := kernel.Run(t.Context(), notebook("!true"), kernel.Options{Dir: t.TempDir(), Env: []string{"PATH=" + bin}})
		if err == nil || !strings.Contains(err.Error(), "the kernel died at its start (exit status 9)\nno room") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("while a cell runs", func(t *testing.T) {
		t.Parallel()
		n := notebook("!echo here", "!kill -9 $PPID")
		err := run(t, n, kernel.Options{})
		if err == nil || !strings.Contains(err.Error(), "cell 2 of 2: the kernel died while the cell ran (signal: killed)") {
			t.Errorf("error is %v", err)
		}
		if out := n.Cells[0].Outputs; len(out) != 1 || out[0].Text != "here\n" {
			t.Errorf("outputs of the first cell are %v", out)
		}
	})
}

func TestNothingIsLeft(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	// Not by the cell's output: what a killed kernel has not yet sent is lost.
	told := filepath.Join(t.TempDir(), "pid")
	for _, cell := range []string{
		"!nohup sleep 1000 >/dev/null 2>&1 & echo $! > '" + told + "'",                     // good, but leaves a process
		"!nohup sleep 1000 >/dev/null 2>&1 & echo $! > '" + told + "'; exec kill -9 $PPID", // and the kernel cannot clean up
	} {
		os.Remove(told)
		n := notebook(cell)
		n.Cells[0].Source = cell
		run(t, n, kernel.Options{Dir: tmp})
		text, err := os.ReadFile(told)
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Sscan(string(text), &pid); err != nil {
			t.Fatalf("process %q: %v", text, err)
		}
		// A killed process is there until its parent has noticed.
		deadline := time.Now().Add(5 * time.Second)
		for alive(pid) && time.Now().Before(deadline) {
			time.Sleep(5 * time.Millisecond)
		}
		if alive(pid) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("process %d of %q still runs", pid, cell)
		}
		files, err := os.ReadDir(tmp)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			t.Errorf("%s is left", f.Name())
		}
	}
}

// alive tells whether a process runs; one that has ended and that nobody has
// waited for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	n := notebook("%noautoget", "%%\nfmt.Println(os.Getenv(\"COLOUR\"), version)\nos.Stdout.WriteString(must(os.Getwd()))",
		"import \"os\"\nvar version = \"none\"\nfunc must(s string, _ error) string { return s }")
	n.Cells[1], n.Cells[2] = n.Cells[2], n.Cells[1]
	dir := t.TempDir()
	var seen []string
	err := run(t, n, kernel.Options{
		Dir:        dir,
		Env:        []string{"COLOUR=red", "COLOUR=blue"},
		BuildFlags: []string{"-ldflags=-X main.version=1.2 -s"},
		Progress: func(c kernel.Cell) {
			seen = append(seen, fmt.Sprint(c.Number, "/", c.Of, " ", c.Err))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := n.Cells[2].Outputs; len(out) != 1 || out[0].Text != "blue 1.2\n"+dir {
		t.Errorf("outputs are %v, want the last COLOUR, the linker's version and %s", out, dir)
	}
	if got, want := strings.Join(seen, ", "), "1/3 <nil>, 2/3 <nil>, 3/3 <nil>"; got != want {
		t.Errorf("progress is %s, want %s", got, want)
	}
}
