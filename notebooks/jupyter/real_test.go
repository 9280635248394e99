package jupyter_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// Where this machine has Jupyter, it starts the kernel with all of its settings:
// for root too, in a home that is read-only, from paths with blanks, and where
// its own PATH has no go.
func TestRealJupyter(t *testing.T) {
	p, err := jupyter.Find(t.Context())
	if err != nil {
		t.Log(err) // the fake stands for it
		return
	}
	k := clone(t, "clone with blanks")
	told := filepath.Join(k.Repository, "told")
	k.Program = script(t, filepath.Join(k.Repository, "kernel's"), "gonb", "{ echo \"pid $$\"; echo \"arguments $*\"; pwd; env; } > '"+told+".new'\nmv '"+told+".new' '"+told+"'\nexec sleep 1000")
	t.Setenv("HOME", filepath.Join(k.Repository, "go.mod"))
	t.Setenv("PATH", filepath.Dir(p.Path)+":/usr/bin:/bin")
	for _, name := range []string{"JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "JUPYTER_TOKEN", "JUPYTER_PATH"} {
		t.Setenv(name, "")
	}
	s := serve(t, p, jupyter.Options{Folder: k.Repository, Kernel: k, Env: []string{"PAPER_SCALE=0.5"}})
	page, err := url.Parse(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path, token, body string, want int) {
		t.Helper()
		method := "GET"
		if body != "" {
			method = "POST"
		}
		request, err := http.NewRequest(method, page.Scheme+"://"+page.Host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "token "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != want {
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("%s %s: %s, want %d\n%s", method, path, answer.Status, want, text)
		}
	}
	ask("/api/kernelspecs", "a wrong token", "", http.StatusForbidden)
	ask(page.Path, page.Query().Get("token"), "", http.StatusOK)
	ask("/api/kernels", page.Query().Get("token"), `{"name": "gonb"}`, http.StatusCreated)
	var text []byte
	for deadline := time.Now().Add(time.Minute); text == nil; time.Sleep(10 * time.Millisecond) {
		if text, err = os.ReadFile(told); err != nil && time.Now().After(deadline) {
			t.Fatal("the kernel was not started")
		}
	}
	lines := strings.Split(string(text), "\n")
	has := started{Env: lines}
	if !strings.HasPrefix(lines[1], "arguments --kernel "+os.TempDir()) || lines[2] != k.Repository {
		t.Errorf("the kernel is started with %q in %s", lines[1], lines[2])
	}
	if has.setting("COLOUR") != "$blue" || has.setting("PAPER_SCALE") != "0.5" {
		t.Errorf("the kernel's settings are %q", lines)
	}
	path := strings.Split(has.setting("PATH"), ":")
	if len(path) < 5 || path[1] != "/programs of the kernel" || path[2] != "/go" || !strings.HasSuffix(has.setting("PATH"), ":/usr/bin:/bin") {
		t.Errorf("the kernel's PATH is %q", path)
	}
	if _, err := os.Stat(filepath.Join(path[0], "go")); err != nil {
		t.Error(err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(lines[0], "pid "))
	if err != nil || syscall.Kill(pid, 0) == nil {
		t.Errorf("the kernel %d still runs, %v", pid, err)
	}
}
