package pgcr_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/contextrec/contextrec/pgcr"
)

// probabilities evaluates the policy in float32, as agents do.
func probabilities(t testing.TB, scores []float32, kappa float32, dims ...int) []float32 {
	t.Helper()
	out, err := ExecOnce(backend, func(s, k *Node) *Node { return Exp(pgcr.LogProbabilities(s, k)) },
		tensors.FromFlatDataAndDimensions(scores, dims...), tensors.FromScalar(kappa))
	if err != nil {
		t.Fatal(err)
	}
	return tensors.MustCopyFlatData[float32](out)
}

func TestProbabilitiesByHand(t *testing.T) {
	// mu = 3 and 1: 3/(3+1); with kappa = 2, 9/(9+1).
	scores := []float32{float32(math.Log(3)), 0}
	for _, c := range []struct{ kappa, want float32 }{{1, 0.75}, {2, 0.9}, {0, 0.5}} {
		if got := probabilities(t, scores, c.kappa, 1, 2); math.Abs(float64(got[0]-c.want)) > 1e-6 {
			t.Errorf("kappa %v: probability %v, want %v", c.kappa, got[0], c.want)
		}
	}
}

func TestProbabilitiesAreDistributions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range []float32{1e-3, 1, 50, 1e4} {
		for _, kappa := range []float32{0, 1e-3, 1, 90, 1e3, 1e6} {
			const rows, m = 50, 7
			scores := make([]float32, rows*m)
			for i := range scores {
				scores[i] = size * (2*rng.Float32() - 1)
			}
			scores[0], scores[1] = size, -size
			p := probabilities(t, scores, kappa, rows, m)
			for r := range rows {
				row, s := p[r*m:(r+1)*m], scores[r*m:(r+1)*m]
				sum := 0.0
				for i, x := range row {
					if !(x >= 0) || x > 1.0001 {
						t.Fatalf("scores to %v, kappa %v: probability %v", size, kappa, x)
					}
					sum += float64(x)
					for j := range row {
						if s[i] > s[j] && row[i] < row[j] {
							t.Fatalf("scores to %v, kappa %v: score %v has probability %v, score %v has %v", size, kappa, s[i], row[i], s[j], row[j])
						}
					}
				}
				if math.Abs(sum-1) > 1e-5 {
					t.Fatalf("scores to %v, kappa %v: probabilities sum to %v", size, kappa, sum)
				}
			}
		}
	}
}

func TestPolicyIsPermutationInvariant(t *testing.T) {
	// Definition 1: the probability goes with the context, not with its place.
	rng := rand.New(rand.NewPCG(2, 1))
	scores := []float32{0.3, -1.2, 2.5, 0.1, 0.9}
	p := probabilities(t, scores, 1.5, 1, 5)
	for range 10 {
		order := rng.Perm(5)
		permuted := make([]float32, 5)
		for i, j := range order {
			permuted[i] = scores[j]
		}
		q := probabilities(t, permuted, 1.5, 1, 5)
		for i, j := range order {
			if math.Abs(float64(q[i]-p[j])) > 1e-6 {
				t.Fatalf("candidate %d has probability %v, in place %d %v", j, p[j], i, q[i])
			}
		}
	}
}

func TestGreedInTheLimitIsGreedy(t *testing.T) {
	if p := probabilities(t, []float32{0.5, 0.51, 0.2}, 1e5, 1, 3); p[1] < 1-1e-6 {
		t.Errorf("the best candidate has probability %v at a large kappa", p[1])
	}
}

func TestGreedSchedule(t *testing.T) {
	for _, c := range []struct {
		greed pgcr.Greed
		step  int64
		want  float64
	}{
		{pgcr.Greed{}, 0, 1},
		{pgcr.Greed{}, 1e6, 1},
		{pgcr.Greed{Rate: 0.01}, 50, 1},
		{pgcr.Greed{Rate: 0.01}, 500, 5},
		{pgcr.Greed{Rate: 0.01, Floor: pgcr.NoFloor}, 0, 0}, // the paper's mu^(alpha t)
		{pgcr.Greed{Rate: 0.01, Floor: pgcr.NoFloor}, 50, 0.5},
		{pgcr.Greed{Rate: 0.01, Cap: 3}, 500, 3},
		{pgcr.Greed{Rate: 1}, 1e9, 1e6},
	} {
		if got := c.greed.At(c.step); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v at step %d: kappa %v, want %v", c.greed, c.step, got, c.want)
		}
	}
}

