package envs

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// NoNoise switches a noise setting off. Zero cannot, because zero stands for
// the default.
const NoNoise = -1

// The bounds of what New accepts. They are far beyond any use and only turn a
// slip (a size in bytes, an overflowed product) into a message.
const (
	maxCount  = 1 << 20 // candidates, dimensions, states
	maxValues = 1 << 30 // context values of all runs: 4 GiB
	maxNoise  = 1e6
)

// bandit is the environment of Linear, Bernoulli and Mixed. The reward of a
// context c is
//
//	(w_r·c + e_r) · 1{U < clip(w_β·c + e_β, 0, 1)}
//
// in which Linear leaves out the second factor and Bernoulli has 1 for the
// first. Contexts are uniform on (0, 1)^D, new ones at every step.
//
// e_r, e_β and U are drawn once a step, not once a candidate, and from another
// stream than the contexts: whatever the actions, two policies with the same
// seed meet the same contexts and the same luck.
type bandit struct {
	runs, candidates, dim int

	amountNoise, chanceNoise float64 // standard deviations of e_r and e_β

	// contexts and previous are [R, M, D]. Two buffers take turns, so that the
	// observation that was decided on is still there when its outcome is.
	contexts, previous []float32
	reward, discount   []float32 // [R]
	run                []banditRun
}

type banditRun struct {
	contexts *rand.PCG
	noise    *rand.Rand
	amount   []float64 // w_r, [D]; nil in Bernoulli
	chance   []float64 // w_β, [D]; nil in Linear

	// What the step has in store, whatever is chosen.
	drawn                  bool
	amountLuck, chanceLuck float64 // e_r, e_β
	coin                   float64 // U
}

// luck draws what the current step has in store, unless it is drawn already.
func (b *bandit) luck(run *banditRun) {
	if run.drawn {
		return
	}
	run.drawn = true
	if run.amount != nil {
		run.amountLuck = float64(b.amountNoise * run.noise.NormFloat64())
	}
	if run.chance != nil {
		run.chanceLuck = float64(b.chanceNoise * run.noise.NormFloat64())
		run.coin = run.noise.Float64()
	}
}

// rewardOf is what run r pays for a candidate.
func (b *bandit) rewardOf(r, candidate int) float32 {
	run := &b.run[r]
	b.luck(run)
	c, reward := b.context(r, candidate), 1.0
	if run.amount != nil {
		reward = dot(run.amount, c) + run.amountLuck
	}
	// No clipping is needed here: the comparison is always lost by a beta below
	// 0 and always won by one above 1.
	if run.chance != nil && run.coin >= dot(run.chance, c)+run.chanceLuck {
		reward = 0
	}
	return float32(reward)
}

// newBandit starts the environment of the declared problem of that name. p is
// complete: defaults are filled in. linear and binary say which factors the
// reward has.
func newBandit(name string, p Mixed, linear, binary bool, seeds []uint64) (Environment, error) {
	err := checkCounts(name, len(seeds), setting{"Candidates", p.Candidates, 2}, setting{"Dim", p.Dim, 1})
	if err != nil {
		return nil, err
	}
	if linear {
		if err := checkNoise(name, "RewardNoise", p.RewardNoise); err != nil {
			return nil, err
		}
	}
	if binary {
		if err := checkNoise(name, "ProbabilityNoise", p.ProbabilityNoise); err != nil {
			return nil, err
		}
	}
	size := len(seeds) * p.Candidates * p.Dim
	b := &bandit{
		runs: len(seeds), candidates: p.Candidates, dim: p.Dim,
		amountNoise: max(p.RewardNoise, 0),
		chanceNoise: max(p.ProbabilityNoise, 0),
		contexts:    make([]float32, size),
		previous:    make([]float32, size),
		reward:      make([]float32, len(seeds)),
		discount:    make([]float32, len(seeds)),
		run:         make([]banditRun, len(seeds)),
	}
	for r, seed := range seeds {
		run := banditRun{
			contexts: NewSource(seed, "problem/contexts"),
			noise:    NewRand(seed, "problem/noise"),
		}
		if linear {
			run.amount = directionWeights(NewRand(seed, "problem/reward weights"), p.Dim)
		}
		if binary {
			run.chance = convexWeights(NewRand(seed, "problem/probability weights"), p.Dim)
		}
		b.run[r] = run
	}
	b.drawContexts()
	return b, nil
}

func (b *bandit) Observe() Observation {
	return Observation{Runs: b.runs, Candidates: b.candidates, Dim: b.dim, Contexts: b.contexts}
}

func (b *bandit) Step(actions []int) (Outcome, error) {
	checkActions(actions, b.runs, b.candidates)
	for r, action := range actions {
		b.reward[r] = b.rewardOf(r, action)
		b.run[r].drawn = false
	}
	b.contexts, b.previous = b.previous, b.contexts
	b.drawContexts()
	return Outcome{Reward: b.reward, Discount: b.discount}, nil
}

// PotentialRewards implements PotentialOutcomes.
func (b *bandit) PotentialRewards(dst []float32) {
	if len(dst) != b.runs*b.candidates {
		panic(fmt.Sprintf("envs: %d potential rewards for %d runs of %d candidates", len(dst), b.runs, b.candidates))
	}
	for i := range dst {
		dst[i] = b.rewardOf(i/b.candidates, i%b.candidates)
	}
}

