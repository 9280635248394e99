package jupyter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/jupyter"
)

// served is a server under test.
type served struct {
	jupyter.Server
	stop func() error // ends it and returns Serve's error
	done <-chan error
}

// serve starts a server and waits until it is ready.
func serve(t *testing.T, p jupyter.Program, opt jupyter.Options) served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan jupyter.Server, 1), make(chan error, 1)
	opt.Ready = func(s jupyter.Server) { ready <- s }
	go func() {
		done <- jupyter.Serve(ctx, p, opt)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case s := <-ready:
		return served{s, func() error { cancel(); return <-done }, done}
	case err := <-done:
		t.Fatalf("no server: %v", err)
		panic("not reached")
	}
}

// get asks a fake what it was started with.
func get(t *testing.T, url string) (s started) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// ask makes a fake do something.
func ask(t *testing.T, s served, what string) {
	t.Helper()
	answer, err := http.Get(strings.Replace(s.URL(""), "/lab", what, 1))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", what, answer.Status)
	}
}

// fakeLab is a fake JupyterLab on a PATH where nothing else is, go included,
// and a folder with notebooks.
func fakeLab(t *testing.T) (jupyter.Program, jupyter.Options) {
	t.Helper()
	bin := t.TempDir()
	fake(t, bin, "jupyter-lab", "4.2.5")
	onPath(t, bin, "/usr/bin", "/bin")
	p, err := jupyter.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := clone(t, "clone with blanks")
	t.Setenv("TMPDIR", t.TempDir())
	return p, jupyter.Options{Folder: k.Repository, Kernel: k}
}

