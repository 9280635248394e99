package ondevice

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Unsupported says why something cannot be played on the device.
type Unsupported string

func (u Unsupported) Error() string { return "no loop on the device: " + string(u) }

// Recorder is called after each step, as that of package sim. The contexts of the transition are
// left out.
type Recorder func(step int, tr envs.Transition, regret []float64)

// Algorithm is what can be played: PGCR or Value. A Backend of its settings is not looked at.
type Algorithm interface {
	// player validates the settings and returns the live algorithm of one run a seed.
	player(spec envs.Spec, seeds []uint64, backend compute.Backend) (player, error)
}

// Play plays an algorithm in a problem for some steps, one run a seed, in chunks of one call of the
// device each. The backend is that of pgcr.OpenBackend("") and has to be XLA.
//
// Where anything stands against that, the error is an Unsupported, and nothing was recorded. Other
// errors are those of sim.Play. It stops before the next chunk when ctx is cancelled.
func Play(ctx context.Context, problem envs.Problem, problemSeeds []uint64, a Algorithm, policySeeds []uint64, steps int, rec Recorder) error {
	backend, err := pgcr.OpenBackend("")
	if err != nil {
		return err
	}
	if backend.Name() != "xla" {
		return Unsupported(fmt.Sprintf("the backend is %s, a loop with gradients needs XLA", backend.Name()))
	}
	p, err := a.player(problem.Spec(), policySeeds, backend)
	if err != nil {
		return err
	}
	s := sizes{spec: problem.Spec(), runs: len(policySeeds), steps: steps}
	s.every, s.updates = p.block()
	if s.chunk, err = s.chunkSteps(p); err != nil {
		return err
	}
	s.steps = (steps + s.chunk - 1) / s.chunk * s.chunk // there is room for whole chunks
	w, err := newWorld(problem, problemSeeds, s)
	if err != nil {
		return err
	}
	prog := newProgram(backend, p, w)
	defer prog.free()
	for done := 0; done < steps; done += s.chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(s.chunk, (steps-done+s.every-1)/s.every*s.every) // what is beyond the last step is not recorded
		actions, err := prog.play(done, n, w)
		if reason := Unsupported(""); done > 0 && errors.As(err, &reason) {
			err = fmt.Errorf("ondevice: after %d steps, too late for the host: %s", done, reason)
		}
		if err != nil {
			return err
		}
		for k := range min(n, steps-done) {
			tr, regret := w.outcome(k, done+k, actions)
			rec(done+k+1, tr, regret)
		}
	}
	return nil
}

// sizes are what the shapes of a program are made of.
type sizes struct {
	spec               envs.Spec
	runs, steps, chunk int
	every, updates     int // of a block
}

const (
	mostHistory = 1 << 30  // bytes of all runs; there are two of it when a chunk is added
	mostInputs  = 64 << 20 // bytes of a chunk
	mostChunk   = 500      // steps, after which progress is shown and an interrupt is seen
	mostEvery   = 50       // steps between updates, each of which is compiled
)

// chunkSteps returns how many steps a chunk has, and makes room for its inputs. An Unsupported says why
// the device cannot play.
func (s sizes) chunkSteps(p player) (chunk int, err error) {
	m, d := s.spec.Candidates, s.spec.Dim+1
	switch history := s.runs * s.steps * m * d * 4; {
	case s.spec.State > 0:
		return 0, Unsupported("contexts have a state, which depends on what is chosen")
	case s.every > mostEvery:
		return 0, Unsupported(fmt.Sprintf("there are %d steps between updates", s.every))
	case m > 100:
		return 0, Unsupported(fmt.Sprintf("the rewards of all %d candidates would have to be drawn", m))
	case history > mostHistory || s.runs*s.steps*m > math.MaxInt32:
		return 0, Unsupported(fmt.Sprintf("the history of %d runs of %d steps has %d MiB", s.runs, s.steps, history>>20))
	}
	bytes := s.every * s.runs * m * (d + 1) * 4 // of a block
	for _, in := range p.inputs() {
		bytes += in.bytes()
	}
	blocks := max(1, min(mostChunk/s.every, mostInputs/bytes, (s.steps+s.every-1)/s.every))
	for _, in := range p.inputs() {
		in.allocate(blocks)
	}
	return blocks * s.every, nil
}
