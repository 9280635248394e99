package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// Some steps of every contender are timed before an experiment that takes hours
// begins, so that its end can be told from the first second on.
const (
	timedSteps = 20                     // at least, and a multiple of it: the networks learn at every tenth
	timedFor   = 300 * time.Millisecond // at least
	mostTimed  = 1000
)

// foretell times the contenders that the store does not hold, says on stderr how
// long the experiment will take, and tells the progress what it may expect.
func (p *program) foretell(ctx context.Context, store sim.Store, e sim.Experiment, g *progress) error {
	forecast := &forecast{perContender: int64(e.Runs) * int64(e.Steps), workers: float64(p.Workers)}
	if p.Workers == 0 {
		forecast.workers = float64(runtime.GOMAXPROCS(0))
	}
	var most float64
	slowest := ""
	for _, c := range e.Contenders {
		if _, err := store.Load(e, c); !errors.Is(err, fs.ErrNotExist) {
			continue // and is not played, or Run says what is wrong
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		cost, err := stepTime(ctx, e, c)
		if err != nil {
			continue // Run says so, with the step
		}
		forecast.contenders = append(forecast.contenders, c.Name)
		forecast.costs = append(forecast.costs, cost.Seconds())
		if cost.Seconds() > most {
			most, slowest = cost.Seconds(), c.Name
		}
	}
	if len(forecast.costs) == 0 {
		return nil
	}
	g.expect(forecast)
	if took := forecast.left(0); took > 2*time.Second {
		fmt.Fprintf(p.Stderr, "%s: %d runs of %d steps take about %s from nothing, most of it %s\n", e.Name, e.Runs, e.Steps, readable(took), slowest)
	}
	return nil
}

// forecast tells how much time is left where contenders differ in speed.
type forecast struct {
	contenders   []string  // in the order in which they are played
	costs        []float64 // seconds a run-step
	perContender int64     // run-steps of a contender
	workers      float64

	served  bool  // whether what the store had of these contenders is taken off
	done    int64 // run-steps when last told
	skipped float64
	spent   float64 // expected seconds of what has been played
}

// whole is the seconds that all contenders are expected to take one worker.
func (f *forecast) whole() float64 {
	sum := 0.
	for _, c := range f.costs {
		sum += c * float64(f.perContender)
	}
	return sum
}

// tell takes how many run-steps have been played, of how many that are to be,
// and by whom the last ones.
func (f *forecast) tell(played, toPlay int64, contender string) {
	if !f.served {
		f.served, f.done = true, played
		// Runs that were finished before are the first contenders'.
		rest := int64(len(f.costs))*f.perContender - toPlay
		for _, cost := range f.costs {
			n := max(min(rest, f.perContender), 0)
			f.skipped += cost * float64(n)
			rest -= n
		}
	}
	if i := slices.Index(f.contenders, contender); i >= 0 {
		f.spent += f.costs[i] * float64(played-f.done)
	}
	if played == toPlay { // two contenders may have advanced, and one was told
		f.spent = f.whole() - f.skipped
	}
	f.done = played
}

// trusted is for how long expectations count as much as what is seen.
const trusted = 30 * time.Second

// left is the time that remains after some of it.
func (f *forecast) left(took time.Duration) time.Duration {
	speed := (f.spent + f.workers*trusted.Seconds()) / (took + trusted).Seconds()
	return seconds((f.whole() - f.skipped - f.spent) / speed)
}

// stepTime is how long a step of one run takes a contender.
func stepTime(ctx context.Context, e sim.Experiment, c sim.Contender) (time.Duration, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var began time.Time
	var took time.Duration
	err := sim.PlayMatch(ctx, sim.Match{
		Problem: e.Problem, ProblemSeeds: e.ProblemSeeds(0, 1),
		Algorithm: c.Algorithm, PolicySeeds: e.PolicySeeds(0, 1),
		Steps: timedSteps + mostTimed, Begin: func() {},
		Recorder: sim.RecorderFunc(func(step int, _ envs.Transition, _ []float64) {
			n := step - timedSteps // the first steps compile the graphs
			if n == 0 {
				began = time.Now()
			}
			if n <= 0 || n%timedSteps != 0 {
				return
			}
			if sum := time.Since(began); sum >= timedFor || n == mostTimed {
				took = sum / time.Duration(n)
				enough()
			}
		}),
	})
	if took > 0 {
		return took, nil
	}
	return 0, err
}

func seconds(s float64) time.Duration {
	// A rate that is almost nothing must not overflow the duration.
	return time.Duration(min(max(s, 0), 1e9) * float64(time.Second))
}

// readable rounds a duration as far as nobody minds: "2h 10m", "45m", "20s".
func readable(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		d = d.Round(time.Hour)
	case d >= time.Hour:
		d = d.Round(5 * time.Minute)
	case d >= 2*time.Minute:
		d = d.Round(time.Minute)
	default:
		return d.Round(time.Second).String()
	}
	text := strings.TrimSuffix(d.String(), "0s") // 2h10m
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
