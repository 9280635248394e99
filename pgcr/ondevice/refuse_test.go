package ondevice_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// What a device cannot play says why, and is left to the fallback.
func TestUnsuitable(t *testing.T) {
	seldom := pgcr.Config{UpdateEvery: 200}
	for _, c := range []struct {
		problem   envs.Problem
		algorithm envs.Algorithm
		steps     int
		want      string
	}{
		{envs.Linear{}, baselines.Random{}, 10, "baselines.Random has no script"},
		{envs.Linear{}, seldom, 10, "pgcr.Config learns every 200 steps only; at most 128 are played between updates"},
		{envs.Chain{}, pgcr.Config{}, 10, "the environment of envs.Chain does not tell what every candidate would earn (envs.PotentialOutcomes)"},
		{kkbox.MusicState{Source: songs, Candidates: 4, Fields: kkbox.Variant{SourceFields: true}}, pgcr.Config{}, 10,
			"contexts depend on what was chosen before, in a way that *kkbox.MusicTable does not tell for a device"},
		{envs.Linear{}, pgcr.Config{}, 1 << 30, "2 runs of 1073741824 steps are too many for one history; fewer runs at a time would do (sim.Options.Stack, flag -stack)"},
	} {
		m := match(c.problem, c.algorithm, 2, c.steps)
		m.Begin = func() { t.Errorf("%T, %T: begun", c.problem, c.algorithm) }
		err := ondevice.Player{}.Play(t.Context(), m)
		if !errors.Is(err, ondevice.ErrUnsuitable) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%T, %T: %v, want %s", c.problem, c.algorithm, err, c.want)
		}
		var told error
		fallback := ondevice.Player{Fallback: func(_ context.Context, _ sim.Match, why error) error {
			told = why
			return nil
		}}
		if err := fallback.Play(t.Context(), m); err != nil || told == nil || !strings.HasSuffix(told.Error(), c.want) {
			t.Errorf("%T, %T: %v, the fallback is told %v", c.problem, c.algorithm, err, told)
		}
	}
}

// Contexts that are more than rows of features, but do not depend on what was
// chosen, are laid out themselves.
func TestSourceFields(t *testing.T) {
	problem := kkbox.MusicStateless{Source: songs, Candidates: 4, Fields: kkbox.Variant{SourceFields: true}}
	a := pgcr.Config{Hidden: []int{16, 12}, ActorRate: 1e-3, BatchSize: 24, UpdateEvery: 10}
	want, got := play(t, sim.PlayMatch, problem, a, 3, 50), play(t, ondevice.Player{Piece: 20}.Play, problem, a, 3, 50)
	for i := range want { // the device tells contexts, the environment codes as well
		want[i].items, want[i].state, want[i].first = nil, nil, 0
		got[i].first = 0
	}
	compare(t, got, want)
}

// small is a device with little memory.
type small struct {
	compute.Backend
	most uintptr // bytes of an array
}

var errExhausted = errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate")

func (s small) NewSharedBuffer(device compute.DeviceNum, shape shapes.Shape) (compute.Buffer, any, error) {
	if uintptr(shape.ByteSize()) > s.most {
		return nil, nil, errExhausted
	}
	return s.Backend.NewSharedBuffer(device, shape)
}

// A match that does not fit says how much it asks for and what would need less.
//
// 2 runs of 100,000 steps, each of 5 candidates of 48 values (40 features and one
// more, rounded up to a multiple of 16), a slot and a reward, of 4 bytes each:
// 193,600,000 bytes, 0.18 GiB. 5 runs of 5 million steps of music, each of 10 songs, 3
// choices, and a slot, a reward, a feedback and a song: 1,700,000,000 bytes, 1.58 GiB.
func TestOutOfMemory(t *testing.T) {
	backend, err := compute.New()
	if err != nil {
		t.Fatal(err)
	}
	a := pgcr.Config{Backend: small{backend, 1 << 20}}
	for want, m := range map[string]sim.Match{
		"the history of 2 runs of 100000 steps takes 0.18 GiB, twice that while it grows;":                            match(envs.Linear{}, a, 2, 100_000),
		"the history of 5 runs of 5000000 steps takes 1.58 GiB, twice that while it grows, and 0.00 GiB of features;": match(kkbox.MusicState{Source: songs}, a, 5, 5_000_000),
	} {
		err = ondevice.Player{}.Play(t.Context(), m)
		if !errors.Is(err, errExhausted) {
			t.Fatal(err)
		}
		want += " fewer runs at a time need less (sim.Options.Stack, flag -stack), and so do fewer steps (sim.Experiment.Scale, flag -scale)"
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
