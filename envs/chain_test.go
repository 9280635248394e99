package envs_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// chains are the default and settings that differ from it in each field.
var chains = []envs.Chain{
	{}, {Episodic: true},
	{States: 2, Items: 2, Candidates: 2, RewardNoise: envs.NoNoise},
	{States: 6, Items: 3, Candidates: 4, RewardNoise: 1},
}

func TestChainDeclaration(t *testing.T) {
	if got, want := (envs.Chain{}).Spec(), (envs.Spec{Candidates: 3, Dim: 6, State: 4}); got != want {
		t.Errorf("spec %v, want %v", got, want)
	}
	const want = `{"States":4,"Items":5,"Candidates":3,"Episodic":false,"RewardNoise":0.1}`
	if got, err := json.Marshal(envs.Chain{}); err != nil || string(got) != want {
		t.Errorf("JSON %s (error %v), want %s", got, err, want)
	}
	for _, test := range []struct {
		chain envs.Chain
		field string
	}{
		{envs.Chain{States: 1}, "Chain.States is 1"},
		{envs.Chain{States: -4}, "Chain.States is -4"},
		{envs.Chain{Items: 1}, "Chain.Items is 1"},
		{envs.Chain{Items: math.MaxInt}, "Chain.Items is 9223372036854775807"},
		{envs.Chain{Candidates: 1}, "Chain.Candidates is 1"},
		{envs.Chain{Candidates: 1 << 20, States: 1 << 20}, "Chain.States is 1048576, too large for 1 runs"},
		{envs.Chain{RewardNoise: math.NaN()}, "Chain.RewardNoise is NaN"},
		{envs.Chain{RewardNoise: -3}, "Chain.RewardNoise is -3"},
	} {
		_, err := test.chain.New([]uint64{1})
		checkError(t, err, test.field, true)
		if !panics(func() { test.chain.Optimal(0.9) }) {
			t.Errorf("%+v: no panic from Optimal", test.chain)
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
	p := envs.Chain{States: 2, Items: 2, Candidates: 2}
	uniform, optimal := p.Uniform(0.5), p.Optimal(0.5)
	checkFloats(t, "uniform V", uniform.V, 0.45, 0.95)
	checkFloats(t, "uniform average reward", []float64{uniform.AverageReward}, 0.35)
	checkFloats(t, "optimal V", optimal.V, 0.6625, 1.4125)
	checkFloats(t, "optimal Q", slices.Concat(optimal.Q...), 0.53125, 0.70625, 0.53125, 1.70625)
	checkFloats(t, "chosen by the optimal policy", slices.Concat(optimal.Chosen...), 0.25, 0.75, 0.25, 0.75)
	checkFloats(t, "optimal average reward", []float64{optimal.AverageReward}, 0.6125)

	p.Episodic = true
	checkFloats(t, "uniform episodic V", p.Uniform(0.5).V, 0.3, 0.8)
}

// The closed form against the Bellman equation itself, iterated over every
// ordered set of candidates.
func TestChainAgainstValueIteration(t *testing.T) {
	for _, p := range chains {
		for _, discount := range []float64{0, 0.3, 0.7, 0.9, 0.97} {
			got := p.Optimal(discount)
			want := bellman(p, discount, func(q []float64) float64 { return slices.Max(q) })
			checkFloats(t, fmt.Sprintf("%+v, discount %v: optimal Q", p, discount), slices.Concat(got.Q...), want...)
			got = p.Uniform(discount)
			want = bellman(p, discount, mean)
			checkFloats(t, fmt.Sprintf("%+v, discount %v: uniform Q", p, discount), slices.Concat(got.Q...), want...)
		}
	}
}

// bellman iterates Q(s,k) = r + discount·E[value of the next candidates' Q].
func bellman(p envs.Chain, discount float64, value func(candidates []float64) float64) []float64 {
	spec := p.Spec()
	states, m := spec.State, spec.Candidates
	items := cmp.Or(p.Items, 5)
	q, v := make([]float64, states*items), make([]float64, states)
	candidates := make([]float64, m)
	sets := int(math.Pow(float64(items), float64(m)))
	for change := 1.0; change > 1e-13; {
		for s := range v {
			v[s] = 0
			for set := range sets {
				for i, rest := 0, set; i < m; i, rest = i+1, rest/items {
					candidates[i] = q[s*items+rest%items]
				}
				v[s] += value(candidates) / float64(sets)
			}
		}
		change = 0
		for s := range states {
			for k := range items {
				push := float64(k) / float64(items-1)
				next := push * v[min(s+1, states-1)]
				if !p.Episodic {
					next += (1 - push) * v[0]
				}
				reward := 0.2 * (1 - push)
				if s == states-1 {
					reward += push
				}
				old := q[s*items+k]
				q[s*items+k] = reward + discount*next
				change = max(change, math.Abs(q[s*items+k]-old))
			}
		}
	}
	return q
}

// The environment against the values: the optimal policy and a soft one are
// played, and returns are added up from the rewards.
func TestChainAgainstSimulation(t *testing.T) {
	const runs, steps, tail, discount = 200, 600, 100, 0.8 // 0.8^100 = 2e-10
	for _, p := range chains {
		optimal := p.Optimal(discount)
		for name, temperature := range map[string]float64{"optimal": 1e-9, "soft": 0.3} {
			policy := softPolicy(optimal.Q, temperature)
			values := p.Evaluate(discount, policy)

			env := start(t, p, seq(runs)...)
			spec := p.Spec()
			states, rewards, discounts := make([][]int, runs), make([][]float64, runs), make([][]float64, runs)
			chosen := make([][]int, runs)
			actions, items, probabilities := make([]int, runs), make([]int, spec.Candidates), make([]float64, spec.Candidates)
			dice := envs.NewRand(1, "test")
			for range steps {
				obs := env.Observe()
				for r := range runs {
					for i := range items {
						at := (r*spec.Candidates + i) * spec.Dim
						var s int
						s, items[i] = p.Decode(obs.Contexts[at : at+spec.Dim])
						if i == 0 {
							states[r] = append(states[r], s)
						}
					}
					policy(probabilities, states[r][len(states[r])-1], items)
					u := dice.Float64()
					actions[r] = 0
					for u >= probabilities[actions[r]] && actions[r] < len(items)-1 {
						u -= probabilities[actions[r]]
						actions[r]++
					}
					chosen[r] = append(chosen[r], items[actions[r]])
				}
				out := step(t, env, actions)
				for r := range runs {
					rewards[r] = append(rewards[r], float64(out.Reward[r]))
					discounts[r] = append(discounts[r], float64(out.Discount[r]))
				}
			}

			// Each run gives one average of each quantity, and the runs are
			// independent.
			type key struct{ state, item int }
			averages := map[key][]float64{}
			var first, long []float64
			for r := range runs {
				sums, counts := map[key]float64{}, map[key]float64{}
				var back, total float64
				for i := steps - 1; i >= 0; i-- {
					back = rewards[r][i] + discount*discounts[r][i]*back
					if i < steps-tail {
						k := key{states[r][i], chosen[r][i]}
						sums[k] += back
						counts[k]++
					}
					if i >= tail {
						total += rewards[r][i]
					}
				}
				first = append(first, back)
				long = append(long, total/(steps-tail))
				for k, s := range sums {
					averages[k] = append(averages[k], s/counts[k])
				}
			}
			label := fmt.Sprintf("%+v, %s policy: ", p, name)
			checkSample(t, label+"return from the start", first, values.V[0])
			checkSample(t, label+"average reward", long, values.AverageReward)
			for k, sample := range averages {
				if len(sample) >= 50 { // enough runs for a standard error
					checkSample(t, label+fmt.Sprintf("Q of item %d in state %d", k.item, k.state), sample, values.Q[k.state][k.item])
				}
			}
			if len(averages) < 4 {
				t.Errorf("%s: only %d pairs of state and item were met", label, len(averages))
			}
		}
	}
}

// softPolicy chooses by softmax(q/temperature).
func softPolicy(q [][]float64, temperature float64) func([]float64, int, []int) {
	return func(dst []float64, state int, items []int) {
		best := math.Inf(-1)
		for _, k := range items {
			best = max(best, q[state][k])
		}
		var total float64
		for i, k := range items {
			dst[i] = math.Exp((q[state][k] - best) / temperature)
			total += dst[i]
		}
		for i := range dst {
			dst[i] /= total
		}
	}
}

func TestChainEvaluate(t *testing.T) {
	for _, p := range chains {
		uniform := p.Evaluate(0.9, func(dst []float64, _ int, _ []int) {
			for i := range dst {
				dst[i] = 1 / float64(len(dst))
			}
		})
		checkValues(t, "uniform", uniform, p.Uniform(0.9))

		optimal := p.Optimal(0.9)
		greedy := p.Evaluate(0.9, softPolicy(optimal.Q, 1e-9))
		checkValues(t, "optimal", greedy, optimal)

		// The myopic policy's average reward does not depend on the discount
		// that it is valued with.
		myopic := p.Evaluate(0.9, softPolicy(p.Optimal(0).Q, 1e-9))
		if got, want := myopic.AverageReward, p.Optimal(0).AverageReward; math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v: the myopic policy earns %v a step by Evaluate and %v by Optimal", p, got, want)
		}
		for s := range optimal.V {
			if soft := p.Evaluate(0.9, softPolicy(optimal.Q, 0.5)); soft.V[s] >= optimal.V[s] {
				t.Errorf("%+v: a soft policy is worth %v in state %d, the optimal one %v", p, soft.V[s], s, optimal.V[s])
			}
		}
	}
}

// What the chain is for: looking ahead pays.
func TestChainRewardsForesight(t *testing.T) {
	p := envs.Chain{}
	optimal, myopic, random := p.Optimal(0.9).AverageReward, p.Optimal(0).AverageReward, p.Uniform(0.9).AverageReward
	if math.Round(100*optimal) != 45 || math.Round(100*myopic) != 18 || math.Round(100*random) != 16 {
		t.Errorf("the documentation says 0.45, 0.18 and 0.16 a step, it is %.4f, %.4f and %.4f", optimal, myopic, random)
	}
	p.Episodic = true
	if far, near := p.Optimal(0.9), p.Evaluate(0.9, softPolicy(p.Optimal(0).Q, 1e-9)); far.V[0] < 1.5*near.V[0] {
		t.Errorf("episodic: the optimum is worth %.3f and the myopic policy %.3f", far.V[0], near.V[0])
	}
}

func TestChainContexts(t *testing.T) {
	p := envs.Chain{States: 3, Items: 4}
	got := p.AppendContext(nil, 1, 1)
	want := []float32{0, 1, 0, 1.0 / 3, 2.0 / 3}
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-7 {
			t.Errorf("context %v, want %v", got, want)
			break
		}
	}
	for s := range 3 {
		for k := range 4 {
			if gotS, gotK := p.Decode(p.AppendContext(nil, s, k)); gotS != s || gotK != k {
				t.Errorf("state %d and item %d came back as %d and %d", s, k, gotS, gotK)
			}
		}
	}
	if !panics(func() { p.Decode(make([]float32, 4)) }) {
		t.Error("no panic for a context of another length")
	}
}

