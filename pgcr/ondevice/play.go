package ondevice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
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
	// update; 0 or less: 1000, and fewer where they would take more than 64 MiB.
	Piece int

	// Fallback plays the matches that the device cannot play, and is told why
	// not. Nil: they are errors that wrap ErrUnsuitable.
	Fallback func(ctx context.Context, m sim.Match, why error) error

	// Every is how often a match under way is kept in its Folder, if it has one, so
	// that the next Play of the same match by the same program goes on from there,
	// even after a kill. It ends as it would have without, to the last bit if the
	// backend compiles the match to the same program again: XLA on a GPU need not, as
	// it times kernels to choose among them. What was kept stays when the match is
	// over: whoever gave the Folder removes it once the result is kept.
	// Default: a minute; below 0: never.
	Every time.Duration

	// Backend says what computes, where the backend does not say enough itself: a
	// match that was begun with another one is begun anew.
	Backend string

	// Tell is told in a line what is done with a match that was kept: that it goes
	// on, or why not, or that it cannot be kept. Nil: nobody is.
	Tell func(line string)
}

// scripted is a policy that has a script.
type scripted interface {
	Script(sessions bool) (pgcr.Script, error)
}

// Play plays a match as sim.PlayMatch does, up to rounding. It reads ctx
// between the calls. Where the device makes contexts out of codes, the Recorder is
// shown Codes and no Contexts.
func (p Player) Play(ctx context.Context, m sim.Match) error {
	table, err := newTable(m)
	if errors.Is(err, ErrUnsuitable) && p.Fallback != nil {
		return p.Fallback(ctx, m, err)
	}
	if err != nil {
		return err
	}
	keeper := newKeeper(p, m, table.script.Backend(), p.pieceSteps(table))
	m.Begin()
	g, err := newGame(table)
	if err != nil {
		return err
	}
	defer g.free()
	return g.play(ctx, p.pieceSteps(table), keeper)
}

// pieceSteps is the number of steps of a call: whole stretches between updates.
func (p Player) pieceSteps(t *table) int {
	n, every := p.Piece, t.script.UpdateEvery()
	if n <= 0 {
		n = min(1000, max(1, (64<<20)/t.upload()))
	}
	return (min(n, t.steps) + every - 1) / every * every // t.steps is a multiple
}

// game is a match under way on a device.
type game struct {
	program
	backend       compute.Backend
	exec          *Exec
	history, hist *tensors.Tensor
	features      *tensors.Tensor // nil without codes
}

func newGame(t *table) (g *game, err error) {
	backend := t.script.Backend()
	g = &game{program: program{table: t, slices: hasSlices(backend)}, backend: backend}
	defer func() {
		if err != nil {
			g.free()
			err = g.explain(err)
		}
	}()
	if g.exec, err = NewExec(backend, g.build); err != nil {
		return nil, err
	}
	kind := dtypes.Float32
	if c := t.catalogue; c != nil {
		kind = dtypes.Int32
		values, rows := c.wide(t.shape.width)
		g.features = tensors.FromFlatDataAndDimensions(values, rows, len(values)/rows)
		if err := g.features.MaterializeOnDevice(backend, false, 0); err != nil {
			return g, err
		}
	}
	if g.history, err = g.zeros(kind, t.runs(), t.steps, t.shape.history); err != nil {
		return g, err
	}
	g.hist, err = g.zeros(dtypes.Float32, t.runs(), t.steps, t.shape.hist)
	return g, err
}

// free gives the device's memory back.
func (g *game) free() {
	if g.exec != nil {
		g.exec.Finalize()
	}
	for _, x := range []*tensors.Tensor{g.history, g.hist, g.features} {
		if x != nil && x.Ok() {
			x.MustFinalizeAll()
		}
	}
}

// zeros makes an array on the device, without one of its size on the host where
// the device has its own memory.
func (g *game) zeros(kind dtypes.DType, dims ...int) (*tensors.Tensor, error) {
	if !g.slices {
		return tensors.FromShapeForBackend(g.backend, 0, shapes.Make(kind, dims...))
	}
	exec, err := NewExec(g.backend, func(like *Node) *Node {
		return BroadcastToDims(ConvertDType(like, kind), dims...)
	})
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	return exec.Call1(tensors.FromScalar(float32(0)))
}