func TestMarginalByHand(t *testing.T) {
	// mu = 3 against rivals of 1 and 2: 3/(3+1+2) = 1/2. Against 1 and 2, then
	// 6 and 6, with N = 2: (1/2 + 3/15)/2 = 0.35. With kappa = 2: 9/(9+1+4).
	log := math.Log
	own := tensors.FromFlatDataAndDimensions([]float64{log(3)}, 1, 1)
	for _, c := range []struct {
		rivals    []float64
		resamples int
		kappa     float64
		want      float64
	}{
		{[]float64{log(1), log(2)}, 1, 1, 0.5},
		{[]float64{log(1), log(2), log(6), log(6)}, 2, 1, 0.35},
		{[]float64{log(1), log(2)}, 1, 2, 9.0 / 14},
	} {
		rivals := tensors.FromFlatDataAndDimensions(c.rivals, 1, len(c.rivals), 1)
		got := eval(t, func(in []*Node) []*Node {
			return []*Node{pgcr.EstimateMarginal(in[0], in[1], in[2], c.resamples).Probability}
		}, own, rivals, fixed(c.kappa))[0][0]
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("rivals %v, kappa %v: %v, want %v", c.rivals, c.kappa, got, c.want)
		}
	}
}

func TestMarginalIsFinite(t *testing.T) {
	// In float32, where exp(89) is infinite.
	const n, candidates = 40, 5
	scores := make([]float32, n)
	rng := rand.New(rand.NewPCG(3, 1))
	for i := range scores {
		scores[i] = 1e4 * (2*rng.Float32() - 1)
	}
	for _, kappa := range []float32{0, 1, 1e3, 1e6} {
		exec := MustNewExec(backend, func(s, k *Node) (p, g *Node) {
			p, pull := pgcr.Resampled{N: 1}.Estimate(s, nil, k, candidates)
			g, _ = pull(OnesLike(p))
			return p, g
		})
		out := exec.MustCall(tensors.FromFlatDataAndDimensions(scores, 1, n), tensors.FromScalar(kappa))
		for i, p := range tensors.MustCopyFlatData[float32](out[0]) {
			if !(p >= 0 && p <= 1) {
				t.Errorf("kappa %v: marginal %d is %v", kappa, i, p)
			}
		}
		for i, g := range tensors.MustCopyFlatData[float32](out[1]) {
			if math.IsNaN(float64(g)) || math.IsInf(float64(g), 0) {
				t.Errorf("kappa %v: gradient %d is %v", kappa, i, g)
			}
		}
	}
}

func TestBatchRivals(t *testing.T) {
	// Scores that are their own numbers show who meets whom.
	const batch, candidates, count = 7, 3, 6
	const n = batch * candidates
	numbers := make([]float64, n)
	for i := range numbers {
		numbers[i] = float64(i)
	}
	out := eval(t, func(in []*Node) []*Node {
		own, others := pgcr.BatchRivals(in[0], candidates, count)
		return []*Node{own, others}
	}, tensors.FromFlatDataAndDimensions(numbers, 1, n))
	width := n + candidates
	for i := range n {
		if out[0][i] != float64(i) {
			t.Errorf("own score %d is that of %v", i, out[0][i])
		}
		seen := []int{i / candidates}
		for j := range count {
			rival := int(out[1][j*width+i])
			if rival%candidates != i%candidates || slices.Contains(seen, rival/candidates) {
				t.Errorf("context %d of step %d meets %d of step %d after steps %v", i, i/candidates, rival, rival/candidates, seen)
			}
			seen = append(seen, rival/candidates)
		}
	}
}

// TestMarginalIsUnbiased compares p̂ with the exact marginal on a catalogue of
// three items, from which the candidates of every step are drawn uniformly:
// p(c) is an average over the 3^2 sets of rivals. The estimate of 4,000 batches
// must lie within 5 standard errors, and its variance must fall like 1/N.
func TestMarginalIsUnbiased(t *testing.T) {
	const candidates, batch, replicates, kappa = 3, 16, 4000, 1.3
	mu := []float64{0.5, 2, 5}
	exact := make([]float64, 3)
	for c := range mu {
		for i := range mu {
			for j := range mu {
				w := func(k int) float64 { return math.Pow(mu[k], kappa) }
				exact[c] += w(c) / (w(c) + w(i) + w(j)) / 9
			}
		}
	}
	rng := rand.New(rand.NewPCG(9, 9))
	items := make([]int, replicates*batch*candidates)
	scores := make([]float64, len(items))
	for i := range items {
		items[i] = rng.IntN(3)
		scores[i] = math.Log(mu[items[i]])
	}
	variance := map[int]float64{}
	for _, resamples := range []int{1, 2, 4, 7} {
		p := eval(t, func(in []*Node) []*Node {
			p, _ := pgcr.Resampled{N: resamples}.Estimate(in[0], nil, in[1], candidates)
			return []*Node{p}
		}, tensors.FromFlatDataAndDimensions(scores, replicates, batch*candidates), fixed(kappa))[0]
		for c := range mu {
			// One context a batch: those of a batch are not independent.
			var sum, square, count float64
			for r := range replicates {
				if i := r * batch * candidates; items[i] == c {
					sum, square, count = sum+p[i], square+p[i]*p[i], count+1
				}
			}
			mean := sum / count
			v := square/count - mean*mean
			if se := math.Sqrt(v / count); math.Abs(mean-exact[c]) > 5*se {
				t.Errorf("N = %d, item %d: mean %v, exact %v, standard error %v", resamples, c, mean, exact[c], se)
			}
			if c == 1 {
				variance[resamples] = v
			}
		}
	}
	for n, v := range variance {
		// The standard error of a variance from about 1,300 values is below 6 %
		// for values in [0, 1] whose fourth moment is that of a normal law or less.
		if ratio := v / variance[1] * float64(n); n > 1 && math.Abs(ratio-1) > 0.3 {
			t.Errorf("the variance at N = %d is %.2f/N of that at N = 1", n, ratio)
		}
	}
}

