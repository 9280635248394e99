package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A notebook as Jupyter writes it is written back byte for byte.
func TestRoundTrip(t *testing.T) {
	stored, err := filepath.Glob("../../*.ipynb")
	if err != nil || len(stored) == 0 {
		t.Fatalf("notebooks are %v, %v", stored, err)
	}
	for _, path := range stored {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := readNotebook(path)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.ipynb")
		if err := writeNotebook(out, n); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(out); !bytes.Equal(got, want) {
			t.Errorf("%s is written in another way than it was read", path)
		}
	}
}

func TestRefusedNotebooks(t *testing.T) {
	for content, want := range map[string]string{
		"{\n<<<<<<< HEAD":                "not a notebook",
		`{"cells": [], "nbformat": 3}`:   "format 4",
		`{"nbformat": 4}`:                "format 4",
		`{"cells": "no", "nbformat": 4}`: "format 4",
	} {
		path := filepath.Join(t.TempDir(), "bad.ipynb")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readNotebook(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error is %v, want the file and %q", content, err, want)
		}
	}
}

// Whatever the file says, it is a notebook that is written as it is read, or an error with its name.
func FuzzNotebook(f *testing.F) {
	f.Add(`{"cells": [{"cell_type": "code", "source": ["a\n", "b"], "outputs": 7}, {"source": "c"}, 1], "metadata": [], "nbformat": 4}`)
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "a.ipynb")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		n, err := readNotebook(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error is %v", err)
			}
			return
		}
		prepare(n)
		err = writeNotebook(path, n)
		if again, err2 := readNotebook(path); err != nil || err2 != nil || !reflect.DeepEqual(again, n) {
			t.Errorf("%v, %v: %v is read again as %v", err, err2, n, again)
		}
	})
}

// Two processes that write one notebook leave that of one of them.
func TestWrittenTwice(t *testing.T) {
	folder := t.TempDir()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 10 {
				path := filepath.Join(folder, "out.ipynb")
				err := writeNotebook(path, object{"cells": []any{strings.Repeat("x", 1<<16)}, "nbformat": 4})
				if _, read := readNotebook(path); err != nil || read != nil {
					t.Errorf("writing: %v, reading: %v", err, read)
				}
			}
		})
	}
	group.Wait()
	if left, _ := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
}

// A notebook that cannot be written leaves nothing else behind.
func TestNotWritten(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "out.ipynb") // where a folder stands
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	err := writeNotebook(path, object{"cells": []any{}})
	if left, _ := os.ReadDir(folder); err == nil || len(left) != 1 {
		t.Errorf("error %v, and there are %v", err, left)
	}
}

// install builds programs and puts them on PATH. They are in folders of their names, for
// a kernel that dies leaves gopls running.
func install(t *testing.T, packages ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the kernel is not built in a short test")
	}
	for _, name := range packages {
		bin, err := filepath.Abs(filepath.Join("../../.bin/test", filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		install := exec.Command("go", "install", name)
		if name == gonb {
			install = exec.Command("bash", "../gonb.sh")
		}
		install.Env = append(os.Environ(), "GOBIN="+bin)
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
}

const gonb, goimports, gopls = "github.com/janpfeifer/gonb", "golang.org/x/tools/cmd/goimports", "golang.org/x/tools/gopls"

// execute runs a notebook with these cells in the kernel, and returns the stored
// file and the error.
func execute(t *testing.T, timeout time.Duration, cells ...string) (string, error) {
	t.Helper()
	install(t, gonb, goimports)
	var list []any
	for _, source := range cells {
		list = append(list, object{"cell_type": "code", "source": source})
	}
	data, err := json.Marshal(object{"cells": list, "nbformat": 4, "nbformat_minor": 5})
	path := filepath.Join(t.TempDir(), "test.ipynb")
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	runErr := nbrun(t.Context(), path, "", timeout)
	data, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), runErr
}

func TestFailingCells(t *testing.T) {
	for cell, want := range map[string]string{
		"%%\nx := 1":                                  "declared and not used: x",
		"%%\npanic(\"no luck\")":                      "no luck",
		"%%\nos.Exit(3)":                              "exit status 3",
		"!exit 7":                                     "exit status 7",
		"%nosuchcommand":                              "nosuchcommand",
		"%%\n//line f.go:9\nfmt.Println(1)":           "the kernel died",
		"%%\nfor { fmt.Println(\"a line\")}":          "1 MiB",
		"%%\nfor { println(\"a line\") }":             "a line",
		"%%\nfmt.Print(strings.Repeat(\"x\", 1<<23))": strings.Repeat("x", 1<<12),
	} {
		file, err := execute(t, time.Hour, "%%\nprintln(1)", cell, "%%\nfmt.Println(\"never\")")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cell 2 of 3") {
			t.Errorf("%s: error is %v, want cell 2 of 3 and %q", cell, err, want)
		}
		if strings.Contains(file, `"execution_count": 3`) {
			t.Errorf("%s: the cell after it was executed", cell)
		}
	}
	if _, err := execute(t, time.Second, "%%\nselect { case <-time.After(time.Hour): }"); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("of a cell that does not end the error is %v, want a timeout", err)
	}
}

