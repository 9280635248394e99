package ondevice_test

import (
	"context"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

func TestMain(m *testing.M) {
	if _, set := os.LookupEnv(compute.ConfigEnvVar); !set {
		compute.DefaultConfig = "go:ops_sequential"
	}
	if arguments, killed := os.LookupEnv(childOf); killed {
		child(arguments)
		return
	}
	os.Exit(m.Run())
}

// step is what a recorder sees of one.
type step struct {
	actions []int
	reward  []float32
	regret  []float64
	first   float32 // of the contexts, where there are no codes
	items   []int32 // codes
	state   []int32

	session  []int32
	discount []float32
}

// seenStep copies what a recorder is shown.
func seenStep(tr envs.Transition, regret []float64) step {
	s := step{actions: slices.Clone(tr.Actions), reward: slices.Clone(tr.Reward), regret: slices.Clone(regret),
		session: slices.Clone(tr.Session), discount: slices.Clone(tr.Discount)}
	if tr.Codes != nil {
		s.items, s.state = slices.Clone(tr.Codes.Items), slices.Clone(tr.Codes.State)
	} else {
		s.first = tr.Contexts[0]
	}
	return s
}

// match is one whose recorder sees nothing.
func match(problem envs.Problem, algorithm envs.Algorithm, runs, steps int) sim.Match {
	m := sim.Match{Problem: problem, Algorithm: algorithm, Steps: steps, Begin: func() {}}
	m.Recorder = sim.RecorderFunc(func(int, envs.Transition, []float64) {})
	for r := range runs {
		m.ProblemSeeds = append(m.ProblemSeeds, uint64(100+r))
		m.PolicySeeds = append(m.PolicySeeds, uint64(200+r))
	}
	return m
}

// play returns what a recorder sees of a match.
func play(t *testing.T, player func(context.Context, sim.Match) error, problem envs.Problem, algorithm envs.Algorithm, runs, steps int) []step {
	t.Helper()
	var seen []step
	m := match(problem, algorithm, runs, steps)
	m.Recorder = sim.RecorderFunc(func(n int, tr envs.Transition, regret []float64) {
		if n != len(seen)+1 {
			t.Errorf("step %d after %d", n, len(seen))
		}
		seen = append(seen, seenStep(tr, regret))
	})
	if err := player(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return seen
}

func compare(t *testing.T, got, want []step) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d steps recorded, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("step %d: got %v, want %v", i+1, got[i], want[i])
		}
	}
}

// The device plays the same game as the loop: every action, reward and regret of
// every step is the same. The two sum in different orders, so a rounding may
// decide one of some thousand decisions, and of fewer at high rates: in the first
// update all places of the batch hold the same step, the actor's gradient is 0 but
// for the rounding, and Adam makes a step of the learning rate's size of it.
func TestSameAsLoop(t *testing.T) {
	for name, c := range map[string]struct {
		problem   envs.Problem
		algorithm envs.Algorithm
	}{
		"linear":          {envs.Linear{}, pgcr.Config{ActorRate: 1e-4}},
		"bernoulli":       {envs.Bernoulli{}, pgcr.Config{ActorRate: 1e-4, Greed: pgcr.Greed{Rate: 0.01}}},
		"dropout":         {envs.Mixed{}, pgcr.Config{ActorRate: 1e-4, Dropout: 0.5, ControlVariate: true}},
		"two layers, N=3": {envs.Linear{Dim: 7, Candidates: 3}, pgcr.Config{ActorRate: 1e-4, Hidden: []int{8, 5}, Resamples: 3, BatchSize: 20}},
		"seldom":          {envs.Linear{Dim: 5}, pgcr.Config{ActorRate: 1e-4, UpdateEvery: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			const runs, steps = 3, 100
			want := play(t, sim.PlayMatch, c.problem, c.algorithm, runs, steps)
			compare(t, play(t, ondevice.Player{Piece: 13}.Play, c.problem, c.algorithm, runs, steps), want)
		})
	}
}
