package pgcr_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// A pass over contexts that are taken apart is the one over whole contexts, in
// another order, and so is its gradient.
func TestStateItems(t *testing.T) {
	const runs, steps, count, state = 2, 3, 4, 2
	for _, net := range []pgcr.Network{
		{Dim: 5, Hidden: []int{4}},
		{Dim: 5, Hidden: []int{5, 4}, Bias: true},
	} {
		t.Run(fmt.Sprint(net.Hidden), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 1))
			params, columns, rows := networkInputs(rng, net, runs, steps*count)
			weights, mask := normal(rng, runs, steps*count), fixed(1, runs, 1, net.MaskUnits())
			// Whole contexts stand step by step here, and share the state of the
			// first one of their step.
			share(columns, rows, pgcr.Width(net.Dim), runs, steps, count, state)
			k := len(params)
			whole := func(in []*Node) []*Node {
				pass := net.Forward(in[:k], in[k], in[k+3])
				return append(pass.Gradient(in[k+2], in[k+1]), pass.Output)
			}
			apart := func(in []*Node) []*Node {
				rows := Reshape(in[k+1], runs, steps, count, -1)
				itemRows := Reshape(Transpose(Slice(rows, AxisRange(), AxisRange(), AxisRange(), AxisRange(state)), 1, 2), runs, steps*count, -1)
				stateRows := Reshape(Slice(rows, AxisRange(), AxisRange(), AxisRange(0, 1), AxisRange(0, state)), runs, steps, state)
				s := pgcr.StateItems{State: Transpose(stateRows, 1, 2), StateRows: stateRows, Items: Transpose(itemRows, 1, 2), ItemRows: itemRows}
				pass := net.ForwardStateItems(in[:k], s, in[k+3])
				return append(pass.Gradient(pgcr.ByContext(in[k+2], steps), nil), pgcr.ByStep(pass.Output, steps))
			}
			inputs := append(params, columns, rows, weights, mask)
			bothForms(func() {
				want, got := eval(t, whole, inputs...), eval(t, apart, inputs...)
				for i := range want {
					for j := range want[i] {
						if math.Abs(got[i][j]-want[i][j]) > 1e-12*(1+math.Abs(want[i][j])) {
							t.Fatalf("result %d, element %d: %v, want %v", i, j, got[i][j], want[i][j])
						}
					}
				}
			})
		})
	}
}

// share gives the contexts of a step, [R, B*C], the state of its first one.
func share(columns, rows *tensors.Tensor, width, runs, steps, count, state int) {
	n := steps * count
	tensors.MustMutableFlatData(columns, func(c []float64) {
		tensors.MustMutableFlatData(rows, func(r []float64) {
			for run := range runs {
				for i := range n {
					for d := range state {
						x := r[(run*n+i/count*count)*width+d]
						r[(run*n+i)*width+d], c[(run*width+d)*n+i] = x, x
					}
				}
			}
		})
	})
}

// An agent learns the same whether contexts are taken apart or not, up to
// rounding.
func TestTakingApart(t *testing.T) {
	spec := envs.Spec{Candidates: 3, Dim: 4, State: 1}
	play := func(from int, config pgcr.Config) []float64 {
		defer pgcr.TakeApart(pgcr.TakeApart(from))
		policy, err := config.New(spec, []uint64{1})
		if err != nil {
			t.Fatal(err)
		}
		agent, env := policy.(*pgcr.Agent), newShop("tiles", 1)
		actions := []int{0}
		for step := range 40 {
			tr := envs.Transition{Observation: env.Observe(), Actions: actions}
			actions[0] = step % 3
			if tr.Outcome, err = env.Step(actions); err != nil {
				t.Fatal(err)
			}
			if err := agent.Update(tr); err != nil {
				t.Fatal(err)
			}
		}
		learned := make([]float64, 6)
		if err := agent.Probabilities(learned[:3], env.Observe()); err != nil {
			t.Fatal(err)
		}
		if err := agent.Values(learned[3:], env.Observe()); err != nil {
			t.Fatal(err)
		}
		return learned
	}
	for _, config := range []pgcr.Config{
		{BatchSize: 8},
		{BatchSize: 8, Discount: 0.9, Dropout: 0.3, ControlVariate: true, Hidden: []int{6, 4}, Resamples: 2},
	} {
		want, got := play(100, config), play(1, config)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-4 {
				t.Errorf("%+v: probabilities and values are %v taken apart, %v whole", config, got, want)
				break
			}
		}
	}
}
