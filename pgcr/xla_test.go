//go:build xla

package pgcr_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	_ "github.com/gomlx/go-xla/compute/xla"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/pgcr"
)

// Both backends make the same update, 100 times along a run, and so do agents that are
// saved by one of them and go on with the other.
//
// Each update begins at the same parameters. Where a gradient is 0 but for rounding, as
// that of the bias of a unit which no context of the batch switches off, Adam makes a
// full step of it: free runs part by .01 within 20 updates. Weights with a mean gradient
// below 1e-5 are left out for that reason, their gradients are not.
func TestXLAUpdates(t *testing.T) {
	const last = 105
	for name, c := range map[string]struct {
		config  pgcr.Config
		problem envs.Problem
	}{
		"bandit":   {pgcr.Paper(), envs.Linear{}},
		"dropout":  {pgcr.Config{ActorRate: .01, CriticRate: .01, InitScale: 1, UpdatesPerStep: 1, WeightedCritic: true, Hidden: []int{6, 5}, BatchSize: 16, Dropout: .4, Resamples: 4, Greed: pgcr.Greed{Rate: .1}}, varied{}},
		"sessions": {pgcr.Config{ActorRate: .01, CriticRate: .01, InitScale: 1, UpdatesPerStep: 1, WeightedCritic: true, BatchSize: 16, Resamples: 2, Discount: .9}, envtest.Chain{}},
	} {
		t.Run(name, func(t *testing.T) {
			var games [2]*game
			for i, backend := range []string{"go", ""} {
				var err error
				if c.config.Backend, err = pgcr.OpenBackend(backend); err != nil {
					t.Fatal(err)
				}
				games[i] = play(t, c.config, c.problem, seeds(1, 3))
			}
			g, x := games[0], games[1]
			compared := 0
			for step := 1; step <= last; step++ {
				tr := envs.Transition{Observation: g.env.Observe(), Actions: g.actions}
				err := g.agent.Act(g.actions, tr.Observation)
				var err2 error
				tr.Outcome, err2 = g.env.Step(g.actions)
				if err := errors.Join(err, err2, g.agent.Update(tr), x.agent.Update(tr)); err != nil {
					t.Fatal(err)
				}
				actor, critic := g.values()
				actor2, critic2 := x.values()
				for _, net := range []struct{ a, b [][]float32 }{{actor, actor2}, {critic, critic2}} {
					k := len(net.a) / 3 // weights, then m, then v
					for i, values := range net.a {
						for j := range values {
							d := math.Abs(float64(values[j] - net.b[i][j]))
							v := float64(net.a[2*k+i%k][j]) / (1 - math.Pow(.999, float64(step)))
							if d > []float64{1e-5, 1e-6, 1e-8}[i/k] && (i >= k || v > 1e-10) {
								t.Fatalf("update %d, array %d, value %d: %v on the Go backend, %v on XLA", step, i, j, values[j], net.b[i][j])
							}
							if i < k && v > 1e-10 {
								compared++
							}
						}
					}
				}
				p, p2 := x.agent.Parameters()
				p.Restore(actor)
				p2.Restore(critic)
				if step == last-5 { // they change places
					var saved, saved2 bytes.Buffer
					if err := errors.Join(g.agent.Save(&saved), x.agent.Save(&saved2), g.agent.Load(&saved2), x.agent.Load(&saved)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if compared < 10_000 {
				t.Errorf("only %d weights were compared", compared)
			}
		})
	}
}
