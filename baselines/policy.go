package baselines

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// Estimator is implemented by every policy of this package but Random's.
type Estimator interface {
	// Estimate returns a copy of the fitted parameters θ of one run: [D], or
	// [D+1] with the intercept last. It panics when there is no such run.
	Estimate(run int) []float64
}

// Scorer is implemented by the policies of LinUCB and GLMUCB, whose scores are
// a function of the contexts.
type Scorer interface {
	// Scores writes the upper confidence bound of every candidate to dst,
	// [R, M] row-major: the highest of a run is what Act chooses. It changes
	// nothing. It panics when dst has another length.
	Scores(dst []float64, obs envs.Observation) error
}

// model is what one run has learned. Features are contexts in float64, with a
// 1 appended where there is an intercept: N numbers a candidate.
type model interface {
	// score writes one score a candidate to dst, [M]; features is [M, N].
	score(dst, features []float64)
	// learn updates the model by the reward of a candidate with features x, [N].
	learn(x []float64, reward float64) error
	// estimate returns θ, [N]; the caller copies it.
	estimate() []float64
}

// policy chooses for every run the candidate with the highest score of the
// run's model.
type policy struct {
	shape
	intercept bool
	models    []model      // [R]
	ties      []*rand.Rand // [R]
	features  []float64    // scratch, [M, N]
	scores    []float64    // scratch, [M]
}

// scorer is a policy whose models score without randomness.
type scorer struct{ policy }

// newPolicy makes one model a seed. newModel is given the number of features.
func newPolicy(algorithm string, spec envs.Spec, seeds []uint64, intercept bool, newModel func(features int, seed uint64) model) (policy, error) {
	s, err := newShape(algorithm, spec, seeds)
	if err != nil {
		return policy{}, err
	}
	n := s.Dim
	if intercept {
		n++
	}
	// The models hold N×N matrices: refuse what no machine could hold.
	const maxValues = 1 << 29
	if n > maxValues/n/s.runs {
		return policy{}, fmt.Errorf("baselines: %s: %d runs of %d features need matrices of more than %d numbers", algorithm, s.runs, n, maxValues)
	}
	p := policy{
		shape:     s,
		intercept: intercept,
		features:  make([]float64, s.Candidates*n),
		scores:    make([]float64, s.Candidates),
	}
	for _, seed := range seeds {
		p.models = append(p.models, newModel(n, seed))
		p.ties = append(p.ties, envs.NewRand(seed, algorithm+"/ties"))
	}
	return p, nil
}

// Act implements envs.Policy.
func (p *policy) Act(dst []int, obs envs.Observation) error {
	if err := p.checkDecision(dst, obs); err != nil {
		return err
	}
	for r, m := range p.models {
		m.score(p.scores, p.load(obs, r))
		dst[r] = argmax(p.scores, p.ties[r])
	}
	return nil
}

// Update implements envs.Policy.
func (p *policy) Update(tr envs.Transition) error {
	if err := p.checkTransition(tr); err != nil {
		return err
	}
	n := len(p.features) / p.Candidates
	for r, m := range p.models {
		x := p.features[:n]
		p.loadCandidate(x, tr.Observation, r, tr.Actions[r])
		if err := m.learn(x, float64(tr.Reward[r])); err != nil {
			return &envs.RunError{Run: r, Err: err}
		}
	}
	return nil
}

// Estimate implements Estimator.
func (p *policy) Estimate(run int) []float64 {
	if run < 0 || run >= p.runs {
		panic(fmt.Sprintf("baselines: no run %d, policy was made for %d runs", run, p.runs))
	}
	return slices.Clone(p.models[run].estimate())
}

// Scores implements Scorer.
func (p *scorer) Scores(dst []float64, obs envs.Observation) error {
	if len(dst) != p.runs*p.Candidates {
		panic(fmt.Sprintf("baselines: %d scores asked for, policy was made for %d runs of %d candidates", len(dst), p.runs, p.Candidates))
	}
	if err := p.checkObservation(obs); err != nil {
		return err
	}
	for r, m := range p.models {
		m.score(dst[r*p.Candidates:(r+1)*p.Candidates], p.load(obs, r))
	}
	return nil
}

// load returns the features of all candidates of run r, [M, N].
func (p *policy) load(obs envs.Observation, r int) []float64 {
	n := len(p.features) / p.Candidates
	for i := range p.Candidates {
		p.loadCandidate(p.features[i*n:(i+1)*n], obs, r, i)
	}
	return p.features
}

// loadCandidate writes the features of one candidate to dst, [N].
func (p *policy) loadCandidate(dst []float64, obs envs.Observation, r, candidate int) {
	at := (r*p.Candidates + candidate) * p.Dim
	for i, c := range obs.Contexts[at : at+p.Dim] {
		dst[i] = float64(c)
	}
	if p.intercept {
		dst[p.Dim] = 1
	}
}

// argmax returns the index of the highest score, each of several equal ones
// with the same probability. Random numbers are drawn only for ties.
func argmax(scores []float64, ties *rand.Rand) int {
	best, equal := 0, 1
	for i := 1; i < len(scores); i++ {
		switch {
		case scores[i] > scores[best]:
			best, equal = i, 1
		case scores[i] == scores[best]:
			// The k-th of k equal scores replaces the chosen one with
			// probability 1/k, which leaves 1/k to every one of them.
			equal++
			if ties.IntN(equal) == 0 {
				best = i
			}
		}
	}
	return best
}
