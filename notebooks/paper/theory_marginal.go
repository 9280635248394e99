package paper

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/pgcr"
)

// ExactMarginal returns the marginal probability p (14) of a context with score
// own = log mu whose rivals are drawn, independently and each with equal
// probability, from contexts with the given scores: the mean over the draws of
//
//	nu = 1 / (1 + sum_k exp(s_k - own))
//
// and the variance of nu. It goes through all draws, C(K+rivals-1, rivals) of
// them for K scores, and uses nothing of package pgcr.
func ExactMarginal(own float64, scores []float64, rivals int) (p, variance float64) {
	odds := make([]float64, len(scores))
	for k, s := range scores {
		odds[k] = math.Exp(s - own)
	}
	all := 1.0 // orders of rivals that all differ, times the probability of one order
	for n := range rivals {
		all *= float64(n+1) / float64(len(scores))
	}
	var mean, square float64
	// walk draws the rest in ascending order of k. With repetitions n_k an
	// unordered draw comes up in rivals!/prod n_k! orders; repeated is how often
	// from has been drawn already.
	var walk func(from, left, repeated int, sum, weight float64)
	walk = func(from, left, repeated int, sum, weight float64) {
		if left == 0 {
			nu := 1 / (1 + sum)
			mean += weight * nu
			square += weight * nu * nu
			return
		}
		for k := from; k < len(odds); k++ {
			if k > from {
				repeated = 0
			}
			walk(k, left-1, repeated+1, sum+odds[k], weight/float64(repeated+1))
		}
	}
	walk(0, rivals, 0, 0, all)
	return mean, math.Max(0, square-mean*mean)
}

// catalogue is a law of contexts under which the marginals are known exactly: m
// candidates are drawn, independently and each with equal probability, from
// contexts with these scores.
type catalogue struct {
	scores []float64
	m      int
}

// catalogueSteps is how many steps' contexts make a catalogue: 40 contexts at
// M = 5.
const catalogueSteps = 8

// catalogue takes the contexts of an agent's first steps for a law.
func (h *history) catalogue(a int) catalogue { return catalogue{h.scoresOf(a, catalogueSteps), h.m} }

// exact returns the marginal probability of a context and the variance of its
// probability over the rivals.
func (c catalogue) exact(own float64) (p, variance float64) {
	return ExactMarginal(own, c.scores, c.m-1)
}

// usual returns the first of the contexts whose marginal is at least 0.02. A
// rarer one's estimates are nearly all 0 and a few are not, so that a mean of
// thousands is still far from normal.
func (c catalogue) usual(count int) (scores, marginals []float64) {
	for _, s := range c.scores {
		if p, _ := c.exact(s); p >= 0.02 && len(scores) < count {
			scores, marginals = append(scores, s), append(marginals, p)
		}
	}
	return scores, marginals
}

// draw fills dst with scores of contexts.
func (c catalogue) draw(dst []float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = c.scores[rng.IntN(len(c.scores))]
	}
}

// A Pool is where the rivals of a context come from.
type Pool string

// The pools: that of a bandit, and that of a problem with states.
const (
	BatchPool   Pool = "batch"   // the other steps of the batch
	SessionPool Pool = "session" // the contexts seen in the same session
)

// A BiasOf says of which estimates an element of TheoryResult.Bias is the bias.
type BiasOf struct {
	Agents   string
	Pool     Pool
	Marginal float64 // p, exact
}

// resampled makes estimates p_hat (21) with N = 1 from a pool of the catalogue's
// contexts, by the library's estimator.
type resampled struct {
	m    int
	exec *Exec
}

func newResampled(backend compute.Backend, m int) (*resampled, error) {
	exec, err := NewExec(backend, func(in []*Node) []*Node {
		rivals := append(in, nil)[1] // none from a batch
		one := Scalar(in[0].Graph(), in[0].DType(), 1)
		p, _ := pgcr.Resampled{N: 1}.Estimate(in[0], rivals, one, m)
		return []*Node{p}
	})
	return &resampled{m, exec}, err
}

