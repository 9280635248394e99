package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/contextrec/contextrec/envs"
)

var errGoexit = errors.New("its goroutine was ended (runtime.Goexit, which a test's FailNow calls)")

// simulate lets play some runs of a contender together. Panics become errors: a
// broken policy must not take the other contenders with it.
func simulate(ctx context.Context, e Experiment, c Contender, runs []int, folder string, play func(context.Context, Match) error, t *tally) (curves *Curves, err error) {
	curves = NewCurves(len(runs), Checkpoints(e.Steps))
	began := false
	problemSeeds := make([]uint64, len(runs))
	policySeeds := make([]uint64, len(runs))
	for i, run := range runs {
		problemSeeds[i] = e.ProblemSeeds(run, 1)[0]
		policySeeds[i] = e.PolicySeeds(run, 1)[0]
	}
	m := Match{
		Problem: e.Problem, ProblemSeeds: problemSeeds,
		Algorithm: c.Algorithm, PolicySeeds: policySeeds,
		Steps: e.Steps, Folder: folder,
		Begin: func() {
			began = true
			t.begin(len(runs))
		},
		Recorder: RecorderFunc(func(step int, tr envs.Transition, regret []float64) {
			curves.Record(step, tr, regret)
			t.Record(step, tr, regret)
		}),
	}
	// A goroutine of its own, which the policy may end without harm to others.
	err = errGoexit
	played := make(chan struct{})
	go func() {
		defer close(played)
		defer func() {
			if v := recover(); v != nil {
				cause, ok := v.(error)
				if !ok {
					cause = fmt.Errorf("%v", v)
				}
				err = fmt.Errorf("panic: %w\n%s", cause, debug.Stack())
			}
		}()
		err = play(ctx, m)
	}()
	<-played
	if err != nil {
		step := 0
		if began {
			step = curves.step + 1
		}
		err = blame(e, c, runs, step, err)
	}
	return curves, err
}
