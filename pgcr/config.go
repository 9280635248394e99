package pgcr

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/envs"
)

// Config declares the algorithm of the paper. The zero value is PGCR for
// contextual bandits with networks and batches of section 6.2, and without its
// two heuristics, which Greed and Dropout switch on.
type Config struct {
	Hidden     []int   // units of the hidden layers of actor and critic; default 10
	ActorRate  float64 // Adam's learning rate of the actor; default 0.01
	CriticRate float64 // Adam's learning rate of the critic; default 0.01

	BatchSize   int // B, history steps an update; default 64
	Resamples   int // N, draws of M-1 rivals for a marginal; N*(M-1) < B; default 1
	UpdateEvery int // environment steps an update; default 1

	Greed    Greed   // Time-Dependent Greed; the default is off: kappa = 1
	Dropout  float64 // Actor-Dropout: share of the last hidden layer that is dropped, in [0, 1); default 0
	Discount float64 // gamma, in [0, 1]; default 0, a bandit. It counts in problems with sessions only.

	// ControlVariate subtracts the batch mean of the action values in the actor
	// update. It is not in the paper; default off.
	ControlVariate bool

	// Backend runs the graphs; default: the one of OpenBackend, which the importer
	// of a backend chooses. The Go backend must be made
	// as SequentialGo, or at least with the option ops_sequential.
	Backend compute.Backend `json:"-"`
}

// withDefaults returns the settings with their defaults filled in.
func (c Config) withDefaults() Config {
	if c.Hidden == nil {
		c.Hidden = []int{10}
	}
	c.ActorRate = cmp.Or(c.ActorRate, 0.01)
	c.CriticRate = cmp.Or(c.CriticRate, 0.01)
	c.BatchSize = cmp.Or(c.BatchSize, 64)
	c.Resamples = cmp.Or(c.Resamples, 1)
	c.UpdateEvery = cmp.Or(c.UpdateEvery, 1)
	c.Greed = c.Greed.withDefaults()
	return c
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	return json.Marshal(plain(c.withDefaults()))
}

// check returns an error that names the first bad setting and its value.
func (c Config) check(spec envs.Spec) error {
	if err := CheckNetwork(spec, c.Hidden); err != nil {
		return err
	}
	for _, s := range []struct {
		name  string
		value float64
		ok    bool
		want  string
	}{
		{"ActorRate", c.ActorRate, c.ActorRate > 0 && c.ActorRate <= 10, "a learning rate in (0, 10]"},
		{"CriticRate", c.CriticRate, c.CriticRate > 0 && c.CriticRate <= 10, "a learning rate in (0, 10]"},
		{"BatchSize", float64(c.BatchSize), c.BatchSize >= 1 && c.BatchSize <= 1<<20, "1 to 1048576"},
		{"Resamples", float64(c.Resamples), c.Resamples >= 1 && c.Resamples <= 1<<16, "1 to 65536"},
		{"UpdateEvery", float64(c.UpdateEvery), c.UpdateEvery >= 1, "at least 1"},
		{"Greed.Rate", c.Greed.Rate, c.Greed.Rate >= 0 && !math.IsInf(c.Greed.Rate, 0), "a finite number, at least 0"},
		{"Greed.Floor", c.Greed.Floor, c.Greed.Floor == NoFloor || c.Greed.Floor >= 0 && c.Greed.Floor <= 1e6, "NoFloor, or 0 to 1e6"},
		{"Greed.Cap", c.Greed.Cap, c.Greed.Cap >= 0 && c.Greed.Cap <= 1e6, "0 to 1e6"},
		{"Dropout", c.Dropout, c.Dropout >= 0 && c.Dropout < 1, "0 or more and below 1"},
		{"Discount", c.Discount, c.Discount >= 0 && c.Discount <= 1, "0 to 1"},
	} {
		if !s.ok {
			return fmt.Errorf("pgcr: Config.%s is %v, want %s", s.name, s.value, s.want)
		}
	}
	return nil
}

// CheckNetwork returns an error when no network with these hidden layers can
// score the contexts of spec.
func CheckNetwork(spec envs.Spec, hidden []int) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	switch {
	case spec.Candidates > 255 || spec.Dim > 1<<20:
		return fmt.Errorf("pgcr: spec has %d candidates of dimension %d, want at most 255 and 1048576", spec.Candidates, spec.Dim)
	case len(hidden) == 0 || len(hidden) > 16:
		return fmt.Errorf("pgcr: Hidden has %d layers, want 1 to 16", len(hidden))
	}
	for _, units := range hidden {
		if units < 1 || units > 1<<16 {
			return fmt.Errorf("pgcr: Hidden is %v, want layers of 1 to 65536 units", hidden)
		}
	}
	return nil
}

// New implements envs.Algorithm; the policy is an *Agent. It returns an error
// that names the field when a setting is out of bounds, and when there is no
// seed or no backend.
func (c Config) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	agent, err := c.NewAgent(spec, seeds, Resampled{N: cmp.Or(c.Resamples, 1)})
	if err != nil {
		return nil, err // and no policy that is a nil *Agent
	}
	return agent, nil
}

var errNoRuns = errors.New("pgcr: no seeds, want one a run")
