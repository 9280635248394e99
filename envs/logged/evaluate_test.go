package logged_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
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
		paired := e.Estimate(logged.IPW).Minus(log.Mean())
		for k, x := range []struct {
			e    logged.Estimate
			want float64
		}{{e.Estimate(logged.IPW), truth}, {e.Estimate(logged.SNIPW), truth}, {e.MeanWeight(), 1}, {paired, truth - logEarns}} {
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
		near(t, "IPS", e.Estimate(logged.IPW).Mean, (1.0+0+3+1)/4)
		snips := e.Estimate(logged.SNIPW)
		near(t, "SNIPS", snips.Mean, 5/4.5)
		// Weights times deviations from 10/9 are -1/9, -20/9, 17/9, 4/9, whose squares sum to 706/81.
		near(t, "the error of SNIPS", snips.Error, math.Sqrt(4.0/3*706/81)/4.5)
		near(t, "effective decisions", snips.Effective, 4.5*4.5/6.25)
		near(t, "the mean weight", e.MeanWeight().Mean, 4.5/4)
	}
	// The mean of 1, 0, 3, 2 is 1.5, the variance 5/3, and the quantile of t with 3 degrees 3.18245.
	// Rewards are at most 1.5 from the mean, so with b = 1.96²/2·1.5/4, half is b + √(b² + t²·5/12).
	mean := log.Mean()
	near(t, "the standard error", mean.Error, math.Sqrt(5.0/3/4))
	const b = 1.96 * 1.96 / 2 * 1.5 / 4
	if half := b + math.Sqrt(b*b+3.18244630528*3.18244630528*5/12); math.Abs(mean.High-1.5-half) > 1e-6 || math.Abs(1.5-mean.Low-half) > 1e-6 {
		t.Errorf("the interval is %v to %v, want 1.5 ± %v", mean.Low, mean.High, half)
	}
	// Users a with 1 and 0 and b with 3 and 2: deviations -2 and 2 of the sums, so with 2 units the
	// standard error is sqrt(2·8)/4.
	byUser := table([]float64{1, 0, 3, 2}, []float64{1, 1, 1, 1}, "aabb").Mean()
	near(t, "the standard error by user", byUser.Error, 1)
	near(t, "the units", float64(byUser.Units), 2)
	if got := byUser.String(); got != "1.500 [-11.947, 14.947]" {
		t.Errorf("the estimate is %q", got)
	}
}

// first chooses the first candidate.
type first struct{ chooser }

func (*first) Probabilities(dst []float64, _ envs.Observation) error {
	clear(dst)
	dst[0] = 1
	return nil
}

// Intervals hold the truth where rewards are rare, weights differ by a factor of 100, and users
// differ. measured.md has the lowest shares of all rates. They do not always where rewards
// have a long tail. A candidate pays 1 with a probability that rises
// with x and g, in the mean over both the rate, which is what the policy earns.
func TestCoverage(t *testing.T) {
	logs, n, least := 60, 300, 0.85                                    // of 60 logs a share is lower by chance
	if size, err := strconv.Atoi(os.Getenv("DECISIONS")); err == nil { // 300 take minutes, 3,000 half an hour
		logs, n, least = 1000, size, 0.92
	}
	names := []string{"the log's mean", "SNIPW less that"}
	plain := []logged.Estimator{logged.IPW, logged.SNIPW, logged.DR, logged.SNDR} // whose intervals the others have
	for _, k := range plain {
		names = append(names, k.Name)
	}
	pays := func(d logged.Decision) float64 {
		return (0.75 + float64(d.Contexts[2*d.Chosen])/2) * (0.75 + float64(d.Contexts[2*d.Chosen+1])/2)
	}
	for _, c := range []struct {
		name  string
		users int     // 0: each decision has its own
		lean  float64 // of the log
		tail  float64 // rewards are lognormal in place of 1, their mean is 1
	}{{"uniform choices", 0, 0, 0}, {"propensities from .01", 0, 4, 0}, {"5 decisions a user", 5, 2, 0}, {"lognormal rewards", 0, 0, 1}} {
		lowest := slices.Repeat([]float64{1}, len(names))
		covered := map[float64][]float64{}
		logEarns := 0.0 // at the rate 1, in the mean over logs
		for _, d := range simulate(1<<40, 200_000, 1, c.lean).Decisions {
			logEarns += pays(d) / 200_000
		}
		for seed := range uint64(logs) {
			each := max(c.users, 1)
			log, rng := simulate(seed, n/each, each, c.lean), rand.New(rand.NewPCG(seed, 3))
			for _, rate := range []float64{0.005, 0.01, 0.03, 0.1, 0.3, 0.6} {
				for i := range log.Decisions {
					d := &log.Decisions[i]
					d.Reward = 0
					if rng.Float64() < rate*pays(*d) {
						d.Reward = float32(math.Exp(c.tail * (rng.NormFloat64() - c.tail/2)))
					}
				}
				var err error
				e := evaluate(t, log, &first{}, 1)
				if e.Model, err = log.CrossFit(context.Background(), logged.Ridge(1)); err != nil {
					t.Fatal(err)
				}
				found, truths := []logged.Estimate{log.Mean(), e.Estimate(logged.SNIPW).Minus(log.Mean())}, []float64{rate * logEarns, rate - rate*logEarns}
				for _, k := range plain {
					found, truths = append(found, e.Estimate(k)), append(truths, rate)
				}
				if covered[rate] == nil {
					covered[rate] = make([]float64, len(names))
				}
				for k, x := range found {
					if x.Low <= truths[k] && truths[k] <= x.High {
						covered[rate][k] += 1 / float64(logs)
					}
				}
			}
		}
		for _, shares := range covered {
			for k, share := range shares {
				lowest[k] = min(lowest[k], share)
			}
		}
		for k, name := range names {
			t.Logf("%-22s %-17s %.3f", c.name, name, lowest[k])
			if lowest[k] < least && c.tail == 0 {
				t.Errorf("%s: the interval of %s holds the truth in a share of %.3f", c.name, name, lowest[k])
			}
		}
	}
}

