package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second

	// The kernel kills a cell that does not end within 5 seconds of an
	// interrupt; a little more than that, and the kernel itself hangs.
	interruptGrace = 7 * time.Second

	// A kernel that was asked to shut down takes some 10 milliseconds.
	shutdownGrace = 3 * time.Second
)

// process is a running kernel.
type process struct {
	cmd    *exec.Cmd
	dir    string // everything that the kernel leaves behind is in here
	log    *tail
	guard  *guard
	ended  chan struct{} // closed when the kernel has ended
	client *client
	cancel context.CancelFunc
}

// start starts a kernel whose working directory is dir and waits until it
// answers.
func start(ctx context.Context, dir string, env []string) (*process, error) {
	env = effective(env)
	gonb, err := requirements(env)
	if err != nil {
		return nil, err
	}
	tmp, err := tempDir()
	if err != nil {
		return nil, err
	}
	conn := newConnection(filepath.Join(tmp, "k"))
	file := filepath.Join(tmp, "kernel.json")
	data, err := json.Marshal(conn)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		os.RemoveAll(tmp)
		return nil, err
	}

	// The context is not ctx: a cancelled run still has to ask the kernel to
	// shut down.
	connCtx, cancel := context.WithCancel(context.Background())
	p := &process{dir: tmp, log: new(tail), ended: make(chan struct{}), cancel: cancel}
	p.cmd = exec.Command(gonb, "--kernel", file, "-raw_error")
	p.cmd.Dir = dir
	p.cmd.Env = append(env, "TMPDIR="+tmp, "PWD="+dir)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	// A group of its own: the terminal's Ctrl-C must not reach the kernel before we
	// have told it what to do, and the whole group is ended with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Grandchildren that outlive the kernel hold its stderr open.
	p.cmd.WaitDelay = 100 * time.Millisecond
	if p.guard, err = startGuard(); err != nil {
		cancel()
		os.RemoveAll(tmp)
		return nil, fmt.Errorf("starting what ends the kernel with this program: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		p.guard.stop()
		cancel()
		os.RemoveAll(tmp)
		return nil, fmt.Errorf("starting the kernel: %w", err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	if err := p.guard.watch(p.cmd.Process.Pid); err != nil {
		p.stop()
		return nil, fmt.Errorf("guarding the kernel: %w", err)
	}
	if err := p.connect(ctx, connCtx, conn); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// connect waits for the kernel's sockets, dials them, and waits until the
// kernel's answer comes through both channels: what is published before the
// subscription has arrived is lost.
func (p *process) connect(ctx, connCtx context.Context, conn connection) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()

	for sockets := conn.sockets(); len(sockets) > 0; {
		if _, err := os.Stat(sockets[0]); err == nil {
			sockets = sockets[1:]
			continue
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return p.died("at its start")
		case <-deadline.C:
			return fmt.Errorf("the kernel does not answer after %v", startTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var err error
	if p.client, err = dial(connCtx, conn); err != nil {
		return fmt.Errorf("connecting to the kernel: %w", err)
	}
	ask := time.NewTicker(20 * time.Millisecond)
	defer ask.Stop()
	var replied, published bool
	for !replied || !published {
		select {
		case <-ask.C:
			if _, err := p.client.request(p.client.shell, "kernel_info_request", struct{}{}); err != nil {
				return fmt.Errorf("asking the kernel: %w", err)
			}
		case m, ok := <-p.client.replies:
			if !ok {
				return p.died("at its start")
			}
			replied = replied || m.Header.Type == "kernel_info_reply"
		case _, ok := <-p.client.published:
			if !ok {
				return p.died("at its start")
			}
			published = true
		case <-p.ended:
			return p.died("at its start")
		case <-deadline.C:
			return fmt.Errorf("the kernel does not answer after %v", startTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// interrupt does what the interrupt button of a front end does: the program of
// the current cell gets SIGINT, and is killed if it is still there 5 seconds
// later.
func (p *process) interrupt() {
	p.client.request(p.client.control, "interrupt_request", struct{}{})
}

// stop ends the kernel and all that it has started, and removes its files.
func (p *process) stop() {
	if p.client != nil {
		_, err := p.client.request(p.client.control, "shutdown_request", map[string]bool{"restart": false})
		if err == nil {
			select {
			case <-p.ended:
			case <-time.After(shutdownGrace):
			}
		}
	}
	p.kill()
	if p.client != nil {
		p.client.close()
	}
	p.cancel()
	os.RemoveAll(p.dir)
}

// kill ends the kernel's process group. The group is there as long as any of
// its processes is, the kernel or what a cell has left running.
func (p *process) kill() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
	p.guard.stop()
}

// died is the error of a kernel that has ended by itself, with the last of
// what it logged.
func (p *process) died(when string) error {
	// The connection can end a moment before the process does.
	select {
	case <-p.ended:
	case <-time.After(time.Second):
	}
	how := "no exit status"
	if p.cmd.ProcessState != nil {
		how = p.cmd.ProcessState.String()
	}
	return fmt.Errorf("the kernel died %s (%s)\n%s", when, how, p.log)
}

// requirements finds the kernel and the programs without which it fails in
// ways that are hard to understand.
func requirements(env []string) (gonb string, err error) {
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, need := range []struct{ name, why string }{
		{"go", "go is not on PATH: the kernel compiles each cell with it"},
		{"goimports", "goimports is not on PATH: the kernel completes the imports of each cell with it; install it with \"go -C notebooks/kernel install tool\""},
		{"gonb", "gonb, the notebook kernel, is not on PATH; install it with \"go -C notebooks/kernel install tool\""},
	} {
		if gonb = find(need.name, path); gonb == "" {
			return "", errors.New(need.why)
		}
	}
	// The kernel names it so, whatever PATH is.
	if _, err := os.Stat("/bin/bash"); err != nil {
		return "", errors.New("/bin/bash is missing: the kernel runs shell lines with it")
	}
	return gonb, nil
}

// find is exec.LookPath for another PATH than this program's.
func find(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // the kernel has another working directory
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// effective is this program's environment with env's settings in place of its
// own, each name once.
func effective(env []string) []string {
	var all []string
	at := make(map[string]int)
	for _, kv := range append(os.Environ(), env...) {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			all[i] = kv
			continue
		}
		at[name] = len(all)
		all = append(all, kv)
	}
	return all
}

// tempDir makes a directory whose name is short enough for sockets in it: a
// socket's path has at most 103 bytes on some systems.
func tempDir() (string, error) {
	const longest = 103 - len("/k-5")
	dir, err := os.MkdirTemp("", "nbrun-")
	if err == nil && len(dir) > longest {
		os.Remove(dir)
		dir, err = os.MkdirTemp("/tmp", "nbrun-")
	}
	if err != nil {
		return "", fmt.Errorf("no temporary folder can be made, see TMPDIR: %w", err)
	}
	return dir, nil
}

// tail keeps the last of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > most {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-most:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
