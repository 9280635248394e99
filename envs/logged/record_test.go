package logged_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
)

// softmaxer chooses by a softmax of beta times what candidates are expected to pay.
type softmaxer struct {
	chooser
	beta float64
	pays func(context []float32) float64
	rng  *rand.Rand
}

func (s *softmaxer) Probabilities(dst []float64, obs envs.Observation) error {
	total := 0.0
	for c := range dst {
		dst[c] = math.Exp(s.beta * s.pays(obs.Context(0, c)))
		total += dst[c]
	}
	for c := range dst {
		dst[c] /= total
	}
	return nil
}

func (s *softmaxer) Act(dst []int, obs envs.Observation) error {
	p := make([]float64, obs.Candidates)
	err := s.Probabilities(p, obs)
	u := s.rng.Float64()
	for dst[0] = 0; dst[0] < len(p)-1 && u >= p[dst[0]]; dst[0]++ {
		u -= p[dst[0]]
	}
	return err
}

// The synthetic example of the Open Bandit Pipeline: users have 5 normal features, each of 30 items has
// weights for them and a bonus, uniform on 0 to 1, and a click has the probability q that is logistic in
// their sum. The log chooses by a softmax of -3 q, so it prefers what earns little. The Pipeline's
// policy is a softmax of the class probabilities of an item in a log that is weighted to be uniform,
// which are q by its sum over items, about 18: it is close to a uniform choice. Models know the user's
// features and the item, and not which weights differ, so they are wrong. Errors are relative to the
// truth, in the mean over logs.
func TestRelativeErrors(t *testing.T) {
	logs, steps := 20, 10000
	if !testing.Verbose() {
		logs, steps = 3, 1500
	}
	const items, dim = 30, 5
	sums, squares := make([]float64, len(logged.Estimators())), make([]float64, len(logged.Estimators()))
	for seed := range uint64(logs) {
		rng := rand.New(rand.NewPCG(seed, 1))
		weights := make([]float64, items*(dim+1))
		for i := range weights {
			weights[i] = rng.Float64()
		}
		pays := func(context []float32) float64 {
			item := slices.Index(context[dim:], 1)
			score := weights[item*(dim+1)+dim]
			for j, x := range context[:dim] {
				score += weights[item*(dim+1)+j] * float64(x)
			}
			return 1 / (1 + math.Exp(-score))
		}
		env, err := envs.FromLaw(envs.Spec{Candidates: items, Dim: dim + items}, []uint64{seed}, func(uint64) envs.Law {
			return envs.Law{Expected: pays,
				Offer: func(contexts []float32, rng *rand.Rand) int {
					for j := range dim {
						x := float32(rng.NormFloat64())
						for item := range items {
							contexts[item*(dim+items)+j], contexts[item*(dim+items)+dim+item] = x, 1
						}
					}
					return items
				},
				Reward: func(context []float32, rng *rand.Rand) float64 { return envs.Coin(pays(context), rng) }}
		})
		if err != nil {
			t.Fatal(err)
		}
		log, err := logged.Record(context.Background(), env, &softmaxer{beta: -3, pays: pays, rng: rng}, steps)
		if err != nil {
			t.Fatal(err)
		}
		e := evaluate(t, log, &softmaxer{beta: 1.0 / 18, pays: pays}, 1)
		if e.Model, err = log.CrossFit(context.Background(), logged.Logistic(0.01)); err != nil {
			t.Fatal(err)
		}
		for k, estimator := range logged.Estimators() {
			off := math.Abs(e.Estimate(estimator).Mean/e.Truth() - 1)
			sums[k], squares[k] = sums[k]+off/float64(logs), squares[k]+off*off/float64(logs)
		}
	}
	for k, estimator := range logged.Estimators() {
		t.Logf("%-17s %.4f, sd %.4f", estimator.Name, sums[k], math.Sqrt(squares[k]-sums[k]*sums[k]))
		if sums[k] > 0.15 {
			t.Errorf("%s has a relative error of %.3f", estimator.Name, sums[k])
		}
	}
}

func TestRecordErrors(t *testing.T) {
	env, err := envs.Linear{}.New([]uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := logged.Record(context.Background(), env, &chooser{}, 1); err == nil || !strings.Contains(err.Error(), "does not say its probabilities") {
		t.Errorf("the error is %v", err)
	}
	policy, err := baselines.Random{}.New(envs.Linear{}.Spec(), []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	log, err := logged.Record(context.Background(), env, policy, 3)
	if err != nil {
		t.Fatal(err)
	}
	if e := evaluate(t, log, policy, 1); slices.ContainsFunc(e.Weight, func(w float64) bool { return math.Abs(w-1) > 1e-9 }) || math.IsNaN(e.Truth()) {
		t.Errorf("weights of the log's own policy %v, truth %v", e.Weight, e.Truth())
	}
}
