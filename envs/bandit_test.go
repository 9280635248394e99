package envs_test

import (
	"cmp"
	"encoding/json"
	"math"
	"testing"

	"github.com/contextrec/contextrec/envs"
)

// bandits are the paper's problems, and settings that differ from them in each
// field.
var bandits = []envs.Problem{
	envs.Linear{}, envs.Bernoulli{}, envs.Mixed{},
	envs.Linear{Candidates: 3, Dim: 7, RewardNoise: 2},
	envs.Bernoulli{Candidates: 2, Dim: 1, ProbabilityNoise: 0.5},
	envs.Mixed{Candidates: 7, Dim: 3, RewardNoise: envs.NoNoise, ProbabilityNoise: 0.3},
}

func TestBanditDeclarations(t *testing.T) {
	for _, test := range []struct {
		problem envs.Problem
		spec    envs.Spec
		json    string
	}{
		{envs.Linear{}, envs.Spec{Candidates: 5, Dim: 40}, `{"Candidates":5,"Dim":40,"RewardNoise":0.1}`},
		{envs.Bernoulli{}, envs.Spec{Candidates: 5, Dim: 40}, `{"Candidates":5,"Dim":40,"ProbabilityNoise":0.01}`},
		{envs.Mixed{}, envs.Spec{Candidates: 5, Dim: 40}, `{"Candidates":5,"Dim":40,"RewardNoise":0.1,"ProbabilityNoise":0.01}`},
		{envs.Linear{Candidates: 2, Dim: 1, RewardNoise: envs.NoNoise}, envs.Spec{Candidates: 2, Dim: 1}, `{"Candidates":2,"Dim":1,"RewardNoise":-1}`},
	} {
		if got := test.problem.Spec(); got != test.spec {
			t.Errorf("%#v has spec %v, want %v", test.problem, got, test.spec)
		}
		if got, err := json.Marshal(test.problem); err != nil || string(got) != test.json {
			t.Errorf("%#v is %s (error %v), want %s", test.problem, got, err, test.json)
		}
	}
}

func TestBanditBadSettings(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		problem envs.Problem
		field   string // empty: good
	}{
		{envs.Linear{Candidates: 2, Dim: 1, RewardNoise: envs.NoNoise}, ""},
		{envs.Linear{Candidates: 1}, "Linear.Candidates is 1"},
		{envs.Linear{Candidates: -5}, "Linear.Candidates is -5"},
		{envs.Linear{Candidates: math.MaxInt}, "Linear.Candidates is 9223372036854775807"},
		{envs.Linear{Dim: -1}, "Linear.Dim is -1"},
		{envs.Linear{Dim: 1 << 40}, "Linear.Dim is 1099511627776"},
		{envs.Linear{Candidates: 1 << 20, Dim: 1 << 20}, "Linear.Dim is 1048576, too large for 2 runs"},
		{envs.Linear{RewardNoise: -0.1}, "Linear.RewardNoise is -0.1"},
		{envs.Linear{RewardNoise: nan}, "Linear.RewardNoise is NaN"},
		{envs.Linear{RewardNoise: inf}, "Linear.RewardNoise is +Inf"},
		{envs.Linear{RewardNoise: 1e7}, "Linear.RewardNoise is 1e+07"},
		{envs.Bernoulli{Candidates: 1}, "Bernoulli.Candidates is 1"},
		{envs.Bernoulli{Dim: -1}, "Bernoulli.Dim is -1"},
		{envs.Bernoulli{ProbabilityNoise: nan}, "Bernoulli.ProbabilityNoise is NaN"},
		{envs.Bernoulli{ProbabilityNoise: -2}, "Bernoulli.ProbabilityNoise is -2"},
		{envs.Mixed{Candidates: 1}, "Mixed.Candidates is 1"},
		{envs.Mixed{Dim: -40}, "Mixed.Dim is -40"},
		{envs.Mixed{RewardNoise: inf}, "Mixed.RewardNoise is +Inf"},
		{envs.Mixed{ProbabilityNoise: math.Inf(-1)}, "Mixed.ProbabilityNoise is -Inf"},
	} {
		_, err := test.problem.New([]uint64{1, 2})
		checkError(t, err, test.field, test.field != "")
	}
	_, err := envs.Linear{}.New(nil)
	checkError(t, err, "Linear needs at least one seed", true)
}

