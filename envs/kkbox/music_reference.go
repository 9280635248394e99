package kkbox

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
)

// LabelOracle is the reference that chooses a song which the user will listen to
// again, if one is on offer: no policy earns more. It reads the targets of the
// rows behind the contexts, which a policy is not told, so it plays the music
// problems only: its Act returns an error elsewhere. It learns nothing.
type LabelOracle struct{}

// New implements envs.Algorithm. It returns an error for a spec out of bounds
// and when there is no seed.
func (LabelOracle) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newReference(spec, seeds, func(t *MusicTable, row int32) (float32, error) {
		return t.Feedback(row), nil
	})
}

// ProbabilityOracle is the reference that chooses the song with the highest true
// probability: what a policy can earn that knows the user and everything else
// about the law of the targets, but has not met the rows before. It plays the
// music problems on a synthetic twin only: its Act returns an error elsewhere.
// It learns nothing.
type ProbabilityOracle struct{}

// New implements envs.Algorithm. It returns an error for a spec out of bounds
// and when there is no seed.
func (ProbabilityOracle) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newReference(spec, seeds, func(t *MusicTable, row int32) (float32, error) {
		if t.data.Probability == nil {
			return 0, errors.New("kkbox: the true probabilities of real data are unknown")
		}
		return t.data.Probability[row], nil
	})
}

// reference takes the candidate whose row scores highest, and of several a
// random one.
type reference struct {
	spec  envs.Spec
	score func(*MusicTable, int32) (float32, error)
	act   []*rand.Rand // [R]
}

func newReference(spec envs.Spec, seeds []uint64, score func(*MusicTable, int32) (float32, error)) (envs.Policy, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if len(seeds) == 0 {
		return nil, errors.New("kkbox: a reference policy needs at least one seed")
	}
	p := &reference{spec: spec, score: score}
	for _, seed := range seeds {
		p.act = append(p.act, envs.NewRand(seed, "kkbox/act"))
	}
	return p, nil
}

func (p *reference) Act(dst []int, obs envs.Observation) error {
	obs.Check(p.spec, len(p.act))
	if len(dst) != len(p.act) {
		panic(fmt.Sprintf("kkbox: %d places for actions of %d runs", len(dst), len(p.act)))
	}
	if obs.Codes == nil {
		return errors.New("kkbox: a reference policy plays the music problems only")
	}
	table, ok := obs.Codes.Table.(*MusicTable)
	if !ok {
		return fmt.Errorf("kkbox: a reference policy plays the music problems only, not %s", obs.Codes.Table.Identity())
	}
	m := obs.Candidates
	for r := range dst {
		best, ties := float32(0), 0
		for i, row := range obs.Codes.Items[r*m : (r+1)*m] {
			score, err := p.score(table, row)
			switch {
			case err != nil:
				return err
			case ties == 0 || score > best:
				best, ties, dst[r] = score, 1, i
			case score == best:
				if ties++; p.act[r].IntN(ties) == 0 {
					dst[r] = i
				}
			}
		}
	}
	return nil
}

// Update refuses what other policies refuse.
func (p *reference) Update(tr envs.Transition) error {
	tr.Check(p.spec, len(p.act))
	return nil
}
