package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
)

// What is wrong and what there is, the launcher says without the program.
func TestWithoutProgram(t *testing.T) {
	t.Setenv("PATH", "")
	for _, c := range []struct {
		args        string
		status      int
		out, stderr string
	}{
		{"", 0, "Usage:", ""},
		{"-h", 0, "reproduce   Run everything but music", ""},
		{"help", 0, "reproduce   Run everything but music", ""},
		{"help lab", 0, "Open the notebooks", ""},
		{"help kernel install", 0, "Declare the kernel", ""},
		{"help nothing", 2, "", `unknown command "nothing" for "paper"`},
		{"help kernel nothing", 2, "", `there is no command "nothing" of paper kernel`},
		{"lib", 2, "", "unknown command \"lib\" for \"paper\". Did you mean: lab, list\n"},
		{"lap", 2, "", `unknown command "lap" for "paper"`},
		{"lab a b", 2, "", "paper lab wants one notebook at most"},
		{"-scale 0 lab", 2, "", "-scale is 0, want a positive number"},
		{"kernel", 2, "", "paper kernel install"},
		// And the program is built for everything else.
		{"list", 1, "", "go is not on PATH: it builds the program"},
		{"help run", 1, "", "go is not on PATH: it builds the program"},
		{"run -h", 1, "", "go is not on PATH: it builds the program"},
		{"run -elephant 1", 1, "", "go is not on PATH: it builds the program"},
		{"-scale 0.1 plot", 1, "", "go is not on PATH: it builds the program"},
	} {
		var stdout, stderr bytes.Buffer
		h := cli.NewHost(&stdout, &stderr)
		h.Repository = func() (string, error) { return "", errors.New("no repository") }
		args := strings.Fields(c.args)
		status := h.Main(t.Context(), commands(h, args), args)
		if status != c.status || !strings.Contains(stdout.String(), c.out) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("paper %s: status %d, %q, %q; want %d, %q, %q", c.args, status, &stdout, &stderr, c.status, c.out, c.stderr)
		}
	}
}
