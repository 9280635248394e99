package logged

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// Marginal returns the log for estimates and learning with marginal weights: those of Evaluate are
// p(c)/p0(c) in place of π/p, with the paper's marginal probabilities (14) that the policy and the log
// choose the context c, whatever else is on offer. They are weights given the context alone, and so
// less noisy (Saito and Joachims: Off-policy evaluation for large action spaces via embeddings. ICML
// 2022). p(c) is the mean over resampled sets (21), one or more: the choice keeps its place,
// and the places of the others have candidates from all of the log. Features that are the same for
// all candidates of a set, in all sets, are taken as the state: a set keeps its own.
//
// logging is the policy, of one run, that made the log; nil says that it chose uniformly, p0 = 1/m.
// The candidates of a set are taken to be independent draws that do not depend on the state. Where
// decisions offer the same items that is false: then the log keeps its weights, and a warning says so.
func (l *Log) Marginal(ctx context.Context, logging envs.Policy, sets int) (*Log, error) {
	if err := l.check(true); err != nil {
		return nil, err
	}
	if l.crossed {
		return nil, errors.New("logged: products of features are not resampled: take Marginal of a log that is not Crossed")
	}
	m := *l
	m.sets, m.state, m.Decisions = max(sets, 1), l.shared(), slices.Clone(l.Decisions)
	equal := 0 // decisions that offer the items of the first
	for _, d := range l.Decisions {
		size := float64(len(d.Contexts) / len(l.Features))
		if logging == nil && math.Abs(d.Propensity*size-1) > 1e-3 {
			return nil, l.failed(d, fmt.Errorf("its propensity is %v and not that of a uniform choice, %v: the policy that made the log is wanted", d.Propensity, 1/size))
		}
		first, k := l.Decisions[0].Contexts, -1
		if slices.EqualFunc(d.Contexts, first, func(x, y float32) bool { k++; return x == y || m.state[k%len(m.state)] }) {
			equal++
		}
	}
	if 2*equal > len(l.Decisions) {
		m.sets, m.Warnings = 0, append(slices.Clip(l.Warnings), "decisions offer the same items: weights are not marginal, for sets cannot be resampled")
		return &m, nil
	}
	for i := range m.Decisions {
		if logging != nil {
			p, err := m.chance(ctx, logging, 1, i)
			if err != nil {
				return nil, err
			}
			m.Decisions[i].Propensity = p
		}
	}
	return &m, m.check(true)
}

// shared says which features are the same for all candidates of a set, [D].
func (l *Log) shared() []bool {
	dim := len(l.Features)
	shared := slices.Repeat([]bool{true}, dim)
	for _, d := range l.Decisions {
		for i, x := range d.Contexts {
			shared[i%dim] = shared[i%dim] && x == d.Contexts[i%dim]
		}
	}
	return shared
}

// resampled is a decision among resampled candidates, beside the choice, which keeps its place.
func (l *Log) resampled(d Decision, rng *rand.Rand) Decision {
	dim := len(l.Features)
	d.Contexts, d.Expected = slices.Clone(d.Contexts), nil
	for c := range len(d.Contexts) / dim {
		for c != d.Chosen {
			// All candidates of the log are equally probable.
			other, k := l.Decisions[rng.IntN(len(l.Decisions))].Contexts, rng.IntN(l.Candidates)*dim
			if k >= len(other) {
				continue
			}
			for j, x := range other[k : k+dim] {
				if !l.state[j] {
					d.Contexts[c*dim+j] = x
				}
			}
			break
		}
	}
	return d
}

// chance is the marginal probability with which the policy chooses what decision i chose. The sets
// are the same for all policies.
func (l *Log) chance(ctx context.Context, policy envs.Policy, runs, i int) (mean float64, err error) {
	rng := rand.New(rand.NewPCG(uint64(i), 0))
	for range l.sets {
		d := l.resampled(l.Decisions[i], rng)
		p, err := l.probabilities(policy, runs, d)
		if err := errors.Join(ctx.Err(), err); err != nil {
			return 0, l.failed(d, err)
		}
		mean += p[d.Chosen] / float64(l.sets)
	}
	return mean, nil
}

// Crossed returns the log with more features: the products of each feature that is the same for all
// candidates of a set, such as a user's, with each that is not. With them linear scores can prefer
// other candidates for other users. Take it of a whole log, before Split. It has no marginal weights,
// and panics where l has them.
func (l *Log) Crossed() *Log {
	if l.sets > 0 {
		panic("logged: got a log of Marginal, want another: products of features are not resampled")
	}
	crossed, dim, shared := *l, len(l.Features), l.shared()
	crossed.crossed, crossed.Features, crossed.Decisions = true, slices.Clone(l.Features), slices.Clone(l.Decisions)
	var pairs [][2]int
	for i := range dim {
		for j := range dim {
			if shared[i] && !shared[j] {
				pairs = append(pairs, [2]int{i, j})
				crossed.Features = append(crossed.Features, l.Features[i]+"·"+l.Features[j])
			}
		}
	}
	for k, d := range l.Decisions {
		var contexts []float32
		for x := range slices.Chunk(d.Contexts, dim) {
			contexts = append(contexts, x...)
			for _, p := range pairs {
				contexts = append(contexts, x[p[0]]*x[p[1]])
			}
		}
		crossed.Decisions[k].Contexts = contexts
	}
	return &crossed
}
