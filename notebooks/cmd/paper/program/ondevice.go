package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// onDevice lets a device play an experiment's matches, as the flag says. What
// plays them is recorded with the backend.
func (p *program) onDevice(e sim.Experiment, opt *sim.Options) error {
	if p.OnDevice == "off" {
		return nil
	}
	backend, err := pgcr.OpenBackend(nil)
	if err != nil {
		return err
	}
	p.playOn(backend.Name(), e, opt)
	return nil
}

// playOn is onDevice for a backend of that name.
func (p *program) playOn(backend string, e sim.Experiment, opt *sim.Options) {
	var player ondevice.Player
	if p.OnDevice == "auto" {
		if backend != "xla" {
			return
		}
		var told sync.Map // reasons
		player.Fallback = func(ctx context.Context, m sim.Match, why error) error {
			if _, again := told.LoadOrStore(why.Error(), true); !again {
				fmt.Fprintf(p.Stderr, "played by the host: %v\n", why)
			}
			return sim.PlayMatch(ctx, m)
		}
	}
	player.Tell = func(line string) { fmt.Fprintf(p.Stderr, "%s\n", line) }
	opt.Backend += " ondevice=" + p.OnDevice
	player.Backend = opt.Backend
	opt.Player = player.Play
	if p.Stack == 0 { // one call plays all runs
		opt.Stack = e.Runs
	}
}
