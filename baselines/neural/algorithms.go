package neural

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/gomlx/compute"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Settings are those of a value network and of its training. The zero value has the paper's
// networks and batches (section 6.2), and else the best over the toy problems and music of 32
// settings that were drawn at random (package paper, Tuning).
type Settings struct {
	Hidden         []int   // units of the hidden layers, ReLU; default 10
	Rate           float64 // Adam's learning rate; default 0.001
	Decay          float64 `json:",omitzero"` // the rate is divided by sqrt(1 + Decay t) at update t; default 0
	InitScale      float64 // of the initial weights, see pgcr.Network.Init; default 0.1
	BatchSize      int     // B, history steps an update; default 64
	UpdateEvery    int     // environment steps between updates; default 1
	UpdatesPerStep int     // updates each time; default 4
	Capacity       int     // steps of a run that the history keeps, each in 4*D + 24 bytes (see pgcr.Replay); default 0, all
	Discount       float64 // gamma, in [0, 1]; default 0, a bandit. It counts in problems with sessions only.

	Backend compute.Backend `json:"-"` // runs the graphs; default: what pgcr.OpenBackend("") returns
}

func (s Settings) withDefaults() Settings {
	if s.Hidden == nil {
		s.Hidden = []int{10}
	}
	s.Rate, s.InitScale = cmp.Or(s.Rate, 0.001), cmp.Or(s.InitScale, 0.1)
	s.BatchSize, s.UpdateEvery, s.UpdatesPerStep = cmp.Or(s.BatchSize, 64), cmp.Or(s.UpdateEvery, 1), cmp.Or(s.UpdatesPerStep, 4)
	return s
}

// check returns an error that names the first bad setting.
func (s Settings) check() error {
	if !(s.Rate > 0 && s.Rate <= 10) {
		return fmt.Errorf("Rate is %v, want a learning rate in (0, 10]", s.Rate)
	}
	return pgcr.Config{Hidden: s.Hidden, ActorRate: s.Rate, CriticRate: s.Rate, Decay: s.Decay, InitScale: s.InitScale, BatchSize: s.BatchSize,
		Resamples: 1, UpdateEvery: s.UpdateEvery, UpdatesPerStep: s.UpdatesPerStep, Capacity: s.Capacity, Discount: s.Discount}.Validate()
}

// Greedy always chooses the candidate with the largest value, and among equal ones it draws
// uniformly. It is not in the paper, but with contexts that are new at every step it is a
// strong baseline: the contexts explore for it.
type Greedy struct{ Settings }

// New implements envs.Algorithm; the policy is a *Policy. It returns an error that names the field
// when a setting is out of bounds, and when there is no seed or no backend.
func (a Greedy) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newPolicy(a, a.Settings, 0, spec, seeds)
}

// MarshalJSON writes the settings with the defaults filled in: what is run.
func (a Greedy) MarshalJSON() ([]byte, error) { return json.Marshal(a.Settings.withDefaults()) }

// EpsilonGreedy is the paper's epsilon-greedy (section 6.2): with probability Epsilon it chooses
// one of all candidates uniformly (the best one included), else as Greedy does.
type EpsilonGreedy struct {
	Settings
	Epsilon float64 // share of random choices, in (0, 1]; default 0.003, by the same search; the paper has 0.1. Greedy has none.
}

func (a EpsilonGreedy) withDefaults() EpsilonGreedy {
	return EpsilonGreedy{a.Settings.withDefaults(), cmp.Or(a.Epsilon, 0.003)}
}

// New implements envs.Algorithm, as Greedy's.
func (a EpsilonGreedy) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	a = a.withDefaults()
	if !(a.Epsilon > 0 && a.Epsilon <= 1) {
		return nil, fmt.Errorf("%T: Epsilon is %v, want a share in (0, 1]", a, a.Epsilon)
	}
	return newPolicy(a, a.Settings, a.Epsilon, spec, seeds)
}

// MarshalJSON writes the settings with the defaults filled in: what is run.
func (a EpsilonGreedy) MarshalJSON() ([]byte, error) {
	type plain EpsilonGreedy
	return json.Marshal(plain(a.withDefaults()))
}

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
