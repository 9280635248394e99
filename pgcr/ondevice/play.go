package ondevice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Unsupported says why something cannot be played on the device.
type Unsupported string

func (u Unsupported) Error() string { return "no loop on the device: " + string(u) }

// Play plays pgcr.Config or an algorithm of neural in a problem for some steps, one run a seed, in
// chunks of one call of the device each. rec is called after each step, as that of package sim, with a
// transition whose contexts are left out. The backend is that of pgcr.OpenBackend(""), whatever the
// algorithm's is, and has to be XLA.
//
// Where anything stands against that, the error is an Unsupported, and nothing was recorded. Other
// errors are those of sim.Play. It stops before the next chunk when ctx is cancelled.
func Play(ctx context.Context, problem envs.Problem, problemSeeds []uint64, a envs.Algorithm, policySeeds []uint64, steps int,
	rec func(step int, tr envs.Transition, regret []float64)) error {
	backend, err := pgcr.OpenBackend("")
	if err != nil {
		return err
	}
	if backend.Name() != "xla" {
		return Unsupported(fmt.Sprintf("the backend is %s, a loop with gradients needs XLA", backend.Name()))
	}
	p, err := newPlayer(a, problem.Spec(), policySeeds)
	if err != nil {
		return err
	}
	w, err := newWorld(problem, problemSeeds, p, steps)
	if err != nil {
		return err
	}
	prog := newProgram(backend, w)
	defer prog.free()
	for done := 0; done < steps; done += w.chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(w.chunk, (steps-done+w.every-1)/w.every*w.every) // what is beyond the last step is not recorded
		actions, err := prog.play(done, n)
		if reason := Unsupported(""); done > 0 && errors.As(err, &reason) {
			err = fmt.Errorf("ondevice: after %d steps, too late for the host: %s", done, reason)
		}
		if err != nil {
			return err
		}
		for k := range min(n, steps-done) {
			tr, regret := w.outcome(k, actions)
			rec(done+k+1, tr, regret)
		}
	}
	return nil
}

// newPlayer makes the live algorithm of one run a seed.
func newPlayer(a envs.Algorithm, spec envs.Spec, seeds []uint64) (player, error) {
	if _, err := a.New(spec, seeds[:min(len(seeds), 1)]); err != nil { // it checks the settings
		return nil, err
	}
	settings, err := json.Marshal(a) // with the defaults filled in
	switch a.(type) {
	case pgcr.Config, neural.VanillaPG:
		var c pgcr.Config
		err = cmp.Or(err, json.Unmarshal(settings, &c))
		return newAgent(c, spec, seeds), err
	case neural.Greedy, neural.EpsilonGreedy:
		var c neural.EpsilonGreedy
		err = cmp.Or(err, json.Unmarshal(settings, &c))
		return newValue(c, spec, seeds), err
	}
	return nil, Unsupported("only pgcr.Config and the algorithms of package neural have one")
}

const (
	mostCandidates = 100      // of each of which an environment tells the rewards
	mostHistory    = 1 << 30  // bytes of all runs; where host and device share no memory, it is sent with each chunk
	mostInputs     = 64 << 20 // bytes of a chunk
	mostChunk      = 500      // steps, after which progress is shown and an interrupt is seen
	mostEvery      = 50       // steps between updates, each of which is compiled
)
