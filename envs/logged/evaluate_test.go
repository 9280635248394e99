package logged_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
)

// simulate plays a known law, n decisions of each user. A user has a generosity g and meets 2 or 3
// candidates with a feature x; g and x are uniform on (0, 1). A candidate pays 1 with probability
// g·x. The log prefers large x: it chooses candidate c with probability proportional to
// exp(lean·x_c). The features are x and g.
func simulate(seed uint64, users, n int, lean float64) *logged.Log {
	rng := rand.New(rand.NewPCG(seed, 1))
	log := &logged.Log{Candidates: 3, Features: []string{"x", "g"}}
	for u := range users {
		g := rng.Float64()
		for range n {
			d := logged.Decision{ID: fmt.Sprint(len(log.Decisions)), User: fmt.Sprint(u)}
			p, total := make([]float64, 2+rng.IntN(2)), 0.0
			for c := range p {
				x := rng.Float64()
				d.Contexts = append(d.Contexts, float32(x), float32(g))
				p[c] = math.Exp(lean * x)
				total += p[c]
			}
			at := rng.Float64() * total
			for d.Chosen < len(p)-1 && at >= p[d.Chosen] {
				at -= p[d.Chosen]
				d.Chosen++
			}
			d.Propensity = p[d.Chosen] / total
			if rng.Float64() < expected(d, d.Chosen) {
				d.Reward = 1
			}
			log.Decisions = append(log.Decisions, d)
		}
	}
	return log
}

func expected(d logged.Decision, c int) float64 { return float64(d.Contexts[2*c] * d.Contexts[2*c+1]) }

// chooser draws between the first candidate and the one with the smallest x.
type chooser struct{ draw int }

func (p *chooser) Update(envs.Transition) error { return nil }

func (p *chooser) Act(dst []int, obs envs.Observation) error {
	p.draw++
	for r := range dst {
		dst[r] = 0
		for c := range obs.Size(r) {
			if p.draw%2 == 0 && obs.Context(r, c)[0] < obs.Context(r, dst[r])[0] {
				dst[r] = c
			}
		}
	}
	return nil
}

// probable says the law of Act, and cannot act.
type probable struct{ chooser }

func (p *probable) Act([]int, envs.Observation) error { panic("probabilities are known") }

func (p *probable) Probabilities(dst []float64, obs envs.Observation) error {
	clear(dst)
	for draw := range 2 {
		actions := make([]int, obs.Runs)
		(&chooser{draw}).Act(actions, obs)
		for r, a := range actions {
			dst[r*obs.Candidates+a] += 0.5
		}
	}
	return nil
}