// play lays out piece after piece and has the device play it. What was kept of
// the game is laid out and shown to the recorder as well, but not played.
func (g *game) play(ctx context.Context, steps int, k *keeper) error {
	var kept *resume
	if c := k.load(g.table); c != nil {
		var err error
		if kept, err = g.resume(c); err != nil {
			return err
		}
	}
	laid := make(chan *loaded, 1)
	done := make(chan struct{})
	broken := errGoexit // how the loader has ended, once laid is closed
	go func() {
		defer close(laid)
		defer caught(&broken)
		for left := g.steps; left > 0; {
			n := min(steps, left)
			left -= n
			l := g.load(n)
			select {
			case laid <- l:
			case <-done:
				l.free()
				return
			}
			if l.err != nil {
				return
			}
		}
		broken = nil
	}()
	// Nobody lays out any more when the game is freed.
	defer func() {
		close(done)
		for l := range laid {
			l.free()
		}
	}()
	for l := range laid {
		if err := g.playPiece(ctx, l, &kept, k); err != nil {
			return err
		}
	}
	if broken != nil {
		return &sim.StepError{Step: g.laid + 1, Err: broken}
	}
	return nil
}

// playPiece plays a piece, or shows again what was kept of it, and frees it.
func (g *game) playPiece(ctx context.Context, l *loaded, kept **resume, k *keeper) error {
	defer l.free()
	if err := ctx.Err(); err != nil {
		if k.path != "" && l.first > 0 && *kept == nil {
			k.keep(g.table, l.first)
		}
		return &sim.StepError{Step: l.first + 1, Err: err}
	}
	if l.err != nil {
		return l.err
	}
	var slots []float32
	var err error
	if *kept != nil {
		slots, err = g.replay(l, *kept)
	} else {
		slots, err = g.call(l, l.steps)
	}
	if err != nil {
		return &sim.StepError{Step: l.first + 1, Err: g.explain(err)}
	}
	if err := g.record(l.piece, slots); err != nil {
		return err
	}
	end := l.first + l.steps
	if *kept != nil {
		if end == (*kept).Played {
			*kept = nil
		}
	} else if k.due() && end < g.steps {
		k.keep(g.table, end)
	}
	return nil
}

// loaded is a piece on the device.
type loaded struct {
	*piece
	inputs []*tensors.Tensor // inPiece ... inUpdates
}

// free gives back what of the piece is on the device still.
func (l *loaded) free() {
	for _, x := range l.inputs {
		if x.Ok() {
			x.MustFinalizeAll()
		}
	}
}

func (g *game) load(steps int) *loaded {
	p := g.next(steps)
	l := &loaded{piece: p}
	if p.err != nil {
		return l
	}
	runs, updates := g.runs(), steps/g.script.UpdateEvery()
	first := tensors.FromFlatDataAndDimensions(p.contexts, runs, steps, len(p.contexts)/runs/steps)
	if g.catalogue != nil {
		first = tensors.FromFlatDataAndDimensions(p.codes, runs, steps, g.shape.history)
	}
	l.inputs = []*tensors.Tensor{
		first,
		tensors.FromFlatDataAndDimensions(p.floats, steps, runs, g.shape.floats),
		tensors.FromFlatDataAndDimensions(p.shared, steps, g.size.Shared),
		tensors.FromFlatDataAndDimensions(p.draws, updates, runs, g.shape.draws),
		tensors.FromFlatDataAndDimensions(p.updates, updates, runs, g.shape.updates),
	}
	for _, t := range l.inputs {
		if err := t.MaterializeOnDevice(g.backend, false, 0); err != nil {
			p.err = g.explain(err)
			break
		}
	}
	return l
}

// call plays the first steps of a piece, all or none, and returns the slots that
// were chosen, [R, K].
func (g *game) call(l *loaded, steps int) ([]float32, error) {
	if !g.slices {
		if err := g.copyHistory(l.piece); err != nil {
			return nil, err
		}
	}
	args := []any{tensors.FromScalar(int32(steps / g.script.UpdateEvery())), tensors.FromScalar(int32(l.first))}
	for _, x := range l.inputs {
		args = append(args, x)
	}
	for _, x := range []*tensors.Tensor{g.history, g.hist} {
		if !g.slices {
			args = append(args, x)
			continue
		}
		buffer, err := DonateTensorBuffer(x, g.backend, 0)
		if err != nil {
			return nil, err
		}
		args = append(args, buffer)
	}
	if g.features != nil {
		args = append(args, g.features)
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
	if g.slices {
		g.history = rest[0]
	}
	return slots, results[0].FinalizeAll()
}

// copyHistory is program.append on the host.
func (g *game) copyHistory(p *piece) error {
	if g.catalogue != nil {
		n := g.shape.history
		return tensors.MutableFlatData(g.history, func(v []int32) {
			for r := range g.runs() {
				copy(v[(r*g.steps+p.first)*n:], p.codes[r*p.steps*n:(r+1)*p.steps*n])
			}
		})
	}
	m, d, width := g.spec.Candidates, g.spec.Dim, g.shape.width
	return tensors.MutableFlatData(g.history, func(v []float32) {
		for r := range g.runs() {
			for i := range p.steps * m {
				row := v[((r*g.steps+p.first)*m+i)*width:][:width]
				copy(row, p.contexts[(r*p.steps*m+i)*d:][:d])
				row[d] = 1
			}
		}
	})
}
