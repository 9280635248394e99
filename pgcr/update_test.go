package pgcr_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/pgcr"
)

// game is an agent in an environment.
type game struct {
	t       testing.TB
	env     envs.Environment
	agent   *pgcr.Agent
	actions []int
}

func play(t testing.TB, config pgcr.Config, problem envs.Problem, seeds []uint64) *game {
	t.Helper()
	env, err := problem.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := config.New(problem.Spec(), seeds)
	if err != nil {
		t.Fatal(err)
	}
	return &game{t, env, policy.(*pgcr.Agent), make([]int, len(seeds))}
}

// steps plays on and returns the rewards of all runs.
func (g *game) steps(n int) (rewards []float32) {
	g.t.Helper()
	for range n {
		tr := envs.Transition{Observation: g.env.Observe(), Actions: g.actions}
		if err := g.agent.Act(g.actions, tr.Observation); err != nil {
			g.t.Fatal(err)
		}
		var err error
		if tr.Outcome, err = g.env.Step(g.actions); err != nil {
			g.t.Fatal(err)
		}
		if err := g.agent.Update(tr); err != nil {
			g.t.Fatal(err)
		}
		rewards = append(rewards, tr.Reward...)
	}
	return rewards
}

// values returns the parameters and moments of both networks.
func (g *game) values() (actor, critic [][]float32) {
	a, c := g.agent.Parameters()
	for _, p := range []struct {
		of *pgcr.Parameters
		to *[][]float32
	}{{a, &actor}, {c, &critic}} {
		var err error
		if *p.to, err = p.of.Values(); err != nil {
			g.t.Fatal(err)
		}
	}
	return actor, critic
}

func seeds(first uint64, n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = first + uint64(i)
	}
	return s
}

