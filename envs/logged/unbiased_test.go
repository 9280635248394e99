package logged_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
)

// simulate plays a known law: each user has a generosity g, uniform on (0, 1),
// and meets the given number of decisions among 3 candidates with a feature x,
// uniform on (0, 1), beside g. A candidate pays 1 with probability g·x. The log
// prefers large x: it chooses candidate c with probability proportional to
// exp(lean·x_c). expected are the probabilities g·x, [N, M].
func simulate(seed uint64, users, decisions int, lean float64) (log *logged.Log, expected []float64) {
	const m = 3
	rng := rand.New(rand.NewPCG(seed, 1))
	log = &logged.Log{Candidates: m, Dim: 2, Features: []string{"x", "g"}}
	for u := range users {
		g := rng.Float64()
		for range decisions {
			var p [m]float64
			total := 0.0
			for c := range p {
				x := rng.Float64()
				log.Contexts = append(log.Contexts, float32(x), float32(g))
				expected = append(expected, g*x)
				p[c] = math.Exp(lean * x)
				total += p[c]
			}
			chosen, at := 0, rng.Float64()*total
			for chosen < m-1 && at >= p[chosen] {
				at -= p[chosen]
				chosen++
			}
			reward := float32(0)
			if rng.Float64() < expected[len(expected)-m+chosen] {
				reward = 1
			}
			log.ID = append(log.ID, fmt.Sprint(log.Len()))
			log.User = append(log.User, fmt.Sprint(u))
			log.Chosen = append(log.Chosen, chosen)
			log.Reward = append(log.Reward, reward)
			log.Propensity = append(log.Propensity, p[chosen]/total)
		}
	}
	return log, expected
}

// least chooses the smallest x, and at every second draw the first candidate.
func least(_, draw int, c []float32) int {
	best := 0
	for k := range 3 {
		if c[2*k] < c[2*best] && draw%2 == 0 {
			best = k
		}
	}
	return best
}

// sample is the mean of independent values, and its standard error.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) { s.n, s.sum, s.squares = s.n+1, s.sum+x, s.squares+x*x }

func (s *sample) check(t *testing.T, what string, want, slack float64) {
	t.Helper()
	mean := s.sum / s.n
	se := math.Sqrt((s.squares/s.n - mean*mean) / (s.n - 1))
	if math.Abs(mean-want) > 4.5*se+slack {
		t.Errorf("%s is %.5f ± %.5f, want %.5f", what, mean, se, want)
	}
}

// The policy that takes the smallest x in half of its draws, and else the first
// candidate, earns E[g]·(E[min of 3]/2 + E[x]/2) = (1/4 + 1/2)/4 = 3/16: less than
// the log, which prefers what pays. Over many logs the estimates are right on
// average, and their intervals hold the truth in 95 % of the logs; not so the
// mean reward where policy and log agree, nor, where users return, the intervals
// over decisions.
func TestUnbiased(t *testing.T) {
	const logs, users, decisions = 600, 60, 5
	var simulated, ips, snips, weight, naive, difference sample
	var covered, coveredSNIPS, coveredDifference, coveredLog, byDecision float64
	for seed := range uint64(logs) {
		log, expected := simulate(seed, users, decisions, 2)
		policy := &scripted{choose: least}
		e := evaluate(t, log, policy, 1, 2)
		ips.add(e.InversePropensity().Mean)
		snips.add(e.SelfNormalised().Mean)
		weight.add(e.MeanWeight().Mean)
		naive.add(e.Agreeing().Mean)
		covered += holds(e.InversePropensity(), 3.0/16) / logs
		coveredSNIPS += holds(e.SelfNormalised(), 3.0/16) / logs
		first := evaluate(t, log, always(0), 1, 1) // which earns 1/4
		d := e.InversePropensity().Minus(first.InversePropensity())
		difference.add(d.Mean)
		coveredDifference += holds(d, 3.0/16-1.0/4) / logs
		coveredLog += holds(e.Logged(), meanOfLog) / logs
		log.User = nil
		byDecision += holds(evaluate(t, log, always(0), 1, 1).Logged(), meanOfLog) / logs
		simulated.add(e.Value(expected))
	}
	simulated.check(t, "the value in the simulation", 3.0/16, 0)
	ips.check(t, "IPS", 3.0/16, 0)
	snips.check(t, "SNIPS", 3.0/16, 1.0/(users*decisions)) // a bias of the order 1/N
	weight.check(t, "the mean weight", 1, 0)
	difference.check(t, "the difference", 3.0/16-1.0/4, 0)
	if m := naive.sum / logs; m < 3.0/16+0.02 {
		t.Errorf("the mean reward where policy and log agree is %v: no bias to correct", m)
	}
	// Of 600 logs a share of 95 % has a standard deviation of 0.9 %.
	for what, share := range map[string]float64{"IPS": covered, "SNIPS": coveredSNIPS, "the difference": coveredDifference, "the log": coveredLog} {
		if share < 0.95-0.035 || share > 0.95+0.035 {
			t.Errorf("the interval of %s holds the truth in a share of %.3f of the logs", what, share)
		}
	}

	if byDecision > 0.91 {
		t.Errorf("the interval over decisions holds the truth in a share of %.3f, though users return", byDecision)
	}
}

