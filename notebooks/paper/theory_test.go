package paper_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
)

// smallStudy is the study with few draws, which several tests look at.
var smallStudy = sync.OnceValues(func() (*paper.TheoryResult, error) { return paper.Theory(context.Background(), 0.005) })

func theory(t *testing.T) *paper.TheoryResult {
	t.Helper()
	r, err := smallStudy()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unlikely says whether the interval's estimate is five standard errors or more
// from the value.
func unlikely(i paper.Interval, value float64) bool {
	return math.Abs(i.Mean-value) > 5*(i.High-i.Low)/(2*1.96)+1e-9
}

// With mu = 2 and one rival that is 1 or 2, nu is 2/3 or 1/2: the mean is 7/12,
// the variance (1/12)^2. With mu = 1 and two such rivals nu is 1/3, twice 1/4,
// and 1/5: 31/120; the mean of the squares is (1/9 + 2/16 + 1/25)/4. Three rivals
// of mu = 3 leave 1/10 to mu = 1.
func TestExactMarginal(t *testing.T) {
	two := []float64{0, math.Log(2)}
	for _, c := range []struct {
		own         float64
		scores      []float64
		rivals      int
		p, variance float64
	}{
		{math.Log(2), two, 1, 7.0 / 12, 1.0 / 144},
		{0, two, 2, 31.0 / 120, (1.0/9+2.0/16+1.0/25)/4 - 31.0/120*31.0/120},
		{0, []float64{math.Log(3)}, 3, 0.1, 0},
	} {
		p, v := paper.ExactMarginal(c.own, c.scores, c.rivals)
		if math.Abs(p-c.p) > 1e-12 || math.Abs(v-c.variance) > 1e-12 {
			t.Errorf("own %v, %d rivals of %v: p %v and variance %v, want %v and %v", c.own, c.rivals, c.scores, p, v, c.p, c.variance)
		}
	}
}

// The ratios are derived in the comment of TwoContexts: 1/(2N) for centred
// values, 1/2 + 1/N for f(c) = c, 81/2 + 41 for values 4 and 5 at N = 1.
func TestTwoContexts(t *testing.T) {
	for _, c := range []struct {
		paper.TwoContexts
		want float64
	}{
		{paper.TwoContexts{K: -0.5, N: 1}, 0.5},
		{paper.TwoContexts{K: -0.5, N: 4}, 0.125},
		{paper.TwoContexts{K: 0, N: 1}, 1.5},
		{paper.TwoContexts{K: 0, N: 4}, 0.75},
		{paper.TwoContexts{K: 4, N: 1}, 81.5},
	} {
		if math.Abs(c.Ratio()-c.want) > 1e-12 {
			t.Errorf("%+v: the formula gives %v, want %v", c.TwoContexts, c.Ratio(), c.want)
		}
		got, err := c.Measure(t.Context(), 2000, 3)
		if err != nil {
			t.Fatal(err)
		}
		if unlikely(got, c.want) || got.High-got.Low > 0.3*c.want {
			t.Errorf("%+v: measured %v, want %v", c.TwoContexts, got, c.want)
		}
	}
	for _, bad := range []struct {
		paper.TwoContexts
		updates int
	}{{paper.TwoContexts{N: 0}, 10}, {paper.TwoContexts{N: 1}, 1}} {
		if _, err := bad.Measure(t.Context(), bad.updates, 1); err == nil {
			t.Errorf("%+v with %d updates: no error", bad.TwoContexts, bad.updates)
		}
	}
}

// The estimates are unbiased whichever way the rivals come. The exact marginals
// come from enumeration.
func TestTheoryBias(t *testing.T) {
	r := theory(t)
	of := map[string]int{}
	for i, b := range r.Bias {
		if unlikely(b, 0) {
			t.Errorf("%+v: the bias is %v", r.BiasOf[i], b)
		}
		of[r.BiasOf[i].Agents+"/"+string(r.BiasOf[i].Pool)]++
	}
	if len(of) != 4 || len(r.Bias) != len(r.BiasOf) {
		t.Errorf("%d biases of %v", len(r.Bias), of)
	}
	for _, c := range r.Counted {
		// Wilson's interval is not symmetric about the share.
		middle := paper.Interval{Mean: (c.Share.Low + c.Share.High) / 2, Low: c.Share.Low, High: c.Share.High}
		if unlikely(middle, c.Marginal) {
			t.Errorf("a context with marginal %v was chosen in a share of %v", c.Marginal, c.Share)
		}
	}
}

// Given the step the variances have the lemma's ratio; over the steps what is
// left at N = 15 is far from 1/15. What chosen contexts are weighed by is known
// exactly: E[nu^2]/E[nu] in vanilla policy gradient and p in PGCR.
func TestTheoryCritic(t *testing.T) {
	r := theory(t)
	if len(r.Critic) != 10 || len(r.CriticTotal) != 10 || len(r.Chosen) == 0 {
		t.Fatalf("%d, %d ratios and %d chosen contexts", len(r.Critic), len(r.CriticTotal), len(r.Chosen))
	}
	for _, v := range r.Critic {
		if scaled := v.Ratio.Mean * float64(v.N); math.Abs(scaled-1) > 0.15 {
			t.Errorf("%s: N times the ratio is %v at N = %d, want 1", v.Setting, scaled, v.N)
		}
	}
	for _, v := range r.CriticTotal {
		if v.N == 15 && v.Ratio.Low < 4.0/15 {
			t.Errorf("%s: over the steps the ratio is %v at N = 15", v.Setting, v.Ratio)
		}
	}
	for _, c := range r.Chosen {
		if unlikely(c.OwnStep, c.Expected) || unlikely(c.Resampled, c.Marginal) || c.Expected <= c.Marginal {
			t.Errorf("a chosen context: %+v", c)
		}
	}
}

// Of 5 steps, 60 rivals are few different ones, and the context's own step is
// one of the 5; of 1,000 steps neither matters.
func TestTheoryHistory(t *testing.T) {
	r := theory(t)
	first, last := r.History[0], r.History[len(r.History)-1]
	if n := len(first.Variance) - 1; first.Steps != 5 || last.Steps != 1000 || first.Variance[n] < 3 || math.Abs(last.Variance[n]-1) > 0.3 {
		t.Errorf("N Var[p_hat]/Var[nu] at N = 15 is %v after 5 steps and %v after 1,000", first.Variance[n], last.Variance[n])
	}
	if first.Bias.High > 0 || unlikely(last.Bias, 0) {
		t.Errorf("the bias is %v after 5 steps and %v after 1,000", first.Bias, last.Bias)
	}
}

// The theorem fails where f has an offset. Without it, agents that have not
// learned anything confirm the theorem for large N. In a batch the offset cancels to
// first order as long as all probabilities are near 1/5.
func TestTheoryActor(t *testing.T) {
	r := theory(t)
	for _, v := range r.Actor {
		if v.N != 1 || v.Ratio.Mean < 2 {
			t.Errorf("%s: the ratio is %v at N = %d", v.Setting, v.Ratio, v.N)
		}
	}
	untrained := map[string]float64{}
	for _, v := range r.Ratios(paper.Untrained) {
		if v.N == 15 {
			untrained[v.Variant] = v.Ratio.Mean
		}
	}
	if untrained[""] < 2 || untrained[paper.LessMean] > 1 || untrained[paper.Minibatch] > 1.2 {
		t.Errorf("ratios of untrained agents at N = 15: %v", untrained)
	}
	for _, o := range r.Offset {
		least := 0
		for k, ratio := range o.Ratio {
			if ratio < o.Ratio[least] {
				least = k
			}
		}
		if last := len(o.Ratio) - 1; math.Abs(o.Offset[least]) > 1.5 || o.Ratio[last] < 5*o.Ratio[least] {
			t.Errorf("N = %d: the ratio is least, %v, at offset %v and %v at %v", o.N, o.Ratio[least], o.Offset[least], o.Ratio[last], o.Offset[last])
		}
	}
	claims := paper.TheoryClaims(r)
	if len(claims) != 3 || claims[1].Verdict != paper.NotReproduced || claims[1].Setting != r.Setting {
		t.Errorf("claims: %+v", claims)
	}
}

// Everything that is measured can be drawn.
func TestTheorySeries(t *testing.T) {
	r := theory(t)
	for name, c := range map[string]struct {
		series []figure.Series
		axes   figure.Axes
		count  int
	}{
		"bias":         {r.BiasSeries(paper.Untrained), figure.Axes{}, 3},
		"counted":      {r.CountedSeries(), figure.Axes{}, 2},
		"critic":       {r.CriticSeries(), figure.Axes{LogX: true, LogY: true}, 5},
		"chosen":       {r.ChosenSeries(), figure.Axes{}, 3},
		"history":      {r.HistorySeries(), figure.Axes{LogX: true}, 6},
		"history bias": {r.HistoryBiasSeries(), figure.Axes{LogX: true}, 2},
		"actor":        {r.ActorSeries(paper.ToyLinear), figure.Axes{LogX: true, LogY: true}, 6},
		"offset":       {r.OffsetSeries(), figure.Axes{LogY: true}, 5},
	} {
		if len(c.series) != c.count {
			t.Errorf("%s: %d series, want %d", name, len(c.series), c.count)
		}
		if _, err := figure.Lines(c.series, c.axes, figure.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheoryIsDeterministic(t *testing.T) {
	first, err := paper.Theory(t.Context(), 0.001)
	if err != nil {
		t.Fatal(err)
	}
	second, err := paper.Theory(t.Context(), 0.001)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two studies differ:\n%+v\n%+v", first, second)
	}
}

func TestTheoryErrors(t *testing.T) {
	for _, scale := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := paper.Theory(t.Context(), scale); err == nil {
			t.Errorf("scale %v: no error", scale)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := paper.Theory(ctx, 0.01); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A stored study serves its own and smaller scales, and one that cannot be read
// is not replaced in silence.
func TestStudyTheory(t *testing.T) {
	store := sim.Store{Dir: filepath.Join(t.TempDir(), "results")}
	want := theory(t)
	if err := want.Save(store); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing can be measured
	got, err := paper.StudyTheory(ctx, store, want.Scale)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, got %+v, %v", want, got, err)
	}
	if _, err := paper.StudyTheory(ctx, store, 2*want.Scale); !errors.Is(err, context.Canceled) {
		t.Errorf("a larger scale: %v", err)
	}
	path := filepath.Join(store.Dir, paper.TheoryFile)
	if err := os.WriteFile(path, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := paper.StudyTheory(t.Context(), store, 0.001); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestPermutationGap(t *testing.T) {
	gap, err := paper.PermutationGap(t.Context(), envs.Bernoulli{}, pgcr.Config{}, 1, 20, 50)
	if err != nil || gap > 1e-6 {
		t.Errorf("the gap is %v, %v; want a rounding error of float32", gap, err)
	}
	if _, err := paper.PermutationGap(t.Context(), envs.Bernoulli{}, pgcr.Config{ActorRate: -1}, 1, 0, 1); err == nil {
		t.Error("a bad setting is no error")
	}
}

// Scores 1 and 3 at kappa = 1 have probabilities 1/4 and 3/4; at kappa = 1/1000 the
// first one has 1/(1+3^0.001), and at kappa = 1000/1000 again 1/4.
func TestGreedSeries(t *testing.T) {
	mu := []float64{1, 3}
	plain, err := paper.GreedSeries(mu, pgcr.Greed{Rate: 0.001}, 1)
	if err != nil || len(plain) != 2 || math.Abs(plain[0].Y[0]-0.25) > 1e-9 || math.Abs(plain[1].Y[0]-0.75) > 1e-9 {
		t.Errorf("with the default floor: %+v, %v", plain, err)
	}
	papers, err := paper.GreedSeries(mu, pgcr.Greed{Rate: 0.001, Floor: pgcr.NoFloor}, 20_000)
	if want := 1 / (1 + math.Pow(3, 0.001)); err != nil || math.Abs(papers[0].Y[0]-want) > 1e-9 {
		t.Errorf("without a floor: %v, %v; want %v first", papers[0].Y[:3], err, want)
	}
	if last := len(papers[0].Y) - 1; papers[0].Y[last] > 1e-6 || papers[0].X[last] > 20_000 {
		t.Errorf("at step %v the worse candidate has %v", papers[0].X[last], papers[0].Y[last])
	}
	if _, err := paper.GreedSeries([]float64{0, 1}, pgcr.Greed{}, 1); err == nil {
		t.Error("a score of 0 is no error")
	}
}