// Where nothing is known of the spread, intervals are infinite. Where rewards are seen, but none of
// those that the policy agrees with, they are not 0: they end at 3.84 rewards.
func TestNoSpread(t *testing.T) {
	propensities := []float64{0.5, 0.25, 0.5, 1}
	zeros := table([]float64{0, 0, 0, 0}, propensities, "")
	e := evaluate(t, zeros, &probable{}, 1)
	some := evaluate(t, table([]float64{1, 0, 3, 2}, propensities, ""), &probable{}, 1)
	alike := evaluate(t, table([]float64{0.7, 0.7, 0.7, 0.7}, propensities, ""), &probable{}, 1)
	even := table([]float64{1, 0, 1, 0}, []float64{0.5, 0.5, 0.5 + 1e-9, 0.5}, "")
	never := evaluate(t, &logged.Log{Candidates: 2, Features: []string{"x"}, Decisions: []logged.Decision{
		{Contexts: []float32{0, 1}, Chosen: 1, Propensity: 1}, {Contexts: []float32{0, 1}, Chosen: 1, Propensity: 1, Reward: 1}}}, &first{}, 1)
	for name, x := range map[string]logged.Estimate{
		"IPS": e.Estimate(logged.IPW), "SNIPS": e.Estimate(logged.SNIPW), "the log": zeros.Mean(), "one user": table([]float64{1, 2}, []float64{0.5, 0.5}, "aa").Mean(),
		"a difference of equals": some.Estimate(logged.SNIPW).Minus(some.Estimate(logged.SNIPW)),
		"a difference":           some.Estimate(logged.SNIPW).Minus(e.Estimate(logged.SNIPW)),
		"one decision":           table([]float64{1}, []float64{1}, "").Mean(),
		"no decision":            table(nil, nil, "").Mean(),
		"equal rewards":          alike.Estimate(logged.IPW), "weights equal but for rounding": evaluate(t, even, &probable{}, 1).MeanWeight(),
		"never, IPS": never.Estimate(logged.IPW), "never, SNIPS": never.Estimate(logged.SNIPW),
	} {
		if !math.IsInf(x.Low, -1) || !math.IsInf(x.High, 1) || !math.IsInf(x.Error, 1) {
			t.Errorf("%s is %v with error %v, want an infinite interval", name, x, x.Error)
		}
	}
	if x := never.Estimate(logged.SNIPW); !math.IsNaN(x.Mean) || x.Effective != 0 {
		t.Errorf("a policy that makes no choice of the log has the estimate %v", x)
	}
	// The log chooses the first candidate in the decisions of even index: none of these has a reward.
	rewards := make([]float64, 40)
	rewards[7] = 1
	unlucky := evaluate(t, table(rewards, slices.Repeat([]float64{0.5}, 40), ""), &first{}, 1)
	for name, x := range map[string]logged.Estimate{"IPS": unlucky.Estimate(logged.IPW), "SNIPS": unlucky.Estimate(logged.SNIPW)} {
		near(t, name, x.Mean, 0)
		near(t, name+", low end", x.Low, 0)
		near(t, name+", high end", x.High, 1.96*1.96/20)
	}
}

// loose has probabilities that are none.
type loose struct{ chooser }

func (*loose) Probabilities(dst []float64, _ envs.Observation) error {
	dst[0] = math.NaN()
	return nil
}

func TestEvaluateErrors(t *testing.T) {
	ctx, none := context.Background(), table([]float64{1}, []float64{0}, "")
	_, empty := logged.Train(ctx, &logged.Log{Candidates: 2, Features: []string{"x"}}, baselines.Random{}, []uint64{1})
	_, summed := logged.Evaluate(ctx, table([]float64{-1e6}, []float64{1}, ""), &loose{}, 1)
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, cancelled := logged.Train(stopped, table([]float64{1}, []float64{1}, ""), baselines.Random{}, []uint64{1})
	errs := map[string]error{
		"the log, or a part of it, has 0 decisions": empty, "context canceled": cancelled, `the policy's probabilities sum to NaN`: summed,
	}
	for want, change := range map[string]func(d *logged.Decision){
		`has the propensity 0, want 1e-06 to 1 (0 is not known: esti`:   func(d *logged.Decision) { d.Propensity = 0 },
		`has the propensity 1e-320`:                                     func(d *logged.Decision) { d.Propensity = 1e-320 },
		`has the propensity 2`:                                          func(d *logged.Decision) { d.Propensity = 2 },
		`has the propensity NaN`:                                        func(d *logged.Decision) { d.Propensity = math.NaN() },
		`has chosen candidate 2, and contexts of 2 values`:              func(d *logged.Decision) { d.Chosen = 2 },
		`contexts of 3 values, want 1 for each of at most 2 candidates`: func(d *logged.Decision) { d.Contexts = make([]float32, 3) },
		`has the reward NaN`:                                            func(d *logged.Decision) { d.Reward = float32(math.NaN()) },
		`the sampling weight 1e+10, want finite ones`:                   func(d *logged.Decision) { d.SamplingWeight = 1e10 },
		`decision "1" has a feature that is NaN or infinit`:             func(d *logged.Decision) { d.Contexts[1] = float32(math.Inf(1)) },
	} {
		bad := table([]float64{1, 0}, []float64{1, 1}, "")
		change(&bad.Decisions[1])
		_, errs[want] = logged.Evaluate(ctx, bad, &chooser{}, 1)
	}
	for want, err := range errs {
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
