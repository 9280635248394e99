package envtest_test

import (
	"math"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

func near(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// Two states, two items (push 0 and 1), two candidates, discount 1/2, by hand.
//
// Uniform: a step in state 0 earns 0.1, one in state 1 0.6, and each ends in
// either state with probability 1/2. So V1 - V0 = 0.5 and
// V0 = 0.1 + (V0 + V1)/4 = 0.225 + V0/2 = 0.45.
//
// Optimal: with probability 3/4 one of the candidates pushes. Pushing in both
// states, a step in state 0 earns 0.2/4 = 0.05 and one in state 1
// 3/4 + 0.2/4 = 0.8, so V1 - V0 = 0.75 and V0 = 0.05 + (V0 + 0.5625)/2 = 0.6625.
// Q0 = (0.2 + V0/2, V1/2), Q1 = (0.2 + V0/2, 1 + V1/2): pushing is better in
// both states indeed. State 1 is held 3/4 of the time.
//
// Uniform and episodic: V1 = 0.6 + V1/4 = 0.8, V0 = 0.1 + V1/4 = 0.3.
func TestChainByHand(t *testing.T) {
	p := envtest.Chain{States: 2, Items: 2, Candidates: 2}
	uniform, optimal := p.Uniform(0.5), p.Optimal(0.5)
	near(t, "uniform V", uniform.V, 0.45, 0.95)
	near(t, "uniform average reward", []float64{uniform.AverageReward}, 0.35)
	near(t, "optimal V", optimal.V, 0.6625, 1.4125)
	near(t, "optimal Q", slices.Concat(optimal.Q...), 0.53125, 0.70625, 0.53125, 1.70625)
	near(t, "optimal average reward", []float64{optimal.AverageReward}, 0.6125)
	p.Episodic = true
	near(t, "uniform episodic V", p.Uniform(0.5).V, 0.3, 0.8)
}

// The optimal policy is played in the environment: its rewards and the discounted
// returns from the start have the means that Optimal says.
func TestChainAgainstSimulation(t *testing.T) {
	const runs, steps, discount = 400, 300, 0.8 // 0.8^300 is lost
	for _, p := range []envtest.Chain{{}, {Episodic: true, States: 3, Items: 4, Candidates: 2}} {
		v, spec := p.Optimal(discount), p.Spec()
		seeds := make([]uint64, runs)
		for r := range seeds {
			seeds[r] = uint64(r)
		}
		env, err := p.New(seeds)
		if err != nil {
			t.Fatal(err)
		}
		returns, factors, actions := make([]float64, runs), slices.Repeat([]float64{1}, runs), make([]int, runs)
		averages := make([]float64, runs)
		for i := range steps {
			obs := env.Observe()
			for r := range runs {
				best := math.Inf(-1)
				for k := range spec.Candidates {
					c := obs.Context(r, k)
					item := int(math.Round(float64(c[spec.State]) * float64(len(v.Q[0])-1)))
					if q := v.Q[slices.Index(c, 1)][item]; q > best {
						best, actions[r] = q, k
					}
				}
			}
			out, err := env.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			for r, reward := range out.Reward {
				returns[r] += factors[r] * float64(reward)
				factors[r] *= discount * float64(out.Discount[r])
				if i >= 50 {
					averages[r] += float64(reward) / (steps - 50)
				}
			}
		}
		for _, c := range []struct {
			what string
			got  []float64
			want float64
		}{{"return from the start", returns, v.V[0]}, {"average reward", averages, v.AverageReward}} {
			var mean, squares float64
			for _, x := range c.got {
				mean += x / runs
				squares += x * x / runs
			}
			if se := math.Sqrt((squares - mean*mean) / runs); math.Abs(mean-c.want) > 5*se {
				t.Errorf("%+v: %s %.4f ± %.4f, want %.4f", p, c.what, mean, se, c.want)
			}
		}
	}
}

// The numbers of Chain's documentation.
func TestChainAverages(t *testing.T) {
	p := envtest.Chain{}
	got := []float64{p.Optimal(0.9).AverageReward, p.Optimal(0).AverageReward, p.Uniform(0.9).AverageReward}
	for i, want := range []float64{0.45, 0.18, 0.16} {
		if math.Abs(got[i]-want) > 0.005 {
			t.Errorf("long-run rewards %.3f, want 0.45, 0.18, 0.16", got)
		}
	}
	for _, bad := range []envtest.Chain{{States: 1}, {Items: -1}, {Candidates: -3}} {
		if _, err := bad.New([]uint64{1}); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	var _ envs.Problem = p
}
