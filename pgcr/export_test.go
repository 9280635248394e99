package pgcr

import (
	"math/rand/v2"

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
	b, m := len(steps), a.spec.Candidates
	offers, places := make([]offer, b*m), make([]int32, a.learn.n*b*m)
	a.learn.resample(a, 0, steps, offers, places, rng)
	for n := range a.learn.n {
		for i := range b {
			var set []int
			for j := range m {
				o := offers[places[(n*b+i)*m+j]]
				for k, step := range steps {
					if o.step == step && o.candidate >= 0 && j < int(a.replay.step(0, steps[i]).Size) {
						set = append(set, k*m+o.candidate)
					}
				}
			}
			sets = append(sets, set)
		}
	}
	return sets
}

// Remember adds a step to the history.
func (a *Agent) Remember(tr envs.Transition) error { return a.replay.Add(tr) }
