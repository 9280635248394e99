package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/contextrec/contextrec/notebooks/kernel/nbformat"
)

// Options say how a notebook is run.
type Options struct {
	// Dir is the working directory of the kernel and so of the cells: an
	// absolute path, the notebook's folder by custom.
	Dir string

	// Env are NAME=value settings that are added to this process's environment.
	Env []string

	// BuildFlags are flags of "go build" for all cells, such as -tags=xla. A cell
	// with a %goflags line replaces them.
	BuildFlags []string

	// Timeout is the longest that one cell may take; 0: no limit.
	Timeout time.Duration

	// Progress is called after each cell. Nil: none.
	Progress func(Cell)
}

// Cell tells about a cell that has just ended.
type Cell struct {
	Number, Of int // from 1, among the code cells that are not empty
	Took       time.Duration
	Err        error // nil: the cell was good
}

// CellError is the error of a cell.
type CellError struct {
	Number, Of int
	Source     string
	Reason     string // "failed", "exit status 7", "timeout after 10m0s", ...
	Output     string // the compiler's text, or what the cell wrote
}

func (e *CellError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cell %d of %d: %s\n", e.Number, e.Of, e.Reason)
	for line := range strings.SplitSeq(strings.TrimSpace(e.Source), "\n") {
		fmt.Fprintf(&b, "    | %s\n", line)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(e.Output), "\n") {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return strings.TrimRight(b.String(), " \n")
}

// Run executes the code cells of a notebook in order in a new GoNB kernel,
// whose programs gonb, goimports and go it finds on PATH, and puts the outputs
// into the notebook in place of those that are there.
//
// It stops at the first cell that fails and returns a *CellError; the notebook
// then holds the outputs up to that cell and none after it. A cell fails when
// it does not compile, when its program does not exit with 0, when one of its
// shell lines or its script does not, when it has a %command that GoNB does not
// know, when it takes longer than Timeout, and when ctx ends. What it writes to
// stderr alone does not fail it.
//
// When Run returns, the kernel and all that its cells have started are gone,
// and so are their temporary files.
func Run(ctx context.Context, n *nbformat.Notebook, opt Options) error {
	var code []*nbformat.Cell
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.Type != nbformat.Code {
			continue
		}
		c.Outputs, c.ExecutionCount = nil, 0
		if strings.TrimSpace(c.Source) != "" {
			code = append(code, c)
		}
	}
	n.SetKernel("gonb", "Go (gonb)", "go", ".go", "text/x-go")

	p, err := start(ctx, opt.Dir, opt.Env)
	if err != nil {
		return err
	}
	defer p.stop()

	// Outputs are stored when all cells have run: a cell may update an output of
	// an earlier one.
	collected := make([]*outputs, 0, len(code))
	defer func() {
		for i, o := range collected {
			code[i].Outputs = o.stored()
			code[i].ExecutionCount = i + 1
		}
	}()
	byID := make(displays)
	if len(opt.BuildFlags) > 0 {
		if _, err := p.execute(ctx, goflags(opt.BuildFlags), false, opt.Timeout, new(outputs), byID); err != nil {
			return fmt.Errorf("setting build flags: %w", err)
		}
	}
	for i, c := range code {
		o := new(outputs)
		collected = append(collected, o)
		began := time.Now()
		reason, err := p.execute(ctx, c.Source, true, opt.Timeout, o, byID)
		if err == nil && reason != "" {
			err = &CellError{Number: i + 1, Of: len(code), Source: c.Source, Reason: reason, Output: o.text()}
		} else if err != nil {
			err = fmt.Errorf("cell %d of %d: %w", i+1, len(code), err)
		}
		if opt.Progress != nil {
			opt.Progress(Cell{Number: i + 1, Of: len(code), Took: time.Since(began), Err: err})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// goflags is GoNB's command for flags of "go build".
func goflags(flags []string) string {
	line := "%goflags"
	for _, f := range flags {
		line += fmt.Sprintf(" %q", f)
	}
	return line
}

// execute runs one cell, which is counted where it is part of the notebook. The
// reason is empty when the cell was good; the error is of the kernel, not of the
// cell, or ctx's.
func (p *process) execute(ctx context.Context, source string, counted bool, timeout time.Duration, o *outputs, byID displays) (reason string, err error) {
	id, err := p.client.request(p.client.shell, "execute_request", map[string]any{
		"code":             source,
		"silent":           !counted,
		"store_history":    counted,
		"user_expressions": struct{}{},
		"allow_stdin":      false,
		"stop_on_error":    true,
	})
	if err != nil {
		return "", fmt.Errorf("sending the cell to the kernel: %w", err)
	}
	var limit, grace <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		limit = t.C
	}
	var timedOut bool
	interrupt := func() {
		limit = nil
		grace = time.After(interruptGrace)
		p.interrupt()
	}
	done := ctx.Done()
	var status string
	for idle := false; !idle || status == ""; {
		select {
		case m, ok := <-p.client.published:
			if !ok {
				return "", p.died("while the cell ran")
			}
			if m.Parent.ID != id {
				continue
			}
			if m.Header.Type == "status" {
				var c struct {
					State string `json:"execution_state"`
				}
				if err := json.Unmarshal(m.Content, &c); err != nil {
					return "", err
				}
				idle = idle || c.State == "idle"
			} else if err := o.add(m, byID); err != nil {
				return "", fmt.Errorf("%s message: %w", m.Header.Type, err)
			}
		case m, ok := <-p.client.replies:
			if !ok {
				return "", p.died("while the cell ran")
			}
			if m.Parent.ID == id && m.Header.Type == "execute_reply" {
				var c struct{ Status string }
				if err := json.Unmarshal(m.Content, &c); err != nil {
					return "", err
				}
				status = c.Status
			}
		case <-p.ended:
			return "", p.died("while the cell ran")
		case <-limit:
			timedOut = true
			interrupt()
		case <-done:
			done = nil
			interrupt()
		case <-grace:
			idle, status = true, "hung" // the kernel waits for a grandchild; stop ends both
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if timedOut {
		reason = fmt.Sprintf("timeout after %v", timeout)
		o.fail("Timeout", reason)
		return reason, nil
	}
	if status != "ok" {
		return "failed", nil
	}
	return o.silent, nil
}
