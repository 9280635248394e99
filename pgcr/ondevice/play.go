package ondevice

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// ErrUnsuitable is wrapped by the error of a match that has no form in which a
// device could play it.
var ErrUnsuitable = errors.New("cannot be played on the device")

func unsuitable(why string) error { return fmt.Errorf("ondevice: %w: %s", ErrUnsuitable, why) }

// A Player plays matches on the device of the policies' backend. Its Play is a
// sim.Options.Player. On the Go backend it is slower than sim.PlayMatch.
type Player struct {
	// Piece is how many steps the device takes in a call, rounded up to the next
	// update; default: 1000, and fewer where their contexts would take more than
	// 64 MiB.
	Piece int

	// Fallback plays the matches that the device cannot play, and is told why
	// not. Nil: they are errors that wrap ErrUnsuitable.
	Fallback func(ctx context.Context, m sim.Match, why error) error
}

// scripted is a policy that has a script.
type scripted interface{ Script() (pgcr.Script, error) }

// Play plays a match as sim.PlayMatch does, up to rounding. It reads ctx
// between the calls.
func (p Player) Play(ctx context.Context, m sim.Match) error {
	table, err := p.prepare(m)
	if errors.Is(err, ErrUnsuitable) && p.Fallback != nil {
		return p.Fallback(ctx, m, err)
	}
	if err != nil {
		return err
	}
	m.Begin()
	g, err := newGame(table)
	if err != nil {
		return err
	}
	defer g.free()
	return g.play(ctx, p.pieceSteps(table))
}

// prepare makes policy and environments.
func (p Player) prepare(m sim.Match) (*table, error) {
	policy, err := m.NewPolicy()
	if err != nil {
		return nil, err
	}
	s, ok := policy.(scripted)
	if !ok {
		return nil, unsuitable(fmt.Sprintf("%T has no script", m.Algorithm))
	}
	script, err := s.Script()
	if err != nil {
		return nil, err
	}
	return newTable(m, script)
}

// pieceSteps is the number of steps of a call: whole stretches between updates.
func (p Player) pieceSteps(t *table) int {
	n, every := p.Piece, t.script.UpdateEvery()
	if n == 0 {
		n = min(1000, max(1, (64<<20)/(4*len(t.match.ProblemSeeds)*t.spec.Candidates*t.spec.Dim)))
	}
	return min((n+every-1)/every*every, t.steps)
}

// game is a match under way on a device.
type game struct {
	*table
	backend        compute.Backend
	program        program
	exec           *Exec
	contexts, hist *tensors.Tensor
}

func newGame(t *table) (*game, error) {
	backend := t.script.Backend()
	runs, m, width := len(t.match.ProblemSeeds), t.spec.Candidates, pgcr.Width(t.spec.Dim)
	g := &game{
		table:   t,
		backend: backend,
		program: program{script: t.script, spec: t.spec, size: t.size, runs: runs, slices: hasSlices(backend)},
	}
	var err error
	if g.exec, err = NewExec(backend, g.program.build); err != nil {
		return nil, err
	}
	if g.contexts, err = g.zeros(runs, t.steps, m*width); err != nil {
		return nil, err
	}
	g.hist, err = g.zeros(runs, t.steps, 2)
	return g, err
}

// free gives the device's memory back.
func (g *game) free() {
	g.exec.Finalize()
	for _, x := range []*tensors.Tensor{g.contexts, g.hist} {
		if x != nil && x.Ok() {
			x.MustFinalizeAll()
		}
	}
}

// zeros makes an array on the device, without one of its size on the host where
// the device has its own memory.
func (g *game) zeros(dims ...int) (*tensors.Tensor, error) {
	if !g.program.slices {
		return pgcr.NewInput(g.backend, dims...)
	}
	exec, err := NewExec(g.backend, func(like *Node) *Node {
		return BroadcastToDims(like, dims...)
	})
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	t, err := exec.Call1(tensors.FromScalar(float32(0)))
	if err != nil {
		return nil, g.explain(err)
	}
	return t, nil
}