// ExpectedRewards implements Oracle. The two factors of the reward have
// independent noise, so the expectation is the product of theirs; that of the
// clipped probability is exact too.
func (b *bandit) ExpectedRewards(dst []float64) {
	checkExpected(dst, b.runs, b.candidates)
	for i := range dst {
		run, c := &b.run[i/b.candidates], b.context(0, i)
		e := 1.0
		if run.amount != nil {
			e = dot(run.amount, c)
		}
		if run.chance != nil {
			e *= clippedMean(dot(run.chance, c), b.chanceNoise)
		}
		dst[i] = e
	}
}

// context returns the context of one candidate of run r, [D].
func (b *bandit) context(r, candidate int) []float32 {
	at := (r*b.candidates + candidate) * b.dim
	return b.contexts[at : at+b.dim]
}

func (b *bandit) drawContexts() {
	size := b.candidates * b.dim
	for r := range b.run {
		fillUniform(b.contexts[r*size:(r+1)*size], b.run[r].contexts)
	}
}

// fillUniform fills dst from the uniform law on the open interval (0, 1): the
// midpoints of 2^23 equal cells, which float32 represents exactly. One draw of
// 64 bits serves two values, since drawing is most of the cost of a step.
func fillUniform(dst []float32, src *rand.PCG) {
	const cell = 1.0 / (1 << 23)
	for len(dst) >= 2 {
		u := src.Uint64()
		dst[0] = (float32(u>>41) + 0.5) * cell
		dst[1] = (float32(u<<23>>41) + 0.5) * cell
		dst = dst[2:]
	}
	if len(dst) == 1 {
		dst[0] = (float32(src.Uint64()>>41) + 0.5) * cell
	}
}

// directionWeights draws a uniform direction, g/|g| with g ~ N(0, I).
func directionWeights(rng *rand.Rand, dim int) []float64 {
	w := make([]float64, dim)
	var sum float64
	for i := range w {
		w[i] = rng.NormFloat64()
		sum += w[i] * w[i]
	}
	divide(w, math.Sqrt(sum))
	return w
}

// convexWeights draws |h|/sum|h| with h ~ N(0, I): no weight is negative and
// their sum is 1, so that w·c is in (0, 1) for a context in the unit cube.
func convexWeights(rng *rand.Rand, dim int) []float64 {
	w := make([]float64, dim)
	var sum float64
	for i := range w {
		w[i] = math.Abs(rng.NormFloat64())
		sum += w[i]
	}
	divide(w, sum)
	return w
}

func divide(w []float64, by float64) {
	for i := range w {
		w[i] /= by
	}
}

func dot(w []float64, c []float32) float64 {
	var sum float64
	for i, v := range c {
		// The conversion keeps the compiler from fusing the two operations,
		// which it does on some machines only.
		sum += float64(w[i] * float64(v))
	}
	return sum
}

// clippedMean returns E[clip(X, 0, 1)] for X ~ N(mean, sd²). With the excess
// h(x) = E[(Z−x)⁺] = φ(x) − x·(1−Φ(x)) of a standard normal Z it is
//
//	mean + sd·h(mean/sd) − sd·h((1−mean)/sd)
func clippedMean(mean, sd float64) float64 {
	// h(9) is below 1e-20 and lost beside the mean. At the paper's setting
	// practically every case ends here, see Bernoulli.
	if 9*sd <= min(mean, 1-mean) {
		return mean
	}
	if sd == 0 {
		return min(max(mean, 0), 1)
	}
	return mean + sd*(normalExcess(mean/sd)-normalExcess((1-mean)/sd))
}

func normalExcess(x float64) float64 {
	density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
	return density - x*math.Erfc(x/math.Sqrt2)/2
}

// setting is a count that the user chose.
type setting struct {
	field   string
	value   int
	atLeast int
}

// checkCounts reports the first count that is out of bounds, or a product of
// all counts and runs that is.
func checkCounts(problem string, runs int, counts ...setting) error {
	if runs == 0 {
		return fmt.Errorf("envs: %s needs at least one seed", problem)
	}
	values := runs
	for _, c := range counts {
		if c.value < c.atLeast || c.value > maxCount {
			return fmt.Errorf("envs: %s.%s is %d, want %d to %d", problem, c.field, c.value, c.atLeast, maxCount)
		}
		if values > maxValues/c.value {
			return fmt.Errorf("envs: %s.%s is %d, too large for %d runs: more than %d context values",
				problem, c.field, c.value, runs, maxValues)
		}
		values *= c.value
	}
	return nil
}

func checkNoise(problem, field string, sd float64) error {
	if sd == NoNoise || sd >= 0 && sd <= maxNoise {
		return nil
	}
	return fmt.Errorf("envs: %s.%s is %v, want 0 to %g or NoNoise", problem, field, sd, maxNoise)
}

func checkActions(actions []int, runs, candidates int) {
	if len(actions) != runs {
		panic(fmt.Sprintf("envs: %d actions for %d runs", len(actions), runs))
	}
	for r, a := range actions {
		if a < 0 || a >= candidates {
			panic(fmt.Sprintf("envs: action %d of run %d is outside the %d candidates", a, r, candidates))
		}
	}
}

func checkExpected(dst []float64, runs, candidates int) {
	if len(dst) != runs*candidates {
		panic(fmt.Sprintf("envs: %d expected rewards for %d runs of %d candidates", len(dst), runs, candidates))
	}
}
