package ondevice_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// hooked is a problem that does something at every step of every environment.
type hooked struct {
	envs.Linear
	at func(step int)
}

func (p hooked) New(seeds []uint64) (envs.Environment, error) {
	env, err := p.Linear.New(seeds)
	if err != nil {
		return nil, err
	}
	return &hookedEnvironment{Environment: env, PotentialOutcomes: env.(envs.PotentialOutcomes), at: p.at}, nil
}

type hookedEnvironment struct {
	envs.Environment
	envs.PotentialOutcomes
	at   func(step int)
	step int
}

func (e *hookedEnvironment) Step(actions []int) (envs.Outcome, error) {
	e.step++
	e.at(e.step)
	return e.Environment.Step(actions)
}

// hookedScript does something at every step that is laid out.
type hookedScript struct {
	pgcr.Config
	lay, layShared func(step int)
}

func (a hookedScript) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	policy, err := a.Config.New(spec, seeds)
	return hookedPolicy{policy.(*pgcr.Agent), a}, err
}

type hookedPolicy struct {
	*pgcr.Agent
	hooks hookedScript
}

func (p hookedPolicy) Script(sessions bool) (pgcr.Script, error) {
	script, err := p.Agent.Script(sessions)
	return layer{script, p.hooks}, err
}

type layer struct {
	pgcr.Script
	hooks hookedScript
}

func (l layer) Lay(r, step int, row pgcr.TapeRow) {
	l.hooks.lay(step + 1)
	l.Script.Lay(r, step, row)
}

func (l layer) LayShared(step int, shared []float32) {
	l.hooks.layShared(step + 1)
	l.Script.LayShared(step, shared)
}

// What an environment or a script does to its goroutine, in step 25, ends the match
// and nothing else. A piece of 10 steps is laid out as a whole, so that 20 steps are
// played at most.
func TestPanics(t *testing.T) {
	cause := errors.New("out of songs")
	for end, do := range map[string]func(step int){
		"panic: out of songs": func(step int) {
			if step == 25 {
				panic(cause)
			}
		},
		"its goroutine was ended": func(step int) {
			if step == 25 {
				runtime.Goexit()
			}
		},
	} {
		quiet := func(int) {}
		config := pgcr.Config{ActorRate: 1e-4}
		for name, m := range map[string]sim.Match{
			"environment":       match(hooked{at: do}, config, 3, 60),
			"script":            match(envs.Linear{}, hookedScript{config, do, quiet}, 3, 60),
			"script, all alike": match(envs.Linear{}, hookedScript{config, quiet, do}, 3, 60),
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				recorded := 0
				m.Recorder = sim.RecorderFunc(func(step int, _ envs.Transition, _ []float64) { recorded = step })
				err := ondevice.Player{Piece: 10}.Play(t.Context(), m)
				at := (*sim.StepError)(nil)
				if !errors.As(err, &at) || !strings.HasPrefix(at.Err.Error(), end) {
					t.Fatalf("the error is %v, want one that begins with %q", err, end)
				}
				if strings.HasPrefix(end, "panic") && (!errors.Is(err, cause) || !strings.Contains(err.Error(), "broken_test.go")) {
					t.Errorf("the error is %v, without its cause and where it was", err)
				}
				// What all runs have in common is laid out first, for the whole piece.
				want := 25
				if name == "script, all alike" {
					want = 21
				}
				if at.Step != want || recorded > 20 {
					t.Errorf("the error is of step %d, %d are recorded; want %d, and 20 at most", at.Step, recorded, want)
				}
			})
		}
	}
}

// Nothing of a match runs on when Play has returned.
func TestAwaited(t *testing.T) {
	for name, recorderPanics := range map[string]bool{"cancelled": false, "recorder panics": true} {
		t.Run(name, func(t *testing.T) {
			var steps, inside atomic.Int64
			m := match(hooked{at: func(int) {
				inside.Add(1)
				time.Sleep(5 * time.Millisecond) // longer than a piece is played
				inside.Add(-1)
				steps.Add(1)
			}}, pgcr.Config{ActorRate: 1e-4}, 2, 400)
			ctx, cancel := context.WithCancel(t.Context())
			m.Recorder = sim.RecorderFunc(func(step int, _ envs.Transition, _ []float64) {
				if step == 15 && recorderPanics {
					panic("full")
				}
				if step == 15 {
					cancel()
				}
			})
			func() {
				defer func() {
					if v := recover(); (v != nil) != recorderPanics {
						t.Errorf("Play panics with %v", v)
					}
				}()
				if err := (ondevice.Player{Piece: 10}).Play(ctx, m); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
			if n := inside.Load(); n > 0 {
				t.Errorf("%d environments are in a step still", n)
			}
			before := steps.Load()
			time.Sleep(50 * time.Millisecond)
			if after := steps.Load(); after != before {
				t.Errorf("%d steps were laid out when Play returned, %d later", before, after)
			}
		})
	}
}
