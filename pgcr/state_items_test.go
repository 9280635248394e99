package pgcr_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
	"github.com/contextrec/contextrec/pgcr/ondevice"
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
		if want := from <= spec.State; agent.TakesApart() != want {
			t.Fatalf("contexts are taken apart from %d: %v", from, !want)
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

// keeping keeps the agent that it makes, and its parameters.
type keeping struct {
	pgcr.Config
	agent  *pgcr.Agent
	script pgcr.Script
}

func (k *keeping) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	policy, err := k.Config.New(spec, seeds)
	if err != nil {
		return nil, err
	}
	k.agent = policy.(*pgcr.Agent)
	k.script, err = k.agent.Script(true)
	return policy, err
}

// What an agent learns from contexts that are taken apart differs by rounding
// alone from what it learns from whole ones, though by up to a step of Adam: a unit
// that is active for all contexts of a step and for their rivals raises all scores by
// its bias, which no probability depends on, so that the bias has a gradient of 0
// but for the rounding, and Adam makes a step of the learning rate's size of any
// gradient. Nothing else parts at first, and no probability does. Later, when such
// a unit becomes inactive for some context, scores part by about such a step.
//
// The device takes nothing apart. It stays with the host's whole contexts.
func TestApartByRounding(t *testing.T) {
	const runs, rate = 3, 1e-4
	problem := kkbox.MusicState{Source: kkbox.Source{Users: 6}, Candidates: 4}
	never := problem.Spec().State + 1
	// play returns weights of the actor and logarithms of probabilities.
	play := func(player func(context.Context, sim.Match) error, from, steps int) (weights [][]float32, logs []float64) {
		defer pgcr.TakeApart(pgcr.TakeApart(from))
		a := &keeping{Config: pgcr.Config{Hidden: []int{16, 12}, ActorRate: rate, CriticRate: 0.05, BatchSize: 12}}
		m := sim.Match{Problem: problem, Algorithm: a, Steps: steps, Begin: func() {}}
		m.Recorder = sim.RecorderFunc(func(int, envs.Transition, []float64) {})
		for r := range runs {
			m.ProblemSeeds, m.PolicySeeds = append(m.ProblemSeeds, uint64(100+r)), append(m.PolicySeeds, uint64(200+r))
		}
		if err := player(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		weights, err := a.script.Parameters()[0].State()
		if err != nil {
			t.Fatal(err)
		}
		env, err := problem.New([]uint64{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		logs = make([]float64, runs*problem.Spec().Candidates)
		if err := a.agent.Probabilities(logs, env.Observe()); err != nil {
			t.Fatal(err)
		}
		for i, p := range logs {
			logs[i] = math.Log(p)
		}
		return weights[:len(weights)/3], logs
	}
	const biases = 2 // of the second layer
	for _, c := range []struct {
		steps                      int
		rest, biases, logs, device float64 // by how much they may part
	}{
		{1, 1e-7, rate, 1e-6, 1e-6},
		{8, 1e-6, 8 * rate, 1e-6, 1e-6},
		{90, 90 * rate, 90 * rate, 5 * rate, rate / 2},
	} {
		apart, apartLogs := play(sim.PlayMatch, 1, c.steps)
		whole, wholeLogs := play(sim.PlayMatch, never, c.steps)
		_, deviceLogs := play(ondevice.Player{Piece: 17}.Play, 1, c.steps)
		for i := range whole {
			want, got := c.rest, furthest(apart[i], whole[i])
			if i == biases {
				want = c.biases
			}
			if got > want {
				t.Errorf("%d steps: parameter %d parts by %v, want up to %v", c.steps, i, got, want)
			}
		}
		if got := furthest(apartLogs, wholeLogs); got > c.logs {
			t.Errorf("%d steps: logarithms of probabilities part by %v, want up to %v", c.steps, got, c.logs)
		}
		if got := furthest(deviceLogs, wholeLogs); got > c.device {
			t.Errorf("%d steps: the device's part from whole contexts' by %v, want up to %v", c.steps, got, c.device)
		}
	}
}

func furthest[T float32 | float64](a, b []T) float64 {
	largest := 0.0
	for i := range a {
		largest = max(largest, math.Abs(float64(a[i]-b[i])))
	}
	return largest
}