func TestContextsAreUniform(t *testing.T) {
	// 2·7·1 values a step: an odd number a run, so the last draw of a run
	// serves one value only.
	const steps, bins = 4000, 16
	env := start(t, envs.Linear{Candidates: 7, Dim: 1}, 1, 2)
	var count [bins]float64
	var n, sum, squares, neighbours, before float64
	for range steps {
		for _, c := range env.Observe().Contexts {
			if !(c > 0 && c < 1) {
				t.Fatalf("context value %v is outside (0, 1)", c)
			}
			x := float64(c) - 0.5
			count[int(c*bins)]++
			n, sum, squares, neighbours, before = n+1, sum+x, squares+x*x, neighbours+x*before, x
		}
		step(t, env, []int{0, 0})
	}
	// Of a uniform x on (-1/2, 1/2): variance 1/12, E[x⁴] = 1/80, so x² has
	// variance 1/80 - 1/144 = 1/180; a product of two has variance 1/144.
	checkMean(t, "x", sum/n, 0, math.Sqrt(1/(12*n)))
	checkMean(t, "x²", squares/n, 1.0/12, math.Sqrt(1/(180*n)))
	checkMean(t, "x·x'", neighbours/n, 0, math.Sqrt(1/(144*n)))
	var chi float64
	for _, c := range count {
		chi += (c - n/bins) * (c - n/bins) / (n / bins)
	}
	// Chi-square with 15 degrees of freedom: standard deviation sqrt(30).
	checkMean(t, "chi-square", chi, 15, math.Sqrt(30))
}

// The weights are recovered from the oracle's answers to 40 contexts, and must
// explain all its other answers.
func TestBanditWeights(t *testing.T) {
	const dim = 40
	for seed := range uint64(5) {
		linear := weights(t, envs.Linear{}, seed, dim)
		var norm float64
		for _, w := range linear {
			norm += w * w
		}
		if math.Abs(norm-1) > 1e-9 {
			t.Errorf("seed %d: |w_r|² = %v, want 1", seed, norm)
		}
		bernoulli := weights(t, envs.Bernoulli{}, seed, dim)
		var sum float64
		for _, w := range bernoulli {
			if w < -1e-9 {
				t.Errorf("seed %d: w_β has the negative weight %v", seed, w)
			}
			sum += w
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("seed %d: the weights w_β sum to %v, want 1", seed, sum)
		}
	}
}

// w_r = g/|g| is uniform on the sphere: E[w_i] = 0, E[w_i²] = 1/D, and
// Var[w_i] = 1/D. w_β = |h|/Σ|h| has E[w_i] = 1/D, and with D = 40 the
// dispersion D·Σw² is about E[h²]/E[|h|]² = π/2.
func TestLawOfBanditWeights(t *testing.T) {
	const dim, seeds = 40, 50
	const n = dim * seeds
	var sum, dispersion float64
	for seed := range uint64(seeds) {
		for _, w := range weights(t, envs.Linear{}, seed, dim) {
			sum += w
		}
		for _, w := range weights(t, envs.Bernoulli{}, seed, dim) {
			dispersion += dim * w * w
		}
	}
	checkMean(t, "w_r", sum/n, 0, math.Sqrt(1.0/dim/n))
	// The delta method gives one seed's D·Σw² = D·Σh²/(Σ|h|)² a relative
	// variance of (2 + 4(π/2-1) - 4)/D, which is (0.13/(π/2))² at D = 40, and a
	// bias of (3(π/2-1) - 2)/D·π/2 = -0.011.
	if d := dispersion / seeds; math.Abs(d-math.Pi/2) > 5*0.13/math.Sqrt(seeds)+0.011 {
		t.Errorf("D·Σw_β² is %.4f on average, want about π/2", d)
	}
}

