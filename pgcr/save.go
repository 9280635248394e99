package pgcr

import (
	"fmt"
	"io"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// saved is everything that an agent is made of.
type saved struct {
	Steps, Updates int64
	Actor, Critic  [][]float32
	Streams        []streams
	History        Kept
}

// Save implements envs.Saver: both networks, Adam's moments, the counts, every
// random stream and the history. An agent whose parameters have diverged is not
// saved.
func (a *Agent) Save(w io.Writer) (err error) {
	s := saved{Steps: a.steps, Updates: a.updates, Streams: a.streams, History: a.replay.Kept()}
	if s.Actor, err = a.actor.Values(); err != nil {
		return err
	}
	if s.Critic, err = a.critic.Values(); err != nil {
		return err
	}
	for _, values := range slices.Concat(s.Actor, s.Critic) {
		for i, v := range values {
			if v-v != 0 {
				return a.diverged(i/(len(values)/a.Runs()), fmt.Errorf("a parameter is %v", v))
			}
		}
	}
	return envs.WriteState(w, a.config, a.spec, a.Runs(), s)
}

// Load implements envs.Saver.
func (a *Agent) Load(r io.Reader) error {
	var s saved
	if err := envs.ReadState(r, a.config, a.spec, a.Runs(), &s); err != nil {
		return err
	}
	a.actor.Restore(s.Actor)
	a.critic.Restore(s.Critic)
	a.steps, a.updates, a.streams, a.learn = s.Steps, s.Updates, s.Streams, nil
	a.replay.Restore(s.History)
	return nil
}
