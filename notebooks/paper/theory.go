package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// Theory is what the study of the paper's theory measured: of agents that have
// learned for 1,000 steps on a toy problem and then stay as they are.
type Theory struct {
	Setting string
	Critic  []Ratio    // Var[p_hat] by Var[pi of the own step], given the context: of the critic updates (23) and (28)
	Actor   []Ratio    // Var[actor update] of PGCR (25) by that of vanilla policy gradient (29)
	Bias    []Interval // p_hat less the marginal probability, one for each context
}

// Ratio is a ratio of two variances, with its interval over agents.
type Ratio struct {
	Problem       string
	N             int  // resampled sets a step
	Independently bool // others drawn anew for each context, in place of sets drawn jointly
	Ratio         Interval
}

const (
	theoryAgents   = 8
	theoryLearning = 1_000 // steps
	theoryPool     = 2_000 // steps whose contexts are drawn from
	theoryBatch    = 64
	theoryContexts = 10    // of each agent, for p_hat
	theoryDraws    = 3_000 // of p_hat for a context
	theoryUpdates  = 200   // of an agent's actor
)

// theoryN are the numbers of resampled sets. Of a batch of 320 contexts many more
// sets would no longer be independent.
var theoryN = []int{1, 2, 4}

// MeasureTheory measures what the paper proves, by the equations of package pgcr
// at the parameters of agents in the paper's configuration: networks of 10 units,
// batches of 64, no heuristics. The scale, 1 for the reported numbers, multiplies
// the number of draws and updates. The same scale gives the same result. It is an
// error when the scale is not positive and finite.
func MeasureTheory(ctx context.Context, scale float64) (*Theory, error) {
	if !(scale > 0) || math.IsInf(scale, 1) {
		return nil, fmt.Errorf("paper: the theory study at scale %v, want a positive number", scale)
	}
	count := func(full int) int { return max(10, int(math.Round(float64(full)*scale))) }
	draws, updates := count(theoryDraws), count(theoryUpdates)
	t := &Theory{Setting: fmt.Sprintf("%d agents a problem after %d steps; %d draws a context; %d updates an agent", theoryAgents, theoryLearning, draws, updates)}
	for _, e := range []sim.Experiment{Linear(), Bernoulli()} {
		s, err := newSubjects(ctx, e.Problem)
		if err == nil {
			err = s.marginals(ctx, e.Name, draws, t)
		}
		if err == nil {
			err = s.updates(ctx, e.Name, updates, t)
		}
		if err != nil {
			return nil, fmt.Errorf("paper: the theory study on %s: %w", e.Name, err)
		}
	}
	return t, nil
}

// subjects are agents of one problem and what they met after they had learned.
type subjects struct {
	backend       compute.Backend
	m, dim        int
	actor, critic pgcr.Network
	weights       []*tensors.Tensor // of actors and critics
	contexts      [][]float32       // [A][T*M*D]
	scores        []float32         // s = log mu, [A, T*M]
	rng           *rand.Rand
}

func newSubjects(ctx context.Context, problem envs.Problem) (*subjects, error) {
	backend, err := pgcr.OpenBackend("")
	if err != nil {
		return nil, err
	}
	seeds := make([]uint64, theoryAgents)
	for a := range seeds {
		seeds[a] = uint64(31 + a)
	}
	env, err := problem.New(seeds)
	if err != nil {
		return nil, err
	}
	spec := problem.Spec()
	setting := pgcr.Paper()
	setting.Backend = backend
	policy, err := setting.New(spec, seeds)
	if err == nil {
		err = sim.Play(ctx, env, policy, theoryLearning, nil)
	}
	if err != nil {
		return nil, err
	}
	s := &subjects{
		backend: backend, m: spec.Candidates, dim: spec.Dim, rng: envs.NewRand(31, "theory"),
		actor:    pgcr.Network{Dim: spec.Dim, Hidden: []int{10}},
		critic:   pgcr.Network{Dim: spec.Dim, Hidden: []int{10}, Bias: true},
		contexts: make([][]float32, theoryAgents),
	}
	actor, critic, err := policy.(*pgcr.Agent).Weights()
	if err != nil {
		return nil, err
	}
	for i, dims := range append(s.actor.Shapes(theoryAgents), s.critic.Shapes(theoryAgents)...) {
		s.weights = append(s.weights, tensors.FromFlatDataAndDimensions(append(actor, critic...)[i], dims...))
	}
	rows := s.m * s.dim
	for range theoryPool {
		obs := env.Observe()
		for a := range s.contexts {
			s.contexts[a] = append(s.contexts[a], obs.Contexts[a*rows:(a+1)*rows]...)
		}
		if _, err := env.Step(make([]int, theoryAgents)); err != nil {
			return nil, err
		}
	}
	exec, err := NewExec(backend, func(in []*Node) *Node {
		return s.actor.Forward(in[:len(actor)], in[len(in)-1], nil)
	})
	if err != nil {
		return nil, err
	}
	s.scores, err = pgcr.Call(exec, s.weights, pgcr.Columns(slices.Concat(s.contexts...), theoryAgents, theoryPool*s.m, s.dim))
	return s, err
}

