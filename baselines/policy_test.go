package baselines_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

var algorithms = map[string]envs.Algorithm{
	"Random":           baselines.Random{},
	"LinUCB":           baselines.LinUCB{},
	"GLMUCB":           baselines.GLMUCB{},
	"LinearThompson":   baselines.LinearThompson{},
	"LogisticThompson": baselines.LogisticThompson{},
}

var (
	_ baselines.Scorer    = newPolicy(baselines.LinUCB{}).(baselines.Scorer)
	_ baselines.Scorer    = newPolicy(baselines.GLMUCB{}).(baselines.Scorer)
	_ baselines.Estimator = newPolicy(baselines.LinUCB{}).(baselines.Estimator)
	_ baselines.Estimator = newPolicy(baselines.GLMUCB{}).(baselines.Estimator)
	_ baselines.Estimator = newPolicy(baselines.LinearThompson{}).(baselines.Estimator)
	_ baselines.Estimator = newPolicy(baselines.LogisticThompson{}).(baselines.Estimator)
)

// newPolicy makes a policy of two runs of 2 candidates with 3 features.
func newPolicy(a envs.Algorithm) envs.Policy {
	p, err := a.New(envs.Spec{Candidates: 2, Dim: 3}, []uint64{1, 2})
	if err != nil {
		panic(err)
	}
	return p
}

func TestConformance(t *testing.T) {
	problems := map[string]envs.Problem{
		"Linear":    envs.Linear{Dim: 8},
		"Bernoulli": envs.Bernoulli{Dim: 8},
		"Mixed":     envs.Mixed{Dim: 7, Candidates: 4},
	}
	for name, algorithm := range algorithms {
		for of, problem := range problems {
			t.Run(name+"/"+of, func(t *testing.T) {
				t.Parallel()
				envtest.TestAlgorithm(t, algorithm, problem)
			})
		}
	}
	// Longer than LinUCB's inverse goes without a refresh, and longer than a
	// logistic memory, with the other intercepts.
	for name, algorithm := range map[string]envs.Algorithm{
		"LinUCB":           baselines.LinUCB{Intercept: true},
		"GLMUCB":           baselines.GLMUCB{NoIntercept: true, Memory: 100, RefitEvery: 40},
		"LinearThompson":   baselines.LinearThompson{Intercept: true},
		"LogisticThompson": baselines.LogisticThompson{NoIntercept: true, Memory: 100, RefitEvery: 40},
	} {
		t.Run(name+"/long", func(t *testing.T) {
			t.Parallel()
			envtest.Suite{Steps: 1100}.TestAlgorithm(t, algorithm, envs.Bernoulli{Dim: 3, Candidates: 3})
		})
	}
}

func TestSettings(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		algorithm envs.Algorithm
		want      string // field and value
	}{
		{baselines.LinUCB{Alpha: -2}, "LinUCB.Alpha is -2"},
		{baselines.LinUCB{Alpha: nan}, "LinUCB.Alpha is NaN"},
		{baselines.LinUCB{Alpha: inf}, "LinUCB.Alpha is +Inf"},
		{baselines.LinUCB{Ridge: -1}, "LinUCB.Ridge is -1"},
		{baselines.LinUCB{Ridge: nan}, "LinUCB.Ridge is NaN"},
		{baselines.GLMUCB{Alpha: -0.5}, "GLMUCB.Alpha is -0.5"},
		{baselines.GLMUCB{Ridge: inf}, "GLMUCB.Ridge is +Inf"},
		{baselines.GLMUCB{RefitEvery: -1}, "GLMUCB.RefitEvery is -1"},
		{baselines.GLMUCB{Memory: -5}, "GLMUCB.Memory is -5"},
		{baselines.LinearThompson{Scale: -3}, "LinearThompson.Scale is -3"},
		{baselines.LinearThompson{Ridge: -1}, "LinearThompson.Ridge is -1"},
		{baselines.LogisticThompson{Scale: nan}, "LogisticThompson.Scale is NaN"},
		{baselines.LogisticThompson{Ridge: nan}, "LogisticThompson.Ridge is NaN"},
		{baselines.LogisticThompson{RefitEvery: -7}, "LogisticThompson.RefitEvery is -7"},
		{baselines.LogisticThompson{Memory: -1}, "LogisticThompson.Memory is -1"},
	} {
		_, err := c.algorithm.New(envs.Spec{Candidates: 2, Dim: 3}, []uint64{1})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#v: error %v, want one with %q", c.algorithm, err, c.want)
		}
	}
	if _, err := (baselines.LinUCB{}).New(envs.Spec{Candidates: 2, Dim: 1 << 20}, []uint64{1}); err == nil {
		t.Error("no error for a matrix of 2^40 numbers")
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		algorithm envs.Algorithm
		want      string
	}{
		{baselines.Random{}, `{}`},
		{baselines.LinUCB{}, `{"Alpha":1,"Ridge":1,"Intercept":false}`},
		{baselines.LinUCB{Alpha: baselines.NoExploration, Ridge: 2}, `{"Alpha":-1,"Ridge":2,"Intercept":false}`},
		{baselines.GLMUCB{}, `{"Alpha":1,"Ridge":1,"NoIntercept":false,"RefitEvery":0,"Memory":32768}`},
		{baselines.LinearThompson{Scale: 0.1}, `{"Scale":0.1,"Ridge":1,"Intercept":false}`},
		{baselines.LogisticThompson{}, `{"Scale":1,"Ridge":1,"NoIntercept":false,"RefitEvery":0,"Memory":32768}`},
	} {
		got, err := json.Marshal(c.algorithm)
		if err != nil || string(got) != c.want {
			t.Errorf("%#v is %s (%v), want %s", c.algorithm, got, err, c.want)
		}
	}
}

func TestNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, algorithm := range algorithms {
		t.Run(name, func(t *testing.T) {
			// Run 1 of both policies meets what is not finite, or would have.
			plain, broken := newPolicy(algorithm), newPolicy(algorithm)
			tr := envs.Transition{
				Observation: envs.Observation{Runs: 2, Candidates: 2, Dim: 3, Contexts: []float32{.1, .2, .3, .4, .5, .6, .7, .8, .9, .2, .4, .1}},
				Actions:     []int{0, 1},
				Outcome:     envs.Outcome{Reward: []float32{1, 0}, Discount: []float32{0, 0}},
			}
			wantError := func(what string, err error, message string) {
				var of *envs.RunError
				if !errors.As(err, &of) || of.Run != 1 || !strings.Contains(err.Error(), message) {
					t.Errorf("%s: error %v, want one of run 1 with %q", what, err, message)
				}
			}
			for range 20 {
				for _, bad := range []float32{nan, inf} {
					reward := copyOf(tr)
					reward.Reward[1] = bad
					wantError("reward", broken.Update(reward), "reward is")
					for i := range 6 {
						context := copyOf(tr)
						context.Contexts[6+i] = bad
						message := fmt.Sprintf("feature %d of candidate %d is", i%3, i/3)
						wantError("context", broken.Update(context), message)
						wantError("act", broken.Act(make([]int, 2), context.Observation), message)
					}
				}
				for _, p := range []envs.Policy{plain, broken} {
					if err := p.Update(tr); err != nil {
						t.Fatal(err)
					}
				}
				want, got := make([]int, 2), make([]int, 2)
				plain.Act(want, tr.Observation)
				broken.Act(got, tr.Observation)
				if !slices.Equal(got, want) {
					t.Fatalf("actions %v after refused steps, want %v", got, want)
				}
			}
			if e, ok := plain.(baselines.Estimator); ok {
				for r := range 2 {
					if got, want := broken.(baselines.Estimator).Estimate(r), e.Estimate(r); !slices.Equal(got, want) {
						t.Errorf("run %d: estimate %v after refused steps, want %v", r, got, want)
					}
				}
			}
		})
	}
}

func TestShapePanics(t *testing.T) {
	contexts := func(n int) []float32 { return make([]float32, n) }
	for _, c := range []struct {
		do   func(p envs.Policy)
		want string
	}{
		{func(p envs.Policy) {
			p.Act(make([]int, 2), envs.Observation{Runs: 2, Candidates: 2, Dim: 7, Contexts: contexts(28)})
		}, "observation has dimension 7, policy was made for 3"},
		{func(p envs.Policy) {
			p.Act(make([]int, 3), envs.Observation{Runs: 2, Candidates: 2, Dim: 3, Contexts: contexts(12)})
		}, "baselines: 3 actions asked for, policy was made for 2 runs"},
		{func(p envs.Policy) {
			p.(baselines.Scorer).Scores(make([]float64, 3), envs.Observation{Runs: 2, Candidates: 2, Dim: 3, Contexts: contexts(12)})
		}, "baselines: 3 scores asked for, policy was made for 2 runs of 2 candidates"},
		{func(p envs.Policy) { p.(baselines.Estimator).Estimate(2) }, "baselines: no run 2, policy was made for 2 runs"},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, c.want) {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			c.do(newPolicy(baselines.LinUCB{}))
		}()
	}
}

