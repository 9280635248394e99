package neural

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// Policy is the live policy of Greedy, EpsilonGreedy and DropoutThompson: a
// value network, the history that it learns from, and a way to choose, for R
// runs at once.
type Policy struct {
	algorithm string
	settings  Settings
	dropout   float64
	explore   explore // nil for none
	spec      envs.Spec
	backend   compute.Backend
	network   *pgcr.Parameters
	streams   []streams // [R]
	steps     int64     // steps seen

	contexts *pgcr.Contexts  // the candidates of a decision, M and filled up to a multiple of vector
	mask     *tensors.Tensor // [R, 1, H]
	values   *Exec           // weights, contexts, mask -> f(c), [R, n]
	learn    *learner        // made at the first update, when it is known whether there are sessions
}

// vector is how many columns the Go backend's vector kernels take at a time: a rest
// is ten times slower, so decisions are filled up with columns that nobody reads.
const vector = 8

// streams are the random sources of one run, one for each purpose, so that no
// use of one shifts another.
type streams struct {
	act, actMask, batch, batchMask *rand.Rand

	tie *rand.Rand // of a script
}

func newPolicy(algorithm string, s Settings, dropout float64, spec envs.Spec, seeds []uint64, explore explore) (envs.Policy, error) {
	if err := checkProblem(algorithm, spec, seeds); err != nil {
		return nil, err
	}
	if err := s.check(algorithm); err != nil {
		return nil, err
	}
	var err error
	if s.Backend, err = pgcr.OpenBackend(s.Backend); err != nil {
		return nil, err
	}
	network := pgcr.Network{Dim: spec.Dim, Hidden: s.Hidden, Bias: true}
	p := &Policy{
		algorithm: algorithm, settings: s, dropout: dropout, explore: explore, spec: spec, backend: s.Backend,
		network: pgcr.NewParameters(s.Backend, network, seeds, "neural/value"),
	}
	for _, seed := range seeds {
		p.streams = append(p.streams, streams{
			act:       envs.NewRand(seed, "neural/act"),
			actMask:   envs.NewRand(seed, "neural/act-dropout"),
			batch:     envs.NewRand(seed, "neural/replay"),
			batchMask: envs.NewRand(seed, "neural/update-dropout"),
			tie:       envs.NewRand(seed, "neural/tie"),
		})
	}
	in := inputs{backend: p.backend, runs: len(seeds)}
	p.contexts = in.contexts((spec.Candidates+vector-1)/vector*vector, spec.Dim, false)
	p.mask = in.mask(network)
	if in.err != nil {
		return nil, in.err
	}
	p.values, err = NewExec(p.backend, func(in []*Node) *Node {
		k := len(in) - 2
		return network.Forward(in[:k], in[k], in[k+1]).Output
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Runs returns R.
func (p *Policy) Runs() int { return len(p.streams) }

// Act implements envs.Policy. It changes nothing but random streams that only
// Act draws from.
func (p *Policy) Act(dst []int, obs envs.Observation) error {
	obs.Check(p.spec, p.Runs())
	if len(dst) != p.Runs() {
		panic(fmt.Sprintf("neural: %d actions asked for, policy was made for %d runs", len(dst), p.Runs()))
	}
	drop := func(r int, mask []float32) { pgcr.DropUnits(mask, p.dropout, p.streams[r].actMask) }
	return p.evaluate(obs, drop, func(r int, values []float32) {
		dst[r] = -1
		if p.explore != nil {
			dst[r] = p.explore(len(values), p.streams[r].act)
		}
		if dst[r] < 0 {
			dst[r] = greedy(values, p.streams[r].act)
		}
	})
}

// Values writes the estimated value f(c) of every candidate to dst, [R, M]
// row-major: the expected reward in a bandit, the expected discounted return
// where Discount counts. No unit is dropped. It changes nothing, and panics when
// dst has another length.
func (p *Policy) Values(dst []float64, obs envs.Observation) error {
	obs.Check(p.spec, p.Runs())
	m := p.spec.Candidates
	if len(dst) != p.Runs()*m {
		panic(fmt.Sprintf("neural: %d values asked for, policy was made for %d runs of %d candidates", len(dst), p.Runs(), m))
	}
	keep := func(_ int, mask []float32) { pgcr.DropUnits(mask, 0, nil) }
	return p.evaluate(obs, keep, func(r int, values []float32) {
		for i, v := range values {
			dst[r*m+i] = float64(v)
		}
	})
}

// evaluate hands the values of each run's candidates to use, under the mask that
// setMask writes.
func (p *Policy) evaluate(obs envs.Observation, setMask func(r int, mask []float32), use func(r int, values []float32)) error {
	if err := obs.Finite(); err != nil {
		return err
	}
	runs, m, size := p.Runs(), p.spec.Candidates, p.spec.Candidates*p.spec.Dim
	err := pgcr.EditInputs([]*tensors.Tensor{p.contexts.Columns(), p.mask}, func(v [][]float32) {
		columns, units := p.contexts.Writer(v[0], nil), len(v[1])/runs
		for r := range runs {
			columns.Write(r, 0, obs.Contexts[r*size:(r+1)*size])
			setMask(r, v[1][r*units:(r+1)*units])
		}
	})
	if err != nil {
		return err
	}
	results, err := p.values.Call(append(p.network.Weights(), p.contexts.Columns(), p.mask)...)
	if err != nil {
		return err
	}
	var diverged error
	err = tensors.ConstFlatData(results[0], func(flat []float32) {
		for r := 0; r < runs && diverged == nil; r++ {
			values := flat[len(flat)/runs*r:][:m]
			if diverged = p.checkValues(r, values); diverged == nil {
				use(r, values)
			}
		}
	})
	if err != nil {
		return err
	}
	if err := results[0].FinalizeAll(); err != nil {
		return err
	}
	return diverged
}

// checkValues explains values that are not finite by the setting that causes them.
func (p *Policy) checkValues(r int, values []float32) error {
	for i, v := range values {
		if !finite(v) {
			return p.diverged(r, fmt.Sprintf("the value of candidate %d is %v", i, v))
		}
	}
	return nil
}

func (p *Policy) diverged(r int, what string) error {
	return &envs.RunError{Run: r, Err: fmt.Errorf("after %d updates %s (%s.Rate %v)", p.network.Updates, what, p.algorithm, p.settings.Rate)}
}

// Update implements envs.Policy: it appends the step to the history and, every
// UpdateEvery steps, learns from a batch of it. It panics when some transitions
// have sessions and others do not.
func (p *Policy) Update(tr envs.Transition) error {
	tr.Check(p.spec, p.Runs())
	if err := tr.Finite(); err != nil {
		return err
	}
	if p.learn == nil {
		var err error
		if p.learn, err = newLearner(p, tr.Session != nil); err != nil {
			return err
		}
	}
	if err := p.learn.add(tr); err != nil {
		return err
	}
	p.steps++
	if p.steps%int64(p.settings.UpdateEvery) != 0 {
		return nil
	}
	return p.learn.update(p)
}

func finite(x float32) bool { return math.Abs(float64(x)) <= math.MaxFloat32 }
