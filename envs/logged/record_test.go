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

// softmaxer chooses by a softmax of the weighed features.
type softmaxer struct {
	chooser
	weights []float64
	rng     *rand.Rand
}

func (s *softmaxer) Probabilities(dst []float64, obs envs.Observation) error {
	total := 0.0
	for c := range dst {
		score := 0.0
		for j, x := range obs.Context(0, c) {
			score += s.weights[j] * float64(x)
		}
		dst[c] = math.Exp(score)
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

// As in the synthetic example of the Open Bandit Pipeline, decisions have 30 candidates, rewards are
// clicks with a probability that is logistic in the features, the log is made by a softmax that
// prefers what earns little, and the policy by one that prefers what earns much. Errors are relative
// to the truth, in the mean over logs.
func TestRelativeErrors(t *testing.T) {
	logs, steps := 20, 10000
	if !testing.Verbose() {
		logs, steps = 4, 2500
	}
	weights, sums := []float64{0.6, -0.4, 0.3, 0.5, -0.5}, make([]float64, len(logged.Estimators()))
	scaled := func(by float64) []float64 {
		w := slices.Clone(weights)
		for j := range w {
			w[j] *= by
		}
		return w
	}
	for seed := range uint64(logs) {
		env, err := envs.FromLaw(envs.Spec{Candidates: 30, Dim: 5}, []uint64{seed}, func(uint64) envs.Law {
			p := func(context []float32) float64 {
				score := 0.0
				for j, x := range context {
					score += 2 * weights[j] * float64(x)
				}
				return 1 / (1 + math.Exp(-score))
			}
			return envs.Law{Expected: p,
				Offer: func(contexts []float32, rng *rand.Rand) int {
					for i := range contexts {
						contexts[i] = float32(rng.NormFloat64())
					}
					return 30
				},
				Reward: func(context []float32, rng *rand.Rand) float64 { return envs.Coin(p(context), rng) }}
		})
		if err != nil {
			t.Fatal(err)
		}
		log, err := logged.Record(context.Background(), env, &softmaxer{weights: scaled(-0.5), rng: rand.New(rand.NewPCG(seed, 0))}, steps)
		if err != nil {
			t.Fatal(err)
		}
		e := evaluate(t, log, &softmaxer{weights: scaled(0.5)}, 1)
		// A model that is wrong: the regression is linear.
		if e.Model, err = log.CrossFit(context.Background(), logged.Ridge(1)); err != nil {
			t.Fatal(err)
		}
		for k, estimator := range logged.Estimators() {
			sums[k] += math.Abs(e.Estimate(estimator).Mean/e.Truth()-1) / float64(logs)
		}
	}
	for k, estimator := range logged.Estimators() {
		t.Logf("%-17s %.4f", estimator.Name, sums[k])
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