// What an agent's update does is the gradient of the published losses: the change
// of Adam's first moments is 0.1 times their central differences in float64, on the
// batch that the agent drew. The truncation error of a central difference is h²/6
// times a third derivative, its rounding error 1e-16/h; the agent rounds to float32.
func TestUpdateIsThePublishedLosses(t *testing.T) {
	for name, c := range map[string]struct {
		config  pgcr.Config
		problem envs.Problem
	}{
		"bandit":     {pgcr.Config{Hidden: []int{4}, BatchSize: 6, ActorRate: 1e-9, CriticRate: 1e-9}, envs.Mixed{Candidates: 3, Dim: 4}},
		"two layers": {pgcr.Config{WeightedCritic: true, Hidden: []int{4, 3}, BatchSize: 6, Resamples: 3, Dropout: .4, ActorRate: 1e-9, CriticRate: 1e-9}, envs.Mixed{Candidates: 3, Dim: 4}},
		"greed":      {pgcr.Config{Hidden: []int{4}, BatchSize: 6, WeightedCritic: true, Greed: pgcr.Greed{Rate: .1}, ActorRate: 1e-9, CriticRate: 1e-9}, envs.Mixed{Candidates: 3, Dim: 4}},
		"sessions":   {pgcr.Config{WeightedCritic: true, Hidden: []int{4}, BatchSize: 6, Resamples: 2, Discount: .9, ActorRate: 1e-9, CriticRate: 1e-9}, envtest.Chain{}},
	} {
		t.Run(name, func(t *testing.T) {
			g, other := play(t, c.config, c.problem, seeds(3, 2)), play(t, c.config, c.problem, seeds(3, 2))
			g.steps(30)
			other.steps(30)
			actorBefore, criticBefore := g.values()
			var inputs []any
			for _, in := range other.agent.Drawn() {
				if flat := []float32(nil); in.DType() == tensors.FromScalar(float32(0)).DType() {
					flat = tensors.MustCopyFlatData[float32](in)
					wide := make([]float64, len(flat))
					for i, x := range flat {
						wide[i] = float64(x)
					}
					inputs = append(inputs, tensors.FromFlatDataAndDimensions(wide, in.Shape().Dimensions...))
				} else {
					inputs = append(inputs, in)
				}
			}
			if err := g.agent.Learn(); err != nil {
				t.Fatal(err)
			}
			actorAfter, criticAfter := g.values()
			a, cr := g.agent.Parameters()
			k := len(a.Network.Shapes(1)) + len(cr.Network.Shapes(1))
			params := func(values ...[]float32) (all []any) {
				shapes := append(a.Network.Shapes(2), cr.Network.Shapes(2)...)
				for i, v := range values {
					wide := make([]float64, len(v))
					for j, x := range v {
						wide[j] = float64(x)
					}
					all = append(all, tensors.FromFlatDataAndDimensions(wide, shapes[i]...))
				}
				return all
			}
			ka := len(a.Network.Shapes(1))
			all := params(append(append([][]float32{}, actorBefore[:ka]...), criticBefore[:k-ka]...)...)
			// The two losses, spelled out once more from the published functions.
			losses := func(in []*Node) []*Node {
				actor, critic, b := in[:ka], in[ka:k], in[k:] // b is in the order of pgcr.Batch
				sets := func(x *Node) *Node {
					return Reshape(Gather(Reshape(x, -1), InsertAxes(b[1], -1)), b[2].Shape().Dimensions...)
				}
				scores := Add(sets(a.Network.Forward(actor, b[0], b[3])), b[2])
				weight := OnesLike(b[7])
				if c.config.WeightedCritic {
					weight = pgcr.ResampledProbabilities(a.Network.Forward(actor, b[6], b[3]),
						Slice(scores, AxisRange(), AxisRange(), AxisRange(), AxisRange(1)), b[4])
				}
				target := b[7]
				if name == "sessions" {
					target = pgcr.SarsaTarget(b[7], b[10], cr.Network.Forward(critic, b[9], nil))
				}
				values := sets(cr.Network.Forward(critic, b[0], nil))
				return []*Node{pgcr.CriticLoss(weight, target, cr.Network.Forward(critic, b[6], nil)), pgcr.ActorLoss(pgcr.Probabilities(scores, b[4]), values), target, weight}
			}
			held := eval(t, losses, append(append([]any{}, all...), inputs...)...) // target and weight are held constant
			value := func(which int) float64 {
				return eval(t, func(in []*Node) []*Node {
					l := losses(in)
					if which == 0 {
						target, weight := Const(in[0].Graph(), held[2]), Const(in[0].Graph(), held[3])
						d := in[k+7].Shape().Dimensions
						value := cr.Network.Forward(in[ka:k], in[k+6], nil)
						return []*Node{pgcr.CriticLoss(Reshape(weight, d...), Reshape(target, d...), value)}
					}
					return l[1:2]
				}, append(append([]any{}, all...), inputs...)...)[0][0]
			}
			const h = 1e-6
			for which, side := range []struct{ before, after [][]float32 }{{criticBefore, criticAfter}, {actorBefore, actorAfter}} {
				first, count := []int{ka, 0}[which], len(side.before)/3
				for i := range count {
					m, m2 := side.before[count+i], side.after[count+i]
					for j := 0; j < len(m); j += 1 + len(m)/5 {
						differ := func(by float64) {
							tensors.MustMutableFlatData(all[first+i].(*tensors.Tensor), func(flat []float64) { flat[j] += by })
						}
						differ(h)
						up := value(which)
						differ(-2 * h)
						down := value(which)
						differ(h)
						want, got := (up-down)/(2*h), (float64(m2[j])-.9*float64(m[j]))/.1
						if math.Abs(got-want) > 2e-5*(1+math.Abs(want)) {
							t.Fatalf("%s, parameter %d, value %d: the agent's gradient is %.8f, the published loss has %.8f", []string{"critic", "actor"}[which], i, j, got, want)
						}
					}
				}
			}
		})
	}
}

// In jointly resampled sets every context meets every other one equally often, and
// every set has the size of its step.
func TestSetsAreResampledJointly(t *testing.T) {
	g := play(t, pgcr.Config{BatchSize: 4, Resamples: 3}, varied{}, seeds(1, 1))
	g.steps(4)
	sizes := []int{}
	for _, set := range g.agent.Sets([]int{0, 1, 2, 3}, rand.New(rand.NewPCG(1, 1)))[:4] {
		sizes = append(sizes, len(set))
	}
	if fmt.Sprint(sizes) != "[1 2 3 3]" {
		t.Fatalf("sets of sizes %v, the steps have 1, 2, 3 and 3", sizes)
	}
	met, draws, rng := map[[2]int]int{}, 3000, rand.New(rand.NewPCG(2, 2))
	for range draws {
		sets := g.agent.Sets([]int{0, 1, 2, 3}, rng)
		for n := range 3 {
			seen := map[int]bool{}
			for _, set := range sets[4*n : 4*n+4] {
				for _, i := range set {
					seen[i] = true
					for _, j := range set {
						if i < j {
							met[[2]int{i, j}]++
						}
					}
				}
			}
			if len(seen) != 9 {
				t.Fatalf("resampling %d holds %d of 9 contexts", n, len(seen))
			}
		}
	}
	// 9 contexts are 36 pairs, of which a permutation puts 0+1+3+3 = 7 into sets.
	expected, chi2 := float64(3*draws)*7/36, 0.0
	for _, n := range met {
		chi2 += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	if len(met) != 36 || chi2 > 75 { // 99.99 % of chi-square with 35 degrees of freedom
		t.Errorf("%d of 36 pairs met, chi-square %.1f", len(met), chi2)
	}
}

// varied offers sets of 1, 2, 3, 3, 1, 2, ... of 3 candidates.
type varied struct{}

func (varied) Spec() envs.Spec { return envs.Spec{Candidates: 3, Dim: 2} }

func (v varied) New(seeds []uint64) (envs.Environment, error) {
	return envs.FromLaw(v.Spec(), seeds, func(uint64) envs.Law {
		step := -1
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) int {
				for i := range contexts {
					contexts[i] = rng.Float32()
				}
				step++
				return []int{1, 2, 3, 3}[step%4]
			},
			Reward:   func(c []float32, _ *rand.Rand) float64 { return float64(c[0]) },
			Expected: func(c []float32) float64 { return float64(c[0]) },
		}
	})
}

