package paper

import (
	"context"
	"fmt"
	"math"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/pgcr"
)

// PermutationGap lets PGCR play one run of a problem for some steps. It then
// returns the largest difference, over so many further steps, between the
// probability of a candidate and that of the same candidate when all stand in a
// random other order.
func PermutationGap(ctx context.Context, problem envs.Problem, config pgcr.Config, seed uint64, steps, checks int) (float64, error) {
	seeds := []uint64{seed}
	env, err := problem.New(seeds)
	if err != nil {
		return 0, err
	}
	policy, err := config.New(problem.Spec(), seeds)
	if err != nil {
		return 0, err
	}
	if err := sim.Play(ctx, env, policy, steps, nil); err != nil {
		return 0, err
	}
	agent, spec, rng := policy.(*pgcr.Agent), problem.Spec(), envs.NewRand(seed, "theory/permutations")
	m, d := spec.Candidates, spec.Dim
	as, permuted, largest := make([]float64, m), make([]float64, m), 0.0
	for range checks {
		obs := env.Observe()
		if err := agent.Probabilities(as, obs); err != nil {
			return 0, err
		}
		order, contexts := rng.Perm(m), make([]float32, m*d)
		for i, k := range order {
			copy(contexts[i*d:(i+1)*d], obs.Contexts[k*d:(k+1)*d])
		}
		obs.Contexts = contexts
		if err := agent.Probabilities(permuted, obs); err != nil {
			return 0, err
		}
		for i, k := range order {
			largest = math.Max(largest, math.Abs(permuted[i]-as[k]))
		}
		if _, err := env.Step([]int{0}); err != nil {
			return 0, err
		}
	}
	return largest, nil
}

// GreedSeries are the probabilities of candidates with scores mu, which stay as
// they are, over the steps up to the last one while the policy becomes greedier;
// for figure.Lines with a logarithmic axis of X. It is an error when a mu is not
// positive and finite.
func GreedSeries(mu []float64, greed pgcr.Greed, last int64) ([]figure.Series, error) {
	series := make([]figure.Series, len(mu))
	for t := int64(1); t <= last; t += 1 + t/10 {
		probabilities, err := Probabilities(mu, greed.At(t))
		if err != nil {
			return nil, err
		}
		for i, p := range probabilities {
			series[i].Name = fmt.Sprintf("mu = %v", mu[i])
			series[i].X, series[i].Y = append(series[i].X, float64(t)), append(series[i].Y, p)
		}
	}
	return series, nil
}
