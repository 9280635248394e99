package kkbox

import (
	"errors"
	"fmt"
	"io"

	"github.com/contextrec/contextrec/envs"
)

// LabelOracle chooses a song which the user will listen to again, if one is on offer: no policy
// earns more. It reads the targets of the rows behind the contexts, which policies do not see, so
// it plays the music problems only: its Act returns an error elsewhere. It learns nothing. Of songs
// that look alike it takes the first, which is a random one, for songs are offered in random order.
type LabelOracle struct{}

// ProbabilityOracle chooses the song with the highest true probability, as LabelOracle does with
// the target: what a policy can earn that knows the user and the law of the targets, but has not
// met the rows before. On real data its Act returns an error.
type ProbabilityOracle struct{}

// New implements envs.Algorithm.
func (a LabelOracle) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newOracle(a, spec, seeds, func(d *Dataset, row int32) float32 { return float32(d.Target[row]) })
}

// New implements envs.Algorithm.
func (a ProbabilityOracle) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newOracle(a, spec, seeds, func(d *Dataset, row int32) float32 { return d.Probability[row] })
}

// oracle takes the candidate whose row scores highest.
type oracle struct {
	algorithm envs.Algorithm
	spec      envs.Spec
	runs      int
	score     func(d *Dataset, row int32) float32
}

func newOracle(a envs.Algorithm, spec envs.Spec, seeds []uint64, score func(*Dataset, int32) float32) (envs.Policy, error) {
	if len(seeds) == 0 {
		return nil, errors.New("kkbox: no seeds, want one a run")
	}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	return &oracle{a, spec, len(seeds), score}, nil
}

func (p *oracle) Act(dst []int, obs envs.Observation) error {
	obs.Check(p.spec, p.runs)
	if len(dst) != p.runs {
		panic(fmt.Sprintf("kkbox: got %d places for actions, want %d", len(dst), p.runs))
	}
	var table *songTable
	if obs.Codes != nil {
		table, _ = obs.Codes.Table.(*songTable)
	}
	if _, needs := p.algorithm.(ProbabilityOracle); table == nil || needs && table.data.Probability == nil {
		return fmt.Errorf("kkbox: %T plays the music problems only, and ProbabilityOracle on synthetic data only", p.algorithm)
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
	tr.Check(p.spec, p.runs)
	return tr.Finite()
}

// Save implements envs.Saver.
func (p *oracle) Save(w io.Writer) error {
	return envs.WriteState(w, p.algorithm, p.spec, p.runs, true)
}

// Load implements envs.Saver.
func (p *oracle) Load(r io.Reader) error {
	var nothing bool
	return envs.ReadState(r, p.algorithm, p.spec, p.runs, &nothing)
}