func TestServe(t *testing.T) {
	p, opt := fakeLab(t)
	temporary := filepath.Join(t.TempDir(), "it's [a] *")
	if err := os.Mkdir(temporary, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temporary)
	opt.Env = []string{"PAPER_OUT=here"}
	t.Setenv("PAPER_OUT", "there")
	t.Setenv("JUPYTER_PATH", "/others")
	s := serve(t, p, opt)
	page, err := url.Parse(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	token := page.Query().Get("token")
	if len(token) < 20 || page.Hostname() != "127.0.0.1" || page.Path != "/lab" || s.Password || s.Open {
		t.Errorf("the page is %v, the server %+v", page, s.Server)
	}
	if got, want := s.URL("own data.ipynb"), strings.Replace(s.URL(""), "/lab?", "/lab/tree/own%20data.ipynb?", 1); got != want {
		t.Errorf("page of a notebook is %s, want %s", got, want)
	}
	jupyterHas := get(t, s.URL(""))
	if !slices.Contains(jupyterHas.Args, "--ip=127.0.0.1") || !slices.Contains(jupyterHas.Args, "--notebook-dir="+opt.Folder) ||
		!slices.Contains(jupyterHas.Args, "--no-browser") || slices.Contains(jupyterHas.Args, "--allow-root") != (os.Geteuid() == 0) {
		t.Errorf("arguments are %q", jupyterHas.Args)
	}
	if strings.Contains(strings.Join(jupyterHas.Args, " "), token) {
		t.Error("the token is in the arguments, where others can read it")
	}
	if jupyterHas.Dir != opt.Folder || jupyterHas.setting("PAPER_OUT") != "here" || jupyterHas.setting("JUPYTER_TOKEN") != token {
		t.Errorf("it runs in %s with %q", jupyterHas.Dir, jupyterHas.Env)
	}
	// The kernel is there before all others of its name.
	folder, others, _ := strings.Cut(jupyterHas.setting("JUPYTER_PATH"), ":")
	if others != "/others" {
		t.Errorf("kernels are looked for in %s and %s", folder, others)
	}
	spec, err := os.ReadFile(filepath.Join(folder, "kernels", "gonb", "kernel.json"))
	if err != nil || !bytes.Contains(spec, []byte(opt.Kernel.Program)) {
		t.Errorf("the kernelspec is %s, %v", spec, err)
	}
	// The user's settings are in effect where they can be written.
	if got := jupyterHas.setting("JUPYTER_CONFIG_DIR") + jupyterHas.setting("JUPYTER_DATA_DIR"); got != "" {
		t.Errorf("settings and data are in %s", got)
	}

	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.URL("")); err == nil {
		t.Error("the server still answers")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Clones do not meet: each server has its kernel, port and token.
func TestServeTwo(t *testing.T) {
	p, opt := fakeLab(t)
	other := opt
	other.Kernel = clone(t, "other")
	a, b := serve(t, p, opt), serve(t, p, other)
	if a.URL("") == b.URL("") {
		t.Errorf("both are at %s", a.URL(""))
	}
	one, two := get(t, a.URL("")), get(t, b.URL(""))
	if one.setting("JUPYTER_PATH") == two.setting("JUPYTER_PATH") || one.setting("JUPYTER_RUNTIME_DIR") == two.setting("JUPYTER_RUNTIME_DIR") {
		t.Error("they share a folder")
	}
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	get(t, b.URL("")) // goes on
}

func TestServePort(t *testing.T) {
	p, opt := fakeLab(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opt.Port = l.Addr().(*net.TCPAddr).Port
	if err := jupyter.Serve(t.Context(), p, opt); err == nil || !strings.HasSuffix(err.Error(), " is not to be had: address already in use") {
		t.Errorf("error is %v", err)
	}
	l.Close()
	s := serve(t, p, opt)
	if got := get(t, s.URL("")); !strings.Contains(s.URL(""), l.Addr().String()) || !slices.Contains(got.Args, "--port-retries=0") {
		t.Errorf("it is at %s with %q, want it at %v and nowhere else", s.URL(""), got.Args, l.Addr())
	}
}

// What stands in the way of a folder is a file, so that root cannot write there
// either.
func TestServeInHomeThatIsReadOnly(t *testing.T) {
	p, opt := fakeLab(t)
	t.Setenv("HOME", filepath.Join(opt.Folder, "go.mod"))
	t.Setenv("JUPYTER_DATA_DIR", "")
	t.Setenv("JUPYTER_CONFIG_DIR", "")
	s := serve(t, p, opt)
	has := get(t, s.URL(""))
	for _, name := range []string{"JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"} {
		if dir := has.setting(name); !strings.HasPrefix(dir, os.TempDir()) {
			t.Errorf("%s is %q, want it in %s", name, dir, os.TempDir())
		}
	}
}

func TestServeSettingsOfUser(t *testing.T) {
	p, opt := fakeLab(t)
	t.Setenv("JUPYTER_TOKEN", "mine")
	s := serve(t, p, opt)
	if got := s.URL(""); !strings.HasSuffix(got, "/lab?token=mine") {
		t.Errorf("the page is %s, want the token that is set", got)
	}
	opt.Env = []string{"JUPYTER_TOKEN=none"}
	if s := serve(t, p, opt); !s.Open || s.Password || !strings.HasSuffix(s.URL(""), "/lab") {
		t.Errorf("without a token the server is %+v, the page %s", s.Server, s.URL(""))
	}
	opt.Env = []string{"JUPYTER_TOKEN=none", "FAKE_PASSWORD=1"}
	if s := serve(t, p, opt); s.Open || !s.Password {
		t.Errorf("with a password the server is %+v", s.Server)
	}
}

func TestServeEndsByItself(t *testing.T) {
	p, opt := fakeLab(t)
	s := serve(t, p, opt)
	ask(t, s, "/stop")
	if err := <-s.done; err != nil {
		t.Errorf("error of a server that was stopped in the browser is %v", err)
	}
	// What a cell has left running makes a good end no failure.
	opt.Kernel.Program = script(t, t.TempDir(), "gonb", "exec sleep 20")
	s = serve(t, p, opt)
	ask(t, s, "/kernel")
	ask(t, s, "/stop")
	if err := <-s.done; err != nil {
		t.Errorf("error of a server that was stopped while a cell's program runs is %v", err)
	}
	// One that does not begin tells why.
	bin := t.TempDir()
	fake(t, bin, "jupyter-notebook", "6.0.0")
	onPath(t, bin)
	p, err := jupyter.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = jupyter.Serve(t.Context(), p, opt)
	if err == nil || err.Error() != "Jupyter Notebook ended by itself (exit status 3):\nTraceback\nImportError: no traitlets" {
		t.Errorf("error is %v", err)
	}
	// And one that is gone since.
	os.Remove(p.Path)
	if err := jupyter.Serve(t.Context(), p, opt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// Pages are there before the kernel is, and kernels wait for it.
func TestServePrepare(t *testing.T) {
	p, opt := fakeLab(t)
	program := filepath.Join(t.TempDir(), "programs of the clone", "gonb")
	opt.Kernel.Program = program
	runs := filepath.Join(t.TempDir(), "runs")
	build := make(chan struct{})
	opt.Prepare = func(ctx context.Context) error {
		select {
		case <-build:
		case <-ctx.Done():
			return ctx.Err()
		}
		script(t, filepath.Dir(program), "gonb", `echo "$0 $*" > `+runs+".new; mv "+runs+".new "+runs)
		return nil
	}
	s := serve(t, p, opt)
	if has := get(t, s.URL("")); !slices.Contains(has.Args, "--MappingKernelManager.kernel_info_timeout=600") {
		t.Errorf("the server gives a kernel that is built no time: %q", has.Args)
	}
	ask(t, s, "/kernel")
	time.Sleep(300 * time.Millisecond)
	if _, err := os.Stat(runs); err == nil {
		t.Error("a kernel runs before it is built")
	}
	close(build)
	var text []byte
	for deadline := time.Now().Add(20 * time.Second); len(text) == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ = os.ReadFile(runs)
	}
	if want := program + " --kernel {connection_file}\n"; string(text) != want {
		t.Errorf("the kernel that waited runs as %q, want %q", text, want)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Cells are not compiled while that which they import is, but the kernel's other
// commands run.
func TestServeCompile(t *testing.T) {
	p, opt := fakeLab(t)
	opt.Kernel.Go = script(t, t.TempDir(), "go", `echo "$@"`)
	compile, began := make(chan struct{}), make(chan struct{})
	opt.Compile = func(ctx context.Context) {
		close(began)
		select {
		case <-compile:
		case <-ctx.Done():
		}
	}
	s := serve(t, p, opt)
	<-began
	folder, _, _ := strings.Cut(get(t, s.URL("")).setting("JUPYTER_PATH"), ":")
	goOfCells := filepath.Join(folder, "kernels", "gonb", "bin", "go")
	if out, err := exec.Command(goOfCells, "list").Output(); string(out) != "list\n" || err != nil {
		t.Errorf("go list says %q, %v", out, err)
	}
	cell := make(chan string, 1)
	go func() {
		out, err := exec.Command(goOfCells, "build", "-o", "x").Output()
		cell <- fmt.Sprintf("%s%v", out, err)
	}()
	select {
	case said := <-cell:
		t.Errorf("a cell is compiled at once: %s", said)
	case <-time.After(300 * time.Millisecond):
		close(compile)
		if said := <-cell; !strings.HasSuffix(said, " -o x\n<nil>") {
			t.Errorf("go build says %q", said)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}

	// It ends with the server, and does not begin without pages.
	opt.Compile = func(ctx context.Context) { <-ctx.Done() }
	if err := serve(t, p, opt).stop(); err != nil {
		t.Error(err)
	}
	script(t, filepath.Dir(p.Path), "jupyter-lab", "exit 4")
	opt.Compile = func(context.Context) { t.Error("compiled for cells without pages") }
	if err := jupyter.Serve(t.Context(), p, opt); err == nil {
		t.Error("no error of a server that does not begin")
	}
}

// However a server ends, the kernel's building ends with it, and what waits does.
func TestServePrepareEnds(t *testing.T) {
	p, opt := fakeLab(t)
	opt.Kernel.Program = filepath.Join(t.TempDir(), "gonb")
	ended := false
	opt.Prepare = func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
		ended = true
		return ctx.Err()
	}
	for _, end := range []func(served) error{
		func(s served) error { return s.stop() },
		func(s served) error { ask(t, s, "/stop"); return <-s.done },
	} {
		ended = false
		s := serve(t, p, opt)
		ask(t, s, "/kernel")
		if err := end(s); err != nil || !ended {
			t.Errorf("error is %v, the building has ended: %v", err, ended)
		}
	}
	s := serve(t, p, opt)
	http.Get(strings.Replace(s.URL(""), "/lab", "/fail", 1)) // has no answer
	if err := <-s.done; err == nil || !strings.Contains(err.Error(), "JupyterLab ended by itself (exit status 7)") {
		t.Errorf("error of a server that fails is %v", err)
	}
	// A kernel that cannot be built ends the server, early and late.
	for _, after := range []time.Duration{0, time.Second} {
		failed := errors.New("undefined: undefined")
		opt.Prepare = func(context.Context) error {
			time.Sleep(after)
			return failed
		}
		if err := jupyter.Serve(t.Context(), p, opt); err != failed {
			t.Errorf("error is %v, want %v", err, failed)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestServeIsCancelledBeforeItIsThere(t *testing.T) {
	p, opt := fakeLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opt.Ready = func(jupyter.Server) { t.Error("it is ready") }
	if err := jupyter.Serve(ctx, p, opt); err != nil {
		t.Error(err)
	}
}

func TestServeLog(t *testing.T) {
	p, opt := fakeLab(t)
	script(t, filepath.Dir(p.Path), "jupyter-lab", "echo some news; exit 4")
	var log syncBuffer
	opt.Log = &log
	if err := jupyter.Serve(t.Context(), p, opt); err == nil || !strings.HasSuffix(err.Error(), "(exit status 4):\nsome news") {
		t.Errorf("error is %v", err)
	}
	if got := log.String(); got != "some news\n" {
		t.Errorf("log is %q", got)
	}
}

// syncBuffer is written to by one goroutine and read by another.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// What the browser is started with leads to the page, and only once.
func TestOpenBrowser(t *testing.T) {
	bin := t.TempDir()
	onPath(t, bin)
	if err := jupyter.OpenBrowser(t.Context(), "http://x"); err == nil || !strings.Contains(err.Error(), "is not on PATH") {
		t.Errorf("error is %v", err)
	}
	asked := filepath.Join(bin, "asked")
	for _, opener := range []string{"xdg-open", "open"} {
		script(t, bin, opener, "echo \"$1\" > "+asked+".new; /bin/mv "+asked+".new "+asked)
	}
	const page = "http://127.0.0.1:9/lab?token=secret"
	done := make(chan error, 1)
	go func() { done <- jupyter.OpenBrowser(t.Context(), page) }()
	var link string
	for link == "" {
		text, _ := os.ReadFile(asked)
		link = strings.TrimSpace(string(text))
		time.Sleep(5 * time.Millisecond)
	}
	if strings.Contains(link, "secret") {
		t.Errorf("the browser is started with %s", link)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	wrong, err := client.Get(strings.TrimRight(link, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
	if err != nil || wrong.StatusCode != http.StatusNotFound {
		t.Errorf("another link gives %v, %v", wrong, err)
	}
	answer, err := client.Get(link)
	if err != nil || answer.Header.Get("Location") != page {
		t.Errorf("the link gives %v, %v", answer, err)
	} else {
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if again, err := client.Get(link); err == nil && again.StatusCode != http.StatusNotFound {
		t.Errorf("the second time it gives %v", again)
	}

	for _, opener := range []string{"xdg-open", "open"} {
		script(t, bin, opener, "exit 3")
	}
	if err := jupyter.OpenBrowser(t.Context(), page); err == nil || !strings.HasSuffix(err.Error(), "exit status 3") {
		t.Errorf("error is %v", err)
	}
}
