package paper

import (
	"math"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// LargestSum chooses the candidate with the largest sum of features and learns
// nothing. It is a line to compare with on the Bernoulli problem, whose weights are
// all positive: an algorithm that is not better has learned nothing from rewards.
type LargestSum struct{}

func (LargestSum) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if err := spec.Validate(seeds); err != nil {
		return nil, err
	}
	p := &largestSum{spec: spec}
	for _, seed := range seeds {
		p.ties = append(p.ties, envs.NewRand(seed, "paper/ties"))
	}
	return p, nil
}

type largestSum struct {
	spec envs.Spec
	ties []*rand.Rand // [R]
}

func (p *largestSum) Act(dst []int, obs envs.Observation) error {
	obs.Check(p.spec, len(p.ties))
	envs.CheckResults(len(dst), obs.Runs)
	for r, rng := range p.ties {
		best, n := math.Inf(-1), obs.Size(r)
		first := rng.IntN(n) // of equals the first from here on
		for k := range n {
			i, sum := (first+k)%n, 0.0
			for _, c := range obs.Context(r, i) {
				sum += float64(c)
			}
			if sum > best {
				best, dst[r] = sum, i
			}
		}
	}
	return obs.Finite()
}

func (p *largestSum) Update(tr envs.Transition) error {
	tr.Check(p.spec, len(p.ties))
	return tr.Finite()
}
