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

// Config declares the algorithm of the paper. The zero value is PGCR with the
// networks and batches of section 6.2, and without its two heuristics, which
// Greed and Dropout switch on.
type Config struct {
	Hidden     []int   // units of the hidden layers of actor and critic; default 10
	ActorRate  float64 // Adam's learning rate of the actor; default 0.01
	CriticRate float64 // Adam's learning rate of the critic; default 0.01
	InitScale  float64 // of the initial weights, see Network.Init; default 1

	BatchSize      int // B, history steps an update; default 64
	Resamples      int // N, resampled sets a step of the batch; default 1; OwnSets for vanilla policy gradient
	UpdateEvery    int // environment steps between updates; default 1
	UpdatesPerStep int // updates each time; default 1
	Capacity       int // steps of a run that the history keeps; default 0, all

	// UnweightedCritic leaves p̂ out of the critic update (23): chosen contexts
	// come with that probability already.
	UnweightedCritic bool

	Greed    Greed   // Time-Dependent Greed; the default is off: kappa = 1
	Dropout  float64 // Actor-Dropout: share of the last hidden layer that is dropped, in [0, 1); default 0
	Discount float64 // gamma, in [0, 1]; default 0, a bandit. It counts in problems with sessions only.

	// Backend runs the graphs; default: what OpenBackend("") returns.
	Backend compute.Backend `json:"-"`
}

// OwnSets is the Resamples of vanilla policy gradient, (28) and (29): the sets are
// those that were on offer.
const OwnSets = -1

// Paper returns the setting of the toy experiments in the paper (section 6.2),
// where it states one, with the Actor-Dropout of 0.5 that it recommends (section
// 5.2.2). Learning rates are ours.
func Paper() Config { return Config{Dropout: 0.5} }

func (c Config) withDefaults() Config {
	if c.Hidden == nil {
		c.Hidden = []int{10}
	}
	c.ActorRate, c.CriticRate = cmp.Or(c.ActorRate, 0.01), cmp.Or(c.CriticRate, 0.01)
	c.InitScale = cmp.Or(c.InitScale, 1)
	c.BatchSize, c.Resamples = cmp.Or(c.BatchSize, 64), cmp.Or(c.Resamples, 1)
	c.UpdateEvery, c.UpdatesPerStep = cmp.Or(c.UpdateEvery, 1), cmp.Or(c.UpdatesPerStep, 1)
	c.Greed = c.Greed.withDefaults()
	return c
}

// MarshalJSON writes the settings with the defaults filled in, so that a
// recorded declaration says what was run.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	return json.Marshal(plain(c.withDefaults()))
}

// Validate returns an error that names the first bad setting and its value, for
// contexts of that shape.
func (c Config) Validate(spec envs.Spec) error {
	c = c.withDefaults()
	if err := spec.Validate(); err != nil {
		return err
	}
	if len(c.Hidden) > 16 {
		return fmt.Errorf("pgcr: Config.Hidden has %d layers, want 1 to 16", len(c.Hidden))
	}
	for _, units := range append([]int{len(c.Hidden)}, c.Hidden...) {
		if units < 1 || units > 1<<16 {
			return fmt.Errorf("pgcr: Config.Hidden is %v, want layers of 1 to 65536 units", c.Hidden)
		}
	}
	for _, s := range []struct {
		name  string
		value float64
		ok    bool
		want  string
	}{
		{"ActorRate", c.ActorRate, c.ActorRate > 0 && c.ActorRate <= 10, "a learning rate in (0, 10]"},
		{"CriticRate", c.CriticRate, c.CriticRate > 0 && c.CriticRate <= 10, "a learning rate in (0, 10]"},
		{"InitScale", c.InitScale, c.InitScale > 0 && c.InitScale <= 100, "a scale in (0, 100]"},
		{"BatchSize", float64(c.BatchSize), c.BatchSize >= 1 && c.BatchSize <= 1<<20, "1 to 1048576"},
		{"Resamples", float64(c.Resamples), c.Resamples == OwnSets || c.Resamples >= 1 && c.Resamples <= 1<<16, "1 to 65536, or OwnSets"},
		{"UpdateEvery", float64(c.UpdateEvery), c.UpdateEvery >= 1, "at least 1"},
		{"UpdatesPerStep", float64(c.UpdatesPerStep), c.UpdatesPerStep >= 1 && c.UpdatesPerStep <= 1000, "1 to 1000"},
		{"Capacity", float64(c.Capacity), c.Capacity >= 0, "at least 1, or 0 for all"},
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

// New implements envs.Algorithm; the policy is an *Agent. It returns an error
// that names the field when a setting is out of bounds, and when there is no
// seed or no backend.
func (c Config) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	c = c.withDefaults()
	if err := c.Validate(spec); err != nil {
		return nil, err
	}
	if len(seeds) == 0 {
		return nil, errors.New("pgcr: no seeds, want one a run")
	}
	agent, err := newAgent(c, spec, seeds)
	if err != nil {
		return nil, err // and no policy that is a nil *Agent
	}
	return agent, nil
}
