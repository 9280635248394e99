// Package sim plays policies in environments and keeps the results.
package sim

import (
	"context"
	"errors"

	"github.com/contextrec/contextrec/envs"
)

// Contender is a named algorithm.
type Contender struct {
	Name      string
	Algorithm envs.Algorithm
}

// Experiment is the whole configuration of a comparison: the literal is the
// configuration. All contenders meet the same problem streams.
type Experiment struct {
	Name       string
	Problem    envs.Problem
	Contenders []Contender
	Runs       int // independent repetitions, at least 1
	Steps      int // decisions a run, at least 1
	Seed       uint64
}

// Scale returns the experiment with Steps multiplied by fraction.
func (e Experiment) Scale(fraction float64) Experiment { return e }

// Options say how fast results come, never what they are.
type Options struct {
	Workers int // goroutines; default: number of CPUs
	Stack   int // runs that are stepped together by one worker; default: an even share of Runs a worker

	// Progress is called a few times a second; calls do not overlap. Nil: none.
	Progress func(Status)

	Version string // recorded in the result files
	Backend string // recorded in the result files
}

// Status is a snapshot of a running experiment.
type Status struct {
	Experiment string
	Contender  string  // the contender that last advanced
	Done       int64   // run-steps finished, served from the store included
	Total      int64   // run-steps in all
	Served     int64   // run-steps of Done that came from the store
	Regret     float64 // mean cumulative regret of Contender so far; NaN without an Oracle
	Reward     float64 // mean reward a step of Contender so far
}

// Run plays all contenders that the store does not hold yet and returns the
// results of all, in the order of Contenders.
func (e Experiment) Run(ctx context.Context, store Store, opt Options) ([]*Result, error) {
	return nil, errors.New("sim: being written")
}
