package ondevice_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// retold is a problem of codes whose table tells a device something else.
type retold struct {
	envs.Problem
	table func(t ondevice.FeatureTable, seeds []uint64) envs.Table
}

func (p retold) New(seeds []uint64) (envs.Environment, error) {
	env, err := p.Problem.New(seeds)
	if err != nil {
		return nil, err
	}
	table := p.table(env.Observe().Codes.Table.(ondevice.FeatureTable), seeds)
	return retoldEnvironment{env, env.(envs.PotentialOutcomes), env.(envs.Oracle), table}, nil
}

type retoldEnvironment struct {
	envs.Environment
	envs.PotentialOutcomes
	envs.Oracle
	table envs.Table
}

func (e retoldEnvironment) Observe() envs.Observation {
	obs := e.Environment.Observe()
	codes := *obs.Codes
	codes.Table = e.table
	obs.Codes = &codes
	return obs
}

// features is a table with other features, or another identity.
type features struct {
	ondevice.FeatureTable
	change   func(values []float32) []float32
	identity string
}

func (t features) Identity() string { return t.FeatureTable.Identity() + t.identity }

func (t features) Gather() ([]int32, []float32, bool) {
	rows, values, ok := t.FeatureTable.Gather()
	if t.change != nil {
		values = t.change(slices.Clone(values))
	}
	return rows, values, ok
}

// Tables that contexts cannot be made of are no hindrance where contexts do not
// depend on what was chosen: they are laid out themselves. With states they are.
func TestTables(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3)) // each run has an environment of its own
	a := pgcr.Config{Hidden: []int{16, 12}, ActorRate: 1e-3, BatchSize: 24, UpdateEvery: 10}
	changed := func(change func(values []float32) []float32) func(ondevice.FeatureTable, []uint64) envs.Table {
		return func(t ondevice.FeatureTable, _ []uint64) envs.Table {
			return &features{FeatureTable: t, change: change}
		}
	}
	for name, c := range map[string]struct {
		table      func(ondevice.FeatureTable, []uint64) envs.Table
		unsuitable bool
		want       string // with states
	}{
		"not whole rows": {changed(func(v []float32) []float32 { return v[1:] }), true, "are not 3 choices and an item of *ondevice_test.features"},
		"another feature": {changed(func(v []float32) []float32 {
			for i := range v {
				v[i]++
			}
			return v
		}), true, "*ondevice_test.features does not expand to what it gathers"},
		"NaN":          {changed(func(v []float32) []float32 { v[2] = float32(math.NaN()); return v }), false, "feature 2 of row 0 of *ondevice_test.features is NaN"},
		"no rows told": {func(t ondevice.FeatureTable, _ []uint64) envs.Table { return struct{ envs.Table }{t} }, true, "in a way that struct { envs.Table } does not tell for a device"},
		"one of each run": {func(t ondevice.FeatureTable, seeds []uint64) envs.Table {
			return &features{FeatureTable: t, identity: strings.Repeat("*", int(seeds[0]-100))}
		}, false, "have different tables"},
	} {
		t.Run(name, func(t *testing.T) {
			stateless := retold{kkbox.MusicStateless{Source: songs, Candidates: 4}, c.table}
			want, got := play(t, sim.PlayMatch, stateless, a, 3, 40), play(t, ondevice.Player{Piece: 20}.Play, stateless, a, 3, 40)
			for i := range want { // the device tells contexts, the environment codes as well
				want[i].items, want[i].state, want[i].first = nil, nil, 0
				if got[i].items != nil {
					t.Fatalf("step %d has codes", i+1)
				}
				got[i].first = 0
			}
			compare(t, got, want)

			err := ondevice.Player{}.Play(t.Context(), match(retold{kkbox.MusicState{Source: songs, Candidates: 4}, c.table}, a, 3, 40))
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ondevice.ErrUnsuitable) != c.unsuitable {
				t.Errorf("with states: %v, want %s", err, c.want)
			}
		})
	}
}
