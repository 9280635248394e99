package logged_test

import (
	"encoding/csv"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
)

// fixed has the same probabilities at every decision.
type fixed struct {
	chooser
	p []float64
}

func (f *fixed) Probabilities(dst []float64, _ envs.Observation) error {
	copy(dst, f.p)
	return nil
}

// Four decisions between two candidates. The policy takes the first with probability 3/4, so the
// weights are 3/2, 1, 3, 1/4. The formulas are written here once more, in rationals.
func TestEstimatorsByHand(t *testing.T) {
	log := table([]float64{1, 0, 3, 2}, []float64{0.5, 0.25, 0.25, 1}, "")
	e := evaluate(t, log, &fixed{p: []float64{0.75, 0.25}}, 1)
	e.Model = [][]float64{{0.5, 1}, {1, 0.25}, {2, 0}, {0.25, 1}}
	r := func(a, b int64) *big.Rat { return big.NewRat(a, b) }
	add := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Add(x, y) }
	mul := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	div := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Quo(x, y) }
	less := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }
	one, two, n := r(1, 1), r(2, 1), r(4, 1)
	rewards := []*big.Rat{r(1, 1), r(0, 1), r(3, 1), r(2, 1)}
	weights := []*big.Rat{r(3, 2), r(1, 1), r(3, 1), r(1, 4)}
	model := []*big.Rat{r(1, 2), r(1, 4), r(2, 1), r(1, 1)}     // of the choices
	direct := []*big.Rat{r(5, 8), r(13, 16), r(3, 2), r(7, 16)} // 3/4 of the first, 1/4 of the second
	sum := func(f func(i int) *big.Rat) (s *big.Rat) {
		s = new(big.Rat)
		for i := range rewards {
			s.Add(s, f(i))
		}
		return s
	}
	all := func(w *big.Rat) *big.Rat { return w }
	atMost := func(w *big.Rat) *big.Rat { return map[bool]*big.Rat{true: w, false: two}[w.Cmp(two) <= 0] }
	switched := func(w *big.Rat) *big.Rat { return map[bool]*big.Rat{true: w, false: r(0, 1)}[w.Cmp(two) <= 0] }
	shrunk := func(w *big.Rat) *big.Rat { return div(mul(two, w), add(mul(w, w), two)) }
	tenth := func(w *big.Rat) *big.Rat { return div(w, add(r(9, 10), div(w, r(10, 1)))) }
	ipw := func(f func(*big.Rat) *big.Rat) *big.Rat {
		return div(sum(func(i int) *big.Rat { return mul(f(weights[i]), rewards[i]) }), n)
	}
	correction := func(f func(*big.Rat) *big.Rat) *big.Rat {
		return div(sum(func(i int) *big.Rat { return mul(f(weights[i]), less(rewards[i], model[i])) }), n)
	}
	dm := div(sum(func(i int) *big.Rat { return direct[i] }), n)
	meanWeight := div(sum(func(i int) *big.Rat { return mul(one, weights[i]) }), n)
	for _, c := range []struct {
		k    logged.Estimator
		l    float64
		want *big.Rat
	}{
		{logged.IPW, 0, ipw(all)}, {logged.ClippedIPW, 2, ipw(atMost)}, {logged.SNIPW, 0, div(ipw(all), meanWeight)},
		{logged.SubGaussianIPW, 0.1, ipw(tenth)}, {logged.DM, 0, dm}, {logged.DR, 0, add(dm, correction(all))},
		{logged.ClippedDR, 2, add(dm, correction(atMost))}, {logged.SNDR, 0, add(dm, div(correction(all), meanWeight))},
		{logged.SwitchDR, 2, add(dm, correction(switched))}, {logged.DRos, 2, add(dm, correction(shrunk))},
		{logged.SubGaussianDR, 0.1, add(dm, correction(tenth))},
	} {
		want, _ := c.want.Float64()
		near(t, c.k.Name, e.Estimate(c.k.With(c.l)).Mean, want)
		if c.k.Grid != nil { // with the first of the grid it is unbiased
			unbiased := logged.IPW
			if c.k.Model {
				unbiased = logged.DR
			}
			unbounded := c.k.With(c.k.Grid[0])
			unbounded.Grid = nil
			near(t, c.k.Name+", no bound", e.Estimate(unbounded).Mean, e.Estimate(unbiased).Mean)
		}
	}
}