// The mean of the largest of 5 standard normals is 1.16296 (Harter 1961), and
// w_r·c is about normal with variance 1/12. The sum of uniforms has an excess
// kurtosis of -1.2·Σw⁴ ≈ -0.086, which by Cornish and Fisher moves the mean of
// the maximum by less than 0.2 %, 0.0007.
func TestRegretOfRandomOnLinear(t *testing.T) {
	const runs, steps = 100, 1000
	var mean, meanSquare float64
	for _, regret := range regretOfFirst(t, envs.Linear{}, runs, steps) {
		mean += regret / runs
		meanSquare += regret * regret / runs
	}
	se := math.Sqrt((meanSquare - mean*mean) / (runs - 1))
	want := 1.16296 * math.Sqrt(1.0/12)
	if math.Abs(mean-want) > 5*se+0.0007 {
		t.Errorf("regret %.5f ± %.5f a step, want %.5f", mean, se, want)
	}
}

// Which stream serves what, and in which order: a change changes every recorded
// result. One run of Mixed is rebuilt from its streams.
func TestBanditStreams(t *testing.T) {
	const seed, dim, m = 9, 3, 3 // 9 values a step: the last word serves one
	env := start(t, envs.Mixed{Candidates: m, Dim: dim}, 8, seed)
	contexts, noise := envs.NewSource(seed, "problem/contexts"), envs.NewRand(seed, "problem/noise")
	g, h := envs.NewRand(seed, "problem/reward weights"), envs.NewRand(seed, "problem/probability weights")
	var amount, chance [dim]float64
	var norm, total float64
	for i := range dim {
		amount[i], chance[i] = g.NormFloat64(), math.Abs(h.NormFloat64())
		norm += amount[i] * amount[i]
		total += chance[i]
	}
	expected := make([]float64, 2*m)
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
		env.(envs.Oracle).ExpectedRewards(expected)
		// With three dimensions clipping may move β by up to 0.01·φ(0) = 0.004.
		if got := expected[m+action]; math.Abs(got-linear*beta) > 0.004*math.Abs(linear) {
			t.Fatalf("step %d: expected reward %v, want %v·%v", i, got, linear, beta)
		}
		want := linear + 0.1*noise.NormFloat64()
		if beta += 0.01 * noise.NormFloat64(); noise.Float64() >= beta {
			want = 0
		}
		if got := step(t, env, []int{0, action}).Reward[1]; math.Abs(float64(got)-want) > 1e-6 {
			t.Fatalf("step %d: reward %v, want %v", i, got, want)
		}
	}
}

// Realised rewards less what the oracle expects are noise of a known law.
func TestBanditRewards(t *testing.T) {
	const runs, steps = 20, 2000
	const n = runs * steps
	for _, p := range bandits {
		env := start(t, p, seq(runs)...)
		m := p.Spec().Candidates
		expected := make([]float64, runs*m)
		var sum, squares, variance float64
		for range steps {
			env.(envs.Oracle).ExpectedRewards(expected)
			out := step(t, env, make([]int, runs))
			for r, reward := range out.Reward {
				e := expected[r*m]
				d := float64(reward) - e
				sum, squares = sum+d, squares+d*d
				switch p := p.(type) {
				case envs.Linear:
					sd := cmp.Or(p.RewardNoise, 0.1)
					variance += sd * sd
				case envs.Bernoulli:
					if reward != 0 && reward != 1 {
						t.Fatalf("%#v: reward %v, want 0 or 1", p, reward)
					}
					variance += e * (1 - e)
				}
			}
		}
		checkMean(t, "noise", sum/n, 0, math.Sqrt(squares/n/n))
		if variance > 0 {
			// Relative error of a variance of n draws: sqrt(2/n) for a normal
			// law, less for a binary one.
			checkMean(t, "variance of the noise", squares/variance, 1, math.Sqrt(2.0/n))
		}
	}
}

