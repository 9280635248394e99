package ondevice

import (
	"fmt"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// world draws what happens in a chunk of steps. It has M environments of the same seeds, and always
// chooses the i-th candidate in the i-th, which so tells that candidate's reward. That is right where
// nothing depends on earlier choices, which is seen in one more environment, where the decisions of
// the loop are made once more.
type world struct {
	sizes
	copies  []envs.Environment
	actions [][]int // of each
	played  envs.Environment

	contexts, rewards *input[float32] // [R, M, D+1] and [R, M]
	regret            [][]float64     // [K] of [R*M], of each candidate; nil where there is no Oracle
}

func newWorld(problem envs.Problem, seeds []uint64, s sizes) (*world, error) {
	w := &world{sizes: s}
	var err error
	if w.played, err = problem.New(seeds); err != nil {
		return nil, err
	}
	for i := range s.spec.Candidates {
		env, err := problem.New(seeds)
		if err != nil {
			return nil, err
		}
		w.copies, w.actions = append(w.copies, env), append(w.actions, slices.Repeat([]int{i}, s.runs))
	}
	if w.played.Observe().Session != nil {
		return nil, Unsupported("the problem has sessions, whose contexts depend on what is chosen")
	}
	w.contexts, w.rewards = newInput[float32](s.runs, s.spec.Candidates, s.spec.Dim+1), newInput[float32](s.runs, s.spec.Candidates)
	for _, in := range w.inputs() {
		in.allocate(s.chunk)
	}
	if _, ok := w.copies[0].(envs.Oracle); ok {
		for range s.chunk {
			w.regret = append(w.regret, make([]float64, s.runs*s.spec.Candidates))
		}
	}
	return w, nil
}

// inputs are what is drawn, as history has it.
func (w *world) inputs() []array { return []array{w.contexts, w.rewards} }

// draw draws step k of a chunk.
func (w *world) draw(k int) error {
	m, d := w.spec.Candidates, w.spec.Dim
	obs := w.copies[0].Observe()
	if err := obs.Finite(); err != nil {
		return err
	}
	if obs.Sizes != nil {
		return Unsupported("candidate sets vary in size")
	}
	for r := range w.runs {
		for i := range m {
			row := part(w.contexts.at(k), r*m+i, w.runs*m)
			copy(row, obs.Context(r, i))
			row[d] = 1 // carries the bias of the first layer
		}
	}
	if w.regret != nil {
		expected := w.regret[k]
		w.copies[0].(envs.Oracle).ExpectedRewards(expected)
		for r := range w.runs {
			set := part(expected, r, w.runs)
			best := slices.Max(set)
			for i := range set {
				set[i] = best - set[i]
			}
		}
	}
	for i, env := range w.copies {
		out, err := env.Step(w.actions[i])
		if err != nil {
			return err
		}
		for r, reward := range out.Reward {
			if reward-reward != 0 {
				return &envs.RunError{Run: r, Err: fmt.Errorf("the reward of candidate %d is %v", i, reward)}
			}
			part(w.rewards.at(k), r, w.runs)[i] = reward
		}
	}
	return nil
}

// verify makes the decisions of n steps after the first done, and returns an Unsupported where other
// contexts or rewards come of them than were drawn.
func (w *world) verify(n, done int, all []int32) error {
	m := w.spec.Candidates
	for k := range n {
		obs := w.played.Observe()
		tr, _ := w.outcome(k, done+k, all)
		out, err := w.played.Step(tr.Actions)
		if err != nil {
			return err
		}
		same := slices.Equal(out.Reward, tr.Reward)
		for r := range w.runs {
			for i := range m {
				same = same && slices.Equal(obs.Context(r, i), part(w.contexts.at(k), r*m+i, w.runs*m)[:w.spec.Dim])
			}
		}
		if !same {
			return Unsupported("contexts or rewards depend on earlier choices")
		}
	}
	return nil
}

// outcome is what step k of the chunk came to, whose actions stand at step t of all.
func (w *world) outcome(k, t int, all []int32) (tr envs.Transition, regret []float64) {
	m := w.spec.Candidates
	tr.Runs, tr.Candidates, tr.Dim = w.runs, m, w.spec.Dim
	for r := range w.runs {
		action := int(all[t*w.runs+r])
		tr.Actions = append(tr.Actions, action)
		tr.Reward = append(tr.Reward, part(w.rewards.at(k), r, w.runs)[action])
		if w.regret != nil {
			regret = append(regret, w.regret[k][r*m+action])
		}
	}
	return tr, regret
}
