package baselines

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// NoExploration, as Alpha or Scale, is 0: the policy is greedy. Zero itself stands for the default.
const NoExploration = -1

// model is what one run has learned. Features are contexts in float64, with a 1 appended where
// there is an intercept: N numbers a candidate.
type model interface {
	// score writes a score a candidate to dst, [m]; features is [m, N]. Nothing is random without rng.
	score(dst, features []float64, rng *rand.Rand)
	// learn learns the reward of features x, [N], at a step counted from 1. It may overwrite x.
	learn(step int, x []float64, reward float64) error
}

// run is the state of one run; exported fields, the model's too, are what is saved.
type run[T model] struct {
	Model           T
	Act             *rand.PCG // the source of rng
	Steps           int       // learned from
	Feature, Reward float64   // the largest ones learned from, by magnitude, for messages
	rng             *rand.Rand
}

// policy chooses for every run the candidate with the highest score of the run's model.
type policy[T model] struct {
	declared  envs.Algorithm
	spec      envs.Spec
	n         int // N
	newModel  func(n int) T
	draws     int // that probabilities average over
	runs      []run[T]
	x, scores []float64 // scratch, [M, N] and [M]
	best      []int     // scratch, [M]
}

// newPolicy makes one model of n features a seed, unless settings is an error. Scores are random
// where scale is positive.
func newPolicy[T model](a envs.Algorithm, settings error, spec envs.Spec, seeds []uint64, n int, scale float64, newModel func(n int) T) (envs.Policy, error) {
	switch err := cmp.Or(settings, spec.Validate(seeds)); {
	case err != nil:
		return nil, fmt.Errorf("%T: %w", a, err)
	case n > 0 && n > 1<<29/n/len(seeds):
		return nil, fmt.Errorf("%T: %d runs of %d features need matrices of more than 2^29 numbers", a, len(seeds), n)
	}
	m := spec.Candidates
	p := &policy[T]{
		declared: a, spec: spec, n: n, newModel: newModel, draws: 1,
		x: make([]float64, m*n), scores: make([]float64, m), best: make([]int, 0, m),
	}
	if scale > 0 {
		p.draws = 1000
	}
	p.runs = p.newRuns(seeds)
	return p, nil
}

func (p *policy[T]) newRuns(seeds []uint64) []run[T] {
	runs := make([]run[T], len(seeds))
	for r, seed := range seeds {
		source := envs.NewSource(seed, fmt.Sprintf("%T/act", p.declared))
		runs[r] = run[T]{Model: p.newModel(p.n), Act: source, rng: rand.New(source)}
	}
	return runs
}

func (p *policy[T]) Act(dst []int, obs envs.Observation) error {
	return p.forEach(obs, len(dst), 1, func(r int, features, scores []float64) error {
		best, err := p.choose(r, features, scores, p.runs[r].rng)
		if err == nil {
			dst[r] = best[p.runs[r].rng.IntN(len(best))]
		}
		return err
	})
}

func (p *policy[T]) Probabilities(dst []float64, obs envs.Observation) error {
	clear(dst)
	return p.forEach(obs, len(dst), p.spec.Candidates, func(r int, features, scores []float64) error {
		ahead := *p.runs[r].Act // a copy: the run's own stream stays where it is
		rng := rand.New(rand.NewPCG(ahead.Uint64(), ahead.Uint64()))
		for range p.draws {
			best, err := p.choose(r, features, scores, rng)
			if err != nil {
				return err
			}
			for _, i := range best {
				dst[r*p.spec.Candidates+i] += 1 / float64(len(best)*p.draws)
			}
		}
		return nil
	})
}

// choose returns the candidates with the highest score, valid until the next call.
func (p *policy[T]) choose(r int, features, scores []float64, rng *rand.Rand) ([]int, error) {
	p.runs[r].Model.score(scores, features, rng)
	highest, best := slices.Max(scores), p.best // NaN if there is one
	for i, s := range scores {
		if s == highest {
			best = append(best, i)
		}
	}
	if len(best) == 0 {
		return nil, p.lost(r, errors.New("a score is not a number"))
	}
	return best, nil
}

func (p *policy[T]) Update(tr envs.Transition) error {
	if err := tr.Check(p.spec, len(p.runs)); err != nil {
		return err
	}
	for r := range p.runs {
		run, x, reward := &p.runs[r], p.x[:p.n], float64(tr.Reward[r])
		load(x, tr.Context(r, tr.Actions[r]))
		run.Feature, run.Reward = max(run.Feature, floats.Norm(x, math.Inf(1))), max(run.Reward, math.Abs(reward))
		run.Steps++
		if err := run.Model.learn(run.Steps, x, reward); err != nil {
			return p.lost(r, err)
		}
	}
	return nil
}

func (p *policy[T]) Save(w io.Writer) error {
	return envs.WriteState(w, p.declared, p.spec, len(p.runs), p.runs)
}

func (p *policy[T]) Load(r io.Reader) error {
	runs := p.newRuns(make([]uint64, len(p.runs)))
	if err := envs.ReadState(r, p.declared, p.spec, len(runs), &runs); err != nil {
		return err
	}
	p.runs = runs
	return nil
}

// forEach hands each run's features, [m, N], and room for scores, [m], to use. It panics unless the
// caller's room is for each results a run.
func (p *policy[T]) forEach(obs envs.Observation, room, each int, use func(r int, features, scores []float64) error) error {
	envs.CheckResults(room, len(p.runs)*each)
	if err := obs.Check(p.spec, len(p.runs)); err != nil {
		return err
	}
	for r := range p.runs {
		size := obs.Size(r)
		for i := range size {
			load(p.x[i*p.n:(i+1)*p.n], obs.Context(r, i))
		}
		if err := use(r, p.x[:size*p.n], p.scores[:size]); err != nil {
			return err
		}
	}
	return nil
}

// lost tells in which run, and how far into it, a model has failed.
func (p *policy[T]) lost(r int, err error) error {
	return &envs.RunError{Run: r, Err: fmt.Errorf("%T%+v: %w after %d steps; the largest feature was %g, the largest reward %g",
		p.declared, p.declared, err, p.runs[r].Steps, p.runs[r].Feature, p.runs[r].Reward)}
}

// Random chooses uniformly and learns nothing. It has no settings.
type Random struct{}

func (a Random) New(spec envs.Spec, seeds []uint64) (envs.Policy, error) {
	return newPolicy(a, nil, spec, seeds, 0, 0, func(int) random { return random{} })
}

type random struct{}

func (random) score(dst, _ []float64, _ *rand.Rand)      { clear(dst) }
func (random) learn(_ int, _ []float64, _ float64) error { return nil }

// load writes the features of a context to dst, and a 1 where dst has room for one more.
func load(dst []float64, context []float32) {
	for i := range dst {
		dst[i] = 1
		if i < len(context) {
			dst[i] = float64(context[i])
		}
	}
}

// check returns an error unless a setting is positive or the one other value that is allowed.
func check(field string, value, or float64) error {
	if value == or || value > 0 && value <= math.MaxFloat64 {
		return nil
	}
	return fmt.Errorf("%s is %v, want a positive number or %v", field, value, or)
}

func features(spec envs.Spec, intercept bool) int {
	if intercept {
		return spec.Dim + 1
	}
	return spec.Dim
}
