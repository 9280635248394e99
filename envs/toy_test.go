package envs_test

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// toys are the paper's problems, and settings that differ from them in each field.
var toys = []envs.Problem{
	envs.Linear{}, envs.Bernoulli{}, envs.Mixed{}, envs.Bernoulli{Hard: true},
	envs.Linear{Candidates: 3, Dim: 7, RewardNoise: 2},
	envs.Bernoulli{Candidates: 1, Dim: 1, ProbabilityNoise: 0.5},
	envs.Mixed{Candidates: 7, Dim: 3, RewardNoise: envs.NoNoise, ProbabilityNoise: 0.3},
}

func TestToyDeclarations(t *testing.T) {
	for _, test := range []struct {
		problem envs.Problem
		m, d    int
		json    string
	}{
		{envs.Linear{}, 5, 40, `{"Candidates":5,"Dim":40,"RewardNoise":0.1}`},
		{envs.Bernoulli{}, 5, 40, `{"Candidates":5,"Dim":40,"ProbabilityNoise":0.01,"Hard":false}`},
		{envs.Mixed{}, 5, 40, `{"Candidates":5,"Dim":40,"RewardNoise":0.1,"ProbabilityNoise":0.01}`},
		{envs.Linear{Candidates: 2, Dim: 1, RewardNoise: envs.NoNoise}, 2, 1, `{"Candidates":2,"Dim":1,"RewardNoise":-1}`},
	} {
		if got, want := test.problem.Spec(), (envs.Spec{Candidates: test.m, Dim: test.d}); got != want {
			t.Errorf("%#v has spec %v, want %v", test.problem, got, want)
		}
		if got, err := json.Marshal(test.problem); err != nil || string(got) != test.json {
			t.Errorf("%#v is %s (error %v), want %s", test.problem, got, err, test.json)
		}
	}
	for _, test := range []struct {
		problem envs.Problem
		want    string
	}{
		{envs.Linear{Candidates: 1}, ""},
		{envs.Linear{Candidates: -5}, "Spec.Candidates is -5"},
		{envs.Linear{Dim: 1 << 40}, "Spec.Dim is 1099511627776"},
		{envs.Linear{RewardNoise: -0.1}, "Linear.RewardNoise is -0.1"},
		{envs.Linear{RewardNoise: math.Inf(1)}, "Linear.RewardNoise is +Inf"},
		{envs.Bernoulli{ProbabilityNoise: math.NaN()}, "Bernoulli.ProbabilityNoise is NaN"},
		{envs.Mixed{RewardNoise: 1e7}, "Mixed.RewardNoise is 1e+07"},
		{envs.Mixed{ProbabilityNoise: -2}, "Mixed.ProbabilityNoise is -2"},
	} {
		_, err := test.problem.New([]uint64{1, 2})
		checkError(t, err, test.want)
	}
}

// Of a uniform x on (-1/2, 1/2): variance 1/12, E[x⁴] = 1/80, so x² has variance
// 1/80 - 1/144 = 1/180; a product of two has variance 1/144.
func TestContextsAreUniform(t *testing.T) {
	env := start(t, envs.Linear{Candidates: 7, Dim: 1}, 1, 2) // an odd number of values a run
	var n, sum, squares, neighbours, before float64
	for range 4000 {
		for _, c := range env.Observe().Contexts {
			if !(c > 0 && c < 1) {
				t.Fatalf("context value %v is outside (0, 1)", c)
			}
			x := float64(c) - 0.5
			n, sum, squares, neighbours, before = n+1, sum+x, squares+x*x, neighbours+x*before, x
		}
		step(t, env, 0, 0)
	}
	checkMean(t, "x", sum/n, 0, math.Sqrt(1/(12*n)))
	checkMean(t, "x²", squares/n, 1.0/12, math.Sqrt(1/(180*n)))
	checkMean(t, "x·x'", neighbours/n, 0, math.Sqrt(1/(144*n)))
}