// Theorem 5 with jointly resampled sets: at equal parameters the actor's update has
// the variance of vanilla policy gradient at N = 1, and less at N = 4. Independent
// sets would have a quarter; the sets of one batch share its contexts.
func TestVarianceOfTheActorsUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const runs, draws = 40, 250
	variance := func(resamples int) float64 {
		still := pgcr.Paper()
		still.Resamples, still.ActorRate, still.CriticRate = resamples, 1e-9, 1e-9
		g := play(t, still, envs.Linear{}, seeds(1, runs))
		one := play(t, pgcr.Paper(), envs.Linear{}, seeds(99, 1)) // lends its parameters to all runs
		one.steps(1000)
		a1, c1 := one.values()
		for _, values := range [][][]float32{a1, c1} {
			for _, moments := range values[len(values)/3:] {
				clear(moments)
			}
		}
		repeat := func(values [][]float32) (all [][]float32) {
			for _, v := range values {
				var x []float32
				for range runs {
					x = append(x, v...)
				}
				all = append(all, x)
			}
			return all
		}
		actor, critic := g.agent.Parameters()
		reset := func() {
			actor.Restore(repeat(a1))
			critic.Restore(repeat(c1))
		}
		obs, rng := g.env.Observe(), rand.New(rand.NewPCG(5, 5))
		g.steps(1)
		for range 1500 {
			for i := range obs.Contexts {
				obs.Contexts[i] = rng.Float32()
			}
			err := g.agent.Remember(envs.Transition{Observation: obs, Actions: g.actions, Outcome: envs.Outcome{Reward: make([]float32, runs)}})
			if err != nil {
				t.Fatal(err)
			}
		}
		// Within runs: what the finite histories differ in is no variance of the update.
		var sum, squares []float64 // by run and parameter
		for range draws {
			reset()
			if err := g.agent.Learn(); err != nil {
				t.Fatal(err)
			}
			values, _ := g.values()
			moments := slices.Concat(values[len(values)/3 : 2*len(values)/3]...)
			if sum == nil {
				sum, squares = make([]float64, len(moments)), make([]float64, len(moments))
			}
			for i, m := range moments {
				sum[i] += float64(m) / draws
				squares[i] += float64(m) * float64(m) / draws
			}
		}
		total := 0.0
		for i := range sum {
			total += squares[i] - sum[i]*sum[i]
		}
		return total
	}
	own := variance(pgcr.OwnSets)
	for _, c := range []struct {
		n         int
		low, high float64
	}{{1, .97, 1.03}, {4, .2, .6}} {
		if ratio := variance(c.n) / own; ratio < c.low || ratio > c.high {
			t.Errorf("N = %d: the variance is %.3f times that of vanilla policy gradient, want %v to %v", c.n, ratio, c.low, c.high)
		} else {
			t.Logf("N = %d: the variance is %.3f times that of vanilla policy gradient", c.n, ratio)
		}
	}
}

// The rates of update t are divided by sqrt(1 + Decay t): 2 at the first update with Decay 3.
func TestDecay(t *testing.T) {
	falling := play(t, pgcr.Config{ActorRate: .02, CriticRate: .04, Decay: 3, UpdatesPerStep: 1}, envs.Linear{Dim: 3}, seeds(1, 2))
	steady := play(t, pgcr.Config{ActorRate: .01, CriticRate: .02, UpdatesPerStep: 1}, envs.Linear{Dim: 3}, seeds(1, 2))
	for n, equal := range []bool{true, false} {
		falling.steps(1)
		steady.steps(1)
		a, c := falling.values()
		a2, c2 := steady.values()
		if reflect.DeepEqual(a, a2) != equal || reflect.DeepEqual(c, c2) != equal {
			t.Errorf("after %d updates the parameters are equal: %v, want %v", n+1, !equal, equal)
		}
	}
}
