package pgcr

import (
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Learn makes one update without a step.
func (a *Agent) Learn() error { return a.learn() }

// Drawn draws the inputs of an update.
func (a *Agent) Drawn() []*tensors.Tensor { return a.draw() }

// Parameters returns those of both networks.
func (a *Agent) Parameters() (actor, critic *Parameters) { return a.actor, a.critic }

// Sets draws resampled sets of run 0 for a batch of the given steps, and says of
// which of its contexts, steps[i]'s j-th being i*M+j, each is made. Steps differ.
func (a *Agent) Sets(steps []int, rng *rand.Rand) (sets [][]int) {
	m := a.spec.Candidates
	offers, places := a.replay.Resample(0, steps, a.config.Resamples, rng)
	for first := 0; first < len(places); first += m {
		var set []int
		for _, i := range places[first : first+m] {
			if i >= 0 {
				set = append(set, slices.Index(steps, offers[i].Step)*m+offers[i].Candidate)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// Recall returns the chosen context of a step of run 0 and, last, its reward.
func (rp *Replay) Recall(step int) []float32 {
	context := make([]float32, rp.spec.Dim)
	rp.join(context, 0, rp.chosen(0, step))
	return append(context, rp.step(0, step).Reward)
}

// Remember adds a step to the history.
func (a *Agent) Remember(tr envs.Transition) error { return a.replay.Add(tr) }
