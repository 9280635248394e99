package ondevice_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// counting is a script with one more network, which counts the updates: each adds
// 1 to all of its numbers. An update without what the tape promises panics.
type counting struct {
	pgcr.Script
	count *pgcr.Parameters
}

func newCounting(s pgcr.Script) counting {
	seeds := make([]uint64, s.Runs())
	return counting{s, pgcr.NewParameters(s.Backend(), pgcr.Network{Dim: 1, Hidden: []int{1}}, seeds, "count")}
}

func (c counting) Parameters() []*pgcr.Parameters {
	return append(slices.Clone(c.Script.Parameters()), c.count)
}

func (c counting) Learn(params []*Node, tape pgcr.TapeNodes, history pgcr.DeviceHistory) []*Node {
	size := c.Tape()
	if (history.Rivals() != nil) != (size.Rivals > 0) || (history.Next() != nil) != size.Sarsa {
		panic(fmt.Sprintf("an update of a tape of %+v: rivals or what follows are missing", size))
	}
	own := len(params) - 3*len(c.count.Network.Shapes(c.Runs())) // with two moments of each
	next := c.Script.Learn(params[:own], tape, history)
	for _, x := range params[own:] {
		next = append(next, OnePlus(x))
	}
	return next
}

// updates is how many there have been since the count was from.
func (c counting) updates(t *testing.T, from [][]float32) float64 {
	t.Helper()
	to, err := c.count.State()
	if err != nil {
		t.Fatal(err)
	}
	return math.Round(float64(to[len(to)-1][0] - from[len(from)-1][0]))
}

// Every turn is of the same number of updates, as many as its time has room for,
// and its time is that of one of them. All of them change the parameters, whatever
// the batch is made of.
func TestTimeUpdate(t *testing.T) {
	music := kkbox.MusicState{Source: songs, Candidates: 4}
	for name, c := range map[string]struct {
		problem   envs.Problem
		algorithm envs.Algorithm
		sessions  bool
	}{
		"rivals of the batch":   {envs.Linear{}, pgcr.Config{Dropout: 0.3}, false},
		"rivals of the session": {music, pgcr.Config{Hidden: []int{6}, BatchSize: 8}, true},
		"Sarsa":                 {music, neural.Greedy{Settings: neural.Settings{Hidden: []int{6}, BatchSize: 8, Discount: 0.9}}, true},
		"Sarsa and rivals":      {music, pgcr.Config{Hidden: []int{6}, BatchSize: 8, Discount: 0.9}, true},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := c.algorithm.New(c.problem.Spec(), []uint64{1, 2})
			if err != nil {
				t.Fatal(err)
			}
			script, err := policy.(interface {
				Script(sessions bool) (pgcr.Script, error)
			}).Script(c.sessions)
			if err != nil {
				t.Fatal(err)
			}
			if size := script.Tape(); (size.Rivals > 0 || size.Sarsa) != c.sessions {
				t.Fatalf("the tape is %+v", size)
			}
			k := newCounting(script)
			count, err := k.count.State()
			if err != nil {
				t.Fatal(err)
			}
			before := estimatesOf(t, c.problem, policy, 2)

			// Without time for more: one to compile, one to see what it takes, and one a turn.
			const turns = 3
			each, err := ondevice.TimeUpdate(t.Context(), k, c.problem.Spec(), turns, 0)
			if err != nil || len(each) != turns || slices.Min(each) <= 0 {
				t.Fatal(each, err)
			}
			if n := k.updates(t, count); n != 2+turns {
				t.Errorf("%v updates, want %d", n, 2+turns)
			}
			for i, x := range estimatesOf(t, c.problem, policy, 2) {
				if math.IsNaN(x) || x == before[i] && x != 0 { // a greedy policy has no probabilities
					t.Errorf("estimate %d is %v, after %v", i, x, before[i])
				}
			}

			// All updates together take no longer than the call that does them; but there
			// is room for what other programs take of the processor meanwhile.
			turn := max(60*time.Millisecond, 20*slices.Max(each))
			begin := time.Now()
			each, err = ondevice.TimeUpdate(t.Context(), k, c.problem.Spec(), turns, turn)
			whole := time.Since(begin)
			n := k.updates(t, count) - 2 - turns
			if err != nil || n <= 2+turns {
				t.Errorf("%v updates in turns of %v: %v", n, turn, err)
			}
			if least := float64(slices.Min(each)) * n; least > 2*float64(whole) {
				t.Errorf("%v updates of %v and more took %v", n, each, whole)
			}
		})
	}
}

func TestTimeUpdateErrors(t *testing.T) {
	spec := envs.Linear{}.Spec()
	policy, err := pgcr.Config{}.New(spec, []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	script, err := policy.(*pgcr.Agent).Script(false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ondevice.TimeUpdate(t.Context(), script, spec, 0, time.Second); err == nil {
		t.Error("no turns are no error")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := ondevice.TimeUpdate(ctx, script, spec, 5, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
