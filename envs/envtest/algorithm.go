package envtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// CheckAlgorithm checks what package envs promises of algorithms, with policies
// that play p, which should itself keep the promises of problems. Most checks play
// sets of varying size, with NaN beyond it. The choices of a policy that is
// Probable are held against 20,000 draws of Act on observations that it learns
// between.
//
// steps is how long most checks play; default 80. It should be more than the
// steps until learning changes the choices. All checks together play 150 times as
// many steps of one run.
func CheckAlgorithm(a envs.Algorithm, p envs.Problem, steps ...int) []Check {
	c := algorithmChecks{a: a, p: p, spec: p.Spec(), varied: offered{p, p.Spec().Candidates, true}, steps: 80}
	if len(steps) > 0 {
		c.steps = steps[0]
	}
	return check([]promise{
		{"actions are candidates", func() error { _, err := play(a, c.varied, firstSeeds(3), c.steps, nil); return err }},
		{"a run depends on its seed alone: 20 runs are 7 and 13", func() error { return stacked(a, p, c.steps) }},
		{"arguments are neither changed nor kept", c.arguments},
		{"neither what is beyond a set nor codes matter", c.padding},
		{"one candidate is a set", func() error { _, err := play(a, offered{p, 1, true}, firstSeeds(2), c.steps, nil); return err }},
		{"the choice among equals is random", c.ties},
		{"probabilities are those of Act", c.probabilities},
		{"a policy that was saved and loaded goes on as before", c.saving},
		{"bad specs and no seed are errors", c.specs},
		{"wrong shapes panic", c.refusals},
		{"NaN is an error that names the run", c.nan},
		{"the declaration has a JSON form", func() error { _, err := json.Marshal(a); return err }},
	})
}

type algorithmChecks struct {
	a         envs.Algorithm
	p, varied envs.Problem
	spec      envs.Spec
	steps     int
}

// offered is a problem that offers the first few of its candidates, at random,
// in sets of at most width, the others being NaN.
type offered struct {
	envs.Problem
	width int  // M
	codes bool // where the problem has them
}

func (p offered) Spec() envs.Spec {
	spec := p.Problem.Spec()
	spec.Candidates = p.width
	return spec
}

func (p offered) New(seeds []uint64) (envs.Environment, error) {
	env, err := p.Problem.New(seeds)
	if err != nil {
		return nil, err
	}
	e := &offering{Environment: env, p: p}
	for _, seed := range seeds {
		e.sizes = append(e.sizes, rand.New(rand.NewPCG(seed, 77)))
	}
	e.next()
	return e, nil
}

type offering struct {
	envs.Environment
	p     offered
	sizes []*rand.Rand // [R]
	now   envs.Observation
}

func (e *offering) next() {
	all := e.Environment.Observe()
	obs, m := all, e.p.width
	obs.Candidates, obs.Sizes = m, make([]int32, obs.Runs)
	obs.Contexts = fill(make([]float32, obs.Runs*m*obs.Dim), float32(math.NaN()))
	if obs.Codes = nil; all.Codes != nil && e.p.codes {
		obs.Codes = &envs.Codes{Items: fill(make([]int32, obs.Runs*m), -1), State: all.Codes.State, Table: all.Codes.Table}
	}
	for r := range obs.Runs {
		n := 1 + e.sizes[r].IntN(min(m, all.Size(r)))
		obs.Sizes[r] = int32(n)
		for k := range n {
			copy(obs.Context(r, k), all.Context(r, k))
			if obs.Codes != nil {
				obs.Codes.Items[r*m+k] = all.Codes.Items[r*all.Candidates+k]
			}
		}
	}
	e.now = obs
}

func (e *offering) Observe() envs.Observation { return e.now }

func (e *offering) Step(actions []int) (envs.Outcome, error) {
	out, err := e.Environment.Step(actions)
	if err == nil {
		e.next()
	}
	return out, err
}

