package neural

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// EpsilonGreedy is the paper's epsilon-greedy (section 6.2): with probability
// Epsilon it chooses one of all candidates uniformly (the best one
// included), else as Greedy does.
type EpsilonGreedy struct {
	Settings
	Epsilon float64 // share of random choices, in (0, 1]; default 0.1, the paper's. Greedy has none.
}

func (a EpsilonGreedy) withDefaults() EpsilonGreedy {
	a.Settings = a.Settings.withDefaults()
	a.Epsilon = cmp.Or(a.Epsilon, 0.1)
	return a
}

// New implements envs.Algorithm; the policy is a *Policy. It returns an error that
// names the field when a setting is out of bounds, and when there is no seed.
func (a EpsilonGreedy) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	if !(a.Epsilon > 0 && a.Epsilon <= 1) {
		return nil, fmt.Errorf("neural: EpsilonGreedy.Epsilon is %v, want a share in (0, 1]", a.Epsilon)
	}
	return newPolicy("EpsilonGreedy", a.Settings, 0, spec, seeds, func(candidates int, rng *rand.Rand) int {
		if rng.Float64() < a.Epsilon {
			return rng.IntN(candidates)
		}
		return -1
	})
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (a EpsilonGreedy) MarshalJSON() ([]byte, error) {
	type plain EpsilonGreedy
	return json.Marshal(plain(a.withDefaults()))
}
