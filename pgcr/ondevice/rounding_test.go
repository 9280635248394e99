package ondevice_test

import (
	"context"
	"math"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// keeping keeps the policy that it makes.
type keeping struct {
	envs.Algorithm
	policy envs.Policy
}

func (k *keeping) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	var err error
	k.policy, err = k.Algorithm.New(spec, seeds)
	return k.policy, err
}

// The device's policy and the loop's stay together up to rounding from an update
// on whose batch holds several steps. A batch that holds one step again and again,
// as that of the first step of all does, has p̂ = 1/M and the actor's gradient 0
// whatever the scores are. What is left of it is rounding, which Adam turns into
// a whole step of the learning rate's size. That no such step is made is why
// agents that learn seldom part by less than a hundredth of what they part by
// otherwise.
func TestPartByRounding(t *testing.T) {
	const rate, runs, updates = 0.01, 4, 12
	spec := envs.Bernoulli{}.Spec()
	parted := func(every int) float64 {
		var scores [2][]float64
		for i, player := range []func(context.Context, sim.Match) error{sim.PlayMatch, ondevice.Player{Piece: 8}.Play} {
			a := &keeping{Algorithm: pgcr.Config{ActorRate: rate, UpdateEvery: every}}
			play(t, player, envs.Bernoulli{}, a, runs, updates*every)
			env, err := envs.Bernoulli{}.New([]uint64{1, 2, 3, 4})
			if err != nil {
				t.Fatal(err)
			}
			scores[i] = make([]float64, runs*spec.Candidates)
			if err := a.policy.(*pgcr.Agent).Probabilities(scores[i], env.Observe()); err != nil {
				t.Fatal(err)
			}
		}
		largest := 0.0
		for i, p := range scores[0] {
			largest = max(largest, math.Abs(math.Log(p/scores[1][i])))
		}
		return largest
	}
	one, several := parted(1), parted(16)
	if several > 1e-5 {
		t.Errorf("logarithms of probabilities part by %v, want no more than 1e-5", several)
	}
	if one < 100*several {
		t.Errorf("logarithms of probabilities part by %v after a first batch of one step, and by %v without", one, several)
	}
}
