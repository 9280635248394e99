package paper

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/pgcr"
)

// Studies are the experiments that are ours, by the name of the study. They are played only where
// they are named, on seeds that no others have.
func Studies() map[string][]sim.Experiment {
	return map[string][]sim.Experiment{"ablation": ablation(), "defaults": defaults(), "when": when(), "collapse": {collapse()}}
}

// ablation is what each choice is worth on the toy problems: the paper's setting and the library's
// default, and one change at a time of each.
func ablation() []sim.Experiment {
	type change struct {
		name string
		make func(*pgcr.Config)
	}
	var entries []sim.Entry
	add := func(name string, from pgcr.Config, changes ...change) {
		entries = append(entries, sim.Entry{Name: name, Algorithm: from})
		changes = append(changes,
			change{"N = 4", func(c *pgcr.Config) { c.Resamples = 4 }},
			change{"own sets", func(c *pgcr.Config) { c.Resamples = pgcr.OwnSets }}, // vanilla policy gradient
			change{"dropout 0.33", func(c *pgcr.Config) { c.Dropout = 0.33 }},
			change{"decay 0.001", func(c *pgcr.Config) { c.Decay = 0.001 }})
		for _, ch := range changes {
			c := from
			ch.make(&c)
			entries = append(entries, sim.Entry{Name: name + ", but " + ch.name, Algorithm: c})
		}
		entries = append(entries, sim.Entry{Name: name + ", but standardised", Algorithm: baselines.Standardised{Algorithm: from}})
	}
	add("paper", pgcr.Paper(),
		change{"initial scale 0.1", func(c *pgcr.Config) { c.InitScale = 0.1 }},
		change{"unweighted critic", func(c *pgcr.Config) { c.WeightedCritic = false }},
		change{"4 updates a step", func(c *pgcr.Config) { c.UpdatesPerStep = 4 }})
	add("default", pgcr.Config{},
		change{"initial scale 1", func(c *pgcr.Config) { c.InitScale = 1 }},
		change{"weighted critic", func(c *pgcr.Config) { c.WeightedCritic = true }},
		change{"1 update a step", func(c *pgcr.Config) { c.UpdatesPerStep = 1 }},
		change{"the paper's rates", func(c *pgcr.Config) { c.ActorRate, c.CriticRate = 0.01, 0.01 }})
	study := func(name string, problem envs.Problem) sim.Experiment {
		return sim.Experiment{Name: "ablation-" + name, Problem: problem, Entries: entries, Runs: 20, Steps: 2_000, Seed: 2020}
	}
	return []sim.Experiment{study("linear", envs.Linear{}), study("bernoulli", envs.Bernoulli{}), study("mixed", envs.Mixed{})}
}

// defaults is what algorithms do without any setting, at the 3,000 steps at which the defaults of
// other libraries are known.
func defaults() (all []sim.Experiment) {
	for _, e := range []sim.Experiment{Linear(), Bernoulli(), Mixed()} {
		e.Name, e.Steps, e.Seed = "defaults-"+e.Name, 3_000, 2020
		e.Entries = []sim.Entry{
			{Name: "PGCR", Algorithm: pgcr.Config{}}, {Name: "PGCR, untuned", Algorithm: pgcr.Paper()},
			{Name: "vanilla PG", Algorithm: neural.VanillaPG{}}, {Name: "greedy", Algorithm: neural.Greedy{}},
			{Name: "epsilon-greedy", Algorithm: neural.EpsilonGreedy{}}, {Name: "Lin-UCB", Algorithm: baselines.LinUCB{}},
			{Name: "GLM-UCB", Algorithm: baselines.GLMUCB{}}, {Name: "Thompson", Algorithm: baselines.LinearThompson{}},
			{Name: "logistic Thompson", Algorithm: baselines.LogisticThompson{}}, {Name: "random", Algorithm: baselines.Random{}},
		}
		all = append(all, e)
	}
	return all
}

