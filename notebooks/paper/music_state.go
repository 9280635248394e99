package paper

import (
	"fmt"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// EstimatesInStates lets an algorithm learn from steps of uniformly random
// choices of a problem with states, in one run, and then asks for its estimates
// of one step's items: in the state that they were offered in, and in the latest
// others that there were. The result is [states, M], every estimate less the mean
// of its row: what remains is what a choice depends on.
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
		if s := obs.Contexts[:spec.State]; !slices.ContainsFunc(seen, func(t []float32) bool { return slices.Equal(s, t) }) {
			seen = append(seen, slices.Clone(s))
		}
		actions := []int{random.IntN(spec.Candidates)}
		outcome, err := env.Step(actions)
		if err != nil {
			return nil, err
		}
		if err := policy.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: outcome}); err != nil {
			return nil, err
		}
	}
	obs := env.Observe()
	obs.Contexts, obs.Codes = slices.Clone(obs.Contexts), nil
	seen = slices.DeleteFunc(seen, func(t []float32) bool { return slices.Equal(obs.Contexts[:spec.State], t) })
	if len(seen) < states-1 {
		return nil, fmt.Errorf("paper: there were %d other states in %d steps, want %d", len(seen), steps, states-1)
	}
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

// Visit is a step of one session, in codes (see [envs.Codes]).
type Visit struct {
	Step   int     // counted from 1
	State  []int32 // the latest choice first, envs.NoItem where there is none
	Chosen int32
}

// Visits follows the session that comes first, choosing the first candidate at
// every step, until it has come so often. It is an error when the problem has no
// sessions or no codes, and when it has not come back often enough in a million
// steps.
func Visits(problem envs.Problem, seed uint64, visits int) ([]Visit, error) {
	env, err := problem.New([]uint64{seed})
	if err != nil {
		return nil, err
	}
	first := env.Observe()
	if first.Session == nil || first.Codes == nil {
		return nil, fmt.Errorf("paper: %T has no sessions, or no codes", problem)
	}
	session := first.Session[0]
	var all []Visit
	for step := 1; len(all) < visits; step++ {
		if step > 1_000_000 {
			return nil, fmt.Errorf("paper: the first session of %T came %d times in a million steps", problem, len(all))
		}
		obs := env.Observe()
		if obs.Session[0] == session {
			all = append(all, Visit{step, slices.Clone(obs.Codes.State), obs.Codes.Items[0]})
		}
		if _, err := env.Step([]int{0}); err != nil {
			return nil, err
		}
	}
	return all, nil
}
