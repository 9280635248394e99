package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// fewSteps are played sooner than a loop is compiled, those of a look at a stored result among them.
const fewSteps = 500

// player opens the backend and returns what plays runs on the device, or nil where the host does.
func (p *program) player() (sim.Player, error) {
	backend, err := pgcr.OpenBackend("")
	if err != nil || p.device == "off" {
		return nil, err
	}
	if backend.Name() != "xla" {
		if p.device == "on" {
			err = fmt.Errorf("-device is on, but a loop on the device needs XLA (build with -tags xla), and the backend is %s", backend.Name())
		}
		return nil, err
	}
	var said sync.Map // each reason once
	return func(ctx context.Context, problem envs.Problem, seeds []uint64, algorithm envs.Algorithm, policySeeds []uint64, steps int, rec sim.Recorder) error {
		if steps >= fewSteps {
			err := ondevice.Play(ctx, problem, seeds, algorithm, policySeeds, steps, rec)
			if _, unsupported := errors.AsType[ondevice.Unsupported](err); !unsupported {
				return err
			}
			line := fmt.Sprintf("%T is played by the host: %v\n", algorithm, err)
			if _, known := said.LoadOrStore(line, true); !known {
				fmt.Fprint(p.stderr, line)
			}
		}
		return sim.PlayRuns(ctx, problem, seeds, algorithm, policySeeds, steps, rec)
	}, nil
}