// when is when PGCR wins: on problems from linear to far from linear, and with states, where
// what pays now is not what pays in the long run and a bandit cannot know.
func when() (all []sim.Experiment) {
	tuned := map[bool][]sim.Entry{ // the best of the search at lambda 0.5, by whether it is the product
		false: {
			{Name: "Lin-UCB, tuned", Algorithm: baselines.LinUCB{Alpha: 0.152, Ridge: 8.13, Intercept: true}},
			{Name: "Thompson, tuned", Algorithm: baselines.LinearThompson{Scale: 0.0165, Ridge: 2.09, Intercept: true}},
			{Name: "greedy, tuned", Algorithm: neural.Greedy{Settings: neural.Settings{Rate: 0.00196, Decay: 0.0001, InitScale: 0.372, UpdatesPerStep: 4}}},
			{Name: "PGCR, tuned", Algorithm: pgcr.Config{ActorRate: 0.00411, CriticRate: 0.00566, InitScale: 1, UpdatesPerStep: 1, WeightedCritic: true}},
		},
		true: {
			{Name: "Lin-UCB, tuned", Algorithm: baselines.LinUCB{Alpha: 0.152, Ridge: 8.13, Intercept: true}},
			{Name: "Thompson, tuned", Algorithm: baselines.LinearThompson{Scale: 0.00382, Ridge: 7.89, Intercept: true}},
			{Name: "greedy, tuned", Algorithm: baselines.Standardised{Algorithm: neural.Greedy{Settings: neural.Settings{Rate: 0.0337, Decay: 0.0001, InitScale: 0.281, UpdatesPerStep: 4}}}},
			{Name: "PGCR, tuned", Algorithm: pgcr.Config{ActorRate: 0.00316, CriticRate: 0.00685, Decay: 0.0001, InitScale: 0.563, Resamples: 4, UpdatesPerStep: 4}},
		},
	}
	for _, p := range []Family{{Lambda: 0}, {Lambda: 0.25}, {Lambda: 0.5}, {Lambda: 0.75}, {Lambda: 1},
		{0.25, true}, {0.5, true}, {0.75, true}, {1, true}} {
		name := "when"
		if p.Product {
			name = "when-product"
		}
		all = append(all, sim.Experiment{
			Name: fmt.Sprint(name, "-", p.Lambda), Problem: p, Runs: 10, Steps: 20_000, Seed: 2020,
			Entries: append(tuned[p.Product], []sim.Entry{
				{Name: "Lin-UCB, default", Algorithm: baselines.LinUCB{}},
				{Name: "Thompson, default", Algorithm: baselines.LinearThompson{}},
				{Name: "greedy, default", Algorithm: neural.Greedy{}},
				{Name: "PGCR, default", Algorithm: pgcr.Config{}},
				{Name: "PGCR, untuned", Algorithm: pgcr.Paper()},
				{Name: "random", Algorithm: baselines.Random{}},
			}...),
		})
	}
	return append(all, sim.Experiment{
		Name: "when-mdp", Problem: envtest.Chain{}, Runs: 10, Steps: 10_000, Seed: 2020,
		Entries: []sim.Entry{
			{Name: "PGCR, gamma 0.9", Algorithm: pgcr.Config{Discount: 0.9}},
			{Name: "PGCR, gamma 0.9, paper", Algorithm: pgcr.Config{ActorRate: 0.01, CriticRate: 0.01, InitScale: 1, UpdatesPerStep: 1, WeightedCritic: true, Discount: 0.9}},
			{Name: "PGCR, gamma 0.9, fast critic", Algorithm: pgcr.Config{ActorRate: 0.001, CriticRate: 0.01, InitScale: 1, UpdatesPerStep: 1, WeightedCritic: true, Discount: 0.9}},
			{Name: "PGCR, gamma 0", Algorithm: pgcr.Config{}},
			{Name: "Lin-UCB", Algorithm: baselines.LinUCB{Alpha: 0.1}},
			{Name: "Thompson", Algorithm: baselines.LinearThompson{}},
			{Name: "greedy", Algorithm: neural.Greedy{}},
			{Name: "random", Algorithm: baselines.Random{}},
		},
	})
}

// Family is a family of bandits whose expected reward goes from linear to a bump or, with Product,
// to a product, of which the best linear model is a constant:
//
//	E R(c) = (1 − Lambda) u·c + Lambda g(x, y),  x = sqrt(12) u·(c − 1/2),  y = sqrt(12) v·(c − 1/2)
//	g = exp(−y²/2), or 0.289 x y
//
// The noise is N(0, 0.1²). There are 5 candidates, each uniform on the unit cube of 10 features. u
// and v are two uniform directions of each run. u·c has a standard deviation of 0.289,
// the product and the bump of about 0.29 and 0.28.
type Family struct {
	Lambda  float64 // 0 to 1
	Product bool
}

func (Family) Spec() envs.Spec { return envs.Spec{Candidates: 5, Dim: 10} }

func (p Family) New(seeds []uint64) (envs.Environment, error) {
	if !(p.Lambda >= 0 && p.Lambda <= 1) {
		return nil, fmt.Errorf("paper: Family.Lambda is %v, want 0 to 1", p.Lambda)
	}
	return envs.FromLaw(p.Spec(), seeds, func(seed uint64) envs.Law {
		u, v := envs.Direction(seed, "problem/linear part", 10), envs.Direction(seed, "problem/bump", 10)
		expected := func(c []float32) float64 {
			linear, x, y := 0.0, 0.0, 0.0
			for i, ci := range c {
				linear += float64(u[i] * float64(ci))
				x += float64(u[i] * (float64(ci) - 0.5))
				y += float64(v[i] * (float64(ci) - 0.5))
			}
			curved := math.Exp(-6 * y * y)
			if p.Product {
				curved = math.Sqrt(12) * x * y
			}
			return float64((1-p.Lambda)*linear) + float64(p.Lambda*curved)
		}
		return envs.Law{
			Offer: func(contexts []float32, rng *rand.Rand) int {
				for i := range contexts {
					contexts[i] = rng.Float32()
				}
				return 5
			},
			Reward:   func(c []float32, rng *rand.Rand) float64 { return expected(c) + float64(0.1*rng.NormFloat64()) },
			Expected: expected,
		}
	})
}

// collapse is how often runs settle on a wrong choice, by learning rate, Actor-Dropout and
// Time-Dependent Greed, with the paper's setting elsewhere.
func collapse() sim.Experiment {
	entries := []sim.Entry{{Name: "random", Algorithm: baselines.Random{}}, {Name: "default", Algorithm: pgcr.Config{}}}
	for _, rate := range []float64{0.001, 0.002, 0.003, 0.006, 0.01, 0.02, 0.03, 0.06, 0.1} {
		for _, dropout := range []float64{0, 0.33, 0.5, 0.67} {
			for _, greed := range []float64{0, 0.003} {
				c := pgcr.Paper()
				c.ActorRate, c.CriticRate, c.Dropout, c.Greed.Rate = rate, rate, dropout, greed
				entries = append(entries, sim.Entry{Name: fmt.Sprintf("rate %v, dropout %v, greed %v", rate, dropout, greed), Algorithm: c})
			}
		}
	}
	return sim.Experiment{Name: "collapse", Problem: envs.Mixed{}, Entries: entries, Runs: 50, Steps: 2_000, Seed: 2020}
}
