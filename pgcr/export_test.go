package pgcr

import (
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Learn makes one update without a step.
func (a *Agent) Learn() error { return a.learn.update(a) }

// Drawn draws the inputs of an update.
func (a *Agent) Drawn() []*tensors.Tensor { return a.learn.draw(a) }

// Parameters returns those of both networks.
func (a *Agent) Parameters() (actor, critic *Parameters) { return a.actor, a.critic }

// Sets draws resampled sets of run 0 for a batch of the given steps, and says of
// which of its contexts, steps[i]'s j-th being i*M+j, each is made. Steps differ.
func (a *Agent) Sets(steps []int, rng *rand.Rand) (sets [][]int) {
	m := a.spec.Candidates
	offers, places := a.learn.resample(a, 0, steps, rng)
	for first := 0; first < len(places); first += m {
		var set []int
		for _, i := range places[first : first+m] {
			if i >= 0 {
				set = append(set, slices.Index(steps, offers[i].step)*m+offers[i].candidate)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// Remember adds a step to the history.
func (a *Agent) Remember(tr envs.Transition) error { return a.replay.Add(tr) }
