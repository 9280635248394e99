package paper

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
)

// RewardWeights returns the weights w of one run of a problem whose expected
// reward is w·c, [D]. They are what the D equations of the Oracle say; policies
// never see them. It is an error when the problem has no Oracle, and when its
// expected reward is not of that form.
func RewardWeights(problem envs.Problem, seed uint64) ([]float64, error) {
	env, err := problem.New([]uint64{seed})
	if err != nil {
		return nil, err
	}
	oracle, ok := env.(envs.Oracle)
	if !ok {
		return nil, fmt.Errorf("paper: %T has no Oracle", problem)
	}
	spec := problem.Spec()
	// Twice as many equations as unknowns, so that a problem of another form
	// cannot fulfil them.
	rows := (2*spec.Dim/spec.Candidates + 1) * spec.Candidates
	contexts, rewards := mat.NewDense(rows, spec.Dim, nil), mat.NewVecDense(rows, nil)
	expected := make([]float64, spec.Candidates)
	for i := 0; i < rows; i += spec.Candidates {
		obs := env.Observe()
		oracle.ExpectedRewards(expected)
		for k, e := range expected {
			rewards.SetVec(i+k, e)
			for d := range spec.Dim {
				contexts.Set(i+k, d, float64(obs.Contexts[k*spec.Dim+d]))
			}
		}
		if _, err := env.Step([]int{0}); err != nil {
			return nil, err
		}
	}
	var w, residual mat.VecDense
	if err := w.SolveVec(contexts, rewards); err != nil {
		return nil, fmt.Errorf("paper: weights of %T: %w", problem, err)
	}
	residual.MulVec(contexts, &w)
	residual.SubVec(&residual, rewards)
	if worst := mat.Norm(&residual, 2); worst > 1e-6*(1+mat.Norm(rewards, 2)) {
		return nil, fmt.Errorf("paper: the expected reward of %T is not linear in the context: the best weights miss it by %.2g", problem, worst)
	}
	return w.RawVector().Data, nil
}

// ModelFit is how well a policy's estimates match the expected rewards of
// candidates that it has not seen before.
type ModelFit struct {
	Name  string // of the contender
	Steps int    // that it learned from
	// Expected and Estimated are [R, K*M]: M candidates of K steps.
	Expected, Estimated [][]float64
	Candidates          int // M
}

// judgedSteps is K of a ModelFit.
const judgedSteps = 400

// FitRandomChoices lets a contender learn from steps of uniformly random choices,
// the same ones for every algorithm, and then compares its estimates for the
// candidates of new steps with their expected rewards. That leaves exploration
// out: what remains is what the algorithm can represent, and how fast it learns
// it.
//
// The estimate of a candidate is its value by the policy's method Values
// (package pgcr and baselines/neural), or its score by Scores (LinUCB and
// GLMUCB, which are estimates where Alpha is [baselines.NoExploration]). It is an
// error when the policy has neither, or the problem no Oracle.
func FitRandomChoices(problem envs.Problem, c sim.Contender, seeds []uint64, steps int) (*ModelFit, error) {
	env, err := problem.New(seeds)
	if err != nil {
		return nil, err
	}
	policy, err := c.Algorithm.New(problem.Spec(), seeds)
	if err != nil {
		return nil, err
	}
	estimate, err := estimatesOf(policy)
	if err != nil {
		return nil, err
	}
	oracle, ok := env.(envs.Oracle)
	if !ok {
		return nil, fmt.Errorf("paper: %T has no Oracle", problem)
	}
	m := problem.Spec().Candidates
	random := make([]*rand.Rand, len(seeds))
	for r, seed := range seeds {
		random[r] = envs.NewRand(seed, "random choices")
	}
	fit := &ModelFit{
		Name: c.Name, Steps: steps, Candidates: m,
		Expected: make([][]float64, len(seeds)), Estimated: make([][]float64, len(seeds)),
	}
	actions := make([]int, len(seeds))
	expected, estimated := make([]float64, len(seeds)*m), make([]float64, len(seeds)*m)
	for step := range steps + judgedSteps {
		obs := env.Observe()
		if step >= steps {
			oracle.ExpectedRewards(expected)
			if err := estimate(estimated, obs); err != nil {
				return nil, err
			}
			for r := range seeds {
				fit.Expected[r] = append(fit.Expected[r], expected[r*m:(r+1)*m]...)
				fit.Estimated[r] = append(fit.Estimated[r], estimated[r*m:(r+1)*m]...)
			}
		}
		for r := range actions {
			actions[r] = random[r].IntN(m)
		}
		outcome, err := env.Step(actions)
		if err != nil {
			return nil, err
		}
		if step < steps {
			if err := policy.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: outcome}); err != nil {
				return nil, err
			}
		}
	}
	return fit, nil
}

// estimatesOf is how a policy tells its estimates, [R, M].
func estimatesOf(policy envs.Policy) (func(dst []float64, obs envs.Observation) error, error) {
	switch p := policy.(type) {
	case interface {
		Values(dst []float64, obs envs.Observation) error
	}:
		return p.Values, nil
	case interface {
		Scores(dst []float64, obs envs.Observation) error
	}:
		return p.Scores, nil
	}
	return nil, fmt.Errorf("paper: %T tells neither values nor scores", policy)
}

// Correlation is the correlation of the estimates with the expected rewards,
// over runs. It counts as 0 where the
// estimates of a run do not vary.
func (f *ModelFit) Correlation() Interval {
	all := make([]float64, len(f.Expected))
	for r := range all {
		if c := stat.Correlation(f.Estimated[r], f.Expected[r], nil); !math.IsNaN(c) {
			all[r] = c
		}
	}
	return Mean95(all)
}

// Regret is the expected regret a step of choosing the candidate with the
// largest estimate, over runs.
func (f *ModelFit) Regret() Interval {
	all := make([]float64, len(f.Expected))
	for r, expected := range f.Expected {
		steps := len(expected) / f.Candidates
		for k := range steps {
			best, chosen := k*f.Candidates, k*f.Candidates
			for i := best + 1; i < (k+1)*f.Candidates; i++ {
				if expected[i] > expected[best] {
					best = i
				}
				if f.Estimated[r][i] > f.Estimated[r][chosen] {
					chosen = i
				}
			}
			all[r] += (expected[best] - expected[chosen]) / float64(steps)
		}
	}
	return Mean95(all)
}
