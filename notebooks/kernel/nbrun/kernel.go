package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-zeromq/zmq4"
)

const (
	startTimeout   = 2 * time.Minute
	interruptGrace = 7 * time.Second // the kernel kills a cell 5 seconds after an interrupt
	shutdownGrace  = 3 * time.Second // it takes some 10 milliseconds
)

type kernel struct {
	cmd   *exec.Cmd
	dir   string       // all files that the kernel leaves are in here
	log   bytes.Buffer // may be read when the kernel has ended
	ended chan struct{}

	shell, control zmq4.Socket  // nil until it is connected
	received       chan message // on the shell and the iopub channel
}

// startKernel starts a kernel with dir as the working directory of its cells,
// and waits until it answers.
func startKernel(ctx context.Context, dir string) (*kernel, error) {
	tmp, err := os.MkdirTemp("", "nbrun-")
	if err != nil {
		return nil, fmt.Errorf("no temporary folder can be made, see TMPDIR: %w", err)
	}
	prefix, file := filepath.Join(tmp, "k"), filepath.Join(tmp, "kernel.json")
	k := &kernel{dir: tmp, ended: make(chan struct{}), received: make(chan message), cmd: exec.Command("gonb", "--kernel", file, "-raw_error")}
	k.cmd.Dir = dir
	k.cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PWD="+dir)
	k.cmd.Stdout, k.cmd.Stderr = &k.log, &k.log
	// A process group: the terminal's Ctrl-C does not reach the kernel, and what
	// a cell has left running is ended with it.
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	k.cmd.WaitDelay = 100 * time.Millisecond // grandchildren hold its stderr open
	data, _ := json.Marshal(object{
		"transport": "ipc", "ip": prefix, "key": "", "signature_scheme": "hmac-sha256",
		"shell_port": shellPort, "iopub_port": iopubPort, "stdin_port": stdinPort,
		"control_port": controlPort, "hb_port": heartbeatPort,
	})
	if err = os.WriteFile(file, data, 0o600); err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		os.RemoveAll(tmp)
		return nil, fmt.Errorf("starting the kernel: %w", err)
	}
	go func() {
		k.cmd.Wait()
		close(k.ended)
	}()
	if err := k.connect(ctx, prefix); err != nil {
		k.stop()
		return nil, err
	}
	return k, nil
}

// connect waits for the kernel's sockets, dials them, and asks until the answer
// comes through both channels: what is published before the subscription is lost.
func (k *kernel) connect(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the kernel does not answer after %v", startTimeout))
	defer cancel()
	for replied, published := false, false; !replied || !published; {
		select {
		case <-time.After(20 * time.Millisecond):
			if _, err := os.Stat(socket(prefix, heartbeatPort)); err != nil {
				continue
			}
			if k.shell == nil {
				if err := k.dial(prefix); err != nil {
					return fmt.Errorf("connecting to the kernel: %w", err)
				}
			}
			k.request(k.shell, "kernel_info_request", object{})
		case m := <-k.received:
			isReply := m.Header.Type == "kernel_info_reply"
			replied, published = replied || isReply, published || !isReply
		case <-k.ended:
			return k.died("at its start")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// stop ends the kernel and all that it has started, and removes its files.
func (k *kernel) stop() {
	if k.shell != nil {
		k.request(k.control, "shutdown_request", object{"restart": false})
		select {
		case <-k.ended:
		case <-time.After(shutdownGrace):
		}
	}
	syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL)
	<-k.ended
	os.RemoveAll(k.dir)
}

// died is the error of a kernel that has ended, with the last of its log.
func (k *kernel) died(when string) error {
	log := k.log.Bytes()
	return fmt.Errorf("the kernel died %s (%v)\n%s", when, k.cmd.ProcessState, log[max(0, len(log)-4<<10):])
}

// execute runs one cell. The error says why it has failed.
func (k *kernel) execute(ctx context.Context, source string, timeout time.Duration, o *outputs) error {
	id, err := k.request(k.shell, "execute_request", object{"code": source, "silent": false, "store_history": true, "allow_stdin": false})
	if err != nil {
		return fmt.Errorf("sending the cell to the kernel: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timeout after %v", timeout))
	defer cancel()
	done, grace := ctx.Done(), make(<-chan time.Time)
	status, reason := "", ""
	stop := func(why string) {
		reason, done, grace = why, nil, time.After(interruptGrace)
		k.request(k.control, "interrupt_request", object{})
	}
	for idle := false; !idle || status == ""; {
		select {
		case m := <-k.received:
			if m.Parent.ID != id {
				continue
			}
			c := content{Metadata: object{}}
			if err := json.Unmarshal(m.Content, &c); err != nil {
				return fmt.Errorf("%s message: %w", m.Header.Type, err)
			}
			switch m.Header.Type {
			case "status":
				idle = idle || c.State == "idle"
			case "execute_reply":
				status = c.Status
			default:
				if tooMuch := o.add(m.Header.Type, c, len(m.Content)); tooMuch != "" && reason == "" {
					stop(tooMuch)
				}
			}
		case <-k.ended:
			o.fail("Stopped", "the kernel died", []string{"the kernel died"})
			return k.died("while the cell ran")
		case <-done:
			stop(context.Cause(ctx).Error())
		case <-grace:
			idle, status = true, "hung" // it waits for a grandchild; stop ends both
		}
	}
	switch {
	case reason != "":
		o.fail("Stopped", reason, []string{reason})
		return errors.New(reason)
	case status != "ok":
		return errors.New("an error")
	}
	return o.silent
}

// run executes cells in order, and puts what they put out in the place of what is there. It stops at
// the first that fails.
func (k *kernel) run(ctx context.Context, name string, code []object, timeout time.Duration) error {
	for i, c := range code {
		o := &outputs{displays: map[string]display{}}
		began := time.Now()
		source := strings.ReplaceAll(text(c["source"]), "\r\n", "\n") // GoNB knows no "%%\r"
		err := k.execute(ctx, source, timeout, o)
		c["outputs"], c["execution_count"] = o.list(), i+1
		if err != nil {
			source = strings.ReplaceAll("\n"+strings.TrimSpace(source), "\n", "\n    | ")
			said := strings.ReplaceAll("\n"+o.said(), "\n", "\n    ")
			return fmt.Errorf("cell %d of %d fails: %w%s%s", i+1, len(code), err, source, said)
		}
		fmt.Printf("%s  cell %d/%d  %.1f s\n", name, i+1, len(code), time.Since(began).Seconds())
	}
	return nil
}
