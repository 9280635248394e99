package envtest_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

// recorder is a testing.TB that keeps the errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// wantOnly wants a report of each broken promise and of no other.
func (r *recorder) wantOnly(t *testing.T, promises ...string) {
	t.Helper()
	for _, promise := range promises {
		if !strings.Contains(strings.Join(r.errors, "\n"), promise) {
			t.Errorf("no report of %q in %q", promise, r.errors)
		}
	}
	for _, e := range r.errors {
		expected := false
		for _, promise := range promises {
			expected = expected || strings.Contains(e, promise)
		}
		if !expected {
			t.Errorf("unexpected report %q", e)
		}
	}
}

func TestHonest(t *testing.T) {
	for _, p := range []envs.Problem{
		envs.Linear{}, envs.Bernoulli{}, envs.Mixed{},
		envs.Linear{Candidates: 2, Dim: 1}, envs.Bernoulli{Candidates: 3, Dim: 3, ProbabilityNoise: 0.5},
		envs.Chain{}, envs.Chain{Episodic: true},
		problem{}, &problem{}, playlist{},
	} {
		envtest.TestProblem(t, p)
		envtest.TestAlgorithm(t, learner{}, p)
	}
}

// The promises, as the suites report them.
const (
	shapes      = "shapes and numbers are right: "
	buffers     = "buffers stay valid as long as promised: "
	seeds       = "a seed determines a run: "
	stacking    = "runs do not depend on how they are stacked: "
	pairing     = "contexts of a bandit do not depend on the actions: "
	oracle      = "the oracle tells the truth: "
	sameCodes   = "codes say the same as contexts: "
	outcomes    = "potential outcomes are those paid: "
	badCalls    = "bad calls are refused: "
	declaration = "the declaration is a value with a JSON form: "

	candidates = "actions are candidates: "
	arguments  = "arguments are left alone: "
	references = "no reference is kept: "
	feedback   = "feedback may come late: "
	codes      = "codes stand for contexts: "
	ties       = "ties are broken at random: "
	badSpecs   = "bad specs and seeds are errors: "
	otherShape = "other shapes are refused: "
)

