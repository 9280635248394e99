package neural

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Greedy always chooses the candidate with the largest value. Candidates with
// equal values are drawn for uniformly. It is not in the paper, but with
// contexts that are new at every step it is a strong baseline: the contexts
// explore for it.
type Greedy struct {
	Settings
}

func (a Greedy) withDefaults() Greedy {
	a.Settings = a.Settings.withDefaults()
	return a
}

// New implements envs.Algorithm; the policy is a *Policy. It returns an error that
// names the field when a setting is out of bounds, and when there is no seed.
func (a Greedy) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newPolicy("Greedy", a.withDefaults().Settings, 0, spec, seeds, nil)
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a Greedy) MarshalJSON() ([]byte, error) {
	type plain Greedy
	return json.Marshal(plain(a.withDefaults()))
}

// greedy returns the index of the largest value, each of several equal ones with
// the same probability. Random numbers are drawn only for ties.
func greedy(values []float32, rng *rand.Rand) int {
	best, equal := 0, 1
	for i := 1; i < len(values); i++ {
		switch {
		case values[i] > values[best]:
			best, equal = i, 1
		case values[i] == values[best]:
			// The k-th of k equal values replaces the chosen one with probability
			// 1/k, which leaves 1/k to every one of them.
			equal++
			if rng.IntN(equal) == 0 {
				best = i
			}
		}
	}
	return best
}
