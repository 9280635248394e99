package ondevice

import (
	"fmt"
	"math"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// world draws what happens in a chunk of steps. It has M environments of the same seeds, and always
// chooses the i-th candidate in the i-th, which so tells that candidate's reward. That is right where
// nothing but a state depends on earlier choices, which is seen in one more environment, where the
// decisions of the loop are made once more.
type world struct {
	player
	*learner
	spec         envs.Spec
	steps, chunk int                // of all, and of a chunk
	copies       []envs.Environment // the i-th always chooses candidate i
	played       envs.Environment
	oracle       envs.Oracle // nil: there is no regret

	table []float32 // [n, I], the features of all items; nil where they have no codes
	of    []int32   // the item of a code

	reward   *input[float32] // [R, M]
	features *input[float32] // [R, M, I], those of the item, without a state
	item     *input[int32]   // [R, M], a row of the table
	past     *input[int32]   // [R, V]: the last V steps of the session, the latest first, or -1; nil without states
	drawn    []array         // reward, features or item, and past
	expected *input[float64] // [R, M], the expected rewards

	last []map[int32][]int32 // of each run, by session: what past has at its next step
}

// songs is an envs.Table of items with features of their own. The state is the last items that were
// chosen in the session, the latest first, each with a feedback of 2 r - 1, all 0 where there were fewer.
type songs interface {
	// Items returns the features of all items, [n, I], and which item each code stands for.
	Items() (features []float32, of []int32)
}

// newWorld starts the environments and makes room for what is drawn. An Unsupported says why the device
// cannot play.
func newWorld(problem envs.Problem, seeds []uint64, p player, steps int) (*world, error) {
	spec := problem.Spec()
	runs, m, dim := len(seeds), spec.Candidates, spec.Dim-spec.State
	w := &world{player: p, learner: p.common(), spec: spec}
	var err error
	if w.played, err = problem.New(seeds); err != nil {
		return nil, err
	}
	w.reward, w.expected = newInput[float32](runs, m), newInput[float64](runs, m)
	w.features, w.item = newInput[float32](runs, m, dim), newInput[int32](runs, m)
	w.drawn = []array{w.reward, w.features}
	obs := w.played.Observe()
	if obs.Codes != nil {
		if table, ok := obs.Codes.Table.(songs); ok {
			w.table, w.of = table.Items()
			w.drawn[1] = w.item
		}
	}
	states := obs.Session != nil || spec.State > 0
	if states {
		w.past = newInput[int32](runs, spec.State/(dim+1))
		w.drawn = append(w.drawn, w.past)
		for range runs {
			w.last = append(w.last, map[int32][]int32{})
		}
	}
	step, block := 0, 0 // bytes of each
	for _, in := range w.drawn {
		step += int(in.shape(1).ByteSize())
	}
	for _, in := range w.inputs {
		block += int(in.shape(1).ByteSize())
	}
	switch history := steps * step; {
	case m > mostCandidates:
		return nil, Unsupported(fmt.Sprintf("the rewards of all %d candidates would have to be drawn", m))
	case states && w.table == nil:
		return nil, Unsupported("contexts have a state or sessions, and depend on what is chosen")
	case w.every > mostEvery:
		return nil, Unsupported(fmt.Sprintf("there are %d steps between updates", w.every))
	case history > mostHistory || runs*steps*m > math.MaxInt32:
		return nil, Unsupported(fmt.Sprintf("the history of %d runs of %d steps has %d MiB", runs, steps, history>>20))
	}
	blocks := max(1, min(mostChunk/w.every, mostInputs/(block+w.every*step), (steps+w.every-1)/w.every))
	w.chunk = blocks * w.every
	w.steps = (steps + w.chunk - 1) / w.chunk * w.chunk // there is room for whole chunks
	for _, in := range w.inputs {
		in.allocate(blocks)
	}
	for _, in := range append(w.drawn, w.expected) {
		in.allocate(w.chunk)
	}
	for range m {
		env, err := problem.New(seeds)
		if err != nil {
			return nil, err
		}
		w.copies = append(w.copies, env)
	}
	w.oracle, _ = w.copies[0].(envs.Oracle)
	return w, nil
}

// offer draws step k of a chunk, which is step t of all. It returns what a history has of it, which
// choices change in nothing.
func (w *world) offer(k, t int) (tr envs.Transition, err error) {
	m, obs := w.spec.Candidates, w.copies[0].Observe()
	if err := obs.Check(w.spec, w.runs); err != nil {
		return tr, err
	}
	if obs.Sizes != nil {
		return tr, Unsupported("candidate sets vary in size")
	}
	for i := range w.runs * m {
		if w.table != nil {
			w.item.at(k)[i] = w.of[obs.Codes.Items[i]]
		} else {
			copy(w.candidate(k, i), obs.Context(i/m, i%m)[w.spec.State:])
		}
	}
	for r, last := range w.last {
		past, session := part(w.past.at(k), r, w.runs), obs.Session[r]
		if last[session] == nil {
			last[session] = slices.Repeat([]int32{-1}, len(past))
		}
		copy(past, last[session])
		last[session] = append([]int32{int32(t*w.runs + r)}, past[:len(past)-1]...)
	}
	if w.oracle != nil {
		w.oracle.ExpectedRewards(w.expected.at(k))
	}
	tr = envs.Transition{Observation: obs, Actions: make([]int, w.runs)}
	for i, env := range w.copies {
		out, err := env.Step(slices.Repeat([]int{i}, w.runs))
		if err != nil {
			return tr, err
		}
		for r, reward := range out.Reward {
			if reward-reward != 0 {
				return tr, &envs.RunError{Run: r, Err: fmt.Errorf("the reward of candidate %d is %v", i, reward)}
			}
			part(w.reward.at(k), r, w.runs)[i] = reward
		}
		tr.Outcome = out
	}
	return tr, nil
}

// verify makes the decisions of n steps of the chunk, [n, R], and returns an Unsupported where other
// contexts or rewards come of them than were drawn.
func (w *world) verify(n int, actions []int32) error {
	for k := range n {
		obs := w.played.Observe()
		tr, _ := w.outcome(k, actions)
		out, err := w.played.Step(tr.Actions)
		if err != nil {
			return err
		}
		same := slices.Equal(out.Reward, tr.Reward)
		for i := range w.runs * w.spec.Candidates {
			same = same && slices.Equal(obs.Context(i/w.spec.Candidates, i%w.spec.Candidates)[w.spec.State:], w.candidate(k, i))
		}
		if !same {
			return Unsupported("contexts or rewards depend on earlier choices")
		}
	}
	return nil
}

// candidate returns the features of candidate i of step k of the chunk, without its state.
func (w *world) candidate(k, i int) []float32 {
	if d := w.spec.Dim - w.spec.State; w.table != nil {
		return w.table[int(w.item.at(k)[i])*d:][:d]
	}
	return part(w.features.at(k), i, w.runs*w.spec.Candidates)
}

// outcome is what step k of the chunk came to by its actions, [n, R].
func (w *world) outcome(k int, actions []int32) (tr envs.Transition, regret []float64) {
	tr.Runs, tr.Candidates, tr.Dim = w.runs, w.spec.Candidates, w.spec.Dim
	for r, action := range actions[k*w.runs:][:w.runs] {
		tr.Actions, tr.Reward = append(tr.Actions, int(action)), append(tr.Reward, part(w.reward.at(k), r, w.runs)[action])
		if w.oracle != nil {
			expected := part(w.expected.at(k), r, w.runs)
			regret = append(regret, slices.Max(expected)-expected[action])
		}
	}
	return tr, regret
}
