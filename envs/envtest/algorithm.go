package envtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	c := algorithmChecks{a: a, p: p, varied: offered{p, p.Spec().Candidates, true}, steps: 80}
	if len(steps) > 0 {
		c.steps = steps[0]
	}
	return check([]promise{
		{"actions are candidates", func() error { _, err := play(a, c.varied, []uint64{1, 2, 3}, c.steps, nil); return err }},
		{"a run depends on its seed alone: 20 runs are 7 and 13", func() error { return stacked(a, p, c.steps) }},
		{"arguments are neither changed nor kept", c.arguments},
		{"feedback may come late", c.late},
		{"what is beyond a set, and codes, do not matter", c.padding},
		{"one candidate is a set", func() error { _, err := play(a, offered{p, 1, false}, []uint64{1, 2}, c.steps, nil); return err }},
		{"the choice among equals is random", c.ties},
		{"probabilities are those of Act", c.probabilities},
		{"a policy that was saved and loaded goes on as before", c.saving},
		{"bad specs and no seed are errors", c.specs},
		{"wrong shapes panic", c.refusals},
		{"NaN is an error that names the run", c.nan},
		{"the declaration has a JSON form and is not changed by use", func() error { return unchanged(a, c.late) }},
	})
}

type algorithmChecks struct {
	a         envs.Algorithm
	p, varied envs.Problem
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
	obs, width := all, e.p.width
	obs.Candidates, obs.Sizes = width, make([]int32, obs.Runs)
	obs.Contexts = slices.Repeat([]float32{float32(math.NaN())}, obs.Runs*width*obs.Dim)
	items := slices.Repeat([]int32{-1}, obs.Runs*width)
	for r := range obs.Runs {
		n := 1 + e.sizes[r].IntN(min(width, all.Size(r)))
		obs.Sizes[r] = int32(n)
		for k := range n {
			copy(obs.Context(r, k), all.Context(r, k))
			if all.Codes != nil {
				items[r*width+k] = all.Codes.Items[r*all.Candidates+k]
			}
		}
	}
	if obs.Codes = nil; all.Codes != nil && e.p.codes {
		obs.Codes = &envs.Codes{Items: items, State: all.Codes.State, Table: all.Codes.Table}
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

// arguments overwrites what it lent to the policy after every call.
func (c algorithmChecks) arguments() error {
	seeds := []uint64{31, 32}
	plain, err := play(c.a, c.varied, seeds, c.steps, nil)
	g, err2 := start(c.a, c.varied, seeds...)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	lend := func(tr envs.Transition, call func(envs.Transition) error) error {
		lent := clone(tr)
		if err := call(lent); err != nil {
			return err
		}
		if !slices.Equal(moments(lent), moments(tr)) {
			return errors.New("an argument was changed")
		}
		for _, floats := range [][]float32{lent.Contexts, lent.Reward, lent.Discount} {
			for i := range floats {
				floats[i] = float32(math.NaN())
			}
		}
		for r := range lent.Actions {
			lent.Actions[r] = -1
		}
		return nil
	}
	for i := range c.steps {
		tr := envs.Transition{Observation: g.env.Observe(), Actions: make([]int, 2), Outcome: envs.Outcome{Reward: make([]float32, 2)}}
		err := lend(tr, func(lent envs.Transition) error { return g.act(lent.Observation) })
		if err == nil {
			tr.Actions = g.actions
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
	return errors.Join(same(plain, g, 0, 0), same(plain, g, 1, 1))
}

// late hands over the transitions of random choices three steps late.
func (c algorithmChecks) late() error {
	random, err := start(dice{}, c.varied, 41, 42)
	g, err2 := start(c.a, c.varied, 41, 42)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	var queue []envs.Transition
	for i := range c.steps {
		tr, err := random.decide()
		if queue = append(queue, clone(tr)); i%5 == 4 {
			err = errors.Join(err, g.act(tr.Observation))
		}
		if i >= 3 {
			err = errors.Join(err, g.policy.Update(queue[i-3]))
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (c algorithmChecks) padding() error {
	m := c.p.Spec().Candidates
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

// ties makes a first choice among 2 to 5 equal candidates in 100 runs: 1 of 1e9
// sets of seeds misses one.
func (c algorithmChecks) ties() error {
	g, err := start(c.a, c.p, slices.Collect(func(yield func(uint64) bool) {
		for seed := uint64(0); seed < 100 && yield(seed); seed++ {
		}
	})...)
	if err != nil {
		return err
	}
	obs := clone(envs.Transition{Observation: g.env.Observe()}).Observation
	n := min(5, obs.Candidates)
	obs.Sizes = slices.Repeat([]int32{int32(n)}, obs.Runs)
	for r := range obs.Runs {
		for k := range n {
			copy(obs.Context(r, k), obs.Context(r, 0))
		}
	}
	if obs.Codes = nil; g.act(obs) != nil {
		return g.act(obs)
	}
	for k := range n {
		if !slices.Contains(g.actions, k) {
			return fmt.Errorf("candidate %d of %d equal ones is never chosen", k, n)
		}
	}
	return nil
}

func (c algorithmChecks) probabilities() error {
	m, p := c.varied.Spec().Candidates, []float64(nil)
	look := func(g *game) error {
		obs := g.env.Observe()
		p = slices.Repeat([]float64{math.NaN()}, obs.Runs*m)
		if err := g.policy.(envs.Probable).Probabilities(p, obs); err != nil {
			return err
		}
		for r := range obs.Runs {
			set := p[r*m : (r+1)*m]
			if slices.Min(set) < 0 || !(math.Abs(sum(set)-1) < 1e-5) || slices.ContainsFunc(set[obs.Size(r):], func(x float64) bool { return x != 0 }) {
				return fmt.Errorf("run %d: probabilities %v of %d candidates, want a sum of 1, and 0 beyond", r, set, obs.Size(r))
			}
		}
		return nil
	}
	seeds := []uint64{61, 62, 63, 64}
	plain, err := play(c.a, c.varied, seeds, c.steps, nil)
	if err != nil {
		return err
	}
	if _, ok := plain.policy.(envs.Probable); !ok {
		return nil
	}
	g, err := play(c.a, c.varied, seeds, c.steps, func(g *game) error {
		if len(g.past)%5 > 0 {
			return nil
		}
		return look(g)
	})
	for r := range seeds {
		if err == nil {
			err = same(plain, g, r, r)
		}
	}
	// A cell is one candidate of one observation and run. Its squared deviation
	// has mean 1, or 1.25 if the probability is itself a mean over 1,000 draws. The
	// 1 that is added to the variance keeps rare choices from deciding.
	const observations, acts = 20, 250
	var chi, cells float64
	for range observations {
		if err == nil {
			err = look(g)
		}
		obs, counts := g.env.Observe(), make([]float64, len(p))
		for i := 0; i < acts && err == nil; i++ {
			err = g.act(obs)
			for r, a := range g.actions {
				counts[r*m+a]++
			}
		}
		if err != nil {
			return err
		}
		for k, n := range counts {
			if k%m < obs.Size(k/m) {
				cells++
				chi += (n - acts*p[k]) * (n - acts*p[k]) / (acts*p[k]*(1-p[k]) + 1)
			}
		}
		err = g.step()
	}
	if most := 1.25*cells + 6*math.Sqrt(2*cells); chi > most {
		return fmt.Errorf("chi-square of %d draws of Act is %.0f, want at most %.0f", observations*acts*len(seeds), chi, most)
	}
	return err
}

func (c algorithmChecks) saving() error {
	spec := c.varied.Spec()
	g, err := play(c.a, c.varied, []uint64{71, 72}, c.steps, nil)
	if err != nil {
		return err
	}
	saver, ok := g.policy.(envs.Saver)
	if !ok {
		return nil
	}
	wider := spec
	wider.Candidates++
	var buffer bytes.Buffer
	loaded, err := c.a.New(spec, []uint64{8, 9})
	other, err2 := c.a.New(wider, []uint64{8, 9})
	more, err3 := c.a.New(spec, []uint64{7, 8, 9})
	if err := errors.Join(err, err2, err3, saver.Save(&buffer), loaded.(envs.Saver).Load(bytes.NewReader(buffer.Bytes()))); err != nil {
		return err
	}
	file := buffer.Bytes()
	damaged := slices.Clone(file)
	damaged[len(file)/2] ^= 4
	for _, bad := range []struct {
		what   string
		policy envs.Policy
		file   []byte
	}{
		{"a changed byte", loaded, damaged}, {"half a file", loaded, file[:len(file)/2]}, {"an empty file", loaded, nil},
		{"another spec", other, file}, {"more runs", more, file},
	} {
		if bad.policy.(envs.Saver).Load(bytes.NewReader(bad.file)) == nil {
			return fmt.Errorf("no error from Load with %s", bad.what)
		}
	}
	if saver.Save(failing{}) == nil {
		return errors.New("no error from Save where nothing can be written")
	}
	twin := &game{policy: loaded, actions: make([]int, 2)}
	for i := range 7 * c.steps {
		err := twin.act(g.env.Observe())
		tr, err2 := g.decide()
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if !slices.Equal(g.actions, twin.actions) {
			return fmt.Errorf("actions %v of the loaded policy, %v of the saved one %d steps later", twin.actions, g.actions, i)
		}
		if err := errors.Join(g.policy.Update(tr), loaded.Update(tr)); err != nil {
			return err
		}
	}
	return nil
}

type failing struct{ io.Writer }

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func (c algorithmChecks) specs() error {
	m, d := c.p.Spec().Candidates, c.p.Spec().Dim
	for _, bad := range []envs.Spec{{}, {Candidates: -m, Dim: d}, {Candidates: m, Dim: -d}, {Candidates: m, Dim: d, State: d}} {
		if _, err := c.a.New(bad, []uint64{1}); err == nil {
			return fmt.Errorf("no error for %+v", bad)
		}
	}
	if _, err := c.a.New(c.p.Spec(), nil); err == nil {
		return errors.New("no error without a seed")
	}
	return nil
}

// spoil calls f with a new policy of 3 runs and a transition to spoil.
func (c algorithmChecks) spoil(f func(policy envs.Policy, tr *envs.Transition)) error {
	random, err := start(dice{}, c.p, 1, 2, 3)
	policy, err2 := c.a.New(c.p.Spec(), []uint64{1, 2, 3})
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	tr, err := random.decide()
	tr = clone(tr)
	f(policy, &tr)
	return err
}

func (c algorithmChecks) refusals() (err error) {
	m, d := c.p.Spec().Candidates, c.p.Spec().Dim
	for _, bad := range []struct {
		what      string
		got, want int
		inAct     bool
		spoil     func(tr *envs.Transition)
	}{
		{"too many runs", 4, 3, true, func(tr *envs.Transition) { tr.Runs = 4 }},
		{"too few candidates", m - 1, m, true, func(tr *envs.Transition) { tr.Candidates-- }},
		{"too many features", d + 1, d, true, func(tr *envs.Transition) { tr.Dim++ }},
		{"too few contexts", 3*m*d - 1, m, true, func(tr *envs.Transition) { tr.Contexts = tr.Contexts[1:] }},
		{"an impossible size", m + 1, m, true, func(tr *envs.Transition) { tr.Sizes = []int32{1, int32(m + 1), 1} }},
		{"too few actions", 2, 3, true, func(tr *envs.Transition) { tr.Actions = tr.Actions[1:] }},
		{"an action beyond the set", m, m - 1, false, func(tr *envs.Transition) { tr.Sizes, tr.Actions[1] = nil, m }},
		{"too few rewards", 2, 3, false, func(tr *envs.Transition) { tr.Reward = tr.Reward[1:] }},
		{"too many discounts", 4, 3, false, func(tr *envs.Transition) { tr.Discount = make([]float32, 4) }},
	} {
		e := c.spoil(func(policy envs.Policy, tr *envs.Transition) {
			bad.spoil(tr)
			err = errors.Join(err, refused("Update with "+bad.what, bad.got, bad.want, func() { policy.Update(*tr) }))
		})
		if bad.inAct {
			e = errors.Join(e, c.spoil(func(policy envs.Policy, tr *envs.Transition) {
				bad.spoil(tr)
				err = errors.Join(err, refused("Act with "+bad.what, bad.got, bad.want, func() { policy.Act(tr.Actions, tr.Observation) }))
			}))
		}
		err = errors.Join(err, e)
	}
	return err
}

func (c algorithmChecks) nan() (err error) {
	nan := float32(math.NaN())
	for what, call := range map[string]func(policy envs.Policy, tr *envs.Transition) error{
		"Update with a reward": func(policy envs.Policy, tr *envs.Transition) error {
			tr.Reward[1] = nan
			return policy.Update(*tr)
		},
		"Update with a context": func(policy envs.Policy, tr *envs.Transition) error {
			tr.Context(1, tr.Actions[1])[0] = nan
			return policy.Update(*tr)
		},
		"Act with a context": func(policy envs.Policy, tr *envs.Transition) error {
			tr.Context(1, 0)[0] = nan
			return policy.Act(tr.Actions, tr.Observation)
		},
	} {
		err = errors.Join(err, c.spoil(func(policy envs.Policy, tr *envs.Transition) {
			var run *envs.RunError
			if got := call(policy, tr); !errors.As(got, &run) || run.Run != 1 {
				err = errors.Join(err, fmt.Errorf("%s of NaN in run 1: the error is %v, want a RunError", what, got))
			}
		}))
	}
	return err
}
