package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/contextrec/contextrec/notebooks/paper"
)

// peer is a program in Python that times the update of another library.
type peer struct {
	name, script string
	loops        []string
	threads      []int
}

var peers = []peer{
	{"PyTorch", "torch_step.py", []string{"host"}, []int{1, runtime.NumCPU()}},
	{"JAX", "jax_step.py", []string{"host", "device"}, []int{0}},
}

// peer times the updates that are asked for in another library. The error says
// why there are none.
func (b *bench) peer(ctx context.Context, root string, p peer) error {
	script := filepath.Join(root, "notebooks", "cmd", "peers", p.script)
	for _, loop := range p.loops {
		for i, threads := range p.threads {
			if i > 0 && threads == p.threads[0] {
				continue // of one CPU
			}
			var args []string
			byArg := map[string]paper.Timing{}
			for _, s := range benchShapes {
				if s.spec.State > 0 {
					continue
				}
				for _, runs := range s.runs {
					at := paper.Timing{Backend: p.name, Loop: loop, Threads: threads, Shape: s.name, Runs: runs}
					if !b.wants(at, "update") {
						continue
					}
					network := []string{strconv.Itoa(s.spec.Dim)}
					for _, h := range s.config.Hidden {
						network = append(network, strconv.Itoa(h))
					}
					arg := fmt.Sprintf("%d,%d,%d,%s", runs, s.config.BatchSize, s.spec.Candidates, strings.Join(network, "-"))
					args, byArg[arg] = append(args, arg), at
				}
			}
			if len(args) == 0 {
				continue
			}
			call := append([]string{script, "--loop", loop, "--threads", strconv.Itoa(threads), "--clock", b.clock, "--seconds", fmt.Sprint(b.time.Seconds())}, args...)
			if err := b.peerCall(ctx, call, byArg); err != nil {
				return err
			}
		}
	}
	return nil
}

// peerCall runs a peer, which writes a line for each argument: the argument, what
// computed, and the microseconds of an update in each turn, with tabs in between.
func (b *bench) peerCall(ctx context.Context, call []string, byArg map[string]paper.Timing) error {
	cmd := exec.CommandContext(ctx, b.python, call...)
	interruptible(cmd)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if text := strings.TrimSpace(stderr.String()); text != "" {
			err = errors.New(text[strings.LastIndexByte(text, '\n')+1:])
		}
		return fmt.Errorf("%s: %w", b.python, err)
	}
	for line := range strings.Lines(stdout.String()) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) < 3 {
			return fmt.Errorf("it says %q", line)
		}
		at, ok := byArg[fields[0]]
		if !ok {
			return fmt.Errorf("it says %q", line)
		}
		var took []time.Duration
		for _, field := range fields[2:] {
			microseconds, err := strconv.ParseFloat(field, 64)
			if err != nil || !(microseconds > 0) {
				return fmt.Errorf("it says %q", line)
			}
			took = append(took, time.Duration(microseconds*1000))
		}
		at.Backend = fields[1]
		b.add(at, "update", took)
	}
	return nil
}
