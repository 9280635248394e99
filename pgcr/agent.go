package pgcr

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Agent is the live policy of the paper (section 5): an actor that chooses, a
// critic that it learns from, and the history of both, for R runs at once.
//
// An Agent is not safe for concurrent use. Agents are independent of each
// other, so several goroutines may each have their own.
type Agent struct {
	config    Config
	spec      envs.Spec
	estimator Estimator
	backend   compute.Backend

	actor, critic *Parameters
	replay        *Replay
	streams       []streams
	steps         int64 // steps learned from: t of Time-Dependent Greed

	decide decider
	learn  *learner // made at the first update, when it is known whether there are sessions
	failed error    // of an update that left no parameters behind
}

// streams are the random sources of one run, one for each purpose, so that no
// use of one shifts another.
type streams struct {
	act, actMask, slots, batch, batchMask, rivals *rand.PCG
}

func newStreams(seed uint64) streams {
	return streams{
		act:       envs.NewSource(seed, "pgcr/act"),
		actMask:   envs.NewSource(seed, "pgcr/act-dropout"),
		slots:     envs.NewSource(seed, "pgcr/slots"),
		batch:     envs.NewSource(seed, "pgcr/replay"),
		batchMask: envs.NewSource(seed, "pgcr/update-dropout"),
		rivals:    envs.NewSource(seed, "pgcr/resample"),
	}
}

// all lists the sources in a fixed order, for saving.
func (s *streams) all() []*rand.PCG {
	return []*rand.PCG{s.act, s.actMask, s.slots, s.batch, s.batchMask, s.rivals}
}

// NewAgent makes an agent of one run a seed that estimates probabilities in the
// given way. Config.New does so with Resampled, which is PGCR. Its errors are
// those of New; Resamples is not used.
func (c Config) NewAgent(spec envs.Spec, seeds []uint64, estimator Estimator) (*Agent, error) {
	c = c.withDefaults()
	if err := c.check(spec); err != nil {
		return nil, err
	}
	if len(seeds) == 0 {
		return nil, errNoRuns
	}
	if estimator == nil {
		return nil, errors.New("pgcr: estimator is nil")
	}
	if spec.State == 0 { // with states, the rivals may be those of sessions
		if err := estimator.Check(c.BatchSize, spec.Candidates); err != nil {
			return nil, err
		}
	}
	backend, err := OpenBackend(c.Backend)
	if err != nil {
		return nil, err
	}
	a := &Agent{config: c, spec: spec, estimator: estimator, backend: backend}
	a.actor = NewParameters(backend, Network{Dim: spec.Dim, Hidden: c.Hidden}, seeds, "pgcr/actor")
	a.critic = NewParameters(backend, Network{Dim: spec.Dim, Hidden: c.Hidden, Bias: true}, seeds, "pgcr/critic")
	a.replay = NewReplay(spec, len(seeds), c.Discount)
	for _, seed := range seeds {
		a.streams = append(a.streams, newStreams(seed))
	}
	return a, a.decide.init(a)
}

// Runs returns R.
func (a *Agent) Runs() int { return len(a.streams) }

// Steps returns how many steps the agent has learned from.
func (a *Agent) Steps() int64 { return a.steps }

// Act samples an action for each run from the policy (13), under one fresh
// dropout mask a run.
func (a *Agent) Act(dst []int, obs envs.Observation) error {
	obs.Check(a.spec, a.Runs())
	if a.failed != nil {
		return a.failed
	}
	if len(dst) != a.Runs() {
		panic(fmt.Sprintf("pgcr: %d actions for %d runs", len(dst), a.Runs()))
	}
	masks := func(r int) *rand.PCG { return a.streams[r].actMask }
	return a.decide.logProbabilities(a, obs, masks, func(r int, logs []float32) error {
		action, err := sample(logs, rand.New(a.streams[r].act).Float64())
		if err != nil {
			return a.diverged(r, err)
		}
		dst[r] = action
		return nil
	})
}

// diverged explains an unusable probability by the settings that cause it.
func (a *Agent) diverged(r int, err error) error {
	return &envs.RunError{Run: r, Err: fmt.Errorf("after %d updates %w (ActorRate %v, CriticRate %v, kappa %v)",
		a.actor.Updates, err, a.config.ActorRate, a.config.CriticRate, a.config.Greed.At(a.steps))}
}