// Whatever the actions, the same items are offered, and the user who is offered
// the strongest push moves on where a weaker one does.
func TestChainOffersDoNotDependOnActions(t *testing.T) {
	p := envs.Chain{}
	one, other := start(t, p, 1, 2), start(t, p, 1, 2)
	for i := range 300 {
		a, b := one.Observe(), other.Observe()
		for c := range 6 {
			_, x := p.Decode(a.Contexts[c*6 : c*6+6])
			_, y := p.Decode(b.Contexts[c*6 : c*6+6])
			if x != y {
				t.Fatalf("step %d: item %d is offered after some actions and %d after others", i, x, y)
			}
		}
		step(t, one, []int{0, 0})
		step(t, other, []int{2, i % 3})
	}
}

// Which stream serves what, and in which order: a change changes every recorded
// result. One run is rebuilt from its streams.
func TestChainStreams(t *testing.T) {
	for _, p := range []envs.Chain{{}, {Episodic: true}} {
		const seed = 9
		env := start(t, p, 8, seed)
		offers, noise := envs.NewRand(seed, "problem/contexts"), envs.NewRand(seed, "problem/noise")
		state := 0
		for i := range 200 {
			var want []float32
			var items [3]int
			for c := range items {
				items[c] = offers.IntN(5)
				want = p.AppendContext(want, state, items[c])
			}
			if got := env.Observe().Contexts[len(want):]; !slices.Equal(got, want) {
				t.Fatalf("step %d: contexts %v, want %v", i, got, want)
			}
			item := items[i%3]
			reward := p.ExpectedReward(state, item) + 0.1*noise.NormFloat64()
			discount := float32(1)
			if noise.Float64() < float64(item)/4 {
				state = min(state+1, 3)
			} else {
				state = 0
				if p.Episodic {
					discount = 0
				}
			}
			out := step(t, env, []int{0, i % 3})
			if math.Abs(float64(out.Reward[1])-reward) > 1e-6 || out.Discount[1] != discount {
				t.Fatalf("step %d: reward %v and discount %v, want %v and %v", i, out.Reward[1], out.Discount[1], reward, discount)
			}
		}
	}
}

