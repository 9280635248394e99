package paper

import (
	"fmt"

	"github.com/contextrec/contextrec/envs"
)

// EstimatesInStates lets an algorithm learn from steps of uniformly random
// choices of a problem with states, in one run, and then asks for its estimates
// of one step's items: in the state that they were offered in, and in those of
// the steps before. The result is [states, M], every estimate less the mean of
// its row: what remains is what a choice depends on.
//
// Estimates are those of [FitRandomChoices]. It is an error when the policy has
// none, and when the problem has no states.
func EstimatesInStates(problem envs.Problem, algorithm envs.Algorithm, seed uint64, steps, states int) ([][]float64, error) {
	spec := problem.Spec()
	if spec.State == 0 {
		return nil, fmt.Errorf("paper: %T has no states", problem)
	}
	env, err := problem.New([]uint64{seed})
	if err != nil {
		return nil, err
	}
	policy, err := algorithm.New(spec, []uint64{seed})
	if err != nil {
		return nil, err
	}
	estimate, err := estimatesOf(policy)
	if err != nil {
		return nil, err
	}
	random := envs.NewRand(seed, "random choices")
	var seen [][]float32 // states, the latest last
	for range steps {
		obs := env.Observe()
		seen = append(seen, append([]float32(nil), obs.Contexts[:spec.State]...))
		actions := []int{random.IntN(spec.Candidates)}
		outcome, err := env.Step(actions)
		if err != nil {
			return nil, err
		}
		if err := policy.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: outcome}); err != nil {
			return nil, err
		}
	}
	if len(seen) < states {
		return nil, fmt.Errorf("paper: %d states after %d steps", states, steps)
	}
	obs := env.Observe()
	obs.Contexts, obs.Codes = append([]float32(nil), obs.Contexts...), nil
	all := make([][]float64, states)
	for k := range all {
		if k > 0 {
			for i := range spec.Candidates {
				copy(obs.Contexts[i*spec.Dim:], seen[len(seen)-k])
			}
		}
		all[k] = make([]float64, spec.Candidates)
		if err := estimate(all[k], obs); err != nil {
			return nil, err
		}
		mean := 0.
		for _, x := range all[k] {
			mean += x / float64(spec.Candidates)
		}
		for i := range all[k] {
			all[k][i] -= mean
		}
	}
	return all, nil
}
