package paper_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

func Example() {
	experiment := sim.Experiment{
		Name: "first", Problem: envs.Linear{}, Runs: 5, Steps: 1000, Seed: 1,
		Entries: []sim.Entry{
			{Name: "PGCR", Algorithm: pgcr.Config{}},
			{Name: "Lin-UCB", Algorithm: baselines.LinUCB{}},
		},
	}
	results, err := experiment.Run(context.Background(), sim.Store{Dir: "results"}, sim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r)
	}
}

// The program in the README is the one above, and it runs.
func TestREADMEProgram(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(source), "func Example() {\n")
	program, _, _ = strings.Cut(program, "\n}\n")
	program = strings.ReplaceAll("\n"+program, "\n\t", "\n")
	if !strings.Contains(string(readme), "```go"+program+"\n```") {
		t.Errorf("the README does not contain\n%s", program)
	}
	if testing.Short() {
		return
	}
	t.Chdir(t.TempDir())
	Example()
}
