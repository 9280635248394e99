package pgcr_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// An update is the same on the host and on a device, which has contexts in rows
// alone, and in the graphs that either kind of backend gets.
func TestUpdateForms(t *testing.T) {
	const runs, batch, candidates, dim = 2, 8, 3, 5
	const n, width = batch * candidates, 16
	actor := pgcr.Network{Dim: dim, Hidden: []int{6, 4}}
	critic := pgcr.Network{Dim: dim, Hidden: []int{6, 4}, Bias: true}
	for _, dropout := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(3, 5))
		var inputs []*tensors.Tensor
		var sizes [2]int
		for i, net := range []pgcr.Network{actor, critic} {
			params, _, _ := networkInputs(rng, net, runs, n)
			sizes[i] = 3 * len(params)
			inputs = append(inputs, params...)
			for moment := range 2 {
				for _, p := range params {
					m := normal(rng, p.Shape().Dimensions...)
					tensors.MustMutableFlatData(m, func(flat []float64) {
						for i := range flat {
							flat[i] = math.Pow(flat[i]/10, float64(1+moment)) // the second is none below 0
						}
					})
					inputs = append(inputs, m)
				}
			}
		}
		_, columns, rows := networkInputs(rng, actor, runs, n)
		reward, picked := normal(rng, runs, batch), fixed(0, runs, n)
		chosen, chosenRows := fixed(0, runs, width, batch), fixed(0, runs, batch, width)
		var all []float64
		tensors.MustConstFlatData(rows, func(flat []float64) { all = append(all, flat...) })
		at := make([]int, runs*batch)
		tensors.MustMutableFlatData(picked, func(flat []float64) {
			for i := range at {
				at[i] = i*candidates + rng.IntN(candidates)
				flat[at[i]] = 1
			}
		})
		tensors.MustMutableFlatData(chosenRows, func(flat []float64) {
			for i, context := range at {
				copy(flat[i*width:(i+1)*width], all[context*width:])
			}
		})
		tensors.MustMutableFlatData(chosen, func(flat []float64) {
			for i, context := range at {
				for k := range width {
					flat[(i/batch*width+k)*batch+i%batch] = all[context*width+k]
				}
			}
		})
		mask := fixed(1, runs, 1, actor.MaskUnits())
		if dropout {
			tensors.MustMutableFlatData(mask, func(flat []float64) {
				for i := range flat {
					flat[i] = float64(i%2) * 2
				}
			})
		}
		inputs = append(inputs, rows, columns, chosenRows, chosen, picked, reward, mask, fixed(2), fixed(0.01), fixed(1e-8))
		update := func(host bool) [][]float64 {
			return eval(t, func(in []*graph.Node) []*graph.Node {
				params := [2][]*graph.Node{in[:sizes[0]], in[sizes[0] : sizes[0]+sizes[1]]}
				x := in[sizes[0]+sizes[1]:]
				m := x[6]
				if !dropout {
					m = nil
				}
				c := pgcr.Config{ControlVariate: true}
				if host {
					return pgcr.UpdateGraph(c, pgcr.Resampled{N: 2}, actor, critic, params, x[0], x[1], x[2], x[3], x[4], x[5], m, x[7], x[8], x[9])
				}
				return pgcr.UpdateGraph(c, pgcr.Resampled{N: 2}, actor, critic, params, x[0], nil, nil, nil, x[4], x[5], m, x[7], x[8], x[9])
			}, inputs...)
		}
		want := update(true)
		moved := 0.0
		for i, p := range inputs[:len(want)] {
			tensors.MustConstFlatData(p, func(flat []float64) {
				for j := range flat {
					moved = max(moved, math.Abs(want[i][j]-flat[j]))
				}
			})
		}
		if moved < 1e-3 {
			t.Fatalf("the update moves nothing by more than %v", moved)
		}
		bothForms(func() {
			for _, host := range []bool{true, false} {
				got := update(host)
				for i := range want {
					if d := furthest(got[i], want[i]); d > 1e-10 {
						t.Errorf("dropout %v, host %v: values of parameter or moment %d differ by up to %v", dropout, host, i, d)
					}
				}
			}
		})
	}
}

// An agent learns the same from contexts in rows and columns and from those in
// rows alone, which products have that are large. They begin with a batch of several
// steps, since rounding is all that there is to learn from a single one.
func TestRowsAlone(t *testing.T) {
	learned := func(from int) []float64 {
		defer pgcr.RowsAlone(pgcr.RowsAlone(from))
		config := pgcr.Config{BatchSize: 16, Hidden: []int{6, 4}, Dropout: 0.3, UpdateEvery: 16}
		g := play(t, config, envs.Bernoulli{Dim: 6}, seeds(1, 2))
		g.choices(200)
		// 8 units, 16 features and the rest of a row, 80 contexts
		if want := from <= 8*16*80; g.agent.HasRowsAlone() != want {
			t.Fatalf("rows alone from %d multiplications: %v", from, !want)
		}
		values := make([]float64, 20)
		if err := g.agent.Probabilities(values[:10], g.env.Observe()); err != nil {
			t.Fatal(err)
		}
		if err := g.agent.Values(values[10:], g.env.Observe()); err != nil {
			t.Fatal(err)
		}
		return values
	}
	want, got := learned(8*16*80+1), learned(8*16*80)
	if furthest(got, want) > 1e-4 {
		t.Errorf("probabilities and values are %v with rows alone, %v with both", got, want)
	}
}