// marginals measures p_hat (21) of some contexts of every agent: its variance by
// that of the probability in the context's own step, and its bias.
func (s *subjects) marginals(ctx context.Context, problem string, draws int, t *Theory) error {
	exec, err := NewExec(s.backend, func(scores *Node) *Node {
		return pgcr.Probabilities(scores, Const(scores.Graph(), float32(1)))
	})
	if err != nil {
		return err
	}
	ratios := make([][]float64, len(theoryN)) // [N][A]
	for a := range theoryAgents {
		pool := s.scores[a*theoryPool*s.m:][:theoryPool*s.m]
		own, resampled := 0.0, make([]float64, len(theoryN))
		for x := range theoryContexts {
			if err := ctx.Err(); err != nil {
				return err
			}
			// The probability of context x in the step of another context, among
			// others drawn from all contexts (14), and in jointly resampled sets.
			step, err := s.probabilities(exec, pool, x, draws, 1, s.ownStep)
			if err != nil {
				return err
			}
			all, err := s.probabilities(exec, pool, x, draws, theoryN[len(theoryN)-1], s.independent)
			if err != nil {
				return err
			}
			own += stat.Variance(step, nil)
			for i, n := range theoryN {
				p, err := s.probabilities(exec, pool, x, draws, n, s.joint)
				if err != nil {
					return err
				}
				resampled[i] += stat.Variance(p, nil)
				if i == len(theoryN)-1 { // the most precise
					t.Bias = append(t.Bias, Paired95(p, all, 1))
				}
			}
		}
		for i := range theoryN {
			ratios[i] = append(ratios[i], resampled[i]/own)
		}
	}
	for i, n := range theoryN {
		t.Critic = append(t.Critic, Ratio{Problem: problem, N: n, Ratio: geometric95(ratios[i])})
	}
	return nil
}

// probabilities draws the mean probability of context x in n sets, draws times.
// others draws the contexts that it meets, [n*(M-1)], places of the pool.
func (s *subjects) probabilities(exec *Exec, pool []float32, x, draws, n int, others func(dst []int, x int)) ([]float64, error) {
	scores, places := make([]float32, 0, draws*n*s.m), make([]int, n*(s.m-1))
	for range draws {
		others(places, x)
		for k, at := range places {
			if k%(s.m-1) == 0 {
				scores = append(scores, pool[x])
			}
			scores = append(scores, pool[at])
		}
	}
	p, err := pgcr.Call(exec, nil, tensors.FromFlatDataAndDimensions(scores, draws*n, s.m))
	mean := make([]float64, draws)
	for i := 0; i < len(p); i += s.m {
		mean[i/s.m/n] += float64(p[i]) / float64(n)
	}
	return mean, err
}

func (s *subjects) ownStep(dst []int, _ int) {
	first := s.rng.IntN(theoryPool) * s.m
	for k := range dst {
		dst[k] = first + 1 + k
	}
}

// independent draws every other context by itself. A context does not meet itself.
func (s *subjects) independent(dst []int, x int) {
	for k := range dst {
		dst[k] = x
		for dst[k] == x {
			dst[k] = s.rng.IntN(theoryPool * s.m)
		}
	}
}

// joint draws a batch in which context x takes the place of another one, so that
// its companions are drawn, too, and, for each set, M-1 of the batch's other contexts
// without replacement: what a permutation that is cut into sets gives to one context.
// The critic's weight is not quite that: see pgcr.Update on a context among its others.
func (s *subjects) joint(dst []int, x int) {
	batch := s.batch()
	for k := range dst {
		set := dst[k/(s.m-1)*(s.m-1) : k]
		for {
			i := s.rng.IntN(theoryBatch * s.m)
			dst[k] = batch[i/s.m]*s.m + i%s.m
			if i != x%s.m && !slices.Contains(set, dst[k]) {
				break
			}
		}
	}
}

// batch draws steps of the pool.
func (s *subjects) batch() []int {
	steps := make([]int, theoryBatch)
	for b := range steps {
		steps[b] = s.rng.IntN(theoryPool)
	}
	return steps
}

