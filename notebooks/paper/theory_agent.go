package paper

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// subjects are the agents that the theory study measures, A of them with a
// problem each, after some steps of learning. From then on they are frozen:
// updates are computed at their weights and never applied.
type subjects struct {
	backend       compute.Backend
	spec          envs.Spec
	env           envs.Environment
	agent         *pgcr.Agent
	actor, critic weights
}

// weights are those of one network of every agent.
type weights struct {
	network pgcr.Network
	count   int         // A
	values  [][]float32 // by parameter, [A, ...]
}

// learn lets agents of PGCR in the paper's configuration learn, one a seed, each
// in the problem of the same seed.
func learn(ctx context.Context, backend compute.Backend, problem envs.Problem, seeds []uint64, steps int) (*subjects, error) {
	config := pgcr.Config{Hidden: []int{10}, Backend: backend}
	env, err := problem.New(seeds)
	if err != nil {
		return nil, err
	}
	policy, err := config.New(problem.Spec(), seeds)
	if err != nil {
		return nil, err
	}
	if err := sim.Play(ctx, env, policy, steps, nil); err != nil {
		return nil, err
	}
	s := &subjects{backend: backend, spec: problem.Spec(), env: env, agent: policy.(*pgcr.Agent)}
	actor, critic, err := readWeights(s.agent)
	if err != nil {
		return nil, err
	}
	network := pgcr.Network{Dim: s.spec.Dim, Hidden: config.Hidden}
	s.actor = weights{network, len(seeds), actor}
	network.Bias = true
	s.critic = weights{network, len(seeds), critic}
	return s, nil
}

// readWeights reads the weights of both networks, which an agent does not tell,
// off its saved form: a line, a SHA-256 sum, and a gob.
func readWeights(agent *pgcr.Agent) (actor, critic [][]float32, err error) {
	var file bytes.Buffer
	if err := agent.Save(&file); err != nil {
		return nil, nil, err
	}
	_, body, _ := bytes.Cut(file.Bytes(), []byte("\n"))
	if len(body) < sha256.Size {
		return nil, nil, errors.New("paper: a saved agent has no weights")
	}
	var saved struct{ Actor, Critic [][]float32 }
	if err := gob.NewDecoder(bytes.NewReader(body[sha256.Size:])).Decode(&saved); err != nil {
		return nil, nil, fmt.Errorf("paper: the weights of a saved agent: %w", err)
	}
	// Adam's two moments come after the weights.
	return saved.Actor[:len(saved.Actor)/3], saved.Critic[:len(saved.Critic)/3], nil
}

// stacked returns the weights as arguments of a graph of A*copies runs: run
// a*copies+k has those of agent a.
func (w weights) stacked(copies int) []any {
	dims := w.network.Shapes(w.count * copies)
	args := make([]any, len(w.values))
	for i, v := range w.values {
		size := len(v) / w.count
		flat := make([]float32, 0, len(v)*copies)
		for a := range w.count {
			for range copies {
				flat = append(flat, v[a*size:(a+1)*size]...)
			}
		}
		args[i] = tensors.FromFlatDataAndDimensions(flat, dims[i]...)
	}
	return args
}

// outputs applies the network to contexts, [A, n, D], and returns [A, n].
func (w weights) outputs(backend compute.Backend, contexts []float32) ([]float32, error) {
	size := len(contexts) / w.count
	in, err := pgcr.NewContexts(backend, w.count, size/w.network.Dim, w.network.Dim, false)
	if err != nil {
		return nil, err
	}
	err = edit(in, func(c pgcr.ContextWriter) {
		for a := range w.count {
			c.Write(a, 0, contexts[a*size:(a+1)*size])
		}
	})
	if err != nil {
		return nil, err
	}
	exec, err := NewExec(backend, func(in []*Node) *Node {
		return w.network.Forward(in[:len(in)-1], in[len(in)-1], nil).Output
	})
	if err != nil {
		return nil, err
	}
	results, err := call[float32](exec, append(w.stacked(1), in.Columns()))
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// edit lets f write the contexts of an input.
func edit(in *pgcr.Contexts, f func(pgcr.ContextWriter)) error {
	return pgcr.EditInputs([]*tensors.Tensor{in.Columns(), in.Rows()}, func(v [][]float32) { f(in.Writer(v[0], v[1])) })
}

// call runs a graph and returns copies of the values of its results.
func call[T float32 | float64](exec *Exec, args []any) ([][]T, error) {
	results, err := exec.Call(args...)
	if err != nil {
		return nil, err
	}
	values := make([][]T, len(results))
	for i, r := range results {
		if values[i], err = tensors.CopyFlatData[T](r); err != nil {
			return nil, err
		}
		if err := r.FinalizeAll(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// history is what the agents met in T steps after they had learned. Candidates
// are drawn alike, so that any may stand first: here it is the chosen one.
type history struct {
	agents, steps, m int
	contexts         []float32 // [A, T, M, D]
	reward           []float32 // [A, T], of the chosen contexts
	scores           []float32 // s = log mu of the contexts, [A, T, M]
}

// frozen acts like an agent and learns nothing.
type frozen struct{ *pgcr.Agent }

// Update implements envs.Policy.
func (frozen) Update(envs.Transition) error { return nil }

// observe lets the agents act for so many steps.
func (s *subjects) observe(ctx context.Context, steps int) (*history, error) {
	agents, m, d := s.actor.count, s.spec.Candidates, s.spec.Dim
	h := &history{agents: agents, steps: steps, m: m, contexts: make([]float32, agents*steps*m*d), reward: make([]float32, agents*steps)}
	record := sim.RecorderFunc(func(step int, tr envs.Transition, _ []float64) {
		for a, action := range tr.Actions {
			at := a*steps + step - 1
			h.reward[at] = tr.Reward[a]
			to := h.contexts[at*m*d : (at+1)*m*d]
			copy(to, tr.Contexts[a*m*d:(a+1)*m*d])
			for i := range d {
				to[i], to[action*d+i] = to[action*d+i], to[i]
			}
		}
	})
	if err := sim.Play(ctx, s.env, frozen{s.agent}, steps, record); err != nil {
		return nil, err
	}
	var err error
	h.scores, err = s.actor.outputs(s.backend, h.contexts)
	return h, err
}

// scoresOf returns the scores of what agent a met in the first steps, [steps, M].
func (h *history) scoresOf(a, steps int) []float64 {
	out := make([]float64, steps*h.m)
	for i := range out {
		out[i] = float64(h.scores[a*h.steps*h.m+i])
	}
	return out
}
