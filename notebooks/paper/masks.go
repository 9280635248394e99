package paper

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// MaskSpread is what the actors that Actor-Dropout picks from (section 5.2.2)
// would do at one and the same step: one actor for each dropout mask. Candidates
// are in the order of their expected rewards, the best one first.
type MaskSpread struct {
	Dropout  float64
	Steps    int         // that the policy had learned from
	Masks    [][]float64 // [masks, M], probabilities under each mask
	Whole    []float64   // [M], with no unit dropped
	Expected []float64   // [M], expected rewards
}

// SpreadOverMasks lets PGCR play one run of a problem for some steps, and then
// asks it for its probabilities at the next step under so many masks. It is an
// error when the problem has no Oracle.
func SpreadOverMasks(problem envs.Problem, config pgcr.Config, seed uint64, steps, masks int) (*MaskSpread, error) {
	seeds := []uint64{seed}
	env, err := problem.New(seeds)
	if err != nil {
		return nil, err
	}
	oracle, ok := env.(envs.Oracle)
	if !ok {
		return nil, fmt.Errorf("paper: %T has no Oracle", problem)
	}
	policy, err := config.New(problem.Spec(), seeds)
	if err != nil {
		return nil, err
	}
	agent := policy.(*pgcr.Agent)
	if err := sim.Play(context.Background(), env, agent, steps, nil); err != nil {
		return nil, err
	}
	m, obs := problem.Spec().Candidates, env.Observe()
	s := &MaskSpread{Dropout: config.Dropout, Steps: steps, Whole: make([]float64, m), Expected: make([]float64, m)}
	oracle.ExpectedRewards(s.Expected)
	if err := agent.Probabilities(s.Whole, obs); err != nil {
		return nil, err
	}
	for k := range masks {
		p := make([]float64, m)
		if err := agent.ProbabilitiesOfMask(p, obs, uint64(k)); err != nil {
			return nil, err
		}
		s.Masks = append(s.Masks, p)
	}
	s.order()
	return s, nil
}

// order puts the best candidate first.
func (s *MaskSpread) order() {
	best := make([]int, len(s.Expected))
	for i := range best {
		best[i] = i
	}
	slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(s.Expected[b], s.Expected[a]) })
	for _, row := range append([][]float64{s.Expected, s.Whole}, s.Masks...) {
		old := slices.Clone(row)
		for i, k := range best {
			row[i] = old[k]
		}
	}
}

// Deviation is the standard deviation over masks of a candidate's probability,
// in the mean over the candidates.
func (s *MaskSpread) Deviation() float64 {
	var sum float64
	of := make([]float64, len(s.Masks))
	for i := range s.Whole {
		for k, p := range s.Masks {
			of[k] = p[i]
		}
		sum += math.Sqrt(stat.PopVariance(of, nil))
	}
	return sum / float64(len(s.Whole))
}

// Disagreement is the share of masks whose most probable candidate is not that
// of the network with no unit dropped.
func (s *MaskSpread) Disagreement() float64 {
	differ := 0
	for _, p := range s.Masks {
		if favourite(p) != favourite(s.Whole) {
			differ++
		}
	}
	return float64(differ) / float64(len(s.Masks))
}

func favourite(p []float64) int { return slices.Index(p, slices.Max(p)) }
