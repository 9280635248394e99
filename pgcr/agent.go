package pgcr

import (
	"cmp"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
)

// Agent is the live policy of the paper (section 5): an actor that chooses, a critic that it learns
// from, and the history of both, for R runs at once. It is not safe for concurrent use; Agents are
// independent of each other.
type Agent struct {
	config Config // with the defaults and the backend filled in
	spec   envs.Spec

	actor, critic *Parameters
	replay        *Replay
	streams       []Streams
	steps         int64 // steps learned from: t of Time-Dependent Greed
	updates       int64 // t of Adam
	diagnostics   Diagnostics

	policy     *Exec // the policy (13) of contexts: [R, K, M], for K dropout masks
	values     *Exec // f of contexts, [R, M]
	update     *Exec // updateGraph
	improve    *Exec // made at the first Improve, for likelihood or not
	likelihood bool
}

// Streams are the random sources of one run: no use of one shifts another. The masks are those of
// Actor-Dropout, in decisions and in updates.
type Streams struct {
	Act, ActMask, Batch, BatchMask, Resample *rand.PCG
}

// NewStreams makes those of one run a seed; their roles begin with the name of a package.
func NewStreams(name string, seeds []uint64) (streams []Streams) {
	for _, seed := range seeds {
		source := func(role string) *rand.PCG { return envs.NewSource(seed, name+"/"+role) }
		streams = append(streams, Streams{Act: source("act"), ActMask: source("act-dropout"),
			Batch: source("replay"), BatchMask: source("update-dropout"), Resample: source("resample")})
	}
	return streams
}

// Diagnostics tells how learning goes: means over runs.
type Diagnostics struct {
	CriticLoss, ActorLoss         float64 // (23) and (25) of the last update
	CriticGradient, ActorGradient float64 // the Euclidean norms of their gradients, root mean square over runs
	Entropy                       float64 // of the probabilities of the last decision, in nats
}

// New implements envs.Algorithm; the policy is an *Agent. It is an error, which names the field,
// when a setting is out of bounds, and without seed or backend.
func (c Config) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	c = c.withDefaults()
	if err := cmp.Or(spec.Validate(seeds), c.Validate()); err != nil {
		return nil, err
	}
	if c.Backend == nil {
		var err error
		if c.Backend, err = OpenBackend(""); err != nil {
			return nil, err
		}
	}
	a := &Agent{config: c, spec: spec, replay: NewReplay(spec, len(seeds), c.Capacity, c.Discount)}
	a.actor, a.critic, a.streams = c.Start(spec, seeds)
	a.policy = MustNewExec(c.Backend, func(actor, contexts, absent, mask, kappa *Node) *Node {
		scores := State{Network: a.actor.Network, Params: actor}.Forward(contexts, mask)
		return Probabilities(Add(Reshape(scores, len(seeds), -1, spec.Candidates), absent), kappa) // (13)
	})
	a.values = MustNewExec(c.Backend, func(critic, contexts *Node) *Node {
		return State{Network: a.critic.Network, Params: critic}.Forward(contexts, nil)
	})
	a.update = MustNewExec(c.Backend, a.updateGraph)
	return a, nil
}

// Start draws the initial weights of both networks, and makes the random streams, of one run a seed.
// Defaults are not filled in.
func (c Config) Start(spec envs.Spec, seeds []uint64) (actor, critic *Parameters, streams []Streams) {
	actor = NewParameters(Network{Dim: spec.Dim, Hidden: c.Hidden}, c.InitScale, seeds, "pgcr/actor")
	critic = NewParameters(Network{Dim: spec.Dim, Hidden: c.Hidden, Bias: true}, c.InitScale, seeds, "pgcr/critic")
	return actor, critic, NewStreams("pgcr", seeds)
}

// Runs returns R.
func (a *Agent) Runs() int { return len(a.streams) }

// Steps returns how many steps the agent has learned from.
func (a *Agent) Steps() int64 { return a.steps }

// Diagnostics returns what the last update and the last decision were like.
func (a *Agent) Diagnostics() Diagnostics { return a.diagnostics }

// Weights returns copies of the weights of both networks, as Network.Shapes has them.
func (a *Agent) Weights() (actor, critic [][]float32, err error) {
	actor, err = a.actor.Values()
	critic, err2 := a.critic.Values()
	return actor[:len(actor)/3], critic[:len(critic)/3], errors.Join(err, err2)
}

// Act samples an action for each run from the policy (13), under one fresh dropout mask a run.
func (a *Agent) Act(dst []int, obs envs.Observation) error {
	envs.CheckResults(len(dst), a.Runs())
	p, err := a.probabilities(obs, a.drawMasks(func(s Streams) *rand.PCG { return s.ActMask }))
	if err != nil {
		return err
	}
	a.diagnostics.Entropy = 0
	for r, s := range a.streams {
		set := part(p, r, a.Runs())[:obs.Size(r)]
		dst[r] = sample(set, rand.New(s.Act).Float64())
		for _, pi := range set {
			a.diagnostics.Entropy -= float64(pi) * math.Log(max(float64(pi), 1e-300)) / float64(a.Runs())
		}
	}
	return nil
}

