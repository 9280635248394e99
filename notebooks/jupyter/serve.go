package jupyter

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/contextrec/contextrec/notebooks/internal/group"
)

// Options say how notebooks are served.
type Options struct {
	Folder string // of the notebooks; nothing above it can be opened
	Kernel Kernel
	Port   int       // 0: Jupyter's usual one, or the next that is free
	Env    []string  // NAME=value settings of the server and so of its kernels
	Log    io.Writer // what Jupyter says about its work; nil: nowhere

	// Prepare makes the kernel's program, where it is not there yet, while Jupyter
	// starts and its pages are looked at: kernels that are started before it is
	// done wait. It ends when ctx does. Its error ends the server and is Serve's.
	Prepare func(ctx context.Context) error

	// Compile compiles what cells import, when pages are there and the kernel is:
	// cells that are run before it is done wait, and do not do the same beside it. It
	// ends when ctx does.
	Compile func(ctx context.Context)

	// Ready is called when pages are there.
	Ready func(Server)
}

// Server is a running Jupyter.
type Server struct {
	base, token string
	program     Program

	// Password tells that the user has set one in Jupyter's own settings, and
	// Open that these let everybody in without a token.
	Password, Open bool
}

// URL is the address of the page of a notebook, by file name, or of the folder
// where the name is "". It lets in who has it.
func (s Server) URL(notebook string) string {
	page := s.base + s.program.page
	if notebook != "" {
		page = s.base + s.program.file + url.PathEscape(notebook)
	}
	if s.token != "" {
		page += "?token=" + url.QueryEscape(s.token)
	}
	return page
}

const startTimeout = 2 * time.Minute

// stopGrace is what a server has to end in. Jupyter gives a kernel five seconds,
// and some of its versions one kernel after the other.
var stopGrace = 30 * time.Second

// Serve runs Jupyter on the loopback interface until ctx ends, or until it ends
// by itself, for it has a button for that. In both cases the error is nil. All
// that Serve has written is gone then, and so is the server, which ends its
// kernels as Jupyter does; one that does not end within half a minute is killed.
// On Linux the Go kernels and all that their cells have started are gone in any
// case, also where the server was killed or has failed; on other systems they may
// go on then. The user's settings of Jupyter are in effect; where they cannot be
// written, as in a home folder that is read-only, Jupyter gets an empty folder
// for them.
func Serve(ctx context.Context, p Program, opt Options) error {
	if opt.Port != 0 {
		// Jupyter would say so too, among many lines.
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(opt.Port)))
		if err != nil {
			return fmt.Errorf("port %d is not to be had: %w", opt.Port, underlying(err))
		}
		l.Close()
	}
	dir, err := os.MkdirTemp("", "paper-lab-")
	if err != nil {
		return fmt.Errorf("no temporary folder can be made, see TMPDIR: %w", err)
	}
	defer os.RemoveAll(dir)
	compiling := ""
	if opt.Compile != nil {
		compiling = filepath.Join(dir, "compiling")
		if err := replace(compiling, "", 0o644); err != nil {
			return err
		}
	}
	preparing := ""
	if opt.Prepare != nil {
		preparing = filepath.Join(dir, "preparing")
		if err := replace(preparing, "", 0o644); err != nil {
			return err
		}
		if opt.Kernel, err = opt.Kernel.after(preparing, dir); err != nil {
			return err
		}
	}
	served, end := context.WithCancel(ctx)
	defer end()
	pages, ready := make(chan struct{}), opt.Ready
	opt.Ready = func(s Server) {
		if ready != nil {
			ready(s)
		}
		close(pages)
	}
	ended := make(chan error, 1)
	go func() {
		err := opt.build(served, pages, preparing, compiling)
		if err != nil {
			end()
		}
		ended <- err
	}()
	err = serve(served, p, opt, dir, compiling)
	end()
	if failed := <-ended; err == nil && ctx.Err() == nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	return err
}

// build builds the kernel and, when pages are there, what cells import. Each file is
// gone when what it stands for is done.
func (opt Options) build(ctx context.Context, pages <-chan struct{}, preparing, compiling string) error {
	if opt.Prepare != nil {
		err := opt.Prepare(ctx)
		// Also after a failure: a kernel that waits must end with the server.
		os.Remove(preparing)
		if err != nil {
			return err
		}
	}
	if opt.Compile != nil {
		defer os.Remove(compiling)
		select {
		case <-pages:
			opt.Compile(ctx)
		case <-ctx.Done():
		}
	}
	return nil
}

