package ondevice

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// table is where the tapes of a match are made.
type table struct {
	match  sim.Match
	script pgcr.Script
	spec   envs.Spec
	size   pgcr.TapeSize
	groups []*group
	steps  int // those of the match, rounded up to the next update; what comes after the match is not recorded
	laid   int // steps laid out so far
	oracle bool
}

// maxStretch bounds the steps between updates, which are written out in the
// graph.
const maxStretch = 128

// group is some neighbouring runs with an environment of their own: a run does
// not depend on those beside it, so groups can be laid out at the same time.
type group struct {
	first, runs int
	env         envs.Environment
	outcomes    envs.PotentialOutcomes
	oracle      envs.Oracle // or nil
	actions     []int
	order       []int
}

// piece is the tape of some steps.
type piece struct {
	first, steps int
	contexts     []float32 // [R, K, M*D], by slot
	batch        []int32   // [K, R, B]
	floats       []float32 // [K, R, F]
	shared       []float32 // [K, S]
	order        []uint8   // [R, K, M], the candidate at each slot
	expected     []float64 // [R, K, M], by candidate; nil without an Oracle
	rewards      []float32 // [R, K, M], by candidate
	err          error
}

func newTable(m sim.Match, script pgcr.Script) (*table, error) {
	t := &table{match: m, script: script, spec: m.Problem.Spec(), size: script.Tape(), oracle: true}
	every := script.UpdateEvery()
	if every > maxStretch {
		return nil, unsuitable(fmt.Sprintf("%T learns every %d steps only; at most %d are played between updates", m.Algorithm, every, maxStretch))
	}
	t.steps = (m.Steps + every - 1) / every * every
	runs := len(m.ProblemSeeds)
	n := min(runs, runtime.GOMAXPROCS(0))
	for i := range n {
		from, to := runs*i/n, runs*(i+1)/n
		env, err := m.NewEnvironment(from, to)
		if err != nil {
			return nil, err
		}
		g := &group{first: from, runs: to - from, env: env, actions: make([]int, to-from), order: make([]int, t.spec.Candidates)}
		g.outcomes, _ = env.(envs.PotentialOutcomes)
		if g.outcomes == nil {
			return nil, unsuitable(fmt.Sprintf("the environment of %T does not tell what every candidate would earn (envs.PotentialOutcomes)", m.Problem))
		}
		if obs := env.Observe(); obs.Session != nil || obs.Codes != nil {
			return nil, unsuitable(fmt.Sprintf("%T has sessions or codes", m.Problem))
		}
		g.oracle, _ = env.(envs.Oracle)
		t.oracle = t.oracle && g.oracle != nil
		t.groups = append(t.groups, g)
	}
	return t, nil
}

// width is how many floats a run's step takes.
func (t *table) width() int {
	w := t.size.Floats + t.spec.Candidates
	if t.size.Slots {
		w += t.spec.Candidates
	}
	return w
}

// next lays out so many further steps.
func (t *table) next(steps int) *piece {
	runs, m, d := len(t.match.ProblemSeeds), t.spec.Candidates, t.spec.Dim
	p := &piece{
		first: t.laid, steps: steps,
		contexts: make([]float32, runs*steps*m*d),
		batch:    make([]int32, steps*runs*t.size.Batch),
		floats:   make([]float32, steps*runs*t.width()),
		shared:   make([]float32, steps*t.size.Shared),
		order:    make([]uint8, runs*steps*m),
		rewards:  make([]float32, runs*steps*m),
	}
	if t.oracle {
		p.expected = make([]float64, runs*steps*m)
	}
	for k := range steps {
		t.script.LayShared(t.laid+k, p.shared[k*t.size.Shared:(k+1)*t.size.Shared])
	}
	errs := make([]error, len(t.groups))
	var wg sync.WaitGroup
	for i, g := range t.groups {
		wg.Go(func() { errs[i] = t.lay(g, p) })
	}
	wg.Wait()
	// The error of the earliest step is the one that the loop would have met.
	for _, err := range errs {
		if p.err == nil || err != nil && err.(*sim.StepError).Step < p.err.(*sim.StepError).Step {
			p.err = err
		}
	}
	t.laid += steps
	return p
}

