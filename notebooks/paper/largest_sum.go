package paper

import (
	"slices"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
)

// LargestSum chooses the candidate with the largest sum of features and learns
// nothing. It is a line to compare with on the Bernoulli problem, whose weights are
// all positive: an algorithm that is not better has learned nothing from rewards.
type LargestSum struct{}

// New makes a linear model of equal weights, which is what one reward of features that are all 1 teaches.
func (LargestSum) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	policy, err := baselines.LinUCB{Alpha: baselines.NoExploration}.New(spec, seeds)
	if err != nil {
		return nil, err
	}
	ones := envs.Observation{Runs: len(seeds), Candidates: spec.Candidates, Dim: spec.Dim}
	ones.Contexts = slices.Repeat([]float32{1}, ones.Runs*ones.Candidates*ones.Dim)
	reward := envs.Outcome{Reward: slices.Repeat([]float32{1}, ones.Runs)}
	err = policy.Update(envs.Transition{Observation: ones, Actions: make([]int, ones.Runs), Outcome: reward})
	return largestSum{policy.(known), spec, ones.Runs}, err
}

// known is what the policies of package baselines can do.
type known interface {
	envs.Policy
	envs.Probable
	envs.Saver
}

type largestSum struct {
	known
	spec envs.Spec
	runs int
}

func (p largestSum) Update(tr envs.Transition) error {
	return tr.Check(p.spec, p.runs)
}