func evaluate(t *testing.T, log *logged.Log, policy envs.Policy, runs int) *logged.Evaluation {
	t.Helper()
	e, err := logged.Evaluate(context.Background(), log, policy, runs)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The policy earns E[g]·E[x]/2 = 1/8 where it takes the first candidate, and E[g]·E[min]/2 where it
// takes the smallest x: E[min] is 1/3 of two and 1/4 of three candidates, 7/24 in the mean. So it
// earns 1/8 + 7/96 = 19/96. Over many logs the estimates are right on average, and their intervals
// hold the truth in 95 % of the logs.
func TestUnbiased(t *testing.T) {
	const logs, truth = 400, 19.0 / 96
	names := []string{"IPS", "SNIPS", "the mean weight", "the difference from the log"}
	var sum, squares, covered [4]float64
	for seed := range uint64(logs) {
		log := simulate(seed, 60, 4, 2)
		e := evaluate(t, log, &probable{}, 2)
		// What the log earns is not known in closed form: the expectation given its choices is.
		logEarns := 0.0
		for _, d := range log.Decisions {
			logEarns += expected(d, d.Chosen) / float64(len(log.Decisions))
		}
		paired := e.InversePropensity().Minus(log.Mean())
		for k, x := range []struct {
			e    logged.Estimate
			want float64
		}{{e.InversePropensity(), truth}, {e.SelfNormalised(), truth}, {e.MeanWeight(), 1}, {paired, truth - logEarns}} {
			sum[k] += x.e.Mean - x.want
			squares[k] += (x.e.Mean - x.want) * (x.e.Mean - x.want)
			if x.e.Low <= x.want && x.want <= x.e.High {
				covered[k]++
			}
		}
	}
	for k, name := range names {
		mean := sum[k] / logs
		se := math.Sqrt((squares[k]/logs - mean*mean) / (logs - 1))
		if math.Abs(mean) > 4*se+1.0/240 { // SNIPS has a bias of the order 1/N
			t.Errorf("%s is off by %.5f ± %.5f", name, mean, se)
		}
		// A share of 95 % of 400 has a standard deviation of 1.1 %. The truth of the difference varies
		// from log to log, so its interval is too long.
		if share := covered[k] / logs; share < 0.95-0.04 || k < 3 && share > 0.95+0.035 {
			t.Errorf("the interval of %s holds the truth in a share of %.3f", name, share)
		}
	}
}

func table(rewards, propensities []float64, users string) *logged.Log {
	log := &logged.Log{Candidates: 2, Features: []string{"x"}}
	for i, r := range rewards {
		d := logged.Decision{ID: fmt.Sprint(i), Contexts: []float32{1, 0}, Chosen: i % 2, Reward: float32(r), Propensity: propensities[i]}
		if users != "" {
			d.User = users[i : i+1]
		}
		log.Decisions = append(log.Decisions, d)
	}
	return log
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) < 1e-9) && got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Two candidates; half of the draws take the first, the others the second, so the weights are
// 1/2 by the propensity: 1, 2, 1, 1/2.
func TestByHand(t *testing.T) {
	log := table([]float64{1, 0, 3, 2}, []float64{0.5, 0.25, 0.5, 1}, "")
	for _, policy := range []envs.Policy{&chooser{}, &probable{}} {
		e := evaluate(t, log, policy, 3)
		for i, want := range []float64{1, 2, 1, 0.5} {
			near(t, "a weight", e.Weight[i], want)
			near(t, "a probability", e.Probabilities[i][0], 0.5)
		}
		near(t, "IPS", e.InversePropensity().Mean, (1.0+0+3+1)/4)
		snips := e.SelfNormalised()
		near(t, "SNIPS", snips.Mean, 5/4.5)
		// Weights times deviations from 10/9 are -1/9, -20/9, 17/9, 4/9, whose squares sum to 706/81.
		near(t, "the error of SNIPS", snips.Error, math.Sqrt(4.0/3*706/81)/4.5)
		near(t, "effective decisions", snips.Effective, 4.5*4.5/6.25)
		near(t, "the mean weight", e.MeanWeight().Mean, 4.5/4)
	}
	// The mean of 1, 0, 3, 2 is 1.5, the variance 5/3, and the quantile of t with 3 degrees 3.18245.
	mean := log.Mean()
	near(t, "the standard error", mean.Error, math.Sqrt(5.0/3/4))
	if half := 3.18244630528 * math.Sqrt(5.0/12); math.Abs(mean.High-1.5-half) > 1e-6 || math.Abs(1.5-mean.Low-half) > 1e-6 {
		t.Errorf("the interval is %v to %v, want 1.5 ± %v", mean.Low, mean.High, half)
	}
	// Users a with 1 and 0 and b with 3 and 2: deviations -2 and 2 of the sums, so with 2 units the
	// standard error is sqrt(2·8)/4.
	byUser := table([]float64{1, 0, 3, 2}, []float64{1, 1, 1, 1}, "aabb").Mean()
	near(t, "the standard error by user", byUser.Error, 1)
	near(t, "the units", float64(byUser.Units), 2)
	if got := byUser.String(); got != "1.500 [-11.206, 14.206]" {
		t.Errorf("the estimate is %q", got)
	}
}

// Rewards that are all equal say nothing of their spread.
func TestNoSpread(t *testing.T) {
	zeros := table([]float64{0, 0, 0, 0}, []float64{0.5, 0.25, 0.5, 1}, "")
	e := evaluate(t, zeros, &probable{}, 1)
	some := evaluate(t, table([]float64{1, 0, 3, 2}, []float64{0.5, 0.25, 0.5, 1}, ""), &probable{}, 1)
	one := table([]float64{1, 2}, []float64{0.5, 0.5}, "aa")
	for name, x := range map[string]logged.Estimate{
		"IPS": e.InversePropensity(), "SNIPS": e.SelfNormalised(), "the log": zeros.Mean(), "one user": one.Mean(),
		"a difference of equals": some.SelfNormalised().Minus(some.SelfNormalised()),
		"a difference":           some.SelfNormalised().Minus(e.SelfNormalised()),
	} {
		if !math.IsInf(x.Low, -1) || !math.IsInf(x.High, 1) || !math.IsInf(x.Error, 1) {
			t.Errorf("%s is %v with error %v, want an infinite interval", name, x, x.Error)
		}
	}
	// The policy takes the first candidate, the log the second.
	never := evaluate(t, &logged.Log{Candidates: 2, Features: []string{"x"}, Decisions: []logged.Decision{
		{Contexts: []float32{0, 1}, Chosen: 1, Propensity: 1}, {Contexts: []float32{0, 1}, Chosen: 1, Propensity: 1}}}, &probable{}, 1)
	if x := never.SelfNormalised(); !math.IsNaN(x.Mean) || !math.IsInf(x.High, 1) {
		t.Errorf("a policy that makes no choice of the log has the estimate %v", x)
	}
}