// lay fills in a group's runs.
func (t *table) lay(g *group, p *piece) error {
	runs, m, d, b, f := len(t.match.ProblemSeeds), t.spec.Candidates, t.spec.Dim, t.size.Batch, t.width()
	rewards := make([]float32, g.runs*m)
	expected := make([]float64, g.runs*m)
	for k := range p.steps {
		obs := g.env.Observe()
		fail := func(err error) error {
			if run, ok := err.(*envs.RunError); ok {
				err = &envs.RunError{Run: g.first + run.Run, Err: run.Err}
			}
			return &sim.StepError{Step: p.first + k + 1, Err: err}
		}
		if err := obs.Finite(); err != nil {
			return fail(err)
		}
		g.outcomes.PotentialRewards(rewards)
		if t.oracle {
			g.oracle.ExpectedRewards(expected)
		}
		for i := range g.runs {
			r := g.first + i
			for slot := range g.order {
				g.order[slot] = slot
			}
			floats := p.floats[(k*runs+r)*f : (k*runs+r+1)*f]
			batch := p.batch[(k*runs+r)*b : (k*runs+r+1)*b]
			t.script.Lay(r, p.first+k, pgcr.TapeRow{Floats: floats[:t.size.Floats], Batch: batch, Order: g.order})
			for j := range batch {
				batch[j] += int32(r * t.steps)
			}
			at := r*p.steps + k
			contexts, from := p.contexts[at*m*d:(at+1)*m*d], obs.Contexts[i*m*d:(i+1)*m*d]
			for slot, candidate := range g.order {
				copy(contexts[slot*d:(slot+1)*d], from[candidate*d:])
				p.order[at*m+slot] = uint8(candidate)
				if t.size.Slots {
					floats[t.size.Floats+candidate] = float32(slot)
				}
			}
			for c, x := range rewards[i*m : (i+1)*m] {
				if !finite(float64(x)) {
					return fail(&envs.RunError{Run: i, Err: fmt.Errorf("the reward of candidate %d would be %v", c, x)})
				}
				floats[f-m+c] = x
				p.rewards[at*m+c] = x
			}
			if t.oracle {
				for c, x := range expected[i*m : (i+1)*m] {
					if !finite(x) {
						return fail(&envs.RunError{Run: i, Err: fmt.Errorf("expected reward of candidate %d is %v", c, x)})
					}
					p.expected[at*m+c] = x
				}
			}
		}
		// Nothing that comes depends on what is chosen.
		if _, err := g.env.Step(g.actions); err != nil {
			return fail(err)
		}
	}
	return nil
}

// upload brings a piece to the device.
func (p *piece) upload(backend compute.Backend, runs int) (contexts, batch, floats, shared *tensors.Tensor, err error) {
	contexts = tensors.FromFlatDataAndDimensions(p.contexts, runs, p.steps, len(p.contexts)/runs/p.steps)
	batch = tensors.FromFlatDataAndDimensions(p.batch, p.steps, runs, len(p.batch)/runs/p.steps)
	floats = tensors.FromFlatDataAndDimensions(p.floats, p.steps, runs, len(p.floats)/runs/p.steps)
	shared = tensors.FromFlatDataAndDimensions(p.shared, p.steps, len(p.shared)/p.steps)
	for _, t := range []*tensors.Tensor{contexts, batch, floats, shared} {
		if err = t.MaterializeOnDevice(backend, false, 0); err != nil {
			return nil, nil, nil, nil, err
		}
	}
	return contexts, batch, floats, shared, nil
}

// record shows the recorder the steps of a piece, in which slots, [R, K], were
// chosen.
func (t *table) record(p *piece, slots []float32) error {
	runs, m := len(t.match.ProblemSeeds), t.spec.Candidates
	actions, reward, discount := make([]int, runs), make([]float32, runs), make([]float32, runs)
	contexts := make([]float32, runs*m*t.spec.Dim)
	var regret []float64
	if t.oracle {
		regret = make([]float64, runs)
	}
	for k := range min(p.steps, t.match.Steps-p.first) {
		for r := range runs {
			at, slot := r*p.steps+k, slots[r*p.steps+k]
			if !(slot >= 0) {
				return &sim.StepError{Step: p.first + k + 1, Err: t.script.Diverged(r, p.first+k)}
			}
			a := int(p.order[at*m+int(slot)])
			actions[r], reward[r] = a, p.rewards[at*m+a]
			if t.oracle {
				expected := p.expected[at*m : (at+1)*m]
				regret[r] = slices.Max(expected) - expected[a]
			}
			t.observed(contexts[r*m*t.spec.Dim:(r+1)*m*t.spec.Dim], p, at)
		}
		obs := envs.Observation{Runs: runs, Candidates: m, Dim: t.spec.Dim, Contexts: contexts}
		outcome := envs.Outcome{Reward: reward, Discount: discount}
		t.match.Recorder.Record(p.first+k+1, envs.Transition{Observation: obs, Actions: actions, Outcome: outcome}, regret)
	}
	return nil
}

// observed puts the contexts of a run's step back into the candidates' order.
func (t *table) observed(dst []float32, p *piece, at int) {
	m, d := t.spec.Candidates, t.spec.Dim
	for slot, candidate := range p.order[at*m : (at+1)*m] {
		copy(dst[int(candidate)*d:(int(candidate)+1)*d], p.contexts[(at*m+slot)*d:])
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
