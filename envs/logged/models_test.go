package logged_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
	"github.com/contextrec/contextrec/pgcr"
)

// A fit is the best one where its prediction errors are uncorrelated with every feature.
func TestModelsSolveTheirEquations(t *testing.T) {
	log := simulate(1, 300, 1, 2)
	for name, model := range map[string]logged.Model{"ridge": logged.Ridge(1e-9), "logistic": logged.Logistic(1e-9)} {
		predict, err := model(context.Background(), log)
		if err != nil {
			t.Fatal(err)
		}
		var sums [3]float64 // with x, g and 1
		for _, d := range log.Decisions {
			q, err := predict(d)
			if err != nil {
				t.Fatal(err)
			}
			for c, qc := range q {
				if c != d.Chosen {
					continue
				}
				off := float64(d.Reward) - qc
				for j, x := range []float32{d.Contexts[2*c], d.Contexts[2*c+1], 1} {
					sums[j] += off * float64(x)
				}
			}
		}
		for j, s := range sums {
			if math.Abs(s) > 1e-5 {
				t.Errorf("%s: the errors times feature %d sum to %v", name, j, s)
			}
		}
	}
	singular := table([]float64{1, 0, 1}, []float64{1, 1, 1}, "")
	for i := range singular.Decisions {
		singular.Decisions[i].Contexts = []float32{1, 1}
	}
	_, same := logged.Ridge(0)(context.Background(), singular)
	_, few := table([]float64{1, 0}, []float64{1, 1}, "").CrossFit(context.Background(), logged.Ridge(1))
	_, none := logged.Values(baselines.Random{}, 1, 1)(context.Background(), log)
	for want, err := range map[string]error{"the model cannot be fitted": same, "2 users (decisions, where it has none), want 3": few, "has no Values": none} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// counter values every candidate with the number of decisions that it has learned.
type counter struct {
	first
	learned float64
}

func (c *counter) New(envs.Spec, []uint64) (envs.Policy, error) { return &counter{}, nil }
func (c *counter) Update(envs.Transition) error                 { c.learned++; return nil }
func (c *counter) Values(dst []float64, _ envs.Observation) error {
	for i := range dst {
		dst[i] = c.learned
	}
	return nil
}

// A prediction does not know the rewards of its user, and knows those of two thirds of the others.
func TestCrossFit(t *testing.T) {
	fit := func(log *logged.Log, model logged.Model) [][]float64 {
		q, err := log.CrossFit(context.Background(), model)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	log := simulate(1, 30, 2, 0)
	before := fit(log, logged.Ridge(1))
	log.Decisions[10].Reward++ // user 5, with decision 11
	for i, q := range fit(log, logged.Ridge(1)) {
		if want := i/2%3 == 5%3; slices.Equal(q, before[i]) != want {
			t.Errorf("decision %d: the prediction is unchanged: %v, want %v", i, !want, want)
		}
	}
	for i, q := range fit(log, logged.Values(&counter{}, 2, 1)) {
		if len(q) != len(log.Decisions[i].Contexts)/2 || q[0] != 2*40 {
			t.Errorf("predictions %v, want %d of 80", q, len(log.Decisions[i].Contexts)/2)
		}
	}
}

// Without propensities the direct method is left, without an interval, and a warning says so.
func TestNoPropensities(t *testing.T) {
	log := simulate(1, 50, 1, 0)
	for i := range log.Decisions {
		log.Decisions[i].Propensity = 0
	}
	e := evaluate(t, log, &first{}, 1)
	var err error
	if e.Model, err = log.CrossFit(context.Background(), logged.Ridge(1)); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, q := range e.Model {
		sum += q[0] / 50
	}
	// Estimated from the choices, they are near those of the law, and marked.
	leaning := simulate(1, 2000, 1, 2)
	estimated, err := leaning.EstimatePropensities(context.Background(), pgcr.Config{Hidden: []int{}, ActorRate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range estimated.Decisions {
		if p := leaning.Decisions[i].Propensity; math.Abs(d.Propensity-p) > 0.06 {
			t.Errorf("decision %d has the propensity %.3f, estimated as %.3f", i, p, d.Propensity)
		}
	}
	if got := evaluate(t, estimated, &first{}, 1).Diagnose().Warnings; len(got) != 1 || !strings.HasPrefix(got[0], "the propensities are estimated") {
		t.Errorf("warnings %q", got)
	}
	dm, warnings := e.Estimate(logged.DM), e.Diagnose().Warnings
	near(t, "DM", dm.Mean, sum)
	if !math.IsInf(dm.High-dm.Low, 1) || !math.IsNaN(e.Estimate(logged.SNIPW).Mean) || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "the log has no propensities") {
		t.Errorf("DM %v, SNIPW %v, warnings %q", dm, e.Estimate(logged.SNIPW), warnings)
	}
}

func TestDiagnose(t *testing.T) {
	rare := table(slices.Repeat([]float64{1}, 200), slices.Repeat([]float64{0.5}, 200), "")
	rare.Decisions[0].Propensity = 1e-4
	wrong := table(slices.Repeat([]float64{1, 0}, 100), slices.Repeat([]float64{1}, 200), "")
	zero := table(slices.Repeat([]float64{0, 1}, 100), slices.Repeat([]float64{0.5}, 200), "")
	alike := table(slices.Repeat([]float64{1, 0}, 100), slices.Repeat([]float64{1e-3, 1e-3 * (1 + 1e-8)}, 100), "")
	even, err := logged.Evaluate(t.Context(), alike, &fixed{p: []float64{0.5, 0.5}}, 1)
	if err != nil || !strings.HasPrefix(fmt.Sprint(even.Diagnose().Warnings), "[all weights are 500 and not 1") {
		t.Errorf("%v, warnings %q", err, even.Diagnose().Warnings)
	}
	few := table([]float64{1, 0, 1, 0}, []float64{0.5, 0.5, 0.5, 0.5}, "")
	for i, c := range []struct {
		log  *logged.Log
		want []string
	}{
		{table(slices.Repeat([]float64{1, 0}, 100), slices.Repeat([]float64{0.5}, 200), ""), nil},
		{rare, []string{"1 effective decisions", "1 % of the decisions have 98 % of the weighted rewards"}},
		{zero, []string{"0 of the log's choices"}},
		{wrong, []string{"the mean weight is 0.500 [0.425, 0.575], which leaves out 1"}},
		{few, []string{"2 effective decisions of 4", "2 of the log's choices"}},
	} {
		d := evaluate(t, c.log, &first{}, 1).Diagnose()
		if len(d.Warnings) != len(c.want) {
			t.Errorf("%d: warnings %q, want %q", i, d.Warnings, c.want)
			continue
		}
		for k, want := range c.want {
			if !strings.HasPrefix(d.Warnings[k], want) {
				t.Errorf("%d: warning %q, want %s", i, d.Warnings[k], want)
			}
		}
	}
	// A log that never draws, and a policy that does: weights have no spread, so the mean has no interval.
	half := evaluate(t, wrong, &fixed{p: []float64{0.5, 0.5}}, 1)
	if got := half.Diagnose().Warnings; len(got) != 1 || !strings.HasPrefix(got[0], "all weights are 0.5 and not 1") {
		t.Errorf("of equal weights: warnings %q", got)
	}
	d := evaluate(t, wrong, &first{}, 1).Diagnose()
	near(t, "the missing share", d.Missing, 0.5)
	near(t, "the largest weight", d.Largest, 1)
	near(t, "the share of the top", d.Top, 0.02)
}

// All of 20 policies are equally good. Their intervals hold the truth at the same time.
func TestTogether(t *testing.T) {
	const logs = 120
	var single, together float64
	for seed := range uint64(logs) {
		log := simulate(seed, 100, 1, 0)
		var all []logged.Estimate
		for k := range 20 {
			// Contexts have the same law at all places: policy k chooses the places by the number of the decision.
			all = append(all, evaluate(t, log, &coded{k: k}, 1).Estimate(logged.SNIPW))
		}
		const truth = 1.0 / 4
		for k, estimates := range [][]logged.Estimate{all, logged.Together(all...)} {
			if !slices.ContainsFunc(estimates, func(e logged.Estimate) bool { return truth < e.Low || e.High < truth }) {
				*[]*float64{&single, &together}[k] += 1.0 / logs
			}
		}
	}
	t.Logf("all 20 intervals hold the truth in a share of %.3f, together %.3f", single, together)
	if single > 0.85 || together < 0.92 {
		t.Error("intervals are too long alone, or too short together")
	}
}

// coded chooses the first or the second candidate, by a bit of the first feature.
type coded struct {
	chooser
	k int
}

func (p *coded) Probabilities(dst []float64, obs envs.Observation) error {
	clear(dst)
	dst[int(obs.Contexts[0]*(1<<20))>>p.k&1] = 1
	return nil
}

// inclined chooses by a softmax of x, as simulate does.
type inclined struct {
	chooser
	lean float64
}

func (p *inclined) Probabilities(dst []float64, obs envs.Observation) error {
	clear(dst)
	total := 0.0
	for c := range obs.Size(0) {
		dst[c] = math.Exp(p.lean * float64(obs.Context(0, c)[0]))
		total += dst[c]
	}
	for c := range dst {
		dst[c] /= total
	}
	return nil
}

// Marginal weights have the same mean as ordinary ones, and estimates vary less from log to log.
func TestMarginal(t *testing.T) {
	const logs = 150
	for lean, logging := range map[float64]envs.Policy{0: nil, 1.5: &inclined{lean: 1.5}} {
		var sum, squares [2]float64
		var all []logged.Estimate
		for seed := range uint64(logs) {
			log := simulate(seed, 60, 4, lean)
			marginal, err := log.Marginal(context.Background(), logging, 10)
			if err != nil {
				t.Fatal(err)
			}
			for k, l := range []*logged.Log{log, marginal} {
				all = append(all, evaluate(t, l, &inclined{lean: -4}, 1).Estimate(logged.IPW))
				x := all[len(all)-1].Mean
				sum[k], squares[k] = sum[k]+x/logs, squares[k]+x*x/logs
			}
		}
		held := [2]float64{}
		for i, x := range all {
			if x.Low <= sum[0] && sum[0] <= x.High {
				held[i%2] += 1.0 / logs
			}
		}
		sd := [2]float64{math.Sqrt(squares[0] - sum[0]*sum[0]), math.Sqrt(squares[1] - sum[1]*sum[1])}
		t.Logf("propensities of lean %v: ordinary %.4f, sd %.4f; marginal %.4f, sd %.4f; their intervals hold the mean in shares of %.3f", lean, sum[0], sd[0], sum[1], sd[1], held)
		if math.Abs(sum[0]-sum[1]) > 0.004 || sd[1] > sd[0] || held[1] < 0.92 {
			t.Errorf("the means differ, the marginal sd is not smaller, or marginal intervals are too short")
		}
	}
	log := simulate(1, 60, 4, 0)
	same, err := log.Marginal(context.Background(), nil, 1)
	if err != nil || len(same.Warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, same.Warnings)
	}
	// A policy that is the one of the log has weights of 1.
	leaning := simulate(1, 60, 4, 1)
	if marginal, err := leaning.Marginal(context.Background(), &inclined{lean: 1}, 3); err != nil {
		t.Fatal(err)
	} else if e := evaluate(t, marginal, &inclined{lean: 1}, 1); slices.ContainsFunc(e.Weight, func(w float64) bool { return math.Abs(w-1) > 1e-9 }) {
		t.Error("weights of the log's own policy are not 1")
	}
	if _, err := leaning.Marginal(context.Background(), nil, 1); err == nil || !strings.Contains(err.Error(), "the policy that made the log is wanted") {
		t.Errorf("the error is %v", err)
	}
	items, err := table(make([]float64, 9), slices.Repeat([]float64{0.5}, 9), "").Marginal(context.Background(), nil, 1)
	if err != nil || fmt.Sprint(items.Warnings) != "[decisions offer the same items: weights are not marginal, for sets cannot be resampled]" {
		t.Errorf("%v, warnings %q", err, items.Warnings)
	}
}