// One run of Mixed is rebuilt from its streams: the weights are g/|g| and
// |h|/Σ|h|, and contexts take 23 bits a value, two from a word.
func TestToyStreams(t *testing.T) {
	const seed, dim, m = 9, 3, 3 // 9 values a step: the last word serves one
	env := start(t, envs.Mixed{Candidates: m, Dim: dim}, 8, seed)
	contexts, noise := envs.NewSource(seed, "problem/contexts"), envs.NewSource(seed, "problem/noise")
	g, h := envs.NewRand(seed, "problem/reward weights"), envs.NewRand(seed, "problem/probability weights")
	var amount, chance [dim]float64
	var norm, total float64
	for i := range dim {
		amount[i], chance[i] = g.NormFloat64(), math.Abs(h.NormFloat64())
		norm += amount[i] * amount[i]
		total += chance[i]
	}
	for i := range 50 {
		var c []float64
		for range (m*dim + 1) / 2 {
			u := contexts.Uint64()
			for _, bits := range []uint64{u >> 41, u >> 18 % (1 << 23)} {
				c = append(c, (float64(bits)+0.5)/(1<<23))
			}
		}
		for k, got := range env.Observe().Contexts[m*dim:] {
			if float64(got) != c[k] {
				t.Fatalf("step %d: context value %d is %v, want %v", i, k, got, c[k])
			}
		}
		var linear, beta float64
		action := i % m
		for k := range dim {
			linear += amount[k] / math.Sqrt(norm) * c[action*dim+k]
			beta += chance[k] / total * c[action*dim+k]
		}
		// With three dimensions clipping may move β by up to 0.01·φ(0) = 0.004.
		if got := expected(env)[m+action]; math.Abs(got-linear*beta) > 0.004*math.Abs(linear) {
			t.Fatalf("step %d: expected reward %v, want %v·%v", i, got, linear, beta)
		}
		luck := rand.New(rand.NewPCG(noise.Uint64(), 0))
		want := linear + 0.1*luck.NormFloat64()
		if beta += 0.01 * luck.NormFloat64(); luck.Float64() >= beta {
			want = 0
		}
		if got := step(t, env, 0, action)[1]; math.Abs(float64(got)-want) > 1e-6 {
			t.Fatalf("step %d: reward %v, want %v", i, got, want)
		}
	}
}

// The dispersion D·Σw² of weights |h|^p/Σ|h|^p is about E[h^2p]/E[|h|^p]²: π/2 for
// p = 1 and 15/(8/π) = 5.89 for Hard, which the few dimensions lower. The variance
// of w·c over contexts is Σw²/12.
func TestHardWeightsAreFew(t *testing.T) {
	spread := func(p envs.Problem) float64 {
		var n, sum, squares float64
		for seed := range uint64(20) {
			env := start(t, p, seed)
			for range 100 {
				for _, e := range expected(env) {
					n, sum, squares = n+1, sum+e, squares+e*e
				}
				step(t, env, 0)
			}
		}
		return 40 * 12 * (squares/n - (sum/n)*(sum/n))
	}
	if got := spread(envs.Bernoulli{}); math.Abs(got-math.Pi/2) > 0.1 {
		t.Errorf("D·Σw² is %.3f, want about π/2", got)
	}
	if got := spread(envs.Bernoulli{Hard: true}); got < 4 || got > 6.5 {
		t.Errorf("D·Σw² of Hard is %.3f, want about 5", got)
	}
}