// arguments lends copies to the policy and overwrites them after every call.
func (c algorithmChecks) arguments() error {
	plain, err := play(c.a, c.varied, firstSeeds(2), c.steps, nil)
	g, err2 := start(c.a, c.varied, firstSeeds(2)...)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	lend := func(tr envs.Transition, call func(envs.Transition) error) error {
		lent := clone(tr)
		err := call(lent)
		if !slices.Equal(moments(lent), moments(tr)) {
			return errors.New("an argument was changed")
		}
		for _, floats := range [][]float32{lent.Contexts, lent.Reward, lent.Discount} {
			fill(floats, float32(math.NaN()))
		}
		fill(lent.Actions, -1)
		return err
	}
	for i := range c.steps {
		tr := envs.Transition{Observation: g.env.Observe(), Actions: []int{0, 0}, Outcome: envs.Outcome{Reward: []float32{0, 0}}}
		err := lend(tr, func(lent envs.Transition) error { return g.act(lent.Observation) })
		if tr.Actions = g.actions; err == nil {
			tr.Outcome, err = g.env.Step(g.actions)
		}
		if err == nil {
			g.past = append(g.past, moments(tr))
			err = lend(tr, g.policy.Update)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return same(g, plain, 0)
}

func fill[T any](dst []T, with T) []T {
	for i := range dst {
		dst[i] = with
	}
	return dst
}

func (c algorithmChecks) padding() error {
	m := c.spec.Candidates
	tight, err := play(c.a, offered{c.p, m, false}, []uint64{51}, 25*c.steps, nil)
	padded, err2 := play(c.a, offered{c.p, m + 3, true}, []uint64{51}, 25*c.steps, nil)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	for i := range tight.past {
		if a, b := tight.past[i][0].Action, padded.past[i][0].Action; a != b {
			return fmt.Errorf("step %d: action %d of at most %d candidates, %d of at most %d", i, a, m, b, m+3)
		}
	}
	return nil
}

// ties makes the first choice of 100 runs among 5 equal candidates, or fewer: 1
// of 1e9 sets of seeds misses one.
func (c algorithmChecks) ties() error {
	g, err := start(c.a, c.p, firstSeeds(100)...)
	if err != nil {
		return err
	}
	obs := clone(envs.Transition{Observation: g.env.Observe()}).Observation
	n := min(5, obs.Candidates)
	obs.Codes, obs.Sizes = nil, fill(make([]int32, 100), int32(n))
	for i := range 100 * n {
		copy(obs.Context(i/n, i%n), obs.Context(i/n, 0))
	}
	err = g.act(obs)
	for k := range n {
		if err == nil && !slices.Contains(g.actions, k) {
			err = fmt.Errorf("candidate %d of %d equal ones is never chosen", k, n)
		}
	}
	return err
}

func (c algorithmChecks) probabilities() error {
	m, seeds := c.spec.Candidates, firstSeeds(4)
	plain, err := play(c.a, c.varied, seeds, c.steps, nil)
	if err != nil {
		return err
	}
	if _, ok := plain.policy.(envs.Probable); !ok {
		return nil
	}
	p := make([]float64, 4*m)
	look := func(g *game) error {
		obs := g.env.Observe()
		err := g.policy.(envs.Probable).Probabilities(fill(p, math.NaN()), obs)
		for r := range obs.Runs {
			set, n := p[r*m:(r+1)*m], obs.Size(r)
			if !(slices.Min(set) >= 0 && math.Abs(sum(set[:n])-1) < 1e-5 && sum(set[n:]) == 0) {
				err = cmp.Or(err, fmt.Errorf("run %d: probabilities %v, want a sum of 1 over the first %d, 0 beyond", r, set, n))
			}
		}
		return err
	}
	g, err := play(c.a, c.varied, seeds, c.steps, look)
	if err != nil {
		return err
	}
	if err := same(g, plain, 0); err != nil {
		return fmt.Errorf("looking at probabilities changed the run: %w", err)
	}
	// A cell is one candidate of one observation and run. Its squared deviation
	// has mean 1, or 1.25 if the probability is itself a mean over 1,000 draws. The
	// 1 that is added to the variance keeps rare choices from deciding.
	const observations, acts = 20, 250
	var chi, cells float64
	for range observations {
		err := look(g)
		obs, counts := g.env.Observe(), make([]float64, 4*m)
		for i := 0; i < acts && err == nil; i++ {
			err = g.act(obs)
			for r, a := range g.actions {
				counts[r*m+a]++
			}
		}
		for k, n := range counts {
			if k%m < obs.Size(k/m) {
				cells++
				chi += (n - acts*p[k]) * (n - acts*p[k]) / (acts*p[k]*(1-p[k]) + 1)
			}
		}
		if err == nil {
			err = g.step()
		}
		if err != nil {
			return err
		}
	}
	if most := 1.25*cells + 6*math.Sqrt(2*cells); chi > most {
		return fmt.Errorf("chi-square of %d draws of Act is %.0f, want at most %.0f", 4*observations*acts, chi, most)
	}
	return nil
}

func (c algorithmChecks) saving() error {
	g, err := play(c.a, c.varied, firstSeeds(2), c.steps, nil)
	if _, ok := g.policy.(envs.Saver); !ok || err != nil {
		return err
	}
	saver := func(m, runs int) envs.Saver {
		spec := c.spec
		spec.Candidates = m
		policy, e := c.a.New(spec, firstSeeds(9)[9-runs:])
		err = errors.Join(err, e)
		return policy.(envs.Saver)
	}
	m := c.spec.Candidates
	loaded, wider, more := saver(m, 2), saver(m+1, 2), saver(m, 3)
	var buffer bytes.Buffer
	if err := errors.Join(err, g.policy.(envs.Saver).Save(&buffer), loaded.Load(bytes.NewReader(buffer.Bytes()))); err != nil {
		return err
	}
	file := buffer.Bytes()
	damaged := slices.Clone(file)
	damaged[len(file)/2] ^= 4
	for _, bad := range []struct {
		what   string
		policy envs.Saver
		file   []byte
	}{
		{"a changed byte", loaded, damaged}, {"half a file", loaded, file[:len(file)/2]}, {"an empty file", loaded, nil},
		{"another spec", wider, file}, {"more runs", more, file},
	} {
		if bad.policy.Load(bytes.NewReader(bad.file)) == nil {
			return fmt.Errorf("no error from Load with %s", bad.what)
		}
	}
	copied := &game{policy: loaded.(envs.Policy), actions: make([]int, 2)}
	for i := range 7 * c.steps {
		err := copied.act(g.env.Observe())
		tr, err2 := g.decide()
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if !slices.Equal(g.actions, copied.actions) {
			return fmt.Errorf("actions %v of the loaded policy, %v of the saved one, %d steps later", copied.actions, g.actions, i)
		}
		if err := errors.Join(g.policy.Update(tr), copied.policy.Update(tr)); err != nil {
			return err
		}
	}
	return nil
}

func (c algorithmChecks) specs() error {
	m, d := c.spec.Candidates, c.spec.Dim
	for _, bad := range []envs.Spec{{}, {Candidates: -m, Dim: d}, {Candidates: m, Dim: -d}, {Candidates: m, Dim: d, State: d}} {
		if _, err := c.a.New(bad, []uint64{1}); err == nil {
			return fmt.Errorf("no error for %+v", bad)
		}
	}
	if _, err := c.a.New(c.spec, nil); err == nil {
		return errors.New("no error without a seed")
	}
	return nil
}

// spoiled calls Act or Update of a new policy of 3 runs with a transition that
// was spoiled.
func (c algorithmChecks) spoiled(act bool, spoil func(tr *envs.Transition)) error {
	random, err := start(dice{}, c.p, 1, 2, 3)
	policy, err2 := c.a.New(c.spec, []uint64{1, 2, 3})
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	tr, err := random.decide()
	tr = clone(tr)
	if spoil(&tr); act {
		return cmp.Or(err, policy.Act(tr.Actions, tr.Observation))
	}
	return cmp.Or(err, policy.Update(tr))
}

func (c algorithmChecks) refusals() error {
	m, d := c.spec.Candidates, c.spec.Dim
	for i, bad := range []struct {
		what      string
		got, want int
		spoil     func(tr *envs.Transition)
	}{
		{"too many runs", 4, 3, func(tr *envs.Transition) { tr.Runs = 4 }},
		{"too few candidates", m - 1, m, func(tr *envs.Transition) { tr.Candidates-- }},
		{"too many features", d + 1, d, func(tr *envs.Transition) { tr.Dim++ }},
		{"too few contexts", 3*m*d - 1, m, func(tr *envs.Transition) { tr.Contexts = tr.Contexts[1:] }},
		{"too large a size", m + 1, m, func(tr *envs.Transition) { tr.Sizes = []int32{1, int32(m + 1), 1} }},
		{"too few actions", 2, 3, func(tr *envs.Transition) { tr.Actions = tr.Actions[1:] }},
		// These are nothing to Act.
		{"an action beyond the set", m, m - 1, func(tr *envs.Transition) { tr.Sizes, tr.Actions[1] = nil, m }},
		{"too few rewards", 2, 3, func(tr *envs.Transition) { tr.Reward = tr.Reward[1:] }},
		{"too many discounts", 4, 3, func(tr *envs.Transition) { tr.Discount = make([]float32, 4) }},
	} {
		err := refused("Update with "+bad.what, bad.got, bad.want, func() { c.spoiled(false, bad.spoil) })
		if err == nil && i < 6 {
			err = refused("Act with "+bad.what, bad.got, bad.want, func() { c.spoiled(true, bad.spoil) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c algorithmChecks) nan() error {
	context := func(tr *envs.Transition) { tr.Context(1, tr.Actions[1])[0] = float32(math.NaN()) }
	for what, got := range map[string]error{
		"Act with a context":    c.spoiled(true, context),
		"Update with a context": c.spoiled(false, context),
		"Update with a reward":  c.spoiled(false, func(tr *envs.Transition) { tr.Reward[1] = float32(math.NaN()) }),
	} {
		var run *envs.RunError
		if !errors.As(got, &run) || run.Run != 1 {
			return fmt.Errorf("%s of NaN in run 1: the error is %v, want a RunError", what, got)
		}
	}
	return nil
}
