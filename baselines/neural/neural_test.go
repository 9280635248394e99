package neural_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	_ "github.com/gomlx/compute/gobackend"

	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/pgcr"
)

func newPolicy(t testing.TB, a envs.Algorithm, spec envs.Spec, seeds ...uint64) envs.Policy {
	t.Helper()
	p, err := a.New(spec, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// play returns the mean reward of the last half of the steps, and the policy.
func play(t testing.TB, problem envs.Problem, a envs.Algorithm, runs, steps int) (float64, envs.Policy) {
	t.Helper()
	seeds := make([]uint64, runs)
	for r := range seeds {
		seeds[r] = uint64(r + 1)
	}
	env, err := problem.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	p, actions, mean := newPolicy(t, a, problem.Spec(), seeds...), make([]int, runs), 0.0
	for step := range steps {
		tr := envs.Transition{Observation: env.Observe(), Actions: actions}
		if err := p.Act(actions, tr.Observation); err != nil {
			t.Fatal(err)
		}
		if tr.Outcome, err = env.Step(actions); err != nil {
			t.Fatal(err)
		}
		if err := p.Update(tr); err != nil {
			t.Fatal(err)
		}
		for _, reward := range tr.Reward {
			if step >= steps/2 {
				mean += float64(reward) / float64(runs*(steps-steps/2))
			}
		}
	}
	return mean, p
}

// coded is the chain with codes: the state and the items are numbers.
type coded struct{ envtest.Chain }

func (p coded) Expand(dst []float32, state []int32, item int32) {
	clear(dst)
	push := float64(item) / 4
	dst[state[0]], dst[4], dst[5] = 1, float32(push), float32(1-push)
}

func (p coded) Identity() string { return "coded chain" }

func (p coded) New(seeds []uint64) (envs.Environment, error) {
	env, err := p.Chain.New(seeds)
	return &codedChain{env, &p}, err
}

type codedChain struct {
	envs.Environment
	table *coded
}

func (c *codedChain) Observe() envs.Observation {
	obs := c.Environment.Observe()
	obs.Codes = &envs.Codes{Table: c.table}
	for i := range obs.Runs * obs.Candidates { // [state, one-hot | push, pay], 4 states and 5 items
		context := obs.Context(i/obs.Candidates, i%obs.Candidates)
		obs.Codes.Items = append(obs.Codes.Items, int32(4*context[4]+0.5))
		if i%obs.Candidates == 0 {
			obs.Codes.State = append(obs.Codes.State, int32(slices.Index(context[:4], 1)))
		}
	}
	return obs
}

func TestConformance(t *testing.T) {
	settings := neural.Settings{Hidden: []int{6}, BatchSize: 8, Discount: 0.9, Rate: 0.05}
	bounded := settings
	bounded.Capacity, bounded.UpdateEvery = 20, 2
	for _, problem := range []envs.Problem{envs.Mixed{Dim: 5, Candidates: 4}, envtest.Chain{Episodic: true}, coded{}} {
		envtest.TestAlgorithm(t, neural.Greedy{Settings: settings}, problem, 30)
		envtest.TestAlgorithm(t, neural.EpsilonGreedy{Settings: bounded, Epsilon: 0.3}, problem, 30)
		envtest.TestAlgorithm(t, neural.VanillaPG{Hidden: []int{6}, BatchSize: 8, Discount: 0.9, ActorRate: 0.05}, problem, 30)
	}
}

func TestSettings(t *testing.T) {
	with := func(s neural.Settings) envs.Algorithm { return neural.Greedy{Settings: s} }
	for want, a := range map[string]envs.Algorithm{
		"neural.Greedy: pgcr: Config.Hidden is [0]":          with(neural.Settings{Hidden: []int{0}}),
		"neural.Greedy: Rate is NaN":                         with(neural.Settings{Rate: math.NaN()}),
		"neural.Greedy: pgcr: Config.InitScale is -1":        with(neural.Settings{InitScale: -1}),
		"neural.Greedy: pgcr: Config.BatchSize is -3":        with(neural.Settings{BatchSize: -3}),
		"neural.Greedy: pgcr: Config.UpdateEvery is -2":      with(neural.Settings{UpdateEvery: -2}),
		"neural.Greedy: pgcr: Config.Capacity is -1":         with(neural.Settings{Capacity: -1}),
		"neural.EpsilonGreedy: pgcr: Config.Discount is 1.5": neural.EpsilonGreedy{Settings: neural.Settings{Discount: 1.5}},
		"neural.EpsilonGreedy: Epsilon is 2":                 neural.EpsilonGreedy{Epsilon: 2},
		"neural.VanillaPG: pgcr: Config.CriticRate is -1":    neural.VanillaPG{CriticRate: -1},
		"neural.VanillaPG: Resamples is 3":                   neural.VanillaPG{Resamples: 3},
	} {
		p, err := a.New(envs.Spec{Candidates: 2, Dim: 3}, []uint64{1})
		if p != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%#v: error %v, want one with %q", a, err, want)
		}
	}
	for want, a := range map[string]envs.Algorithm{
		`{"Hidden":[10],"Rate":0.001,"InitScale":0.1,"BatchSize":64,"UpdateEvery":1,"UpdatesPerStep":4,"Capacity":0,"Discount":0}`:                neural.Greedy{},
		`{"Hidden":[10],"Rate":0.03,"InitScale":0.1,"BatchSize":64,"UpdateEvery":1,"UpdatesPerStep":4,"Capacity":0,"Discount":0,"Epsilon":0.003}`: neural.EpsilonGreedy{Settings: neural.Settings{Rate: 0.03}},
	} {
		if got, err := json.Marshal(a); err != nil || string(got) != want {
			t.Errorf("%#v is %s (%v), want %s", a, got, err, want)
		}
	}
}

// reference is one hidden layer of units ReLU in float64, updated by Adam as Kingma
// and Ba have it, one parameter after the other.
type reference struct {
	w    [3][]float64 // [H, D+1], [H], [1]
	m, v [3][]float64
}

func newReference(dim, hidden int, seed uint64) *reference {
	n, r := pgcr.Network{Dim: dim, Hidden: []int{hidden}, Bias: true}, &reference{}
	for i, w := range n.Init(envs.NewRand(seed, "neural/value"), 1) {
		for _, x := range w {
			r.w[i] = append(r.w[i], float64(x))
		}
		r.m[i], r.v[i] = make([]float64, len(w)), make([]float64, len(w))
	}
	return r
}

// value returns f(c) and its gradient.
func (r *reference) value(c []float32) (f float64, gradient [3][]float64) {
	hidden, d := len(r.w[1]), len(c)+1
	gradient = [3][]float64{make([]float64, hidden*d), make([]float64, hidden), {1}}
	f = r.w[2][0]
	for h := range hidden {
		row := r.w[0][h*d : (h+1)*d]
		a := row[d-1]
		for i, x := range c {
			a += row[i] * float64(x)
		}
		if a <= 0 {
			continue
		}
		f += r.w[1][h] * a
		gradient[1][h] = a
		for i, x := range append(slices.Clone(c), 1) {
			gradient[0][h*d+i] = r.w[1][h] * float64(x)
		}
	}
	return f, gradient
}

// learn makes update t by the squared error (17) of a batch of equal steps.
func (r *reference) learn(t int, c []float32, target, rate float64) {
	f, gradient := r.value(c)
	for i := range gradient {
		for j, g := range gradient[i] {
			g *= f - target
			r.m[i][j] += 0.1 * (g - r.m[i][j])
			r.v[i][j] += 0.001 * (g*g - r.v[i][j])
			m, v := r.m[i][j]/(1-math.Pow(0.9, float64(t))), r.v[i][j]/(1-math.Pow(0.999, float64(t)))
			r.w[i][j] -= rate * m / (math.Sqrt(v) + 1e-8)
		}
	}
}

// TestUpdate repeats one transition, so that every batch consists of equal steps,
// and wants the values of the reference. In a session the target is r + gamma f(c),
// from the second step on, as the first one's next is not known before.
func TestUpdate(t *testing.T) {
	const dim, first, decay, gamma = 3, 0.04, 0.1, 0.9
	for _, session := range []bool{false, true} {
		p := newPolicy(t, neural.Greedy{Settings: neural.Settings{Hidden: []int{4}, Rate: first, Decay: decay, InitScale: 1, UpdatesPerStep: 1, Discount: gamma}}, envs.Spec{Candidates: 2, Dim: dim}, 5)
		obs := envs.Observation{Runs: 1, Candidates: 2, Dim: dim, Contexts: []float32{.9, -.2, .1, .3, .8, -.4}}
		tr := envs.Transition{Observation: obs, Actions: []int{1}, Outcome: envs.Outcome{Reward: []float32{0.7}}}
		if session {
			tr.Session, tr.Discount = []int32{3}, []float32{1}
		}
		want, chosen, got := newReference(dim, 4, 5), obs.Context(0, 1), make([]float64, 2)
		for n := 1; n <= 60; n++ {
			if err := p.Update(tr); err != nil {
				t.Fatal(err)
			}
			rate := first / math.Sqrt(1+decay*float64(n))
			if target := 0.7; !session {
				want.learn(n, chosen, target, rate)
			} else if f, _ := want.value(chosen); n > 1 {
				want.learn(n, chosen, target+gamma*f, rate)
			}
			if err := p.(*neural.Policy).Values(got, obs); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if f, _ := want.value(obs.Context(0, i)); math.Abs(got[i]-f) > 2e-4 {
					t.Fatalf("session %v, update %d: value of candidate %d is %v, want %v", session, n, i, got[i], f)
				}
			}
		}
	}
}