func TestNoNoise(t *testing.T) {
	p := envs.Linear{RewardNoise: envs.NoNoise}
	env := start(t, p, 7)
	expected := make([]float64, 5)
	for i := range 100 {
		env.(envs.Oracle).ExpectedRewards(expected)
		a := i % 5
		if out := step(t, env, []int{a}); out.Reward[0] != float32(expected[a]) {
			t.Fatalf("step %d: reward %v, want exactly %v", i, out.Reward[0], float32(expected[a]))
		}
	}
}

// Mixed is Linear where a coin of Bernoulli shows 1: with equal seeds the three
// have equal contexts and weights, and expectations multiply.
func TestMixedIsProduct(t *testing.T) {
	linear, bernoulli, mixed := start(t, envs.Linear{}, 3), start(t, envs.Bernoulli{}, 3), start(t, envs.Mixed{}, 3)
	a, b, got := make([]float64, 5), make([]float64, 5), make([]float64, 5)
	zeros := 0
	for i := range 2000 {
		linear.(envs.Oracle).ExpectedRewards(a)
		bernoulli.(envs.Oracle).ExpectedRewards(b)
		mixed.(envs.Oracle).ExpectedRewards(got)
		for k := range got {
			if want := a[k] * b[k]; math.Abs(got[k]-want) > 1e-12 {
				t.Fatalf("step %d: candidate %d expects %v, want %v·%v = %v", i, k, got[k], a[k], b[k], want)
			}
		}
		step(t, linear, []int{0})
		step(t, bernoulli, []int{0})
		if step(t, mixed, []int{0}).Reward[0] == 0 {
			zeros++
		}
	}
	// β has mean Σw_β/2 = 1/2 over the contexts.
	checkMean(t, "share of zeros", float64(zeros)/2000, 0.5, math.Sqrt(0.25/2000))
}

// The oracle's mean of the clipped probability against Simpson's rule. With one
// dimension the weight w_β is 1 and β = clip(c + e_β, 0, 1).
func TestClippedProbability(t *testing.T) {
	for _, sd := range []float64{0.001, 0.01, 0.1, 0.5, 3, 1000} {
		env := start(t, envs.Bernoulli{Dim: 1, ProbabilityNoise: sd}, 1)
		expected := make([]float64, 5)
		env.(envs.Oracle).ExpectedRewards(expected)
		for i, c := range env.Observe().Contexts {
			want := clippedMeanBySimpson(float64(c), sd)
			if math.Abs(expected[i]-want) > 1e-6 {
				t.Errorf("noise %v: mean of clip(%v + e) is %v, by Simpson's rule %v", sd, c, expected[i], want)
			}
		}
	}
	env := start(t, envs.Bernoulli{Dim: 1, ProbabilityNoise: envs.NoNoise}, 1)
	expected := make([]float64, 5)
	env.(envs.Oracle).ExpectedRewards(expected)
	for i, c := range env.Observe().Contexts {
		if expected[i] != float64(c) {
			t.Errorf("no noise: mean of clip(%v) is %v", c, expected[i])
		}
	}
}

func clippedMeanBySimpson(mean, sd float64) float64 {
	const n = 200000 // the integrand has two kinks, so the error is of order (sd·step)²
	const from, to = -9.0, 9.0
	h := (to - from) / n
	var sum float64
	for i := range n + 1 {
		z := from + h*float64(i)
		weight := 2.0 + 2*float64(i%2)
		if i == 0 || i == n {
			weight = 1
		}
		sum += weight * min(max(mean+sd*z, 0), 1) * math.Exp(-z*z/2)
	}
	return sum * h / 3 / math.Sqrt(2*math.Pi)
}