func TestControlVariate(t *testing.T) {
	out := eval(t, func(in []*Node) []*Node { return []*Node{pgcr.ControlVariate(in[0])} },
		tensors.FromFlatDataAndDimensions([]float64{1, 2, 6, 10, 10, 10}, 2, 3))[0]
	if want := []float64{-2, -1, 3, 0, 0, 0}; fmt.Sprint(out) != fmt.Sprint(want) {
		t.Errorf("values less their mean: %v, want %v", out, want)
	}
}

func TestSarsaTarget(t *testing.T) {
	// r + gamma f': 1 + 0.9*10, and the reward alone where the discount is 0.
	out := eval(t, func(in []*Node) []*Node { return []*Node{pgcr.SarsaTarget(in[0], in[1], in[2])} },
		tensors.FromFlatDataAndDimensions([]float64{1, 1}, 1, 2),
		tensors.FromFlatDataAndDimensions([]float64{0.9, 0}, 1, 2),
		tensors.FromFlatDataAndDimensions([]float64{10, 10}, 1, 2))[0]
	if want := []float64{10, 1}; fmt.Sprint(out) != fmt.Sprint(want) {
		t.Errorf("targets %v, want %v", out, want)
	}
}

func TestLossesByHand(t *testing.T) {
	// ActorLoss: -(0.5*2 + 0.25*4)/B with B = 2. CriticLoss: (0.5*(3-1)^2 +
	// 1*(2-2)^2)/2/B. ValueLoss: (4 + 0)/2/B.
	out := eval(t, func(in []*Node) []*Node {
		return []*Node{
			pgcr.ActorLoss(in[0], in[1], 2),
			pgcr.CriticLoss(in[2], in[3], in[4]),
			pgcr.ValueLoss(in[3], in[4]),
		}
	},
		tensors.FromFlatDataAndDimensions([]float64{0.5, 0.25}, 1, 2), tensors.FromFlatDataAndDimensions([]float64{2, 4}, 1, 2),
		tensors.FromFlatDataAndDimensions([]float64{0.5, 1}, 1, 2), tensors.FromFlatDataAndDimensions([]float64{3, 2}, 1, 2),
		tensors.FromFlatDataAndDimensions([]float64{1, 2}, 1, 2))
	for i, want := range []float64{-1, 0.5, 1} {
		if math.Abs(out[i][0]-want) > 1e-12 {
			t.Errorf("loss %d is %v, want %v", i, out[i][0], want)
		}
	}
}

// TestAdam compares ten updates with the textbook's recursion in float64.
func TestAdam(t *testing.T) {
	const rate, steps = 0.02, 10
	rng := rand.New(rand.NewPCG(4, 1))
	p := []float64{0.3, -1, 2}
	want := slices.Clone(p)
	m, v := make([]float64, 3), make([]float64, 3)
	state := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(p, 3), fixed(0, 3), fixed(0, 3)}
	for k := int64(1); k <= steps; k++ {
		g := []float64{rng.NormFloat64(), rng.NormFloat64() * 1e-3, rng.NormFloat64() * 1e3}
		for i := range g {
			m[i] = 0.9*m[i] + 0.1*g[i]
			v[i] = 0.999*v[i] + 0.001*g[i]*g[i]
			mHat, vHat := m[i]/(1-math.Pow(0.9, float64(k))), v[i]/(1-math.Pow(0.999, float64(k)))
			want[i] -= rate * mHat / (math.Sqrt(vHat) + 1e-8)
		}
		size, eps := pgcr.Adam{Rate: rate}.Scalars(k)
		out := eval(t, func(in []*Node) []*Node { return pgcr.Step(in[:3], in[3:4], in[4], in[5]) },
			append(slices.Clone(state), tensors.FromFlatDataAndDimensions(g, 3), fixed(size), fixed(eps))...)
		for i := range state {
			state[i] = tensors.FromFlatDataAndDimensions(out[i], 3)
		}
		for i := range want {
			if math.Abs(out[0][i]-want[i]) > 1e-12 {
				t.Fatalf("update %d, parameter %d: %v, want %v", k, i, out[0][i], want[i])
			}
		}
	}
}