// serve does so with what it has to write in the folder dir. While the file
// compiling is there, cells wait.
func serve(ctx context.Context, p Program, opt Options, dir, compiling string) error {
	// What the kernels have in their environment and nothing else has.
	mark := "CONTEXTREC_LAB=" + dir
	opt.Kernel.Env = append(slices.Clip(opt.Kernel.Env), mark)
	if err := opt.Kernel.write(filepath.Join(dir, "kernels", specName), compiling); err != nil {
		return err
	}
	runtimeDir := filepath.Join(dir, "runtime")
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		return err
	}

	log := &tail{and: cmp.Or[io.Writer](opt.Log, io.Discard)}
	cmd := exec.Command(p.Path, arguments(opt)...)
	cmd.Dir = opt.Folder
	cmd.Env = withSettings(os.Environ(), append(environment(dir, runtimeDir), opt.Env...))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	// What a cell has left running holds the server's stderr open.
	cmd.WaitDelay = time.Second
	ended := make(chan error, 1)
	started := make(chan error)
	go func() {
		// On Linux the server is told to stop when the thread that started it ends,
		// which may be earlier than the program does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	gone := make(chan struct{})
	var result error
	go func() {
		if result = <-ended; errors.Is(result, exec.ErrWaitDelay) {
			result = nil // only what a cell has left running did not end
		}
		close(gone)
	}()
	defer endMarked(mark)

	server, err := wait(ctx, p, runtimeDir, gone)
	if err == nil {
		opt.Ready(server)
		select {
		case <-gone:
		case <-ctx.Done():
		}
	}
	select {
	case <-gone:
		if ctx.Err() == nil && (result != nil || err != nil) {
			return fmt.Errorf("%s ended by itself (%v)%s", p.Name, cmd.ProcessState, log)
		}
		return nil
	default:
	}
	group.Stop(cmd.Process.Pid)
	select {
	case <-gone:
	case <-time.After(stopGrace):
		group.Kill(cmd.Process.Pid)
		// At once, while what they say is read: a kernel that cannot say that it
		// ends leaves its files.
		endMarked(mark)
		<-gone
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w%s", err, log)
	}
	return nil
}

// arguments are those that all front ends know.
func arguments(opt Options) []string {
	args := []string{"--ip=127.0.0.1", "--no-browser", "--notebook-dir=" + opt.Folder}
	if opt.Port != 0 {
		args = append(args, "--port="+strconv.Itoa(opt.Port), "--port-retries=0")
	}
	if os.Geteuid() == 0 {
		args = append(args, "--allow-root")
	}
	if opt.Prepare != nil {
		// How long a kernel may be silent: its program may take minutes to build.
		args = append(args, "--MappingKernelManager.kernel_info_timeout=600")
	}
	return args
}

// environment tells Jupyter about the folder dir.
func environment(dir, runtimeDir string) []string {
	path := dir
	if others := os.Getenv("JUPYTER_PATH"); others != "" {
		path += string(filepath.ListSeparator) + others
	}
	env := []string{"JUPYTER_PATH=" + path, "JUPYTER_RUNTIME_DIR=" + runtimeDir}
	if os.Getenv("JUPYTER_TOKEN") == "" {
		// Not in an argument, which everybody on the machine can read.
		env = append(env, "JUPYTER_TOKEN="+rand.Text())
	}
	if config, err := configFolder(); err != nil || !isWritable(config) {
		env = append(env, "JUPYTER_CONFIG_DIR="+filepath.Join(dir, "config"))
	}
	if data, err := dataFolder(); err != nil || !isWritable(data) {
		env = append(env, "JUPYTER_DATA_DIR="+filepath.Join(dir, "data"))
	}
	return env
}

// wait waits for the file by which a server tells that it listens.
func wait(ctx context.Context, p Program, runtimeDir string, gone <-chan struct{}) (Server, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(startTimeout)
	for {
		select {
		case <-ctx.Done():
			return Server{}, ctx.Err()
		case <-gone:
			return Server{}, errors.New("no server")
		case <-late:
			return Server{}, fmt.Errorf("%s does not answer after %v", p.Name, startTimeout)
		case <-tick.C:
		}
		files, _ := fs.Glob(os.DirFS(runtimeDir), "*server-*.json")
		for _, file := range files {
			var info struct {
				URL, Token string
				Password   bool
			}
			data, err := os.ReadFile(filepath.Join(runtimeDir, file))
			if err == nil && json.Unmarshal(data, &info) == nil && info.URL != "" {
				return Server{
					base: strings.TrimSuffix(info.URL, "/") + "/", token: info.Token, program: p,
					Password: info.Password, Open: info.Token == "" && !info.Password,
				}, nil
			}
		}
	}
}

// underlying is the system's reason.
func underlying(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// tail keeps the last of what is written to it.
type tail struct {
	and io.Writer // where it goes too

	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > most {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-most:]...)
	}
	t.and.Write(p)
	return len(p), nil
}

// String is the last lines, each on a line of its own.
func (t *tail) String() string {
	const most = 10
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	if lines[0] == "" {
		return ""
	}
	return ":\n" + strings.Join(lines[max(0, len(lines)-most):], "\n")
}