// updates measures how much the actor's updates (25) vary.
func (s *subjects) updates(ctx context.Context, problem string, count int, t *Theory) error {
	k := theoryBatch * s.m // contexts of a batch
	variance := func(n int, independently bool, sets func(dst []int32)) ([]float64, error) {
		exec, err := NewExec(s.backend, func(in []*Node) *Node { return s.actorGradient(in, n, independently) })
		if err != nil {
			return nil, err
		}
		s.rng = envs.NewRand(31, "theory/updates") // the same batches for all
		size := n * k
		if independently {
			size *= s.m
		}
		var sum, squares [][]float64
		for range count {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			rows, places := make([]float32, 0, theoryAgents*k*s.dim), make([]int32, theoryAgents*size)
			for a := range theoryAgents {
				for _, step := range s.batch() {
					rows = append(rows, s.contexts[a][step*s.m*s.dim:(step+1)*s.m*s.dim]...)
				}
				set := places[a*size : (a+1)*size]
				sets(set)
				for i := range set {
					set[i] += int32(a * k)
				}
			}
			g, err := pgcr.Call(exec, s.weights, pgcr.Columns(rows, theoryAgents, k, s.dim), tensors.FromFlatDataAndDimensions(places, theoryAgents, size))
			if err != nil {
				return nil, err
			}
			sum, squares = accumulate(sum, squares, g)
		}
		traces := make([]float64, theoryAgents)
		for a := range traces {
			for i, x := range sum[a] {
				traces[a] += (squares[a][i] - x*x/float64(count)) / float64(count-1)
			}
		}
		return traces, nil
	}
	vanilla, err := variance(1, false, func(dst []int32) {
		for i := range dst {
			dst[i] = int32(i)
		}
	})
	if err != nil {
		return err
	}
	add := func(n int, independently bool, sets func(dst []int32)) error {
		v, err := variance(n, independently, sets)
		if err == nil {
			for a := range v {
				v[a] /= vanilla[a]
			}
			t.Actor = append(t.Actor, Ratio{problem, n, independently, geometric95(v)})
		}
		return err
	}
	for _, n := range theoryN {
		err := add(n, false, func(dst []int32) {
			for i := range dst {
				if i%k == 0 {
					for j, p := range s.rng.Perm(k) {
						dst[i+j] = int32(p)
					}
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return add(1, true, func(dst []int32) { // each context, then those that it meets
		for i := range dst {
			dst[i] = int32(s.rng.IntN(k))
			if i%s.m == 0 {
				dst[i] = int32(i / s.m)
			}
		}
	})
}

func accumulate(sum, squares [][]float64, g []float32) ([][]float64, [][]float64) {
	size := len(g) / theoryAgents
	for a := range theoryAgents {
		if len(sum) == a {
			sum, squares = append(sum, make([]float64, size)), append(squares, make([]float64, size))
		}
		for i, x := range g[a*size : (a+1)*size] {
			sum[a][i] += float64(x)
			squares[a][i] += float64(x) * float64(x)
		}
	}
	return sum, squares
}

// actorGradient is the gradient of (25) of every agent, [A, parameters]. The
// inputs are the weights, the contexts of a batch and the places of the sets among
// them.
func (s *subjects) actorGradient(in []*Node, n int, independently bool) *Node {
	last := len(in) - 2
	count := len(s.actor.Shapes(1))
	contexts, places, kappa := in[last], in[last+1], Const(in[0].Graph(), float32(1))
	at := func(x *Node) *Node { // [A, K] at the places
		return Gather(Reshape(x, -1), InsertAxes(places, -1))
	}
	scores := at(s.actor.Forward(in[:count], contexts, nil))
	values := at(s.critic.Forward(in[count:last], contexts, nil))
	var loss *Node
	if independently {
		sets := []int{theoryAgents, 1, theoryBatch * s.m, s.m}
		own := func(x *Node) *Node {
			return Reshape(Slice(Reshape(x, sets...), AxisRange(), AxisRange(), AxisRange(), AxisElem(0)), theoryAgents, -1)
		}
		others := Slice(Reshape(scores, sets...), AxisRange(), AxisRange(), AxisRange(), AxisRange(1))
		p := pgcr.ResampledProbabilities(own(scores), others, kappa)
		batch := []int{theoryAgents, 1, theoryBatch, s.m}
		loss = pgcr.ActorLoss(Reshape(p, batch...), Reshape(own(values), batch...))
	} else {
		sets := []int{theoryAgents, n, theoryBatch, s.m}
		loss = pgcr.ActorLoss(pgcr.Probabilities(Reshape(scores, sets...), kappa), Reshape(values, sets...))
	}
	var flat []*Node
	for _, g := range Gradient(loss, in[:count]...) {
		flat = append(flat, Reshape(g, theoryAgents, -1))
	}
	return Concatenate(flat, 1)
}
