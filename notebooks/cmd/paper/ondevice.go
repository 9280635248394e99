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
	if p.ondevice == "off" {
		return nil
	}
	var player ondevice.Player
	if p.ondevice == "auto" {
		backend, err := pgcr.OpenBackend(nil)
		if err != nil {
			return err
		}
		if backend.Name() != "xla" {
			return nil
		}
		var told sync.Map // reasons
		player.Fallback = func(ctx context.Context, m sim.Match, why error) error {
			if _, again := told.LoadOrStore(why.Error(), true); !again {
				fmt.Fprintf(p.stderr, "played by the host: %v\n", why)
			}
			return sim.PlayMatch(ctx, m)
		}
	}
	opt.Player = player.Play
	opt.Backend += " ondevice=" + p.ondevice
	if p.stack == 0 { // one call plays all runs
		opt.Stack = e.Runs
	}
	return nil
}