func TestBrokenProblems(t *testing.T) {
	nan := float32(math.NaN())
	for _, test := range []struct {
		name     string
		problem  envs.Problem
		promises []string
	}{
		{"no candidates", problem{spec: func(s envs.Spec) envs.Spec { s.Candidates = 0; return s }},
			[]string{shapes + "envs: Spec.Candidates is 0"}},
		{"another dimension", problem{spec: func(s envs.Spec) envs.Spec { s.Dim++; return s }},
			[]string{shapes + "step 0: observation of 3 runs, 5 candidates, 40 dimensions; want 3, 5, 41"}},
		{"too few contexts", problem{broken: onObserve(func(o envs.Observation) envs.Observation {
			o.Contexts = o.Contexts[1:]
			return o
		})}, []string{shapes + "step 0: 599 context values, want 3·5·40 = 600"}},
		{"too few sessions", problem{broken: onObserve(func(o envs.Observation) envs.Observation {
			o.Session = []int32{}
			return o
		})}, []string{shapes + "step 0: 0 sessions, want nil or 3"}},
		{"sessions come and go", problem{broken: func() func(envs.Environment) envs.Environment {
			seen := 0
			return onObserve(func(o envs.Observation) envs.Observation {
				if seen++; seen > 10 {
					o.Session = make([]int32, o.Runs)
				}
				return o
			})
		}()}, []string{shapes + "step 5: sessions come and go"}},
		{"context is NaN", problem{broken: onObserve(func(o envs.Observation) envs.Observation {
			o.Contexts[401] = nan
			return o
		})}, []string{shapes + "step 0: context value 1 of run 2 is NaN"}},
		{"state differs over candidates", problem{spec: func(s envs.Spec) envs.Spec { s.State = 1; return s }},
			[]string{shapes + "step 0: state feature 0 of run 0 is"}},
		{"too few rewards", problem{broken: onOutcome(func(_ []int, o *envs.Outcome) { o.Reward = o.Reward[1:] })},
			[]string{shapes + "step 0: 2 rewards and 3 discounts for 3 runs"}},
		{"reward is infinite", problem{broken: onOutcome(func(_ []int, o *envs.Outcome) { o.Reward[2] /= 0 })},
			[]string{shapes + "step 0: the reward of run 2 is"}},
		{"half a discount", problem{broken: onOutcome(func(_ []int, o *envs.Outcome) { o.Discount[1] = 0.5 })},
			[]string{shapes + "step 0: the discount of run 1 is 0.5"}},
		{"discount 1 in a bandit", problem{broken: onOutcome(func(_ []int, o *envs.Outcome) { o.Discount[0] = 1 })},
			[]string{shapes + "step 0: the discount of run 0 is 1"}},
		{"error while playing", problem{broken: func(env envs.Environment) envs.Environment {
			return &environment{Environment: env, step: func([]int) (envs.Outcome, error) { return envs.Outcome{}, errors.New("out of data") }}
		}}, []string{shapes + "step 0: out of data"}},
		{"panic while playing", problem{broken: func(env envs.Environment) envs.Environment {
			return &environment{Environment: env, step: func([]int) (envs.Outcome, error) { panic("out of order") }}
		}}, []string{shapes + "panic: out of order"}},

		{"observing moves on", problem{broken: onObserve(func(o envs.Observation) envs.Observation {
			o.Contexts[0] /= 2
			return o
		})}, []string{buffers + "step 0: a second Observe differs", stacking}},
		{"one buffer for all observations", problem{broken: func(env envs.Environment) envs.Environment {
			var buffer []float32
			return &environment{Environment: env,
				observe: func(o envs.Observation) envs.Observation {
					buffer = append(buffer[:0], o.Contexts...)
					o.Contexts = buffer
					return o
				}}
		}}, []string{buffers + "step 0: the observation did not outlive the Step that answers it"}},
		{"observing clears the outcome", problem{broken: func(env envs.Environment) envs.Environment {
			var last envs.Outcome
			return &environment{Environment: env,
				observe: func(o envs.Observation) envs.Observation { clear(last.Reward); return o },
				step: func(actions []int) (out envs.Outcome, err error) {
					last, err = env.Step(actions)
					return last, err
				}}
		}}, []string{buffers + "step 1: Observe changed the last outcome"}},
		{"actions are changed", problem{broken: onOutcome(func(actions []int, _ *envs.Outcome) { actions[0] ^= 1 })},
			[]string{buffers + "step 0: Step changed the actions", stacking}},

		{"seeds are ignored", problem{seeds: func(s []uint64) []uint64 { return make([]uint64, len(s)) }},
			[]string{seeds + "seeds 11 and 12 give the same run"}},
		{"hidden counter", &problem{seeds: countedSeeds()},
			[]string{seeds + "two environments with equal seeds and actions: run 0: step 0: the contexts differ", stacking, pairing, oracle + "asking changed run 0", outcomes}},
		{"run depends on its place", problem{seeds: func(s []uint64) []uint64 {
			placed := make([]uint64, len(s))
			for i := range s {
				placed[i] = s[i] + uint64(i)
			}
			return placed
		}}, []string{stacking + "run 7 of 20 differs from the same run as number 0 of 13: step 0: the contexts differ"}},
		{"run depends on the number of runs", problem{seeds: func(s []uint64) []uint64 {
			placed := make([]uint64, len(s))
			for i := range s {
				placed[i] = s[i] + uint64(len(s))
			}
			return placed
		}}, []string{stacking + "run 0 of 20 differs from the same run as number 0 of 7: step 0: the contexts differ"}},
		{"bandit with consequences", problem{broken: func(env envs.Environment) envs.Environment {
			last := 0
			return &environment{Environment: env,
				observe: func(o envs.Observation) envs.Observation {
					o.Contexts = append([]float32(nil), o.Contexts...)
					o.Contexts[0] += float32(last)
					return o
				},
				step: func(actions []int) (envs.Outcome, error) {
					last = actions[0]
					return env.Step(actions)
				}}
		}}, []string{pairing + "step 2, run 0: the contexts differ after other actions", stacking}},

		{"oracle is NaN", problem{broken: onExpected(func(env envs.Environment, dst []float64) {
			env.(envs.Oracle).ExpectedRewards(dst)
			dst[6] = math.NaN()
		})}, []string{oracle + "step 0: candidate 1 of run 1 expects NaN"}},
		{"oracle leaves one out", problem{broken: onExpected(func(env envs.Environment, dst []float64) {
			all := make([]float64, len(dst))
			env.(envs.Oracle).ExpectedRewards(all)
			copy(dst[1:], all[1:])
		})}, []string{oracle + "step 0: candidate 0 of run 0 expects NaN"}},
		{"oracle knows another order", problem{broken: onExpected(func(env envs.Environment, dst []float64) {
			env.(envs.Oracle).ExpectedRewards(dst)
			for i := 0; i < len(dst); i += 5 {
				dst[i] += 0.05
			}
		})}, []string{oracle + "4000 realised rewards less their expectations sum to"}},
		{"oracle is not sure", problem{broken: func() func(envs.Environment) envs.Environment {
			calls := 0.0
			return onExpected(func(env envs.Environment, dst []float64) {
				env.(envs.Oracle).ExpectedRewards(dst)
				calls++
				dst[0] += calls
			})
		}()}, []string{oracle + "step 0: it answers the same question in two ways"}},
		{"oracle takes any length", problem{broken: onExpected(func(env envs.Environment, dst []float64) {
			all := make([]float64, 5*env.Observe().Runs)
			env.(envs.Oracle).ExpectedRewards(all)
			copy(dst, all)
		})}, []string{oracle + "no panic for a destination of length 0"}},
		{"oracle spends the noise", problem{broken: func(env envs.Environment) envs.Environment {
			asked := float32(0)
			return &environment{Environment: env,
				expected: func(dst []float64) { env.(envs.Oracle).ExpectedRewards(dst); asked = 0.001 },
				step: func(actions []int) (envs.Outcome, error) {
					out, err := env.Step(actions)
					out.Reward[0] += asked
					return out, err
				}}
		}}, []string{oracle + "asking changed run 0: step 0: reward"}},

		{"other contexts than the codes'", playlist{OtherContexts: true},
			[]string{sameCodes + "step 0: candidate 2 of run 0: code"}},
		{"one state for all users", playlist{OneUser: true}, []string{sameCodes + "step"}},
		{"state in the order of time", playlist{EarliestFirst: true}, []string{sameCodes + "step"}},
		{"codes come and go", playlist{NoCodesLate: true}, []string{sameCodes + "step 10: codes come and go", outcomes}},
		{"a table a step", playlist{ManyTables: true},
			[]string{sameCodes + "step 1: the codes are of another kind"}},
		{"a table of many names", playlist{ManyNames: true},
			[]string{sameCodes + `step 0: the table's identity is "playlist 3", and was "playlist 1"`}},
		{"a table without a name", playlist{NoName: true}, []string{sameCodes + `the table's identity is "", want one line`}},
		{"a table that takes any code", playlist{AnyCode: true}, []string{sameCodes + "no panic for a context of no item"}},
		{"codes are overwritten", playlist{OverwritesLast: true},
			[]string{buffers + "step 0: the observation did not outlive the Step", sameCodes}},
		{"other outcomes", playlist{TellsOthers: true}, []string{outcomes + "step"}},
		{"outcomes spend the dice", playlist{SpendsCoins: true}, []string{outcomes + "step 1: the rewards differ after other actions"}},
		{"outcomes that are not sure", playlist{NoTwoTells: true}, []string{outcomes + "step 0: it answers the same question in two ways"}},
		{"outcomes of any length", playlist{AnyLength: true}, []string{outcomes + "no panic for a destination of length 0"}},
		{"a choice changes the offers", playlist{Consequences: true}, []string{outcomes + "step"}},
		{"a choice changes the rewards", playlist{Infectious: true}, []string{outcomes + "step", stacking}},
		{"a choice decides who comes", playlist{Leaves: true}, []string{outcomes + "step"}},

		{"any action", problem{broken: func(env envs.Environment) envs.Environment {
			return &environment{Environment: env, step: func(actions []int) (envs.Outcome, error) {
				safe := make([]int, env.Observe().Runs)
				for i, a := range actions {
					safe[i%len(safe)] = min(max(a, 0), 4)
				}
				return env.Step(safe)
			}}
		}}, []string{badCalls + "no panic for actions []"}},
		{"no seeds", problem{seeds: func(s []uint64) []uint64 {
			if len(s) == 0 {
				return []uint64{0}
			}
			return s
		}}, []string{badCalls + "New without a seed returned no error"}},

		{"no JSON", problem{json: func() ([]byte, error) { return nil, errors.New("unsupported") }},
			[]string{declaration + "json: error calling MarshalJSON for type envtest_test.problem: unsupported"}},
		{"declaration changes", selfChanging(),
			[]string{declaration + `it was {"Candidates":5,"Dim":40,"RewardNoise":0.2} and is {"Candidates":5,"Dim":40,"RewardNoise":0.3}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := &recorder{TB: t}
			envtest.TestProblem(rec, test.problem)
			rec.wantOnly(t, test.promises...)
		})
	}
}

// countedSeeds shifts the seeds by the number of environments made so far.
func countedSeeds() func([]uint64) []uint64 {
	made := uint64(0)
	return func(seeds []uint64) []uint64 {
		made++
		shifted := make([]uint64, len(seeds))
		for i := range seeds {
			shifted[i] = seeds[i] + made<<32
		}
		return shifted
	}
}

// selfChanging is a declaration that says something else after it was played.
func selfChanging() envs.Problem {
	played, tenths := false, 1
	return problem{
		broken: onOutcome(func([]int, *envs.Outcome) { played = true }),
		json: func() ([]byte, error) {
			if played {
				played, tenths = false, tenths+1
			}
			return fmt.Appendf(nil, `{"Candidates":5,"Dim":40,"RewardNoise":0.%d}`, tenths), nil
		},
	}
}

func TestBrokenAlgorithms(t *testing.T) {
	for _, test := range []struct {
		name      string
		algorithm learner
		promises  []string
	}{
		{"out of range", learner{OutOfRange: true}, []string{candidates + "step 1: action 5 of run 2 is outside the 5 candidates"}},
		{"an action is not written", learner{SkipsLastRun: true}, []string{candidates + "step 0: no action was written for run 2"}},
		{"panics", learner{Panics: true}, []string{candidates + "panic: learner: out of order"}},
		{"changes the contexts", learner{Normalises: true}, []string{arguments + "step 0: Act changed the observation", references, codes}},
		{"changes the rewards", learner{Overwrites: true}, []string{arguments + "step 0: Update changed the transition"}},
		{"keeps the transition", learner{KeepsContexts: true}, []string{references, codes}},
		{"keeps what Act saw", learner{CachesAct: true}, []string{references, codes}},
		{"no seed", learner{ForgetsSeeds: true}, []string{seeds + "two policies with equal seeds", stacking, references, codes}},
		{"one stream for all runs", learner{SharedDice: true}, []string{stacking + "run"}},
		{"one model for all runs", learner{SharedModel: true}, []string{stacking + "run"}},
		{"misreads codes", learner{MisreadsCodes: true}, []string{codes + "step"}},
		{"needs to act first", learner{NeedsAct: true}, []string{feedback + "step 3: update: learner: update before the first act"}},
		{"first of ties", learner{FirstOfTies: true}, []string{ties + "over 80 seeds the candidates were chosen [80 0 0 0 0] times"}},
		{"any spec", learner{AnySpec: true}, []string{badSpecs + "no error for {Candidates:0 Dim:0 State:0}"}},
		{"no seeds", learner{AnySeeds: true}, []string{badSpecs + "no error without a seed"}},
		{"any shape", learner{Unchecked: true}, []string{otherShape + "Act with"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := &recorder{TB: t}
			envtest.TestAlgorithm(rec, test.algorithm, envs.Linear{})
			rec.wantOnly(t, test.promises...)
		})
	}
}

func TestSteps(t *testing.T) {
	steps := 0
	late := problem{broken: onOutcome(func(_ []int, o *envs.Outcome) {
		if steps++; steps > 15 {
			o.Discount[0] = 2
		}
	})}
	for _, test := range []struct {
		steps int
		found bool
	}{{0, true}, {15, false}, {16, true}} {
		rec := &recorder{TB: t}
		steps = 0
		envtest.Suite{Steps: test.steps}.TestProblem(rec, late)
		first := strings.HasPrefix(strings.Join(rec.errors, ""), shapes+"step 15")
		if first != test.found {
			t.Errorf("with %d steps a fault of the first environment at step 15 is found: %v, want %v", test.steps, first, test.found)
		}
	}
}

// What the tests report, CheckProblem and CheckAlgorithm return, with the
// promises that are kept.
func TestChecks(t *testing.T) {
	broken := problem{broken: onOutcome(func(_ []int, o *envs.Outcome) { o.Discount[0] = 2 })}
	for _, test := range []struct {
		name   string
		checks []envtest.Check
		made   int
		broken []string // as they begin
	}{
		{"honest problem", envtest.CheckProblem(envs.Linear{}), 10, nil},
		{"honest algorithm", envtest.CheckAlgorithm(learner{}, envs.Linear{}), 11, nil},
		{"first promise broken", envtest.CheckProblem(broken), 1, []string{shapes}},
		{"another promise broken", envtest.CheckAlgorithm(learner{FirstOfTies: true}, envs.Linear{}), 11, []string{ties}},
	} {
		var broken []string
		for _, c := range test.checks {
			if c.Err != nil {
				broken = append(broken, c.Promise+": "+c.Err.Error())
			}
		}
		if len(test.checks) != test.made {
			t.Errorf("%s: %d checks, want %d", test.name, len(test.checks), test.made)
		}
		if len(broken) != len(test.broken) || len(broken) == 1 && !strings.HasPrefix(broken[0], test.broken[0]) {
			t.Errorf("%s: broken are %q, want %q", test.name, broken, test.broken)
		}
	}
}