// fromBatch makes so many estimates for a context with score own. Every batch has
// it as the candidates of its first step, which all have rivals of their own, and
// as few other steps as there can be.
func (r *resampled) fromBatch(own float64, c catalogue, count int, rng *rand.Rand) ([]float64, error) {
	size := r.m * r.m
	batches := (count + r.m - 1) / r.m
	scores := make([]float64, batches*size)
	for batch := range slices.Chunk(scores, size) {
		c.draw(batch[r.m:], rng)
		fill(batch[:r.m], own)
	}
	results, err := call[float64](r.exec, []any{tensors.FromFlatDataAndDimensions(scores, batches, size)})
	if err != nil {
		return nil, err
	}
	var pHat []float64
	for batch := range slices.Chunk(results[0], size) {
		pHat = append(pHat, batch[:r.m]...)
	}
	return pHat[:count], nil
}

// fromSession makes so many estimates for a context with score own at a step of
// a session whose other steps are the catalogue, in a history in which a session
// with other contexts runs beside it.
func (r *resampled) fromSession(own float64, c catalogue, count int, rng *rand.Rand) ([]float64, error) {
	replay := newScoreReplay(r.m)
	replay.add(0, c.scores[:r.m])
	elsewhere := make([]float64, r.m)
	for step := range slices.Chunk(c.scores, r.m) {
		for k, s := range step {
			elsewhere[k] = s + 1
		}
		replay.add(0, step)
		replay.add(1, elsewhere)
	}
	// One batch of so many steps, each with the context as its candidates.
	scores, rivals := make([]float64, count*r.m), make([]float64, (r.m-1)*count)
	fill(scores, own)
	var rival [1]float32
	for i := range rivals {
		replay.Rival(rival[:], 0, 0, rng)
		rivals[i] = float64(rival[0])
	}
	results, err := call[float64](r.exec, []any{
		tensors.FromFlatDataAndDimensions(scores, 1, len(scores)),
		tensors.FromFlatDataAndDimensions(rivals, 1, r.m-1, count),
	})
	if err != nil {
		return nil, err
	}
	// The candidates of a step have the same rivals here: one is as good as all.
	pHat := make([]float64, count)
	for i := range pHat {
		pHat[i] = results[0][i*r.m]
	}
	return pHat, nil
}

func fill(dst []float64, v float64) {
	for i := range dst {
		dst[i] = v
	}
}

// scoreReplay is a replay of contexts that are their own scores: it is to draw
// rivals and steps, for which it does not matter what a context is.
type scoreReplay struct {
	*pgcr.Replay
	m     int
	order []int
}

func newScoreReplay(m int) *scoreReplay {
	r := &scoreReplay{Replay: pgcr.NewReplay(envs.Spec{Candidates: m, Dim: 1}, 1, 0), m: m}
	for i := range m {
		r.order = append(r.order, i)
	}
	return r
}

func (r *scoreReplay) add(session int32, scores []float64) {
	contexts := make([]float32, r.m)
	for i, s := range scores {
		contexts[i] = float32(s)
	}
	r.Add(0, envs.Transition{
		Observation: envs.Observation{Runs: 1, Candidates: r.m, Dim: 1, Contexts: contexts, Session: []int32{session}},
		Actions:     []int{0},
		Outcome:     envs.Outcome{Reward: []float32{0}, Discount: []float32{0}},
	}, r.order)
}

// Counted says how often a policy chose a context.
type Counted struct {
	Marginal float64  // p, exact
	Share    Interval // of the times in which it was on offer
}

// countActions offers each of the first contexts of every agent's catalogue so
// many times among others of the catalogue, and counts how often the agent
// chooses it.
func (s *subjects) countActions(h *history, contexts, count int, rng *rand.Rand) ([]Counted, error) {
	m, d := h.m, s.spec.Dim
	obs := envs.Observation{Runs: h.agents, Candidates: m, Dim: d, Contexts: make([]float32, h.agents*m*d)}
	actions := make([]int, h.agents)
	var out []Counted
	for k := range contexts {
		chosen := make([]int, h.agents)
		for range count {
			slot := rng.IntN(m)
			for i := range h.agents * m {
				context := rng.IntN(catalogueSteps * m)
				if i%m == slot {
					context = k
				}
				copy(obs.Contexts[i*d:(i+1)*d], h.contexts[(i/m*h.steps*m+context)*d:])
			}
			if err := s.agent.Act(actions, obs); err != nil {
				return nil, err
			}
			for a, action := range actions {
				if action == slot {
					chosen[a]++
				}
			}
		}
		for a, n := range chosen {
			c := h.catalogue(a)
			p, _ := c.exact(c.scores[k])
			out = append(out, Counted{p, share95(n, count)})
		}
	}
	return out, nil
}