// drawMasks draws a mask of Actor-Dropout (section 5.2.2) of each run: [R, 1, H].
func (a *Agent) drawMasks(source func(Streams) *rand.PCG) *tensors.Tensor {
	masks := make([]float32, a.Runs()*a.actor.Network.last())
	for r, s := range a.streams {
		DrawMask(part(masks, r, a.Runs()), a.config.Dropout, rand.New(source(s)))
	}
	return tensor(masks, a.Runs(), 1, len(masks)/a.Runs())
}

// DrawMask draws a mask: each factor is 0 with probability rate, else 1/(1-rate). Rate 0 draws nothing.
func DrawMask(mask []float32, rate float64, rng *rand.Rand) {
	keep := float32(1 / (1 - rate))
	for i := range mask {
		mask[i] = keep
		if rate > 0 && rng.Float64() < rate {
			mask[i] = 0
		}
	}
}

// sample inverts the distribution function at u in [0, 1).
func sample(p []float32, u float64) (last int) {
	total := 0.0
	for i, pi := range p {
		if pi > 0 {
			last = i
		}
		if total += float64(pi); u < total {
			break
		}
	}
	return last // where rounding left the sum a little below u, too
}

// probabilities is the policy (13) under K dropout masks a run: [R, K, M].
func (a *Agent) probabilities(obs envs.Observation, masks *tensors.Tensor) ([]float32, error) {
	if err := obs.Check(a.spec, a.Runs()); err != nil {
		return nil, err
	}
	absent := tensor(absent(obs), obs.Runs, 1, obs.Candidates)
	return a.actor.Evaluate(a.policy, obs, a.replay, a.updates, absent, masks, scalar(a.config.Greed.At(a.steps)))
}

// absent is 0 at the candidates of each set and Absent beyond them: [R, M].
func absent(obs envs.Observation) []float32 {
	scores := slices.Repeat([]float32{Absent}, obs.Runs*obs.Candidates)
	for r := range obs.Runs {
		clear(part(scores, r, obs.Runs)[:obs.Size(r)])
	}
	return scores
}

// Probabilities implements envs.Probable. With Actor-Dropout it is the mean over masks: over all of
// them where the last hidden layer has up to 10 units, else over 1,024 that are drawn.
func (a *Agent) Probabilities(dst []float64, obs envs.Observation) error {
	m, units, rate, masks := a.spec.Candidates, a.actor.Network.last(), a.config.Dropout, 1
	envs.CheckResults(len(dst), a.Runs()*m)
	clear(dst)
	if rate > 0 {
		masks = 1 << min(units, 10)
	}
	mask, share := make([]float32, masks*units), slices.Repeat([]float64{1 / float64(masks)}, masks)
	DrawMask(mask, rate, envs.NewRand(0, "pgcr/peek"))
	for k := 0; rate > 0 && units <= 10 && k < masks; k++ { // mask k, and its probability
		share[k] = 1
		for i := range units {
			kept := float64(k >> i & 1)
			mask[k*units+i] = float32(kept / (1 - rate))
			share[k] *= kept*(1-rate) + (1-kept)*rate
		}
	}
	p, err := a.probabilities(obs, tensor(mask, 1, masks, units))
	for i, pi := range p { // [R, K, M]
		dst[i/m/masks*m+i%m] += share[i/m%masks] * float64(pi)
	}
	return err
}

// Values writes the critic's estimate f(c) of the value of each candidate to dst, [R, M], NaN
// beyond the size of a set.
func (a *Agent) Values(dst []float64, obs envs.Observation) error {
	m := a.spec.Candidates
	envs.CheckResults(len(dst), a.Runs()*m)
	if err := obs.Check(a.spec, a.Runs()); err != nil {
		return err
	}
	values, err := a.critic.Evaluate(a.values, obs, a.replay, a.updates)
	for i, v := range values {
		dst[i] = float64(v)
		if i%m >= obs.Size(i/m) {
			dst[i] = math.NaN()
		}
	}
	return err
}

// Update appends the step to the history and, every UpdateEvery steps, learns from batches of it.
func (a *Agent) Update(tr envs.Transition) error {
	if err := tr.Check(a.spec, a.Runs()); err != nil {
		return err
	}
	if err := a.replay.Add(tr); err != nil {
		return err
	}
	if a.steps++; a.steps%int64(a.config.UpdateEvery) == 0 {
		for range a.config.UpdatesPerStep {
			if err := a.learn(); err != nil {
				return a.replay.Explain(err, a.updates, tr.Observation)
			}
		}
	}
	return nil
}

// saved is everything that an agent is made of.
type saved struct {
	Steps, Updates int64
	Actor, Critic  [][]float32
	Streams        []Streams
	History        *Replay
}

// Save implements envs.Saver: both networks, Adam's moments, the counts, every random stream and
// the history.
func (a *Agent) Save(w io.Writer) error {
	actor, err := a.actor.Values()
	critic, err2 := a.critic.Values()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	return envs.WriteState(w, a.config, a.spec, a.Runs(), saved{a.steps, a.updates, actor, critic, a.streams, a.replay})
}

// Load implements envs.Saver.
func (a *Agent) Load(r io.Reader) error {
	var s saved
	if err := envs.ReadState(r, a.config, a.spec, a.Runs(), &s); err != nil {
		return err
	}
	a.actor.Restore(s.Actor)
	a.critic.Restore(s.Critic)
	a.steps, a.updates, a.streams = s.Steps, s.Updates, s.Streams
	a.replay.Restore(s.History)
	return nil
}
