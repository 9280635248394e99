package sim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/contextrec/contextrec/envs"
)

// ContenderError says why a contender stopped.
type ContenderError struct {
	Experiment string
	Contender  string
	Algorithm  string // Go type and JSON
	Runs       []int  // of the experiment: the one that is to blame, or all that were stepped together
	Step       int    // 1 is the first; 0 when environment or policy could not be made
	Err        error  // its own run numbers count within the runs that were stepped together
}

func (e *ContenderError) Error() string {
	where := fmt.Sprintf("run %d", e.Runs[0])
	if n := len(e.Runs); n > 1 {
		where = fmt.Sprintf("one of runs %d to %d", e.Runs[0], e.Runs[n-1])
	}
	cause := e.Err.Error()
	if run := (*envs.RunError)(nil); errors.As(e.Err, &run) {
		// The number within the stack would only contradict the one in front.
		cause = strings.Replace(cause, run.Error(), run.Err.Error(), 1)
	}
	return fmt.Sprintf("sim: experiment %q, contender %q, %s, step %d: %s (setting: %s)", e.Experiment, e.Contender, where, e.Step, cause, e.Algorithm)
}

func (e *ContenderError) Unwrap() error { return e.Err }

// blame finds the run that an error speaks of.
func blame(e Experiment, c Contender, runs []int, step int, err error) *ContenderError {
	if at := (*StepError)(nil); errors.As(err, &at) {
		step, err = at.Step, at.Err
	}
	if run := (*envs.RunError)(nil); errors.As(err, &run) && run.Run >= 0 && run.Run < len(runs) {
		runs = runs[run.Run:][:1]
	}
	algorithm, _ := declaration(c.Algorithm) // Validate has seen it
	return &ContenderError{Experiment: e.Name, Contender: c.Name, Algorithm: algorithm, Runs: runs, Step: step, Err: err}
}
