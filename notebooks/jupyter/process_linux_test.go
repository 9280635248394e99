package jupyter_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// withKernel starts a fake with a kernel that runs two cells, one of them in the
// background, and returns the three processes.
func withKernel(t *testing.T, kernel string) (s served, pids []int) {
	t.Helper()
	p, opt := fakeLab(t)
	told := filepath.Join(t.TempDir(), "told")
	opt.Kernel.Program = script(t, filepath.Dir(told), "gonb", kernel+`
sleep 100 &
cell=$!
setsid sh -c 'sleep 100 & echo $! > '\'`+told+`.1\'
echo $$ $cell $(cat '`+told+`.1') > '`+told+`.2'
mv '`+told+`.2' '`+told+`'
wait`)
	s = serve(t, p, opt)
	ask(t, s, "/kernel")
	for deadline := time.Now().Add(time.Minute); len(pids) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the kernel was not started")
		}
		text, err := os.ReadFile(told)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for pid := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(pid)
			if err != nil || !runs(n) {
				t.Fatalf("the kernel says %q", text)
			}
			pids = append(pids, n)
		}
	}
	return s, pids
}

// runs tells whether there is a process and it has not ended: one that has is
// there until its parent asks for its status.
func runs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(line) > 0
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d of %d still runs", pid, pids)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Nobody but Serve ends the kernels of a server that has failed.
func TestServeFailsWithKernel(t *testing.T) {
	s, pids := withKernel(t, "")
	if answer, err := http.Get(strings.Replace(s.URL(""), "/lab", "/fail", 1)); err == nil {
		t.Errorf("a server that fails answers %s", answer.Status)
	}
	if err := <-s.done; err == nil || err.Error() != "JupyterLab ended by itself (exit status 7)" {
		t.Errorf("error is %v", err)
	}
	gone(t, pids)
}

// A server that does not heed that it is told to stop has kernels that do not
// either, or that say so and remove their files.
func TestServeHangsWithKernel(t *testing.T) {
	was := jupyter.SetStopGrace(100 * time.Millisecond)
	t.Cleanup(func() { jupyter.SetStopGrace(was) })
	for _, kernel := range []string{
		`trap '' TERM`,
		`trap 'echo stopped >&2; rm "$TMPDIR/of-kernel"; exit' TERM; : > "$TMPDIR/of-kernel"`,
	} {
		s, pids := withKernel(t, kernel)
		ask(t, s, "/hang")
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if _, err := http.Get(s.URL("")); err == nil {
			t.Error("the server still answers")
		}
		gone(t, pids)
	}
}

// The rest of what the user runs goes on.
func TestServeLeavesOthers(t *testing.T) {
	a, of := withKernel(t, "")
	b, others := withKernel(t, "")
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	for _, pid := range others {
		if !runs(pid) {
			t.Errorf("process %d of another server was ended", pid)
		}
	}
	if err := b.stop(); err != nil {
		t.Error(err)
	}
	gone(t, append(of, others...))
}
