package baselines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/contextrec/contextrec/envs"
)

// Standardised is an algorithm whose features are shifted and scaled: from each the mean is
// subtracted, and the rest is divided by the standard deviation, over all contexts that were on
// offer to a run so far, N say. A feature that has been constant becomes 0, and none is larger than
// 100·sqrt(N), since no member of a sample is more than sqrt(N) deviations away.
//
// A step that is learned from later keeps the features of its time, so early steps are scaled
// roughly. Its histories keep contexts, not codes.
type Standardised struct{ Algorithm envs.Algorithm }

// New implements envs.Algorithm. The policy tells probabilities and can be saved if the algorithm's
// can do both, as those of this module can.
func (a Standardised) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	if a.Algorithm == nil {
		return nil, errors.New("baselines: Standardised.Algorithm is nil")
	}
	policy, err := a.Algorithm.New(spec, seeds)
	if err != nil {
		return nil, err
	}
	s := &standardised{Policy: policy, declared: a, spec: spec}
	for range seeds {
		s.runs = append(s.runs, moments{Mean: make([]float64, spec.Dim), Squares: make([]float64, spec.Dim)})
	}
	_, probable := policy.(envs.Probable)
	_, saver := policy.(envs.Saver)
	if !probable || !saver {
		return struct{ envs.Policy }{s}, nil
	}
	return s, nil
}

// Unwrap is for envs.Check.
func (a Standardised) Unwrap() envs.Algorithm { return a.Algorithm }

// MarshalJSON writes the type of the algorithm beside its settings.
func (a Standardised) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]envs.Algorithm{fmt.Sprintf("%T", a.Algorithm): a.Algorithm})
}

// moments are those of the features of a run: N contexts, their mean and the sum of squared
// deviations from it, by Welford's recurrence.
type moments struct {
	N             float64
	Mean, Squares []float64 // [D]
}

func (m *moments) add(context []float32) {
	m.N++
	for j, x := range context {
		deviation := float64(x) - m.Mean[j]
		m.Mean[j] += deviation / m.N
		m.Squares[j] += deviation * (float64(x) - m.Mean[j])
	}
}

// standardise writes a standardised context to dst.
func (m *moments) standardise(dst, context []float32) {
	for j, x := range context {
		switch sd := math.Sqrt(m.Squares[j] / m.N); {
		case m.N == 0 || x*0 != 0:
			dst[j] = x
		case sd > 1e-6*math.Abs(m.Mean[j]): // less is rounding
			most := 100 * math.Sqrt(m.N)
			dst[j] = float32(min(max((float64(x)-m.Mean[j])/sd, -most), most))
		default:
			dst[j] = 0
		}
	}
}

type standardised struct {
	envs.Policy
	declared Standardised
	spec     envs.Spec
	runs     []moments
}

// features returns an observation with standardised contexts, in memory that nobody else has.
func (p *standardised) features(obs envs.Observation) envs.Observation {
	obs.Check(p.spec, len(p.runs)) // the algorithm finds what is not finite
	contexts := make([]float32, len(obs.Contexts))
	for r := range p.runs {
		for i := range obs.Size(r) {
			p.runs[r].standardise(contexts[(r*obs.Candidates+i)*obs.Dim:], obs.Context(r, i))
		}
	}
	obs.Contexts, obs.Codes = contexts, nil
	return obs
}

func (p *standardised) Act(dst []int, obs envs.Observation) error {
	return p.Policy.Act(dst, p.features(obs))
}

func (p *standardised) Probabilities(dst []float64, obs envs.Observation) error {
	return p.Policy.(envs.Probable).Probabilities(dst, p.features(obs))
}

func (p *standardised) Update(tr envs.Transition) error {
	if err := tr.Check(p.spec, len(p.runs)); err != nil {
		return err
	}
	for r := range p.runs {
		for i := range tr.Size(r) {
			p.runs[r].add(tr.Context(r, i))
		}
	}
	tr.Observation = p.features(tr.Observation)
	return p.Policy.Update(tr)
}

// standardisedState is what is saved: the moments, and what the algorithm saves.
type standardisedState struct {
	Runs   []moments
	Policy []byte
}

func (p *standardised) Save(w io.Writer) error {
	var policy bytes.Buffer
	err := p.Policy.(envs.Saver).Save(&policy)
	return errors.Join(err, envs.WriteState(w, p.declared, p.spec, len(p.runs), standardisedState{p.runs, policy.Bytes()}))
}

func (p *standardised) Load(r io.Reader) error {
	var s standardisedState
	if err := envs.ReadState(r, p.declared, p.spec, len(p.runs), &s); err != nil {
		return err
	}
	if err := p.Policy.(envs.Saver).Load(bytes.NewReader(s.Policy)); err != nil {
		return err
	}
	p.runs = s.Runs
	return nil
}
