package baselines_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// recording keeps the contexts that it is given last. It tells no probabilities.
type recording struct {
	baselines.Random
	seen *[]float32
}

func (a recording) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	p, err := a.Random.New(spec, seeds)
	return recorder{p, a.seen}, err
}

type recorder struct {
	envs.Policy
	seen *[]float32
}

func (p recorder) Act(dst []int, obs envs.Observation) error {
	*p.seen = append((*p.seen)[:0], obs.Contexts...)
	return p.Policy.Act(dst, obs)
}

func (p recorder) Update(tr envs.Transition) error {
	*p.seen = append((*p.seen)[:0], tr.Contexts...)
	return p.Policy.Update(tr)
}

func TestStandardised(t *testing.T) {
	for name, a := range map[string]envs.Algorithm{"Lin-UCB": baselines.LinUCB{Alpha: .5}, "Thompson": baselines.LogisticThompson{Scale: .5}} {
		t.Run(name, func(t *testing.T) {
			envtest.TestAlgorithm(t, baselines.Standardised{Algorithm: a}, envs.Bernoulli{Candidates: 4, Dim: 3})
		})
	}
	envtest.TestAlgorithm(t, baselines.Standardised{Algorithm: recording{seen: new([]float32)}}, envs.Linear{Dim: 2})
	if _, err := (baselines.Standardised{}).New(envs.Spec{Candidates: 2, Dim: 1}, []uint64{1}); err == nil {
		t.Error("no algorithm is no error")
	}

	// Contexts are made of standard normal numbers: at the end they are those again, until the
	// errors of moments of 3,000 contexts. A constant is 0.
	var seen []float32
	policy, err := baselines.Standardised{Algorithm: recording{seen: &seen}}.New(envs.Spec{Candidates: 3, Dim: 3}, []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	rng, want := rand.New(rand.NewPCG(1, 1)), make([]float32, 9)
	for range 1000 {
		var contexts []float32
		for i := range 3 {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			want[3*i], want[3*i+1] = float32(a), float32(b)
			contexts = append(contexts, float32(100+5*a), float32(.1*b-2), .7)
		}
		tr := envs.Transition{Observation: envs.Observation{Runs: 1, Candidates: 3, Dim: 3, Contexts: contexts},
			Actions: []int{0}, Outcome: envs.Outcome{Reward: []float32{0}}}
		if err := policy.Update(tr); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range want {
		if distance := x - seen[i]; distance > .15 || distance < -.15 {
			t.Errorf("feature %d is %v, want about %v", i%3, seen[i], x)
		}
	}
}

// Another value of a column that was nearly constant is no more than what its share permits when it is
// learned from: of eleven values the odd one is sqrt(10) deviations away. On offer it is bounded.
func TestStandardisedConstant(t *testing.T) {
	const bound = 316.22776 // 100·sqrt(10)
	for _, c := range []struct{ nine, tenth, next, offered, learned float32 }{
		{.7, .7, 1.7, 0, 3.1622777},
		{.7, .70001, 1.7, bound, 3.1622777},
		{1e-30, -1e-30, -1e10, -bound, -3.1622777},
	} {
		var seen []float32
		policy := newPolicy(t, baselines.Standardised{Algorithm: recording{seen: &seen}}, envs.Spec{Candidates: 1, Dim: 1}, 1)
		obs := envs.Observation{Runs: 1, Candidates: 1, Dim: 1}
		give := func(x float32) error {
			obs.Contexts = []float32{x}
			return policy.Update(envs.Transition{Observation: obs, Actions: []int{0}, Outcome: envs.Outcome{Reward: []float32{0}}})
		}
		for range 9 {
			if err := give(c.nine); err != nil || seen[0] != 0 {
				t.Errorf("%v is learned as %v, %v", c.nine, seen, err)
			}
		}
		err := give(c.tenth)
		obs.Contexts = []float32{c.next}
		err = errors.Join(err, policy.Act(make([]int, 1), obs))
		if offered := seen[0]; err != nil || math.Abs(float64(offered-c.offered)) > 1e-3 {
			t.Errorf("%v is offered as %v, want %v; %v", c.next, offered, c.offered, err)
		}
		if err := give(c.next); err != nil || math.Abs(float64(seen[0]-c.learned)) > 1e-3 {
			t.Errorf("%v is learned as %v, want %v; %v", c.next, seen, c.learned, err)
		}
		obs.Contexts = []float32{float32(math.Inf(1))}
		if err := policy.Act(make([]int, 1), obs); err == nil || !strings.Contains(err.Error(), "+Inf") {
			t.Errorf("infinity on offer: the error is %v", err)
		}
	}
}
