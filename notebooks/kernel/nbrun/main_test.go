package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/kernel/internal/tooltest"
	"github.com/contextrec/contextrec/notebooks/kernel/nbformat"
)

const childVariable = "NBRUN_TEST_CHILD"

// TestMain makes the test binary nbrun when it is told to.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// write puts a notebook of code cells into a new folder.
func write(t *testing.T, cells ...string) (file string) {
	t.Helper()
	n := new(nbformat.Notebook)
	for i, source := range cells {
		n.Cells = append(n.Cells, nbformat.Cell{Type: nbformat.Code, ID: string(rune('a' + i)), Source: source})
	}
	file = filepath.Join(t.TempDir(), "a.ipynb")
	if err := nbformat.Write(file, n); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, file string) *nbformat.Notebook {
	t.Helper()
	n, err := nbformat.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestInPlace(t *testing.T) {
	t.Setenv("PATH", tooltest.Path(t))
	file := write(t, `!echo "$COLOUR"`, "!pwd")
	var stderr bytes.Buffer
	if err := nbrun(t.Context(), &stderr, []string{"-env", "COLOUR=blue", file}); err != nil {
		t.Fatal(err)
	}
	n := read(t, file)
	for i, want := range []string{"blue\n", filepath.Dir(file) + "\n"} {
		if out := n.Cells[i].Outputs; len(out) != 1 || out[0].Text != want {
			t.Errorf("outputs of cell %d are %v, want %q", i, out, want)
		}
	}
	if got, want := stderr.String(), `^a\.ipynb  cell 1/2  \d+\.\d s\na\.ipynb  cell 2/2  \d+\.\d s\n$`; !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("progress is %q, want %s", got, want)
	}
}

func TestFailedNotebookIsWritten(t *testing.T) {
	t.Setenv("PATH", tooltest.Path(t))
	file := write(t, "!echo fine", "!echo broken; exit 7")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "b.ipynb")
	var stderr bytes.Buffer
	err = nbrun(t.Context(), &stderr, []string{"-q", "-o", out, file})
	const want = "a.ipynb: cell 2 of 2: exit status 7\n    | !echo broken; exit 7\n    broken\n    exit status 7"
	if err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
	if stderr.Len() > 0 {
		t.Errorf("-q prints %q", stderr.String())
	}
	if o := read(t, out).Cells[1].Outputs; len(o) != 2 || o[1].Text != "exit status 7\n" {
		t.Errorf("outputs are %v, want the failed command's", o)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(after, before) {
		t.Error("the notebook itself is changed in spite of -o")
	}
}

func TestInterruptedNotebookIsNotWritten(t *testing.T) {
	t.Setenv("PATH", tooltest.Path(t))
	file := write(t, "!echo fine")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := nbrun(ctx, new(bytes.Buffer), []string{file}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(after, before) {
		t.Error("the notebook is changed")
	}
}

func TestBadFiles(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.ipynb")
	if err := os.WriteFile(bad, []byte("no JSON"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ file, want string }{
		{bad, "bad.ipynb: not a notebook: line 1"},
		{filepath.Join(t.TempDir(), "none.ipynb"), "no such file"},
	} {
		err := nbrun(t.Context(), new(bytes.Buffer), []string{test.file})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error is %v, want %q", err, test.want)
		}
	}
	t.Setenv("PATH", tooltest.Path(t))
	out := filepath.Join(t.TempDir(), "no", "such", "folder.ipynb")
	err := nbrun(t.Context(), new(bytes.Buffer), []string{"-o", out, write(t, "!true")})
	if err == nil || !strings.Contains(err.Error(), "writing the executed notebook") {
		t.Errorf("error is %v, want that of the output file", err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"a.ipynb", "b.ipynb"},
		{"-colour", "a.ipynb"},
		{"-env", "COLOUR", "a.ipynb"},
		{"-timeout", "-1s", "a.ipynb"},
		{"-timeout", "soon", "a.ipynb"},
	} {
		var usage *usageError
		if err := nbrun(t.Context(), new(bytes.Buffer), args); !errors.As(err, &usage) {
			t.Errorf("error of %q is %v, want a usage error", args, err)
		}
	}
}

// However nbrun loses the one who started it, or its own life, the kernel and
// its cell end with it.
func TestNothingOutlivesIt(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		lose func(c *exec.Cmd, stderr *os.File)
		kept bool // temporary files
		code int
	}{
		{name: "nobody reads", lose: func(_ *exec.Cmd, stderr *os.File) { stderr.Close() }, code: 130},
		{name: "nobody reads, and nothing is written", args: []string{"-q"}, lose: func(_ *exec.Cmd, stderr *os.File) { stderr.Close() }, code: 130},
		{name: "terminated", lose: func(c *exec.Cmd, _ *os.File) { c.Process.Signal(syscall.SIGTERM) }, code: 130},
		{name: "killed", lose: func(c *exec.Cmd, _ *os.File) { c.Process.Kill() }, kept: true, code: -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := write(t, "!true", "!echo $$ $PPID > started && mv started running; exec sleep 1000")
			tmp := t.TempDir()
			read, stderr, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(os.Args[0], append(test.args, file)...)
			c.Env = append(os.Environ(), childVariable+"=1", "PATH="+tooltest.Path(t), "TMPDIR="+tmp)
			c.Stderr = stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			stderr.Close()
			var pids []int
			within(t, "the cell does not run", func() bool {
				text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "running"))
				if err != nil {
					return false
				}
				pids = make([]int, 2)
				_, err = fmt.Sscan(string(text), &pids[0], &pids[1])
				return err == nil
			})
			test.lose(c, read)
			ended := make(chan struct{})
			go func() {
				c.Wait()
				close(ended)
			}()
			within(t, "nbrun goes on", func() bool {
				select {
				case <-ended:
					return true
				default:
					return false
				}
			})
			if code := c.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit status %d, want %d", code, test.code)
			}
			within(t, "the cell or the kernel goes on", func() bool { return !alive(pids[0]) && !alive(pids[1]) })
			if left, _ := os.ReadDir(tmp); len(left) > 0 && !test.kept {
				t.Errorf("%v is left", left)
			}
			read.Close()
		})
	}
}

// within fails the test unless the condition comes true in a minute.
func within(t *testing.T, otherwise string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
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