// TestUniform counts choices among candidates that nothing tells apart. The
// statistic is chi-square with 4 degrees of freedom, which is above 25 with
// probability 5e-5.
func TestUniform(t *testing.T) {
	const candidates, draws = 5, 20000
	for name, algorithm := range algorithms {
		p, err := algorithm.New(envs.Spec{Candidates: candidates, Dim: 3}, []uint64{7})
		if err != nil {
			t.Fatal(err)
		}
		obs := envs.Observation{Runs: 1, Candidates: candidates, Dim: 3}
		for range candidates {
			obs.Contexts = append(obs.Contexts, 0.3, 0.1, 0.7)
		}
		counts := make([]float64, candidates)
		action := make([]int, 1)
		for range draws {
			if err := p.Act(action, obs); err != nil {
				t.Fatal(err)
			}
			counts[action[0]]++
		}
		var statistic float64
		for _, n := range counts {
			statistic += (n - draws/candidates) * (n - draws/candidates) / (draws / candidates)
		}
		if statistic > 25 {
			t.Errorf("%s: chi-square %.1f for counts %v", name, statistic, counts)
		}
	}
}

// TestScores wants Act to choose the highest of Scores, and Scores to leave the
// run as it is.
func TestScores(t *testing.T) {
	problem := envs.Bernoulli{Dim: 6}
	seeds := seedsUpTo(3)
	for name, algorithm := range map[string]envs.Algorithm{"LinUCB": baselines.LinUCB{}, "GLMUCB": baselines.GLMUCB{}} {
		var actions [2][][]int
		for looking := range 2 {
			env, _ := problem.New(seeds)
			p, err := algorithm.New(problem.Spec(), seeds)
			if err != nil {
				t.Fatal(err)
			}
			scores := make([]float64, 3*5)
			for range 200 {
				for range looking * 2 {
					if err := p.(baselines.Scorer).Scores(scores, env.Observe()); err != nil {
						t.Fatal(err)
					}
				}
				chosen := make([]int, 3)
				step(t, env, p, chosen)
				actions[looking] = append(actions[looking], chosen)
				for r, a := range chosen {
					if s := scores[r*5 : r*5+5]; looking == 1 && s[a] != slices.Max(s) {
						t.Fatalf("%s: chose %d of scores %v", name, a, s)
					}
				}
			}
		}
		for i := range actions[0] {
			if !slices.Equal(actions[0][i], actions[1][i]) {
				t.Fatalf("%s: step %d: actions %v after looking, want %v", name, i, actions[1][i], actions[0][i])
			}
		}
	}
}

// TestMyopic wants a transition's session and discount to make no difference.
func TestMyopic(t *testing.T) {
	spec := envs.Spec{Candidates: 3, Dim: 4, State: 2}
	for name, algorithm := range algorithms {
		bandit, err := algorithm.New(spec, []uint64{1})
		if err != nil {
			t.Fatal(err)
		}
		mdp, _ := algorithm.New(spec, []uint64{1})
		rng := envs.NewRand(1, "contexts")
		for i := range 100 {
			obs := envs.Observation{Runs: 1, Candidates: 3, Dim: 4}
			state := [2]float32{rng.Float32(), rng.Float32()}
			for range 3 {
				obs.Contexts = append(obs.Contexts, state[0], state[1], rng.Float32(), rng.Float32())
			}
			tr := envs.Transition{Observation: obs, Actions: make([]int, 1), Outcome: envs.Outcome{Reward: []float32{rng.Float32()}, Discount: []float32{0}}}
			other := copyOf(tr)
			other.Session, other.Discount = []int32{int32(i % 5)}, []float32{1}
			if err := bandit.Act(tr.Actions, tr.Observation); err != nil {
				t.Fatal(err)
			}
			if err := mdp.Act(other.Actions, other.Observation); err != nil {
				t.Fatal(err)
			}
			if tr.Actions[0] != other.Actions[0] {
				t.Fatalf("%s: step %d: action %d with sessions, %d without", name, i, other.Actions[0], tr.Actions[0])
			}
			if err := errors.Join(bandit.Update(tr), mdp.Update(other)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAllocations wants none in a step, once a logistic model's memory is full.
func TestAllocations(t *testing.T) {
	for name, algorithm := range map[string]envs.Algorithm{
		"Random":           baselines.Random{},
		"LinUCB":           baselines.LinUCB{},
		"GLMUCB":           baselines.GLMUCB{Memory: 64},
		"LinearThompson":   baselines.LinearThompson{},
		"LogisticThompson": baselines.LogisticThompson{Memory: 64},
	} {
		problem := envs.Bernoulli{Dim: 8}
		env, _ := problem.New([]uint64{1})
		p, err := algorithm.New(problem.Spec(), []uint64{1})
		if err != nil {
			t.Fatal(err)
		}
		actions := make([]int, 1)
		play := func() {
			for range 100 {
				step(t, env, p, actions)
			}
		}
		play()
		// 12 times 100 steps reach the refresh at step 1,024.
		if n := testing.AllocsPerRun(12, play); n != 0 {
			t.Errorf("%s: %v allocations in 100 steps", name, n)
		}
	}
}