func TestChainBadCalls(t *testing.T) {
	p := envs.Chain{}
	for _, discount := range []float64{1, -0.1, math.NaN()} {
		if !panics(func() { p.Optimal(discount) }) || !panics(func() { p.Uniform(discount) }) {
			t.Errorf("no panic for the discount %v", discount)
		}
	}
	halves := func(dst []float64, _ int, _ []int) {
		for i := range dst {
			dst[i] = 0.5
		}
	}
	if !panics(func() { p.Evaluate(0.9, halves) }) {
		t.Error("no panic for probabilities that sum to 1.5")
	}
	if !panics(func() { (envs.Chain{Candidates: 9}).Evaluate(0.9, halves) }) {
		t.Error("no panic for 5^9 candidate sets")
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func checkFloats(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	for i := range want {
		if len(got) != len(want) || math.Abs(got[i]-want[i]) > 1e-10 {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

func checkValues(t *testing.T, what string, got, want envs.ChainValues) {
	t.Helper()
	checkFloats(t, what+": Q", slices.Concat(got.Q...), slices.Concat(want.Q...)...)
	checkFloats(t, what+": V", got.V, want.V...)
	checkFloats(t, what+": chosen", slices.Concat(got.Chosen...), slices.Concat(want.Chosen...)...)
	checkFloats(t, what+": average reward", []float64{got.AverageReward}, want.AverageReward)
}

// checkSample allows the mean of independent values five standard errors.
func checkSample(t *testing.T, what string, sample []float64, want float64) {
	t.Helper()
	m := mean(sample)
	var squares float64
	for _, x := range sample {
		squares += (x - m) * (x - m)
	}
	n := float64(len(sample))
	checkMean(t, what, m, want, math.Sqrt(squares/(n-1)/n)+1e-7) // rewards are float32
}