// TestProbabilities: with Epsilon 0.3 and 3 candidates two of which are the same
// and best or not, 0.1 each and 0.7 for the best.
func TestProbabilities(t *testing.T) {
	spec := envs.Spec{Candidates: 4, Dim: 2}
	p := newPolicy(t, neural.EpsilonGreedy{Epsilon: 0.3}, spec, 1, 2, 3)
	nan := float32(math.NaN())
	obs := envs.Observation{Runs: 3, Candidates: 4, Dim: 2, Sizes: []int32{3, 2, 1}, Contexts: []float32{
		.2, .7, .9, .1, .5, .5, nan, nan, .4, .4, .4, .4, nan, nan, nan, nan, .1, .2, nan, nan, nan, nan, nan, nan,
	}}
	law, values := make([]float64, 12), make([]float64, 12)
	if err := p.(envs.Probable).Probabilities(law, obs); err != nil {
		t.Fatal(err)
	}
	if err := p.(*neural.Policy).Values(values, obs); err != nil {
		t.Fatal(err)
	}
	want := []float64{.1, .1, .1, 0, .5, .5, 0, 0, 1, 0, 0, 0}
	want[slices.Index(values[:3], slices.Max(values[:3]))] += 0.7
	for i := range law {
		if math.Abs(law[i]-want[i]) > 1e-12 || math.IsNaN(values[i]) != (want[i] == 0) {
			t.Errorf("candidate %d: probability %v, want %v; value %v", i, law[i], want[i], values[i])
		}
	}
}