// sample inverts the distribution function at u in [0, 1).
func sample(logs []float32, u float64) (int, error) {
	last, total := -1, 0.0
	for i, l := range logs {
		p := math.Exp(float64(l))
		if math.IsNaN(p) {
			return 0, fmt.Errorf("the probability of candidate %d is NaN", i)
		}
		if p == 0 {
			continue
		}
		last, total = i, total+p
		if u < total {
			return i, nil
		}
	}
	return last, nil // rounding left the sum a little below u
}

// Probabilities writes the probability of each candidate to dst, [R, M], with
// no unit dropped. It changes nothing: the run goes on as if it had not been
// called.
func (a *Agent) Probabilities(dst []float64, obs envs.Observation) error {
	return a.probabilities(dst, obs, nil)
}

// ProbabilitiesOfMask is Probabilities under a dropout mask that is drawn from
// the given seed: one of the actors that Actor-Dropout picks from.
func (a *Agent) ProbabilitiesOfMask(dst []float64, obs envs.Observation, seed uint64) error {
	return a.probabilities(dst, obs, func(r int) *rand.PCG { return envs.NewSource(seed+uint64(r), "pgcr/peek") })
}

func (a *Agent) probabilities(dst []float64, obs envs.Observation, masks func(r int) *rand.PCG) error {
	obs.Check(a.spec, a.Runs())
	m := a.spec.Candidates
	if len(dst) != a.Runs()*m {
		panic(fmt.Sprintf("pgcr: room for %d probabilities, want %d", len(dst), a.Runs()*m))
	}
	return a.decide.logProbabilities(a, obs, masks, func(r int, logs []float32) error {
		for i, l := range logs {
			if math.IsNaN(float64(l)) {
				return a.diverged(r, fmt.Errorf("the probability of candidate %d is NaN", i))
			}
			dst[r*m+i] = math.Exp(float64(l))
		}
		return nil
	})
}

// Values writes the critic's estimate f(c) of the value of each candidate to
// dst, [R, M]. An estimate that is not finite is an envs.RunError.
func (a *Agent) Values(dst []float64, obs envs.Observation) error {
	obs.Check(a.spec, a.Runs())
	if len(dst) != a.Runs()*a.spec.Candidates {
		panic(fmt.Sprintf("pgcr: room for %d values, want %d", len(dst), a.Runs()*a.spec.Candidates))
	}
	if err := a.decide.values(a, obs, dst); err != nil {
		return err
	}
	m := a.spec.Candidates
	for i, v := range dst {
		if v-v != 0 { // NaN or infinite
			return a.diverged(i/m, fmt.Errorf("the value of candidate %d is %v", i%m, v))
		}
	}
	return nil
}

// Update appends the step to the history and, every UpdateEvery steps, learns
// from a batch of it.
func (a *Agent) Update(tr envs.Transition) error {
	tr.Check(a.spec, a.Runs())
	if err := errors.Join(a.failed, tr.Finite()); err != nil {
		return err
	}
	if a.learn == nil {
		var err error
		if a.learn, err = newLearner(a, tr.Session != nil); err != nil {
			return err
		}
	}
	if a.learn.sessions != (tr.Session != nil) {
		panic("pgcr: a transition with sessions among others without")
	}
	if err := a.replay.Accept(tr); err != nil {
		return err
	}
	order := make([]int, a.spec.Candidates)
	for r := range a.streams {
		shuffle(order, rand.New(a.streams[r].slots))
		a.replay.Add(r, tr, order)
	}
	a.steps++
	if a.steps%int64(a.config.UpdateEvery) != 0 {
		return nil
	}
	a.failed = a.learn.update(a)
	return a.failed
}

// shuffle makes order a uniform random permutation of 0 ... len-1.
func shuffle(order []int, rng *rand.Rand) {
	for i := range order {
		j := rng.IntN(i + 1)
		order[i] = order[j]
		order[j] = i
	}
}

// DropUnits writes a dropout mask: each factor is 0 with probability rate, else
// 1/(1-rate). At rate 0 it draws nothing, and rng may be nil.
func DropUnits(mask []float32, rate float64, rng *rand.Rand) {
	keep := float32(1 / (1 - rate))
	for i := range mask {
		mask[i] = keep
		if rate > 0 && rng.Float64() < rate {
			mask[i] = 0
		}
	}
}

func scalar(x float64) *tensors.Tensor { return tensors.FromScalar(float32(x)) }

// finalize frees the results of a graph.
func finalize(results []*tensors.Tensor) error {
	for _, t := range results {
		if err := t.FinalizeAll(); err != nil {
			return err
		}
	}
	return nil
}