// Two policies that choose differently meet the same luck: the noise of a step
// is the same whichever candidate is chosen.
func TestNoiseDoesNotDependOnActions(t *testing.T) {
	one, other := start(t, envs.Linear{}, 5), start(t, envs.Linear{}, 5)
	expected := make([]float64, 5)
	for i := range 500 {
		one.(envs.Oracle).ExpectedRewards(expected)
		a, b := i%5, i*i%3
		x := float64(step(t, one, []int{a}).Reward[0]) - expected[a]
		y := float64(step(t, other, []int{b}).Reward[0]) - expected[b]
		// The rewards are float32 of a size of a few units.
		if math.Abs(x-y) > 1e-6 {
			t.Fatalf("step %d: noise %v for action %d and %v for action %d", i, x, a, y, b)
		}
	}
}

// The coin of a Bernoulli step is one uniform number, so a candidate with a
// larger probability never loses where one with a smaller wins.
func TestCoinDoesNotDependOnActions(t *testing.T) {
	p := envs.Bernoulli{ProbabilityNoise: envs.NoNoise}
	low, high := start(t, p, 6), start(t, p, 6)
	expected := make([]float64, 5)
	differ := 0
	for i := range 3000 {
		low.(envs.Oracle).ExpectedRewards(expected)
		var worst, best int
		for k, e := range expected {
			if e < expected[worst] {
				worst = k
			}
			if e > expected[best] {
				best = k
			}
		}
		x, y := step(t, low, []int{worst}).Reward[0], step(t, high, []int{best}).Reward[0]
		if x > y {
			t.Fatalf("step %d: probability %v won and %v lost", i, expected[worst], expected[best])
		}
		if x != y {
			differ++
		}
	}
	if differ == 0 {
		t.Error("best and worst candidate always had the same reward")
	}
}