// Where a policy agrees with 8 decisions of 400, give or take, the interval rests
// on these 8: rewards are normal with mean 0, so with n agreements it is the
// interval of Student's t with n-1 degrees of freedom, which holds the mean in
// 95 % of the logs; 1.97 standard errors would in 89 %.
func TestFewAgreements(t *testing.T) {
	const logs, n = 1500, 400
	rng := rand.New(rand.NewPCG(3, 1))
	covered, judged := 0.0, 0.0
	for range logs {
		log := &logged.Log{Candidates: 50, Dim: 1, Features: []string{"x"}, Contexts: make([]float32, 50*n)}
		for i := range n {
			log.ID = append(log.ID, fmt.Sprint(i))
			log.Chosen = append(log.Chosen, rng.IntN(50))
			log.Reward = append(log.Reward, float32(rng.NormFloat64()))
			log.Propensity = append(log.Propensity, 1.0/50)
		}
		if e := evaluate(t, log, always(7), 1, 1).SelfNormalised(); e.Units > 1 {
			judged++
			covered += holds(e, 0)
		}
	}
	// A share of 95 % of 1,500 has a standard deviation of 0.6 %.
	if share := covered / judged; judged < 0.99*logs || share < 0.95-0.025 || share > 0.95+0.025 {
		t.Errorf("of %v intervals a share of %.3f holds the truth", judged, share)
	}
}

// meanOfLog is what the log with lean 2 earns: half of E[x_chosen], which is the
// integral of Σ x_c exp(2x_c)/Σ exp(2x_c) over the unit cube, by the midpoint rule.
var meanOfLog = func() float64 {
	const n = 60
	sum := 0.0
	for a := range n {
		for b := range n {
			for c := range n {
				up, down := 0.0, 0.0
				for _, k := range []int{a, b, c} {
					x := (float64(k) + 0.5) / n
					up, down = up+x*math.Exp(2*x), down+math.Exp(2*x)
				}
				sum += up / down
			}
		}
	}
	return sum / (n * n * n) / 2
}()

func holds(e logged.Estimate, truth float64) float64 {
	if e.Low <= truth && truth <= e.High {
		return 1
	}
	return 0
}

// A learner that is replayed in uniform logs earns in its first steps what it
// earns online: the same learners are played on the same law, and both are
// compared by expected rewards. They learn, so the later steps earn more.
func TestReplayIsOnline(t *testing.T) {
	const seeds, steps = 300, 60
	learner := baselines.LinearThompson{Scale: 0.5}
	var difference, late, early sample
	for seed := range uint64(seeds) {
		log, expected := simulate(seed+1000, 400, 1, 0) // about 133 steps
		played, err := logged.Replay(context.Background(), log, learner, seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(played.Decisions) < steps {
			t.Fatalf("seed %d: %d steps", seed, len(played.Decisions))
		}
		replayed, online := 0.0, 0.0
		for k, i := range played.Decisions[:steps] {
			e := expected[3*i+log.Chosen[i]]
			replayed += e / steps
			if k < 10 {
				early.add(e)
			} else if k >= steps-10 {
				late.add(e)
			}
		}
		world, expected := simulate(seed+5000, steps, 1, 0)
		policy, err := learner.New(world.Spec(), []uint64{seed + 1})
		if err != nil {
			t.Fatal(err)
		}
		dice, action := rand.New(rand.NewPCG(seed, 2)), make([]int, 1)
		for i := range steps {
			obs := envs.Observation{Runs: 1, Candidates: 3, Dim: 2, Contexts: world.Contexts[6*i : 6*i+6]}
			if err := policy.Act(action, obs); err != nil {
				t.Fatal(err)
			}
			e := expected[3*i+action[0]]
			online += e / steps
			out := envs.Outcome{Reward: []float32{0}, Discount: []float32{0}}
			if dice.Float64() < e {
				out.Reward[0] = 1
			}
			if err := policy.Update(envs.Transition{Observation: obs, Actions: action, Outcome: out}); err != nil {
				t.Fatal(err)
			}
		}
		difference.add(replayed - online)
	}
	difference.check(t, "replayed less online", 0, 0)
	if late.sum/late.n < early.sum/early.n+0.02 {
		t.Errorf("the learner earns %.3f a step early and %.3f late: it learns nothing, and the test tells nothing", early.sum/early.n, late.sum/late.n)
	}
}
