package ondevice_test

import (
	"testing"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// What PGCR is compared with plays the same game on the device too.
func TestRivalsSameAsLoop(t *testing.T) {
	for name, a := range map[string]envs.Algorithm{
		"vanilla":          neural.VanillaPG{ActorRate: 1e-4},
		"vanilla, dropout": neural.VanillaPG{ActorRate: 1e-4, Dropout: 0.3, Hidden: []int{8, 5}},
		"greedy":           neural.Greedy{Settings: neural.Settings{Rate: 1e-3}},
		"epsilon":          neural.EpsilonGreedy{Settings: neural.Settings{Rate: 1e-3, UpdateEvery: 4}, Epsilon: 0.3},
		"thompson":         neural.DropoutThompson{Settings: neural.Settings{Rate: 1e-3, Hidden: []int{9, 12}}, Dropout: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			const runs, steps = 3, 100
			want := play(t, sim.PlayMatch, envs.Bernoulli{}, a, runs, steps)
			compare(t, play(t, ondevice.Player{Piece: 40}.Play, envs.Bernoulli{}, a, runs, steps), want)
		})
	}
}
