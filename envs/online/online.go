// Package online lets an algorithm decide in a program that serves: one decision at a time, on
// candidates in plain slices, with rewards that come later, in any order, or never.
//
//	policy, err := online.New(pgcr.Config{Capacity: 100_000}, envs.Spec{Candidates: 20, Dim: 12}, 1, 10_000)
//	d, err := policy.Decide(candidates) // [n][D]float32, n up to 20
//	err = policy.Reward(d.ID, 1)        // when the user has clicked
//
// A decision is learned when its reward comes, within that call. Decisions are those of a bandit:
// sessions and discounts are not known here.
package online

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"sync"

	"github.com/contextrec/contextrec/envs"
)

// Policy decides and learns. Its methods may be called by several goroutines, and wait for each
// other: a Decide for the update of a Reward, too.
type Policy struct {
	mutex     sync.Mutex
	algorithm envs.Algorithm
	spec      envs.Spec
	pending   int
	policy    envs.Policy
	waiting   waiting
}

// waiting are the decisions whose rewards may still come.
type waiting struct {
	Decisions map[string]decided
	IDs       []string // of the latest decisions, the oldest first; some have had their reward
}

type decided struct {
	Contexts []float32 // [n, D]
	Index    int
}

// Decision is a choice among candidates.
type Decision struct {
	ID    string // names the decision to Reward; drawn at random, and so not used again after a restart
	Index int    // of the chosen candidate

	// Probability is that with which it was chosen, to be logged as a propensity. It is exact or a
	// mean over draws, as the algorithm's Probabilities are, and 0 where that is not envs.Probable.
	Probability float64
}

// New starts a policy for sets of up to spec.Candidates candidates of spec.Dim features. A reward
// can be given until that many decisions more, pending, were made; each waits in 4*n*D bytes. What
// the algorithm remembers is bounded by its own settings.
func New(algorithm envs.Algorithm, spec envs.Spec, seed uint64, pending int) (*Policy, error) {
	if pending < 1 {
		return nil, fmt.Errorf("online: pending is %d, want at least 1", pending)
	}
	policy, err := algorithm.New(spec, []uint64{seed})
	if err != nil {
		return nil, err
	}
	return &Policy{algorithm: algorithm, spec: spec, pending: pending, policy: policy, waiting: waiting{Decisions: map[string]decided{}}}, nil
}

// Decide chooses one of the candidates, [n][D]. It is an error when there are none or too many, when
// one has another number of features, and when a feature is not finite.
func (p *Policy) Decide(candidates [][]float32) (Decision, error) {
	if n := len(candidates); n < 1 || n > p.spec.Candidates {
		return Decision{}, fmt.Errorf("online: %d candidates, want 1 to %d", n, p.spec.Candidates)
	}
	var contexts []float32
	for i, c := range candidates {
		if len(c) != p.spec.Dim {
			return Decision{}, fmt.Errorf("online: candidate %d has %d features, want %d", i, len(c), p.spec.Dim)
		}
		contexts = append(contexts, c...)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	obs, probabilities, action := p.observation(contexts), make([]float64, p.spec.Candidates), make([]int, 1)
	if probable, ok := p.policy.(envs.Probable); ok {
		if err := probable.Probabilities(probabilities, obs); err != nil {
			return Decision{}, fmt.Errorf("online: %w", err)
		}
	}
	if err := p.policy.Act(action, obs); err != nil {
		return Decision{}, fmt.Errorf("online: %w", err)
	}
	d := Decision{rand.Text(), action[0], probabilities[action[0]]}
	w := &p.waiting
	w.Decisions[d.ID] = decided{contexts, d.Index}
	w.IDs = append(w.IDs, d.ID)
	for len(w.IDs) > p.pending { // after Load there may be many more
		delete(w.Decisions, w.IDs[0])
		w.IDs = w.IDs[1:]
	}
	return d, nil
}

// Reward learns the reward of a decision. It is an error when no decision of that ID waits: it has
// had its reward, or too many decisions were made since. After an error the decision still waits.
func (p *Policy) Reward(id string, reward float32) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	d, ok := p.waiting.Decisions[id]
	if !ok {
		return fmt.Errorf("online: no decision %q waits for a reward: it has had one, or %d others were made since", id, p.pending)
	}
	tr := envs.Transition{Observation: p.observation(d.Contexts), Actions: []int{d.Index}, Outcome: envs.Outcome{Reward: []float32{reward}}}
	if err := p.policy.Update(tr); err != nil {
		return fmt.Errorf("online: %w", err)
	}
	delete(p.waiting.Decisions, id)
	return nil
}

// observation is one set of candidates, [n, D], as the only run sees it.
func (p *Policy) observation(contexts []float32) envs.Observation {
	padded := make([]float32, p.spec.Candidates*p.spec.Dim)
	copy(padded, contexts)
	return envs.Observation{Runs: 1, Candidates: p.spec.Candidates, Dim: p.spec.Dim,
		Contexts: padded, Sizes: []int32{int32(len(contexts) / p.spec.Dim)}}
}

type saved struct {
	Policy  []byte // as its own Save writes it
	Waiting waiting
}

// Save writes the policy and the decisions that wait, as envs.WriteState does. It is an error when
// the algorithm's policy is not an envs.Saver.
func (p *Policy) Save(w io.Writer) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	saver, ok := p.policy.(envs.Saver)
	if !ok {
		return fmt.Errorf("online: policies of %T cannot be saved", p.algorithm)
	}
	var policy bytes.Buffer
	if err := saver.Save(&policy); err != nil {
		return err
	}
	return envs.WriteState(w, p.algorithm, p.spec, 1, saved{policy.Bytes(), p.waiting})
}

// Load makes the policy what the saved one was, of the same algorithm and spec: it chooses the same,
// and takes rewards of the decisions that waited. After an error the policy is as it was.
func (p *Policy) Load(r io.Reader) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	s := saved{Waiting: waiting{Decisions: map[string]decided{}}}
	if err := envs.ReadState(r, p.algorithm, p.spec, 1, &s); err != nil {
		return err
	}
	if err := p.policy.(envs.Saver).Load(bytes.NewReader(s.Policy)); err != nil { // it was saved, so it can be loaded
		return err
	}
	p.waiting = s.Waiting
	return nil
}
