package paper_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/paper"
)

func wantNumbers(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, got, want)
			return
		}
	}
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Scores in proportion to their sum; squared by kappa = 2: 1, 4, 9 of 14; equal
// by kappa = 0.
func TestProbabilities(t *testing.T) {
	mu := []float64{1, 2, 3}
	for kappa, want := range map[float64][]float64{
		0: {1. / 3, 1. / 3, 1. / 3},
		1: {1. / 6, 2. / 6, 3. / 6},
		2: {1. / 14, 4. / 14, 9. / 14},
	} {
		p, err := paper.Probabilities(mu, kappa)
		wantNumbers(t, fmt.Sprintf("the policy at kappa %v", kappa), must(t, p, err), want...)
	}
}

func TestScoresMustBePositive(t *testing.T) {
	for _, mu := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		want := fmt.Sprintf("mu is %v", mu)
		if _, err := paper.Probabilities([]float64{1, mu}, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Probabilities says %v, want that %s", err, want)
		}
		if _, err := paper.MarginalProbability(1, [][]float64{{mu}}, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("MarginalProbability says %v, want that %s", err, want)
		}
		if _, err := paper.ActorUpdate([][]float64{{mu, 1}, {1, 1}}, [][]float64{{0, 0}, {0, 0}}, 1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ActorUpdate says %v, want that %s", err, want)
		}
	}
}

// The mean of 2/(2+1+3) and 2/(2+1+1), and at kappa = 2 that of 4/(4+1+9) and
// 4/(4+1+1).
func TestMarginalProbability(t *testing.T) {
	rivals := [][]float64{{1, 3}, {1, 1}}
	one, err := paper.MarginalProbability(2, rivals, 1)
	wantNumbers(t, "the marginal", []float64{must(t, one, err)}, 5./12)
	two, err := paper.MarginalProbability(2, rivals, 2)
	wantNumbers(t, "the marginal at kappa 2", []float64{must(t, two, err)}, (2./7+2./3)/2)
}

// The mean over two steps of p * (r - f): 0.5 * 0.6 / 2 and 0.25 * -0.4 / 2.
func TestCriticUpdate(t *testing.T) {
	u, err := paper.CriticUpdate([]float64{0.5, 0.25}, []float64{1, 0}, []float64{0.4, 0.4})
	wantNumbers(t, "the update", must(t, u, err), 0.15, -0.05)
}

func TestCentred(t *testing.T) {
	c, err := paper.Centred([][]float64{{1, 0}, {2, 1}})
	c = must(t, c, err)
	wantNumbers(t, "the first step", c[0], 0, -1)
	wantNumbers(t, "the second step", c[1], 1, 0)
}

// objective is 1/B sum p f, written down independently: the rivals of a context
// are the contexts 1, 2, ..., N(M-1) steps further, round the end of the batch.
// (One further in the batch with M candidates a step, where M-1 = 1, is the same
// candidate of the next step.)
func objective(scores, values [][]float64, resamples int, kappa float64) float64 {
	b, m := len(scores), len(scores[0])
	sum := 0.0
	for step := range b {
		for i := range m {
			p := 0.0
			for n := range resamples {
				against := 0.0
				for k := range m - 1 {
					rival := scores[(step+n*(m-1)+k+1)%b][i]
					against += math.Exp(kappa * (rival - scores[step][i]))
				}
				p += 1 / (1 + against) / float64(resamples)
			}
			sum += p * values[step][i]
		}
	}
	return sum / float64(b)
}

// The update is the gradient of the objective, by central differences; their
// error is about h^2.
func TestActorUpdateIsTheGradient(t *testing.T) {
	mu := [][]float64{{1, 2, 0.5}, {3, 1, 1}, {0.7, 2, 4}, {1, 1.5, 0.2}, {2, 0.3, 1}}
	values := [][]float64{{0.3, -1, 2}, {0, 0.5, 1}, {1, 1, -0.2}, {0.1, 0.4, 0.9}, {-1, 2, 0}}
	scores := make([][]float64, len(mu))
	for b := range mu {
		for _, v := range mu[b] {
			scores[b] = append(scores[b], math.Log(v))
		}
	}
	for _, resamples := range []int{1, 2} {
		for _, kappa := range []float64{1, 2.5} {
			update, err := paper.ActorUpdate(mu, values, resamples, kappa)
			update = must(t, update, err)
			const h = 1e-5
			for b := range scores {
				for i := range scores[b] {
					s := scores[b][i]
					scores[b][i] = s + h
					up := objective(scores, values, resamples, kappa)
					scores[b][i] = s - h
					down := objective(scores, values, resamples, kappa)
					scores[b][i] = s
					if want := (up - down) / (2 * h); math.Abs(update[b][i]-want) > 1e-8 {
						t.Errorf("N = %d, kappa %v, context %d of step %d: %v, by differences %v", resamples, kappa, i, b, update[b][i], want)
					}
				}
			}
		}
	}
}

// All marginals are 1/2, with derivative +-1/4: half of it in the mean of two
// steps, up for the context that pays, down for the one that it met.
func TestActorUpdateByHand(t *testing.T) {
	u, err := paper.ActorUpdate([][]float64{{1, 1}, {1, 1}}, [][]float64{{1, 0}, {0, 0}}, 1, 1)
	u = must(t, u, err)
	wantNumbers(t, "the first step's update", u[0], 0.125, 0)
	wantNumbers(t, "the second step's update", u[1], -0.125, 0)
	if math.Signbit(u[0][1]) || math.Signbit(u[1][1]) {
		t.Errorf("a zero has a sign: %v", u)
	}
}

// 1 + 0.9*0.5 - 0.75 = 0.7, and without a next step 0 - 0.5.
func TestTemporalDifferences(t *testing.T) {
	delta, err := paper.TemporalDifferences([]float64{1, 0}, []float64{0.9, 0}, []float64{0.5, 0.5}, []float64{0.75, 0.5})
	wantNumbers(t, "delta", must(t, delta, err), 0.7, -0.5)
}

func TestActorUpdateOfASmallBatch(t *testing.T) {
	if _, err := paper.ActorUpdate([][]float64{{1, 1, 1}, {1, 1, 1}}, [][]float64{{1, 0, 0}, {0, 0, 0}}, 1, 1); err == nil {
		t.Error("two competitors are drawn from one other step")
	}
}

func TestEquationShapes(t *testing.T) {
	for what, f := range map[string]func(){
		"rivals of several lengths": func() { paper.MarginalProbability(1, [][]float64{{1, 2}, {1}}, 1) },
		"no rivals":                 func() { paper.MarginalProbability(1, nil, 1) },
		"fewer values than scores":  func() { paper.ActorUpdate([][]float64{{1, 1}, {1, 1}}, [][]float64{{1, 1}}, 1, 1) },
		"fewer next values":         func() { paper.TemporalDifferences([]float64{1, 1}, []float64{1, 1}, []float64{1}, []float64{1, 1}) },
		"fewer rewards":             func() { paper.CriticUpdate([]float64{1, 1}, []float64{1}, []float64{1, 1}) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "paper: ") {
					t.Errorf("%s: %v", what, p)
				}
			}()
			f()
		}()
	}
}
