package neural

import (
	"encoding/json"
	"fmt"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// VanillaPG is the policy gradient that the paper compares PGCR with (section 5.3): the same actor,
// critic and history, but updated by (28) and (29), in which the probability of a context among
// those that it was offered with is in place of the marginal. It is pgcr.Config, with its fields and
// defaults, but for Resamples: those are pgcr.OwnSets, and may be left at 0.
type VanillaPG pgcr.Config

func (a VanillaPG) config() pgcr.Config {
	if a.Resamples == 0 {
		a.Resamples = pgcr.OwnSets
	}
	return pgcr.Config(a)
}

// New implements envs.Algorithm, as pgcr.Config does; the policy is a *pgcr.Agent.
func (a VanillaPG) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if a.Resamples != 0 && a.Resamples != pgcr.OwnSets {
		return nil, fmt.Errorf("neural.VanillaPG: Resamples is %d, want 0: its sets are those on offer", a.Resamples)
	}
	policy, err := a.config().New(spec, seeds)
	if err != nil {
		return nil, fmt.Errorf("neural.VanillaPG: %w", err)
	}
	return policy, nil
}

// MarshalJSON writes the settings with the defaults filled in: what is run.
func (a VanillaPG) MarshalJSON() ([]byte, error) { return json.Marshal(a.config()) }
