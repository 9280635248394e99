package pgcr

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
)

// Config declares the algorithm of the paper. The zero value has the networks and batches of section
// 6.2. It has no p̂ in (23), and not the heuristics of section 5.2, which Greed and Dropout switch on.
// Its other defaults are, rounded, one of two of 32 random settings (package paper, Tuning) with the lowest
// mean, over four toy problems and music, of regret over the best one's, 1.46. Paper has the paper's own.
type Config struct {
	Hidden     []int   // units of the hidden layers of actor and critic; default 10; []int{} for linear scores
	ActorRate  float64 // Adam's learning rate of the actor; default 0.008
	CriticRate float64 // Adam's learning rate of the critic; default 0.001
	Decay      float64 `json:",omitzero"` // both rates are divided by sqrt(1 + Decay t) at update t; default 0
	InitScale  float64 // of the initial weights, see Network.Init; default 0.1

	BatchSize      int // B, history steps an update; default 64
	Resamples      int // N, resampled sets a step of the batch; default 1; OwnSets for vanilla policy gradient
	UpdateEvery    int // environment steps between updates; default 1
	UpdatesPerStep int // updates each time; default 4
	Capacity       int // steps of a run that the history keeps, each in 4*M*D + 24 bytes (see Replay); default 0, all

	// WeightedCritic puts p̂ into (23), as the paper does. Chosen contexts come with that probability
	// already, so without p̂ their mean error is that of (20), and they are learned faster.
	WeightedCritic bool

	Greed    Greed   // Time-Dependent Greed; the default is off: kappa = 1
	Dropout  float64 // Actor-Dropout: share of the last hidden layer that is dropped, in [0, 1); default 0
	Discount float64 // gamma, in [0, 1]; default 0, a bandit. It counts in problems with sessions only.

	Backend compute.Backend `json:"-"` // runs the graphs; default: what OpenBackend("") returns
}

// Paper returns the paper's setting: the update as it is published, p̂ in (23) included. The paper
// states networks and batches (section 6.2); the learning rates, which it does not, are 0.01.
func Paper() Config {
	return Config{Hidden: []int{10}, ActorRate: 0.01, CriticRate: 0.01, InitScale: 1, BatchSize: 64, UpdatesPerStep: 1, WeightedCritic: true}
}

// OwnSets is the Resamples of vanilla policy gradient, (28) and (29): the sets that were on offer.
const OwnSets = -1

func (c Config) withDefaults() Config {
	if c.Hidden == nil {
		c.Hidden = []int{10}
	}
	c.ActorRate, c.CriticRate = cmp.Or(c.ActorRate, 0.008), cmp.Or(c.CriticRate, 0.001)
	c.InitScale = cmp.Or(c.InitScale, 0.1)
	c.BatchSize, c.Resamples = cmp.Or(c.BatchSize, 64), cmp.Or(c.Resamples, 1)
	c.UpdateEvery, c.UpdatesPerStep = cmp.Or(c.UpdateEvery, 1), cmp.Or(c.UpdatesPerStep, 4)
	c.Greed = c.Greed.withDefaults()
	return c
}

// MarshalJSON writes the settings with the defaults filled in: what is run.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	return json.Marshal(plain(c.withDefaults()))
}

// Validate returns an error that names the first bad setting. Defaults are not filled in.
func (c Config) Validate() error {
	g, layers := c.Greed, len(c.Hidden) <= 16 && !slices.ContainsFunc(c.Hidden, func(units int) bool { return units < 1 || units > 1<<16 })
	weights := 0 // beside those of the features; a run keeps six float32 of each
	for _, dims := range (Network{Hidden: c.Hidden}).Shapes(1) {
		weights += dims[1] * dims[2]
	}
	for _, s := range []struct {
		field string
		value any
		ok    bool
		want  string
	}{
		{"Hidden", c.Hidden, layers && weights <= 1<<24, "at most 16 layers of 1 to 65536 units, with at most 16777216 weights"},
		{"ActorRate", c.ActorRate, c.ActorRate > 0 && c.ActorRate <= 10, "a learning rate in (0, 10]"},
		{"CriticRate", c.CriticRate, c.CriticRate > 0 && c.CriticRate <= 10, "a learning rate in (0, 10]"},
		{"Decay", c.Decay, c.Decay >= 0 && c.Decay <= 1000, "0 to 1000"},
		{"InitScale", c.InitScale, c.InitScale > 0 && c.InitScale <= 100, "a scale in (0, 100]"},
		{"BatchSize", c.BatchSize, c.BatchSize >= 1 && c.BatchSize <= 1<<20, "1 to 1048576"},
		{"Resamples", c.Resamples, c.Resamples == OwnSets || c.Resamples >= 1 && c.Resamples <= 1<<16, "1 to 65536, or OwnSets"},
		{"UpdateEvery", c.UpdateEvery, c.UpdateEvery >= 1, "at least 1"},
		{"UpdatesPerStep", c.UpdatesPerStep, c.UpdatesPerStep >= 1 && c.UpdatesPerStep <= 1000, "1 to 1000"},
		{"Capacity", c.Capacity, c.Capacity >= 0, "at least 1, or 0 for all"},
		{"Greed.Rate", g.Rate, g.Rate >= 0 && !math.IsInf(g.Rate, 0), "a finite number, at least 0"},
		{"Greed.Floor", g.Floor, g.Floor == NoFloor || g.Floor >= 0 && g.Floor <= 1e6, "NoFloor, or 0 to 1e6"},
		{"Greed.Cap", g.Cap, g.Cap >= 0 && g.Cap <= 1e6, "0 to 1e6"},
		{"Dropout", c.Dropout, c.Dropout >= 0 && c.Dropout < 1 && (c.Dropout == 0 || len(c.Hidden) > 0), "0 or more and below 1, and 0 without a hidden layer"},
		{"Discount", c.Discount, c.Discount >= 0 && c.Discount <= 1, "0 to 1"},
	} {
		if !s.ok {
			return fmt.Errorf("pgcr: Config.%s is %v, want %s", s.field, s.value, s.want)
		}
	}
	return nil
}