func TestOutputs(t *testing.T) {
	const cell = "%%\r\nfmt.Println(\"2 of 2\")\nfmt.Fprintln(os.Stderr, \"exit status is no concern\")\nfmt.Println(\"<b>\")"
	file, err := execute(t, time.Hour, cell)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := execute(t, time.Hour, cell); again != file {
		t.Errorf("the same notebook gives another file:\n%s\n%s", file, again)
	}
	for _, want := range []string{"%%\\r\\nfmt", "\"2 of 2\\n\",\n      \"<b>\\n\"", "\"exit status is no concern\\n\"", "\"name\": \"gonb\""} {
		if !strings.Contains(file, want) {
			t.Errorf("%q is missing in\n%s", want, file)
		}
	}
}

// All that a cell puts out is bounded, but a progress bar may be redrawn for hours.
func TestTooMuchOutput(t *testing.T) {
	for kind, id := range map[string]string{"stream": "", "display_data": "", "update_display_data": "other", "error": ""} {
		o, tooMuch := &outputs{displays: map[string]display{}}, ""
		c := content{Text: strings.Repeat("x", 1<<16), Data: object{"text/plain": "x"}}
		for range 100 {
			c.Transient.ID = "bar"
			if said := o.add("update_display_data", c, 1<<16); said != "" {
				t.Fatalf("%s: a display that is updated: %s", kind, said)
			}
		}
		for i := range 100 {
			if c.Transient.ID = id; id != "" {
				c.Transient.ID += strings.Repeat("+", i)
			}
			tooMuch = o.add(kind, c, 1<<16)
		}
		if stored, _ := json.Marshal(o.list()); tooMuch == "" || len(stored) > 1<<20 {
			t.Errorf("%s: %q, %d bytes are stored", kind, tooMuch, len(stored))
		}
	}
}

// A broken pipe, such as the socket of a kernel that died, is no interrupt.
func TestBrokenPipe(t *testing.T) {
	ctx := untilSignal()
	defer signal.Reset()
	for _, s := range []syscall.Signal{syscall.SIGPIPE, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !strings.HasPrefix(err.Error(), "terminated") {
		t.Errorf("it has ended by %v", err)
	}
}

// An interrupted run writes nothing.
func TestInterrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.ipynb")
	const file = `{"cells": [{"cell_type": "code", "source": "1"}], "nbformat": 4}`
	if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := nbrun(ctx, path, "", 0); err == nil {
		t.Error("a run that is interrupted has no error")
	}
	if got, _ := os.ReadFile(path); string(got) != file {
		t.Errorf("the notebook is now %s", got)
	}
}

// Completion and documentation are gopls's. The documentation is Markdown and, for Jupyters that
// do not show that, text/plain. Gopls answers once it has read what the cell imports, however
// long that takes: only the time limit of go test ends the wait.
func TestCompletion(t *testing.T) {
	install(t, gonb, goimports, gopls)
	k, err := startKernel(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.stop()
	const code = "import \"strings\"\n\n%%\nstrings.ToUp"
	for kind, want := range map[string]string{"complete": `"ToUpper"`, "inspect": "func strings.ToUpper(s string) string"} {
		source, at, forms := code, len(code), 1
		if kind == "inspect" {
			source, at, forms = code+"per(\"a\")", len(code)-2, 2
		}
		for answer := ""; strings.Count(answer, want) < forms; {
			id, err := k.request(k.shell, kind+"_request", object{"code": source, "cursor_pos": at, "detail_level": 0})
			if err != nil {
				t.Fatal(err)
			}
			var m message
			for m = range k.received {
				if m.Parent.ID == id && m.Header.Type == kind+"_reply" {
					break
				}
			}
			if answer = string(m.Content); strings.Count(answer, want) < forms {
				t.Logf("%s: the answer is %s, want %s", kind, answer, want)
			}
		}
	}
}
