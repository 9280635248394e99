package baselines

import (
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// Random chooses uniformly and learns nothing: what every other policy has to
// beat. It has no settings.
type Random struct{}

// New implements envs.Algorithm. It returns an error for a spec out of bounds
// and when there is no seed.
func (Random) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	s, err := newShape("Random", spec, seeds)
	if err != nil {
		return nil, err
	}
	p := &random{shape: s}
	for _, seed := range seeds {
		p.act = append(p.act, envs.NewRand(seed, "Random/act"))
	}
	return p, nil
}

type random struct {
	shape
	act []*rand.Rand // [R]
}

func (p *random) Act(dst []int, obs envs.Observation) error {
	if err := p.checkDecision(dst, obs); err != nil {
		return err
	}
	for r := range dst {
		dst[r] = p.act[r].IntN(p.Candidates)
	}
	return nil
}

// Update refuses what the other policies refuse, so that a broken environment
// shows beside every contender.
func (p *random) Update(tr envs.Transition) error { return p.checkTransition(tr) }