// The mean of the largest of 5 standard normals is 1.16296 (Harter 1961), and
// w_r·c is about normal with variance 1/12. The sum of uniforms has an excess
// kurtosis of -1.2·Σw⁴ ≈ -0.086, which by Cornish and Fisher moves the mean of
// the maximum by less than 0.2 %, 0.0007.
func TestRegretOfRandomOnLinear(t *testing.T) {
	const runs, steps = 100, 1000
	seeds, regret := make([]uint64, runs), make([]float64, runs)
	for r := range seeds {
		seeds[r] = uint64(r)
	}
	env := start(t, envs.Linear{}, seeds...)
	for range steps {
		for r, set := range slices.Collect(slices.Chunk(expected(env), 5)) {
			regret[r] += (slices.Max(set) - set[0]) / steps
		}
		step(t, env, make([]int, runs)...)
	}
	var mean, squares float64
	for _, x := range regret {
		mean, squares = mean+x/runs, squares+x*x/runs
	}
	checkMean(t, "regret", mean, 0.3357, math.Sqrt((squares-mean*mean)/(runs-1))+0.0007/5)
}

// Realised rewards less what the oracle expects are noise of a known variance.
func TestToyNoise(t *testing.T) {
	const steps = 20_000
	for _, p := range toys {
		env := start(t, p, 3)
		var squares, variance float64
		for range steps {
			e := expected(env)[0]
			reward := float64(step(t, env, 0)[0])
			squares += (reward - e) * (reward - e)
			switch p := p.(type) {
			case envs.Linear:
				variance += math.Pow(cmp.Or(p.RewardNoise, 0.1), 2)
			case envs.Bernoulli:
				if reward != 0 && reward != 1 {
					t.Fatalf("%#v: reward %v, want 0 or 1", p, reward)
				}
				variance += e * (1 - e)
			}
		}
		if variance > 0 { // the relative error is sqrt(2/n) for a normal law, less for a binary one
			checkMean(t, "variance of the noise", squares/variance, 1, math.Sqrt(2.0/steps))
		}
	}
	env := start(t, envs.Linear{RewardNoise: envs.NoNoise}, 7)
	for range 100 {
		if e := expected(env)[0]; step(t, env, 0)[0] != float32(e) {
			t.Fatal("a reward without noise is not its expectation")
		}
	}
}

// Mixed is Linear where a coin of Bernoulli shows 1: with equal seeds the three
// have equal contexts and weights, and expectations multiply.
func TestMixedIsProduct(t *testing.T) {
	linear, bernoulli, mixed := start(t, envs.Linear{}, 3), start(t, envs.Bernoulli{}, 3), start(t, envs.Mixed{}, 3)
	zeros := 0.0
	for i := range 2000 {
		a, b, got := expected(linear), expected(bernoulli), expected(mixed)
		for k := range got {
			if math.Abs(got[k]-a[k]*b[k]) > 1e-12 {
				t.Fatalf("step %d: candidate %d expects %v, want %v·%v", i, k, got[k], a[k], b[k])
			}
		}
		step(t, linear, 0)
		step(t, bernoulli, 0)
		if step(t, mixed, 0)[0] == 0 {
			zeros++
		}
	}
	checkMean(t, "share of zeros", zeros/2000, 0.5, math.Sqrt(0.25/2000)) // β has mean 1/2
}

// The mean of the clipped probability against the integral of 1 - F over (0, 1),
// F being the distribution function of N(c, sd²), by the midpoint rule. With one
// dimension the weight w_β is 1.
func TestClippedProbability(t *testing.T) {
	for _, sd := range []float64{envs.NoNoise, 0.01, 0.1, 0.5, 3, 1000} {
		env := start(t, envs.Bernoulli{Dim: 1, ProbabilityNoise: sd}, 1)
		got := expected(env)
		for i, c := range env.Observe().Contexts {
			want, n := float64(c), 20_000
			if sd > 0 {
				want = 0
				for k := range n {
					x := (float64(k) + 0.5) / float64(n)
					want += math.Erfc((x-float64(c))/(sd*math.Sqrt2)) / 2 / float64(n)
				}
			}
			if math.Abs(got[i]-want) > 1e-7 {
				t.Errorf("noise %v: mean of clip(%v + e) is %v, want %v", sd, c, got[i], want)
			}
		}
	}
}
