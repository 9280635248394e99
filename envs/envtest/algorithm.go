package envtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/contextrec/contextrec/envs"
)

// CheckAlgorithm checks what package envs promises of algorithms, with policies
// that play p, which should itself keep the promises of problems. Most checks play
// sets of varying size, with NaN beyond it. The probabilities of a policy are held
// against 20,000 draws of Act, 250 an observation, between which it learns.
//
// steps is how long most checks play; default 80. It should be more than the steps until learning
// changes the choices. All checks together play 120 times as many steps of one run.
func CheckAlgorithm(a envs.Algorithm, p envs.Problem, steps ...int) []Check {
	c := algorithmChecks{a: a, p: p, spec: p.Spec(), varied: offered{p, p.Spec().Candidates, false}, steps: append(slices.Clip(steps), 80)[0]}
	return check([]promise{
		{"actions are candidates", func() { play(a, c.varied, seeds(3), c.steps) }},
		{"a run depends on its seed alone: 20 runs are 7 and 13", func() { stacked(a, p, c.steps) }},
		{"neither what is beyond a set, nor codes, nor old arguments matter", c.padding},
		{"one candidate is a set", func() { play(a, offered{p, 1, false}, seeds(2), c.steps) }},
		{"the choice among equals is random", c.ties},
		{"probabilities are those of Act", c.probabilities},
		{"a policy that was saved and loaded goes on as before", c.saving},
		{"bad specs and no seed are errors", c.specs},
		{"wrong shapes panic", c.refusals},
		{"NaN is an error that names the run", c.nan},
		{"the declaration has a JSON form", func() { must(json.Marshal(a)) }},
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
	harsh bool // without codes, and an observation is overwritten as soon as it may be
}

func (p offered) Spec() envs.Spec {
	spec := p.Problem.Spec()
	spec.Candidates = p.width
	return spec
}

func (p offered) New(seeds []uint64) (envs.Environment, error) {
	e := &offering{Environment: must(p.Problem.New(seeds)), p: p}
	for _, seed := range seeds {
		e.sizes = append(e.sizes, rand.New(rand.NewPCG(seed, 77)))
	}
	e.next()
	return e, nil
}

type offering struct {
	envs.Environment
	p             offered
	sizes         []*rand.Rand // [R]
	now, previous envs.Observation
}

func (e *offering) next() {
	if e.p.harsh {
		fill(e.previous.Contexts, float32(math.NaN()))
	}
	all, m := e.Environment.Observe(), e.p.width
	obs := all
	obs.Candidates, obs.Sizes = m, make([]int32, obs.Runs)
	obs.Contexts = fill(make([]float32, obs.Runs*m*obs.Dim), float32(math.NaN()))
	if obs.Codes = nil; all.Codes != nil && !e.p.harsh {
		obs.Codes = &envs.Codes{Items: fill(make([]int32, obs.Runs*m), -1), State: all.Codes.State, Table: all.Codes.Table}
	}
	for r := range obs.Runs {
		n := 1 + e.sizes[r].IntN(min(m, all.Size(r)))
		obs.Sizes[r] = int32(n)
		copy(obs.Contexts[r*m*obs.Dim:], all.Contexts[r*all.Candidates*obs.Dim:][:n*obs.Dim])
		if obs.Codes != nil {
			copy(obs.Codes.Items[r*m:], all.Codes.Items[r*all.Candidates:][:n])
		}
	}
	e.previous, e.now = e.now, obs
}

func (e *offering) Observe() envs.Observation { return e.now }

func (e *offering) Step(actions []int) (envs.Outcome, error) {
	out := must(e.Environment.Step(actions))
	e.next()
	return out, nil
}

func (c algorithmChecks) padding() {
	m := c.spec.Candidates
	tight := play(c.a, offered{c.p, m, true}, seeds(1), 25*c.steps)
	padded := play(c.a, offered{c.p, m + 3, false}, seeds(1), 25*c.steps)
	for i := range tight.past {
		a, b := tight.past[i][0].Action, padded.past[i][0].Action
		want(a == b, "step %d: action %d of at most %d candidates, %d of at most %d", i, a, m, b, m+3)
	}
}

// ties makes the first choice of 100 runs among 5 equal candidates, or fewer: 1
// of 1e9 sets of seeds misses one.
func (c algorithmChecks) ties() {
	g := start(c.a, c.varied, seeds(100))
	obs, n := g.env.Observe(), min(5, c.spec.Candidates)
	obs.Codes = nil
	fill(obs.Sizes, int32(n))
	for i := range 100 * n {
		copy(obs.Context(i/n, i%n), obs.Context(i/n, 0))
	}
	g.act(obs)
	for k := range n {
		want(slices.Contains(g.actions, k), "candidate %d of %d equal ones is never chosen", k, n)
	}
}

func (c algorithmChecks) probabilities() {
	g, m := start(c.a, c.varied, seeds(4)), c.spec.Candidates
	probable, ok := g.policy.(envs.Probable)
	if !ok {
		return
	}
	p := make([]float64, 4*m)
	look := func() envs.Observation {
		obs := g.env.Observe()
		must(0, probable.Probabilities(fill(p, math.NaN()), obs))
		for r := range obs.Runs {
			set, n := p[r*m:(r+1)*m], obs.Size(r)
			want(slices.Min(set) >= 0 && math.Abs(floats.Sum(set[:n])-1) < 1e-5 && floats.Sum(set[n:]) == 0,
				"step %d, run %d: probabilities %v, want a sum of 1 over the first %d, 0 beyond", len(g.past), r, set, n)
		}
		return obs
	}
	for range c.steps {
		look()
		g.step()
	}
	g.same(play(c.a, c.varied, seeds(4), c.steps), 0)
	// A cell is one candidate of one observation and run. Its squared deviation
	// has mean 1, or 1.25 if the probability is itself a mean over 1,000 draws. The
	// 1 that is added to the variance keeps rare choices from deciding.
	const observations, acts = 20, 250
	var chi, cells float64
	for range observations {
		obs, counts := look(), make([]float64, 4*m)
		for range acts {
			g.act(obs)
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
		g.step()
	}
	most := 1.25*cells + 6*math.Sqrt(2*cells)
	want(chi <= most, "chi-square of %d draws of Act is %.0f, want at most %.0f", 4*observations*acts, chi, most)
}

func (c algorithmChecks) saving() {
	g, m := play(c.a, c.varied, seeds(2), c.steps), c.spec.Candidates
	saver, ok := g.policy.(envs.Saver)
	if !ok {
		return
	}
	var buffer bytes.Buffer
	must(0, saver.Save(&buffer))
	file := buffer.Bytes()
	load := func(policy envs.Policy, file []byte) error { return policy.(envs.Saver).Load(bytes.NewReader(file)) }
	copied := start(c.a, c.varied, seeds(9)[7:])
	must(0, load(copied.policy, file))
	damaged := slices.Clone(file)
	damaged[len(file)/2] ^= 4
	want(load(copied.policy, damaged) != nil, "no error from Load with a changed byte")
	other := start(c.a, offered{c.p, m + 1, false}, seeds(2))
	want(load(other.policy, file) != nil, "no error from Load with another spec")
	for i := range 7 * c.steps {
		copied.act(g.env.Observe())
		tr := g.decide()
		want(slices.Equal(g.actions, copied.actions), "step %d after: actions %v of the loaded policy, %v of the saved one", i, copied.actions, g.actions)
		must(0, g.policy.Update(tr))
		must(0, copied.policy.Update(tr))
	}
}

func (c algorithmChecks) specs() {
	m, d := c.spec.Candidates, c.spec.Dim
	for _, bad := range []envs.Spec{{}, {Candidates: -m, Dim: d}, {Candidates: m, Dim: -d}, {Candidates: m, Dim: d, State: d}} {
		_, err := c.a.New(bad, seeds(1))
		want(err != nil, "no error for %+v", bad)
	}
	_, err := c.a.New(c.spec, nil)
	want(err != nil, "no error without a seed")
}

// spoiled calls Act or Update of a new policy of 3 runs with a transition that was spoiled.
func (c algorithmChecks) spoiled(act bool, spoil func(tr *envs.Transition)) error {
	policy, tr := must(c.a.New(c.spec, seeds(3))), start(dice{}, c.p, seeds(3)).decide()
	tr.Contexts = slices.Clone(tr.Contexts)
	if spoil(&tr); act {
		return policy.Act(tr.Actions, tr.Observation)
	}
	return policy.Update(tr)
}

// refusals tries some of the shapes that Observation.Check and Transition.Check refuse.
func (c algorithmChecks) refusals() {
	d, wider := c.spec.Dim, func(tr *envs.Transition) { tr.Dim++ }
	refuses("Act with too many features", d+1, d, func() { c.spoiled(true, wider) })
	refuses("Update with too many features", d+1, d, func() { c.spoiled(false, wider) })
	refuses("Update with too few rewards", 2, 3, func() {
		c.spoiled(false, func(tr *envs.Transition) { tr.Reward = tr.Reward[1:] })
	})
}

func (c algorithmChecks) nan() {
	context := func(tr *envs.Transition) { tr.Context(1, tr.Actions[1])[0] = float32(math.NaN()) }
	for what, err := range map[string]error{
		"Act with a context":    c.spoiled(true, context),
		"Update with a context": c.spoiled(false, context),
		"Update with a reward":  c.spoiled(false, func(tr *envs.Transition) { tr.Reward[1] = float32(math.NaN()) }),
	} {
		var run *envs.RunError
		want(errors.As(err, &run) && run.Run == 1, "%s of NaN in run 1: the error is %v, want a RunError", what, err)
	}
}