func TestBanditStepDoesNotAllocate(t *testing.T) {
	for _, p := range bandits {
		env := start(t, p, 1, 2, 3)
		actions, expected := make([]int, 3), make([]float64, 3*p.Spec().Candidates)
		if n := testing.AllocsPerRun(100, func() {
			env.Observe()
			env.(envs.Oracle).ExpectedRewards(expected)
			step(t, env, actions)
		}); n != 0 {
			t.Errorf("%#v: %v allocations a step", p, n)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct {
		name    string
		problem envs.Problem
	}{
		{"Linear", envs.Linear{}}, {"Bernoulli", envs.Bernoulli{}}, {"Mixed", envs.Mixed{}}, {"Chain", envs.Chain{}},
	} {
		const runs = 20
		b.Run(bench.name, func(b *testing.B) {
			env, err := bench.problem.New(seq(runs))
			if err != nil {
				b.Fatal(err)
			}
			oracle, _ := env.(envs.Oracle)
			actions, expected := make([]int, runs), make([]float64, runs*bench.problem.Spec().Candidates)
			b.ReportAllocs()
			for b.Loop() {
				env.Observe()
				if oracle != nil {
					oracle.ExpectedRewards(expected)
				}
				if _, err := env.Step(actions); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/runs, "ns/run-step")
		})
	}
}

// start makes an environment of one run a seed.
func start(t *testing.T, p envs.Problem, seeds ...uint64) envs.Environment {
	t.Helper()
	env, err := p.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func step(t *testing.T, env envs.Environment, actions []int) envs.Outcome {
	t.Helper()
	out, err := env.Step(actions)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// seq returns the seeds 0 to n-1.
func seq(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	return seeds
}

// checkMean allows five standard errors.
func checkMean(t *testing.T, what string, got, want, se float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 5*se) {
		t.Errorf("mean of %s is %.6g, want %.6g ± 5·%.2g", what, got, want, se)
	}
}

// regretOfFirst returns each run's regret a step of always choosing the first
// candidate, which is as good as a random one.
func regretOfFirst(t *testing.T, p envs.Problem, runs, steps int) []float64 {
	env, m := start(t, p, seq(runs)...), p.Spec().Candidates
	regret, expected := make([]float64, runs), make([]float64, runs*m)
	for range steps {
		env.(envs.Oracle).ExpectedRewards(expected)
		for r := range regret {
			of := expected[r*m : (r+1)*m]
			best := of[0]
			for _, e := range of {
				best = max(best, e)
			}
			regret[r] += (best - of[0]) / float64(steps)
		}
		step(t, env, make([]int, runs))
	}
	return regret
}

// weights solves for the weights of a problem whose expected reward is linear
// in the context, and checks that they explain 200 more answers.
func weights(t *testing.T, p envs.Problem, seed uint64, dim int) []float64 {
	t.Helper()
	env, m := start(t, p, seed), p.Spec().Candidates
	expected := make([]float64, m)
	var rows [][]float64 // [context | expected reward]
	for len(rows) < dim+200 {
		env.(envs.Oracle).ExpectedRewards(expected)
		for k, e := range expected {
			row := make([]float64, 0, dim+1)
			for _, c := range env.Observe().Contexts[k*dim : (k+1)*dim] {
				row = append(row, float64(c))
			}
			rows = append(rows, append(row, e))
		}
		step(t, env, []int{0})
	}
	w := solve(rows[:dim])
	for _, row := range rows {
		e := row[dim]
		for i, x := range row[:dim] {
			e -= w[i] * x
		}
		if math.Abs(e) > 1e-9 {
			t.Fatalf("%#v, seed %d: the expected reward is not linear in the context: residual %v", p, seed, e)
		}
	}
	return w
}

// solve returns the solution of the square system of rows [a | b] by Gaussian
// elimination with partial pivoting. It leaves rows alone.
func solve(rows [][]float64) []float64 {
	n := len(rows)
	a := make([][]float64, n)
	for i, row := range rows {
		a[i] = append([]float64(nil), row...)
	}
	for i := range n {
		pivot := i
		for j := i; j < n; j++ {
			if math.Abs(a[j][i]) > math.Abs(a[pivot][i]) {
				pivot = j
			}
		}
		a[i], a[pivot] = a[pivot], a[i]
		for j := range n {
			if j == i {
				continue
			}
			f := a[j][i] / a[i][i]
			for k := i; k <= n; k++ {
				a[j][k] -= f * a[i][k]
			}
		}
	}
	x := make([]float64, n)
	for i := range n {
		x[i] = a[i][n] / a[i][i]
	}
	return x
}

// What Step pays is what PotentialRewards said, and asking for it changes
// nothing: a second environment that was never asked pays the same.
func TestPotentialRewards(t *testing.T) {
	for name, problem := range map[string]envs.Problem{
		"linear": envs.Linear{}, "bernoulli": envs.Bernoulli{ProbabilityNoise: 0.3}, "mixed": envs.Mixed{},
	} {
		seeds := []uint64{5, 6, 7}
		asked, err := problem.New(seeds)
		if err != nil {
			t.Fatal(err)
		}
		silent, err := problem.New(seeds)
		if err != nil {
			t.Fatal(err)
		}
		m := problem.Spec().Candidates
		potential := make([]float32, len(seeds)*m)
		for step := range 50 {
			asked.(envs.PotentialOutcomes).PotentialRewards(potential)
			if step%2 == 0 { // asking twice is no other question
				asked.(envs.PotentialOutcomes).PotentialRewards(potential)
			}
			actions := []int{step % m, (step + 1) % m, (step * 3) % m}
			got, err := asked.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			want, err := silent.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			for r, a := range actions {
				if got.Reward[r] != potential[r*m+a] || got.Reward[r] != want.Reward[r] {
					t.Fatalf("%s, step %d, run %d: paid %v, said %v, unasked %v", name, step, r, got.Reward[r], potential[r*m+a], want.Reward[r])
				}
			}
		}
	}
}
