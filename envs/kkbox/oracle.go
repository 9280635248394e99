package kkbox

import (
	"errors"

	"github.com/contextrec/contextrec/envs"
)

// LabelOracle chooses a song which the user will listen to again, if one is on offer: no policy
// earns more. It reads the targets of the rows behind the contexts, which policies do not see. Of
// songs that look alike it takes the first, which is a random one.
type LabelOracle struct{}

// ProbabilityOracle chooses the song with the highest true probability, as LabelOracle does with
// the target: what a policy can earn that knows the user and the law of the targets, but has not
// met the rows before. On real data its Act returns an error.
type ProbabilityOracle struct{}

func (a LabelOracle) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newOracle(spec, seeds, func(d *Dataset, row int32) float32 { return float32(d.Target[row]) }, false)
}

func (a ProbabilityOracle) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newOracle(spec, seeds, func(d *Dataset, row int32) float32 { return d.Probability[row] }, true)
}

type oracle struct {
	spec      envs.Spec
	runs      int
	score     func(d *Dataset, row int32) float32
	synthetic bool // it plays on synthetic data only
}

func newOracle(spec envs.Spec, seeds []uint64, score func(*Dataset, int32) float32, synthetic bool) (envs.Policy, error) {
	return &oracle{spec, len(seeds), score, synthetic}, spec.Validate(seeds)
}

func (p *oracle) Act(dst []int, obs envs.Observation) error {
	envs.CheckResults(len(dst), p.runs)
	if err := obs.Check(p.spec, p.runs); err != nil {
		return err
	}
	var table *songTable
	if obs.Codes != nil {
		table, _ = obs.Codes.Table.(*songTable)
	}
	if table == nil || p.synthetic && table.data.Probability == nil {
		return errors.New("kkbox: LabelOracle plays the music problems only, and ProbabilityOracle on synthetic data only")
	}
	for r := range dst {
		items := obs.Codes.Items[r*obs.Candidates:][:obs.Size(r)]
		dst[r] = 0
		for i, row := range items {
			if p.score(table.data, row) > p.score(table.data, items[dst[r]]) {
				dst[r] = i
			}
		}
	}
	return nil
}

func (p *oracle) Update(tr envs.Transition) error {
	return tr.Check(p.spec, p.runs)
}