func TestLearns(t *testing.T) {
	// Choosing at random pays 0.5 a step: w·c has the mean sum(w)/2 = 1/2.
	problem := envs.Bernoulli{Dim: 4, Candidates: 5}
	for _, a := range []envs.Algorithm{
		neural.Greedy{}, neural.EpsilonGreedy{}, neural.VanillaPG{ActorRate: 0.05, CriticRate: 0.05},
	} {
		if reward, _ := play(t, problem, a, 10, 400); reward < 0.58 {
			t.Errorf("%T: reward of %.3f a step, want more than the 0.5 of random choices", a, reward)
		}
	}
	// The myopic policy gets 0.18 a step in the chain, see envtest.Chain.
	sarsa := neural.EpsilonGreedy{Settings: neural.Settings{Discount: 0.9, Rate: 0.02}}
	if reward, _ := play(t, envtest.Chain{}, sarsa, 4, 1500); reward < 0.25 {
		t.Errorf("reward of %.3f a step in the chain, want more than the 0.18 of the myopic policy", reward)
	}
}

// TestVanillaPG wants PGCR with the sets that were on offer.
func TestVanillaPG(t *testing.T) {
	problem := envs.Linear{Dim: 5}
	_, a := play(t, problem, neural.VanillaPG{ActorRate: 0.1}, 2, 40)
	_, b := play(t, problem, pgcr.Config{ActorRate: 0.1, Resamples: pgcr.OwnSets}, 2, 40)
	actor1, critic1, err := a.(*pgcr.Agent).Weights()
	if err != nil {
		t.Fatal(err)
	}
	actor2, critic2, err := b.(*pgcr.Agent).Weights()
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range append(actor1, critic1...) {
		if !slices.Equal(w, append(actor2, critic2...)[i]) {
			t.Errorf("parameter %d is %v, that of pgcr.OwnSets is %v", i, w, append(actor2, critic2...)[i])
		}
	}
}

// TestDivergence wants the message to name the numbers that led there.
func TestDivergence(t *testing.T) {
	p := newPolicy(t, neural.Greedy{}, envs.Spec{Candidates: 1, Dim: 1}, 1)
	tr := envs.Transition{
		Observation: envs.Observation{Runs: 1, Candidates: 1, Dim: 1, Contexts: []float32{3e38}},
		Actions:     []int{0}, Outcome: envs.Outcome{Reward: []float32{-2e38}},
	}
	err := p.Update(tr)
	if err == nil || !strings.HasPrefix(err.Error(), "run 0: after 1 updates") ||
		!strings.HasSuffix(err.Error(), "the largest feature is 3e+38, the largest reward 2e+38") {
		t.Errorf("error %v", err)
	}
}
