package envtest

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/contextrec/contextrec/envs"
)

// CheckProblem checks what package envs promises of problems, playing random actions. The mean of
// realised rewards is to be within 6 standard errors of an Oracle's expectations.
func CheckProblem(p envs.Problem) []Check {
	c := problemChecks{p}
	return check([]promise{
		{"shapes and numbers are right", c.shapes},
		{"slices stay as they are for as long as promised", c.slices},
		{"a run depends on its seed alone: 20 runs are 7 and 13", func() { stacked(dice{}, p, problemSteps) }},
		{"contexts depend on the seed and, in a bandit, on no action", c.contexts},
		{"expected rewards are the means of rewards, NaN beyond a set", c.oracle},
		{"wrong lengths panic, no seed is an error", c.refusals},
		{"the declaration has a JSON form", func() { must(json.Marshal(p)) }},
	})
}

const problemSteps = 200

type problemChecks struct{ p envs.Problem }

func (c problemChecks) shapes() {
	spec := c.p.Spec()
	must(0, spec.Validate(seeds(3)))
	g := start(dice{}, c.p, seeds(3))
	first := g.env.Observe()
	must(0, first.Check(spec, 3))
	for i := range problemSteps {
		tr := g.decide()
		must(i, tr.Check(spec, 3))
		want((tr.Session == nil) == (first.Session == nil) && (tr.Codes == nil) == (first.Codes == nil), "step %d: sessions or codes come and go", i)
		for r, now := range g.past[i] {
			d := now.Discount
			want(d == 0 || d == 1 && tr.Session != nil, "step %d: the discount of run %d is %v, want 0, or 1 where there are sessions", i, r, d)
			for k := range tr.Size(r) {
				x := tr.Context(r, k)
				want(slices.Equal(x[:spec.State], tr.Context(r, 0)[:spec.State]), "step %d, run %d: candidates 0 and %d differ in the state", i, r, k)
				if c := tr.Codes; c != nil {
					dst, s, items := make([]float32, spec.Dim), len(c.State)/3, c.Items[r*spec.Candidates:][:k+1]
					c.Table.Expand(dst, c.State[r*s:(r+1)*s], items[k])
					want(tr.Session == nil || slices.Index(items, items[k]) == k, "step %d, run %d: two candidates have the code %d", i, r, items[k])
					want(slices.Equal(x, dst), "step %d, run %d: the code of candidate %d expands to another context", i, r, k)
				}
			}
		}
	}
}

func (c problemChecks) slices() {
	g := start(dice{}, c.p, seeds(3))
	for i := range problemSteps {
		obs := g.env.Observe()
		before := observed(obs)
		want(slices.Equal(observed(g.env.Observe()), before), "step %d: a second Observe differs", i)
		tr := g.decide()
		want(slices.Equal(observed(obs), before), "step %d: Step changed the observation", i)
		g.env.Observe()
		want(slices.Equal(moments(tr), g.past[i]), "step %d: Observe changed the outcome", i)
	}
}

func (c problemChecks) contexts() {
	g, other := play(dice{1}, c.p, seeds(2), problemSteps), play(dice{2}, c.p, seeds(2), problemSteps)
	alike := true
	for i, now := range g.past {
		want(now[0].Observed == other.past[i][0].Observed || g.env.Observe().Session != nil, "step %d: contexts differ after other actions", i)
		alike = alike && now[0].Observed == now[1].Observed
	}
	want(!alike, "two seeds have the same contexts")
}

func (c problemChecks) oracle() {
	g, m := start(dice{}, c.p, seeds(20)), c.p.Spec().Candidates
	oracle, ok := g.env.(envs.Oracle)
	if !ok {
		return
	}
	expected := make([]float64, 20*m)
	var sum, squares, size float64
	for i := range problemSteps {
		oracle.ExpectedRewards(expected)
		for k, e := range expected {
			beyond := k%m >= g.env.Observe().Size(k/m)
			want(math.IsNaN(e) == beyond && !math.IsInf(e, 0), "step %d: candidate %d of run %d expects %v", i, k%m, k/m, e)
		}
		for r, now := range moments(g.decide()) {
			e := expected[r*m+now.Action]
			d := float64(now.Reward) - e
			sum, squares, size = sum+d, squares+d*d, size+math.Abs(e)
		}
	}
	// Rewards are float32, which rounds them by up to 1e-7.
	bound := 6*math.Sqrt(squares) + 1e-6*size
	want(math.Abs(sum) <= bound, "rewards less their expectations sum to %.4g, more than 6 standard errors (%.4g)", sum, bound)
	g.same(play(dice{}, c.p, seeds(20), problemSteps), 0)
	refuses("ExpectedRewards", 20*m-1, 20*m, func() { oracle.ExpectedRewards(expected[1:]) })
}

func (c problemChecks) refusals() {
	env := must(c.p.New(seeds(3)))
	_, err := c.p.New(nil)
	want(err != nil, "no error without a seed")
	size := env.Observe().Size(1)
	refuses("Step with 2 actions", 2, 3, func() { env.Step(make([]int, 2)) })
	refuses("Step beyond the set", size, size-1, func() { env.Step([]int{0, size, 0}) })
	refuses("Step with a negative action", -1, 0, func() { env.Step([]int{0, -1, 0}) })
}