// SLOPE takes the last L before one differs from any before it by more than intervals explain; else L
// has the least mean squared error.
func TestChoiceOfL(t *testing.T) {
	e := evaluate(t, simulate(3, 300, 1, 4), &first{}, 1)
	for _, k := range []logged.Estimator{logged.ClippedIPW, logged.SubGaussianIPW} {
		var all []logged.Estimate
		least, last := 0, -1
		risk := func(i int) float64 { return math.Hypot(all[i].Error, all[i].Mean-all[0].Mean) }
		for i, l := range k.Grid {
			one := k.With(l)
			one.Grid = nil // then Error is its own
			x := e.Estimate(one)
			all = append(all, x)
			if risk(i) < risk(least) {
				least = i
			}
			if last == i-1 && !slices.ContainsFunc(all[:i], func(b logged.Estimate) bool {
				return math.Abs(x.Mean-b.Mean) > 1.96*x.Error+1.96*(math.Sqrt(6)-1)*b.Error
			}) {
				last = i
			}
		}
		near(t, k.Name+" by mean squared error", e.Estimate(k).Mean, all[least].Mean)
		k.SLOPE = true
		near(t, k.Name+" by SLOPE", e.Estimate(k).Mean, all[last].Mean)
		if last == 0 || last == len(all)-1 && k.Name == "clipped IPW" || least == 0 {
			t.Errorf("%s: L has no choice: %d and %d of %d", k.Name, last, least, len(all))
		}
	}
	defer func() {
		if got := recover(); got != "logged: clipped IPW has the L -1, want none below 0" {
			t.Errorf("an L below 0 panics with %v", got)
		}
	}()
	e.Estimate(logged.ClippedIPW.With(-1))
}

// records are those of a CSV file, its header included.
func records(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The Open Bandit sample of decisions at random for men, where OBD names its folder. The values are
// of the Open Bandit Pipeline.
func TestOpenBanditValues(t *testing.T) {
	if os.Getenv("OBD") == "" {
		t.Skip("OBD does not name the folder of the Open Bandit sample")
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	policy, total := &fixed{p: make([]float64, 34)}, 0.0
	for a, row := range records(t, filepath.Join(os.Getenv("OBD"), "random", "men", "item_context.csv"))[1:] {
		policy.p[a] = math.Exp(2 * number(row[2]))
		total += policy.p[a]
	}
	for a := range policy.p {
		policy.p[a] /= total
	}
	log, err := logged.ReadFile(filepath.Join(os.Getenv("OBD"), "random", "men"), logged.Format{})
	if err != nil {
		t.Fatal(err)
	}
	clicks, shown := make([]float64, 34), make([]float64, 34)
	for _, d := range log.Decisions {
		clicks[d.Chosen] += float64(d.Reward)
		shown[d.Chosen]++
	}
	e := evaluate(t, log, policy, 1)
	q := make([]float64, 34)
	for a := range q {
		q[a] = (clicks[a] + 1) / (shown[a] + 200)
	}
	for range log.Decisions {
		e.Model = append(e.Model, q)
	}
	same := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got/want-1) < tolerance) {
			t.Errorf("%s is %.12g, want %.12g", what, got, want)
		}
	}
	for _, c := range []struct {
		k         logged.Estimator
		mean, err float64
	}{
		{logged.IPW, .003183160033, .002348106}, {logged.ClippedIPW.With(2), .001042248369, 0}, {logged.SNIPW, .003041481387, 0},
		{logged.DM, .003807765118, 0}, {logged.DR, .002997045398, .002344724}, {logged.ClippedDR.With(2), .003477653384, 0},
		{logged.SNDR, .003033129563, .002240193}, {logged.SwitchDR.With(2), .003595242439, 0}, {logged.DRos.With(1), .003713877951, 0},
		{logged.SubGaussianIPW.With(0.1), .001563064674, 0}, {logged.SubGaussianDR.With(0.1), .003373125110, 0},
	} {
		got := e.Estimate(c.k)
		same(c.k.Name, got.Mean, c.mean, 1e-9)
		if c.err > 0 {
			same("the error of "+c.k.Name, got.Error, c.err, 1e-6)
		}
	}
	same("the mean weight", e.MeanWeight().Mean, 1.046582118, 1e-9)
	same("the effective number", e.Estimate(logged.IPW).Effective, 625.0372, 1e-6)
	// The other campaigns of the sample are read and estimated: a policy that is uniform has the
	// propensities of the random ones.
	for _, name := range []string{"random/women", "random/all", "bts/men", "bts/women", "bts/all"} {
		log, err := logged.ReadFile(filepath.Join(os.Getenv("OBD"), name), logged.Format{})
		if err != nil {
			t.Fatal(err)
		}
		uniform := &fixed{p: slices.Repeat([]float64{1 / float64(log.Candidates)}, log.Candidates)}
		e := evaluate(t, log, uniform, 1)
		if x := e.Estimate(logged.SNIPW); len(log.Decisions) != 10000 || !(x.High > x.Mean && x.Mean > 0) {
			t.Errorf("%s: %d decisions, estimate %v", name, len(log.Decisions), x)
		}
		if strings.HasPrefix(name, "random") {
			near(t, name, e.MeanWeight().Mean, 1)
		}
		t.Logf("%s: %d items, %d features, SNIPW of uniform choice %.5f, warnings %q", name, log.Candidates, len(log.Features), e.Estimate(logged.SNIPW).Mean, e.Diagnose().Warnings)
	}
}
