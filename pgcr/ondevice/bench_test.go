//go:build xla

package ondevice_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
)

// benches are the networks and batches of the paper.
var benches = []struct {
	name    string
	config  pgcr.Config
	problem envs.Problem
	runs    []int
	looped  int // updates of a loop on the device
}{
	{"toy", pgcr.Config{UpdatesPerStep: 1}, envs.Linear{}, []int{1, 20}, 200},
	{"toy-N=4", pgcr.Config{Resamples: 4, UpdatesPerStep: 1}, envs.Linear{}, []int{1}, 200},
	{"music", pgcr.Config{Hidden: []int{60, 20}, BatchSize: 256, UpdatesPerStep: 1}, kkbox.MusicStateless{}, []int{1, 5}, 20},
}

// backends are XLA's by default, or what GOMLX_BACKEND says.
var backends = map[string]string{"go": "go"}

// BenchmarkUpdate times pgcr.Update alone, on inputs that stay where the backend computes, as
// published/jax_update.py does: called by the host on the Go backend and on XLA, and in a loop on
// XLA. As there, the critic is not weighted.
func BenchmarkUpdate(b *testing.B) {
	for _, bench := range benches {
		for _, runs := range bench.runs {
			for _, on := range []string{"go", "xla", "xla-loop"} {
				b.Run(fmt.Sprintf("%s/R=%d/on=%s", bench.name, runs, on), func(b *testing.B) {
					u := newUpdates(b, bench.config, bench.problem.Spec(), runs, on, bench.looped)
					u.call(b)
					for b.Loop() {
						u.call(b)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N*u.each), "µs/update")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// updates is a graph of one update or a loop of some.
type updates struct {
	exec          *Exec
	state, inputs []*tensors.Tensor
	each          int
}

func newUpdates(b *testing.B, c pgcr.Config, spec envs.Spec, runs int, on string, looped int) *updates {
	b.Helper()
	each := 1
	if on == "xla-loop" {
		each = looped
	}
	backend, err := pgcr.OpenBackend(backends[on])
	if err != nil {
		b.Fatal(err)
	}
	u, rng := &updates{each: each}, rand.New(rand.NewPCG(1, 1))
	var networks []*pgcr.Parameters
	for _, bias := range []bool{false, true} {
		p := pgcr.NewParameters(pgcr.Network{Dim: spec.Dim, Hidden: slices.Concat(c.Hidden, []int{10}[:max(0, 1-len(c.Hidden))]), Bias: bias}, 1, slices.Repeat([]uint64{1}, runs), "bench")
		u.state = append(u.state, p.Tensors...)
		networks = append(networks, p)
	}
	batch, m, n := max(c.BatchSize, 64), spec.Candidates, max(c.Resamples, 1)
	uniform := func(size int) []float32 {
		x := make([]float32, size)
		for i := range x {
			x[i] = rng.Float32()
		}
		return x
	}
	var sets []int32
	for r := range runs {
		for range n {
			for _, i := range rng.Perm(batch * m) {
				sets = append(sets, int32(r*batch*m+i))
			}
		}
	}
	u.inputs = []*tensors.Tensor{
		tensors.FromScalar(int32(0)), tensors.FromScalar(int32(each)), tensors.FromScalar(float32(1)),
		pgcr.Columns(uniform(runs*batch*m*spec.Dim), runs, batch*m, spec.Dim), pgcr.Columns(uniform(runs*batch*spec.Dim), runs, batch, spec.Dim),
		tensors.FromFlatDataAndDimensions(uniform(runs*batch), runs, batch), tensors.FromFlatDataAndDimensions(sets, runs, n, batch*m),
	}
	one := func(in []*Node) []*Node {
		one := func(dims ...int) *Node { return Ones(in[0].Graph(), shapes.Make(dtypes.Float32, dims...)) }
		actor, rest := networks[0].Nodes(in)
		critic, rest := networks[1].Nodes(rest)
		actor, critic, _ = pgcr.Update(actor, critic, pgcr.Batch{Updates: rest[2], Contexts: rest[3], Chosen: rest[4], Reward: rest[5], Sets: rest[6],
			Absent: ZerosLike(one(runs, n, batch, m)), Ready: one(runs, batch), Kappa: one(), ActorRate: .001, CriticRate: .001})
		return append([]*Node{actor.Params, actor.M, actor.V, critic.Params, critic.M, critic.V, AddScalar(rest[0], 1), rest[1], AddScalar(rest[2], 1)}, rest[3:]...)
	}
	u.exec, err = NewExec(backend, func(in []*Node) []*Node {
		if each == 1 {
			return one(in)[:len(u.state)]
		}
		return ondevice.Loop(in, len(u.state), one)[:len(u.state)]
	})
	if err != nil {
		b.Fatal(err)
	}
	return u
}

func (u *updates) call(b *testing.B) {
	var args []any
	for _, t := range slices.Concat(u.state, u.inputs) {
		args = append(args, t)
	}
	results, err := u.exec.Call(args...)
	if err != nil {
		b.Fatal(err)
	}
	for i, t := range u.state {
		t.MustFinalizeAll()
		u.state[i] = results[i]
	}
}

// BenchmarkStep times whole steps: environment, decision, history, update, record. It takes those
// after the first chunk, which compiles. Music on the Go backend is left out, for its length.
func BenchmarkStep(b *testing.B) {
	const chunk = 500
	for _, bench := range benches {
		for _, runs := range bench.runs {
			for _, on := range []string{"go", "xla", "xla-loop"} {
				if bench.name == "music" && on == "go" {
					continue
				}
				b.Run(fmt.Sprintf("%s/R=%d/on=%s", bench.name, runs, on), func(b *testing.B) {
					c, seeds, took := bench.config, make([]uint64, runs), time.Duration(0)
					for r := range seeds {
						seeds[r] = uint64(r)
					}
					var err error
					if c.Backend, err = pgcr.OpenBackend(backends[on]); err != nil {
						b.Fatal(err)
					}
					for b.Loop() {
						curves, began := sim.NewCurves(runs, []int{2 * chunk}), time.Time{}
						rec := func(step int, tr envs.Transition, regret []float64) {
							curves.Record(step, tr, regret)
							switch step {
							case chunk:
								began = time.Now()
							case 2 * chunk:
								took += time.Since(began)
							}
						}
						if on == "xla-loop" {
							err = ondevice.Play(b.Context(), bench.problem, seeds, c, seeds, 2*chunk, rec)
						} else {
							err = sim.PlayRuns(b.Context(), bench.problem, seeds, c, seeds, 2*chunk, rec)
						}
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(took.Nanoseconds())/1e3/float64(b.N*chunk), "µs/step")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}