// explain names the setting that helps when the device's memory is too small.
func (g *game) explain(err error) error {
	text := err.Error()
	if !strings.Contains(text, "RESOURCE_EXHAUSTED") && !strings.Contains(strings.ToLower(text), "out of memory") {
		return err
	}
	runs, m := len(g.match.ProblemSeeds), g.spec.Candidates
	bytes := float64(runs) * float64(g.steps) * float64(m*pgcr.Width(g.spec.Dim)+2) * 4
	return fmt.Errorf("ondevice: the device's memory is too small: the history of %d runs of %d steps takes %.1f GiB, and twice that while it grows; fewer runs at a time need less (sim.Options.Stack, flag -stack): %w",
		runs, g.match.Steps, bytes/(1<<30), err)
}

// play lays out piece after piece and has the device play it.
func (g *game) play(ctx context.Context, steps int) error {
	laid := make(chan *loaded, 1)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(laid)
		for left := g.steps; left > 0; {
			n := min(steps, left)
			left -= n
			l := g.load(n)
			select {
			case laid <- l:
			case <-done:
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	for l := range laid {
		if err := ctx.Err(); err != nil {
			return &sim.StepError{Step: l.first + 1, Err: err}
		}
		if l.err != nil {
			return l.err
		}
		slots, err := g.call(l)
		if err != nil {
			return &sim.StepError{Step: l.first + 1, Err: g.explain(err)}
		}
		if err := g.record(l.piece, slots); err != nil {
			return err
		}
	}
	return nil
}

// loaded is a piece on the device.
type loaded struct {
	*piece
	inputs []*tensors.Tensor // contexts, batch, floats, shared
}

func (g *game) load(steps int) *loaded {
	p := g.next(steps)
	l := &loaded{piece: p}
	if p.err != nil {
		return l
	}
	contexts, batch, floats, shared, err := p.upload(g.backend, g.program.runs)
	if err != nil {
		p.err = g.explain(err)
	}
	l.inputs = []*tensors.Tensor{contexts, batch, floats, shared}
	return l
}

// call plays a piece and returns the slots that were chosen, [R, K].
func (g *game) call(l *loaded) ([]float32, error) {
	args := []any{tensors.FromScalar(int32(l.first))}
	if !g.program.slices {
		if err := g.copyContexts(l.piece); err != nil {
			return nil, err
		}
	}
	for _, x := range l.inputs {
		args = append(args, x)
	}
	if g.program.slices {
		for _, x := range []*tensors.Tensor{g.contexts, g.hist} {
			buffer, err := DonateTensorBuffer(x, g.backend, 0)
			if err != nil {
				return nil, err
			}
			args = append(args, buffer)
		}
	} else {
		args = append(args, g.contexts, g.hist)
	}
	for _, p := range g.script.Parameters() {
		donated, err := p.Donate()
		if err != nil {
			return nil, err
		}
		args = append(args, donated...)
	}
	results, err := g.exec.Call(args...)
	if err != nil {
		return nil, err
	}
	slots, err := tensors.CopyFlatData[float32](results[0])
	if err != nil {
		return nil, err
	}
	g.hist = results[1]
	rest := results[2:]
	for _, p := range g.script.Parameters() {
		rest = p.Replace(rest)
	}
	if g.program.slices {
		g.contexts = rest[0]
	}
	for _, x := range append(l.inputs, results[0]) {
		if err := x.FinalizeAll(); err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// copyContexts is program.appendContexts on the host.
func (g *game) copyContexts(p *piece) error {
	m, d, width := g.spec.Candidates, g.spec.Dim, pgcr.Width(g.spec.Dim)
	return pgcr.EditInputs([]*tensors.Tensor{g.contexts}, func(v [][]float32) {
		for r := range g.program.runs {
			for i := range p.steps * m {
				row := v[0][((r*g.steps+p.first)*m+i)*width:][:width]
				copy(row, p.contexts[(r*p.steps*m+i)*d:][:d])
				row[d] = 1
			}
		}
	})
}