func TestEvaluateErrors(t *testing.T) {
	ctx, none := context.Background(), table([]float64{1}, []float64{0}, "")
	_, evaluated := logged.Evaluate(ctx, none, &chooser{}, 1)
	_, replayed := logged.Replay(ctx, none, baselines.Random{}, 1)
	_, empty := logged.Train(ctx, &logged.Log{Candidates: 2, Features: []string{"x"}}, baselines.Random{}, []uint64{1})
	bad := table([]float64{1}, []float64{1}, "")
	bad.Decisions[0].Contexts[0] = float32(math.NaN())
	_, learned := logged.Train(ctx, bad, baselines.LinUCB{}, []uint64{1})
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, cancelled := logged.Train(stopped, table([]float64{1}, []float64{1}, ""), baselines.Random{}, []uint64{1})
	for want, err := range map[string]error{
		`decision "0" has the propensity 0`: evaluated, `has the propensity 0, want`: replayed,
		"the log has no decisions": empty, `learning decision "0": `: learned, "context canceled": cancelled,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a difference of estimates from different decisions does not panic")
		}
	}()
	table([]float64{1, 2}, []float64{1, 1}, "").Mean().Minus(none.Mean())
}

func TestSplit(t *testing.T) {
	log := table(make([]float64, 7), make([]float64, 7), "")
	for fraction, want := range map[float64]int{0: 0, 0.5: 4, 0.29: 2, 0.58: 4, 1: 7} {
		first, rest := log.Split(fraction)
		if len(first.Decisions) != want || len(rest.Decisions) != 7-want || first.Spec() != log.Spec() {
			t.Errorf("Split(%v) has %d and %d decisions, want %d first", fraction, len(first.Decisions), len(rest.Decisions), want)
		}
	}
}

// A learner that is replayed earns in its first steps what it earns online, where sets have several
// sizes and the log is not uniform. The probabilities that the learner chooses the larger x are
// compared through expected rewards of the steps.
func TestReplayIsOnline(t *testing.T) {
	const seeds, steps = 200, 30
	learner := baselines.LinearThompson{Scale: 0.5}
	var sum, squares float64
	for seed := range uint64(seeds) {
		played, err := logged.Replay(context.Background(), simulate(seed+1000, 300, 1, 1), learner, seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(played.Decisions) < steps {
			t.Fatalf("seed %d: %d steps", seed, len(played.Decisions))
		}
		difference := 0.0
		for _, d := range played.Decisions[:steps] {
			difference += expected(d, d.Chosen) / steps
		}
		policy, err := learner.New(played.Spec(), []uint64{seed + 1})
		if err != nil {
			t.Fatal(err)
		}
		dice, action := rand.New(rand.NewPCG(seed, 2)), make([]int, 1)
		for _, d := range simulate(seed+5000, steps, 1, 0).Decisions {
			obs := envs.Observation{Runs: 1, Candidates: 3, Dim: 2, Sizes: []int32{int32(len(d.Contexts) / 2)},
				Contexts: append(d.Contexts, 0, 0)[:6]}
			if err := policy.Act(action, obs); err != nil {
				t.Fatal(err)
			}
			out := envs.Outcome{Reward: []float32{0}}
			if dice.Float64() < expected(d, action[0]) {
				out.Reward[0] = 1
			}
			difference -= expected(d, action[0]) / steps
			if err := policy.Update(envs.Transition{Observation: obs, Actions: action, Outcome: out}); err != nil {
				t.Fatal(err)
			}
		}
		sum, squares = sum+difference, squares+difference*difference
	}
	mean := sum / seeds
	if se := math.Sqrt((squares/seeds - mean*mean) / (seeds - 1)); math.Abs(mean) > 4*se {
		t.Errorf("replayed minus online is %.5f ± %.5f", mean, se)
	}
}
