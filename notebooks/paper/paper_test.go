package paper_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The quantiles of Student's t at 0.975 are those of printed tables.
func TestIntervals(t *testing.T) {
	// 1, 2, 3: mean 2, deviation 1, t(2) = 4.303.
	i := paper.Mean95([]float64{1, 2, 3})
	near(t, "mean", i.Mean, 2, 1e-12)
	near(t, "low", i.Low, 2-4.303/math.Sqrt(3), 1e-3)
	near(t, "high", i.High, 2+4.303/math.Sqrt(3), 1e-3)
	// 10 - 2*4, 11 - 2*5, 15 - 2*6 are 2, 1, 3.
	near(t, "paired high", paper.Paired95([]float64{10, 11, 15}, []float64{4, 5, 6}, 2).High, i.High, 1e-12)
	// One value says nothing about its spread, nor do equal ones, to rounding.
	a, b := []float64{0.1, 100, 3.3}, []float64{0.1, 100 + 2e-14, 3.3}
	for name, i := range map[string]paper.Interval{
		"one": paper.Mean95([]float64{5}), "equal": paper.Mean95([]float64{0.1, 0.1, 0.1, 0.1, 0.1}), "equal to rounding": paper.Mean95([]float64{0.3, 0.1 + 0.2}),
		"differences by rounding": paper.Paired95(a, b, 1),
	} {
		if !math.IsInf(i.Low, -1) || !math.IsInf(i.High, 1) {
			t.Errorf("%s: the interval is %v", name, i)
		}
	}
	for _, c := range []struct {
		i    paper.Interval
		want string
	}{
		{paper.Interval{Mean: -123.456, Low: -151.2, High: -95.7}, "-123 [-151, -96]"},
		{paper.Interval{Mean: 1.2345, Low: 1.11, High: 1.36}, "1.23 [1.11, 1.36]"},
		{paper.Interval{Mean: 0.00123, Low: -0.00311, High: 0.00557}, "0.0012 [-0.0031, 0.0056]"},
		{paper.Interval{Mean: 2, Low: 2, High: 2}, "2.000 [2.000, 2.000]"},
		{paper.Mean95([]float64{2, 2}), "2.000 [no interval]"},
	} {
		if got := c.i.String(); got != c.want {
			t.Errorf("%#v is written %q, want %q", c.i, got, c.want)
		}
	}
}

func TestExperiments(t *testing.T) {
	names := map[string]bool{}
	for _, e := range paper.Experiments() {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		if names[e.Name] || paper.FigureOptions(e).Title == e.Name {
			t.Errorf("%s occurs twice or has no title", e.Name)
		}
		names[e.Name] = true
		if ramp := paper.FigureOptions(e).Ramp; len(ramp) != map[string]int{"toy-dropout": 4, "greed": 5}[e.Name] {
			t.Errorf("%s has the ramp %v", e.Name, ramp)
		}
		for _, entry := range e.Entries {
			if _, err := entry.Algorithm.New(e.Problem.Spec(), []uint64{1}); err != nil && !paper.IsMusic(e) {
				t.Errorf("%s, %s: %v", e.Name, entry.Name, err)
			}
			// The learning rates and the networks stand in the literal.
			if c, ok := entry.Algorithm.(pgcr.Config); ok && (c.Hidden == nil || c.ActorRate == 0 || c.CriticRate == 0 || c.BatchSize == 0) {
				t.Errorf("%s, %s leaves settings to defaults: %+v", e.Name, entry.Name, c)
			}
		}
		if scale := paper.UsualScale(e); paper.IsMusic(e) != (scale < 1) {
			t.Errorf("%s is played at scale %v", e.Name, scale)
		}
	}
}

// Real data has no true probabilities; what is no music stays as it is.
func TestWithData(t *testing.T) {
	source := kkbox.Source{Folder: "data"}
	for _, e := range []sim.Experiment{paper.MusicStateless(), paper.MusicState()} {
		changed := paper.WithData(e, source)
		if len(changed.Entries) != len(e.Entries)-1 || slices.ContainsFunc(changed.Entries, func(n sim.Entry) bool { return n.Name == "true probabilities" }) {
			t.Errorf("%s on real data has %d entries", e.Name, len(changed.Entries))
		}
	}
	if p := paper.WithData(paper.MusicState(), source).Problem.(kkbox.MusicState); p.Source != source {
		t.Errorf("the source is %+v", p.Source)
	}
	if e := paper.WithData(paper.Linear(), source); e.Problem != (envs.Linear{}) || len(e.Entries) != len(paper.Linear().Entries) {
		t.Errorf("toy-linear on other data is %+v", e)
	}
	if got := []int{paper.Episode(5_000_000), paper.Episode(50_000), paper.Episode(10)}; !slices.Equal(got, []int{10_000, 2_500, 1}) {
		t.Errorf("episodes are %v", got)
	}
}

func TestLargestSum(t *testing.T) {
	envtest.TestAlgorithm(t, paper.LargestSum{}, envs.Bernoulli{Candidates: 4, Dim: 3})
	policy, err := paper.LargestSum{}.New(envs.Spec{Candidates: 3, Dim: 2}, []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	action := []int{-1}
	obs := envs.Observation{Runs: 1, Candidates: 3, Dim: 2, Contexts: []float32{0.9, 0, 0.5, 0.6, 9, 9}, Sizes: []int32{2}}
	if err := policy.Act(action, obs); err != nil || action[0] != 1 {
		t.Errorf("of sums 0.9 and 1.1, and 18 beyond the set, it chooses %v, %v", action, err)
	}
}

// Of two scales the store serves the one that has more entries, and of equals the
// larger one; other settings are left out.
func TestStored(t *testing.T) {
	store := sim.Store{Dir: t.TempDir()}
	e := paper.Linear()
	if found, err := paper.Stored(store, e); err != nil || found != nil {
		t.Errorf("an empty store has %v, %v", found, err)
	}
	e.Runs = 2
	e.Entries = slices.DeleteFunc(e.Entries, func(n sim.Entry) bool { return n.Name != "random" && n.Name != "Lin-UCB" })
	play := func(steps int, entries []sim.Entry) {
		t.Helper()
		part := e
		part.Steps, part.Entries = steps, entries
		if _, err := part.Run(t.Context(), store, paper.Options()); err != nil {
			t.Fatal(err)
		}
	}
	steps := func() (all []int) {
		found, err := paper.Stored(store, e)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			all = append(all, r.Steps)
		}
		return all
	}
	play(20, e.Entries)
	play(40, e.Entries[:1])
	if got := steps(); !slices.Equal(got, []int{20, 20}) {
		t.Errorf("the store serves results of %v steps", got)
	}
	play(40, e.Entries)
	if got := steps(); !slices.Equal(got, []int{40, 40}) {
		t.Errorf("the store serves results of %v steps", got)
	}
	if found := paper.Select(must(paper.Stored(store, e)), "random"); len(found) != 1 || len(paper.Without(found, "random")) != 0 {
		t.Errorf("of random there are %d", len(found))
	}
	// What another program made of the same streams comes after them.
	peers, other := sim.Store{Dir: t.TempDir()}, e
	other.Entries = []sim.Entry{{Name: "peer", Algorithm: paper.LargestSum{}}}
	found := must(paper.Stored(store, e))
	for _, c := range []struct {
		steps, want int
		check       string
	}{{20, 2, ""}, {40, 3, ""}, {40, 3, "other rewards"}} {
		other.Steps = c.steps
		must(other.Run(t.Context(), peers, paper.Options()))
		if c.check != "" {
			found[0].Check += "1"
		}
		all, err := paper.WithPeers(peers, found)
		if c.check != "" && (err == nil || !strings.Contains(err.Error(), c.check)) || c.check == "" && (err != nil || len(all) != c.want || all[len(all)-1].Entry != []string{"random", "peer"}[c.want-2]) {
			t.Errorf("%+v: %d results, %v", c, len(all), err)
		}
	}

	// Results of two problems are not shown together.
	paths := must(filepath.Glob(filepath.Join(store.Dir, e.Name, "random-*.csv")))
	for _, path := range paths {
		text, _, _ := strings.Cut(string(must(os.ReadFile(path))), "# end: ")
		text = strings.Replace(text, "# check: reward ", "# check: reward 1", 1)
		text += fmt.Sprintf("# end: %d rows, sha256 %x\n", strings.Count(text, "\n")-12, sha256.Sum256([]byte(text)))
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := paper.Stored(store, e); found != nil || err == nil || !strings.Contains(err.Error(), "of different code") {
		t.Errorf("%d results of two problems, %v", len(found), err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Every algorithm has equally many tries, all different and valid, and none on a
// reported seed; the finals have the best of each.
func TestTuning(t *testing.T) {
	for _, e := range paper.Experiments() {
		round := paper.Tuning(e)
		if err := round.Validate(); err != nil || round.Seed == e.Seed {
			t.Errorf("%s: %v, seed %d", round.Name, err, round.Seed)
		}
		settings := map[string]bool{}
		var first []*sim.Result
		for i, n := range round.Entries {
			text, _ := json.Marshal(n.Algorithm)
			settings[fmt.Sprintf("%T %s", n.Algorithm, text)] = true
			if _, err := n.Algorithm.New(envs.Spec{Candidates: 2, Dim: 3}, []uint64{1}); err != nil {
				t.Errorf("%s, %s: %v", round.Name, n.Name, err)
			}
			first = append(first, &sim.Result{Entry: n.Name, Runs: 1, Steps: 1, Checkpoints: []int{1}, Reward: [][]float64{{float64(i % 32)}}, Regret: [][]float64{{float64(-i % 32)}}})
		}
		if len(settings) != len(round.Entries) || len(round.Entries)%32 != 0 {
			t.Errorf("%s has %d settings of %d entries", round.Name, len(settings), len(round.Entries))
		}
		finals := paper.Finals(round, first)
		if len(finals.Entries) != len(round.Entries)/4 || finals.Steps != e.Steps/5*5 || finals.Seed == e.Seed || finals.Seed == round.Seed {
			t.Errorf("%s: %d entries, %d steps, seed %d", finals.Name, len(finals.Entries), finals.Steps, finals.Seed)
		}
		some := round
		some.Entries = round.Entries[len(round.Entries)-32:] // of one algorithm, the last
		if few, all := paper.Finals(some, first[len(first)-32:]), len(finals.Entries)-8; !reflect.DeepEqual(few.Entries, finals.Entries[all:]) {
			t.Errorf("%s: of one algorithm alone there are other finals: %v", finals.Name, few.Entries)
		}
		for _, n := range finals.Entries {
			text, _ := json.Marshal(n.Algorithm)
			name, decays := strings.CutSuffix(n.Name, "+decay")
			if number := name[len(name)-2:]; number < "25" || decays && number < "29" || decays != strings.Contains(string(text), "Decay") {
				t.Errorf("%s has %s, %s", finals.Name, n.Name, text)
			}
		}
		last := *first[31] // of the first algorithm the last try, better than the others
		last.Entry += "+decay"
		header, rows := paper.TuningTable(first[:32], []*sim.Result{&last})
		if len(rows) != 1 || len(rows[0]) != len(header) || rows[0][0] != last.Entry || rows[0][2] != "-31" || rows[0][3] != "-15" {
			t.Errorf("%s: the table is %q", round.Name, rows)
		}
	}
}

// The studies are played on seeds that no other experiment has. Every change of the paper's
// setting is one.
func TestStudies(t *testing.T) {
	studies, settings, count := paper.Studies(), map[string]bool{}, 0
	for name, study := range studies {
		for _, e := range study {
			if err := e.Validate(); err != nil || e.Seed == paper.Linear().Seed || !strings.HasPrefix(e.Name, name) {
				t.Errorf("%s of %s, seed %d: %v", e.Name, name, e.Seed, err)
			}
			for _, n := range e.Entries {
				if _, err := n.Algorithm.New(e.Problem.Spec(), []uint64{1}); err != nil {
					t.Errorf("%s, %s: %v", e.Name, n.Name, err)
				}
				if text, _ := json.Marshal(n.Algorithm); e.Name == "ablation-mixed" && strings.HasPrefix(n.Name, "paper") {
					settings[string(text)] = true
					count++
				}
			}
		}
	}
	if len(settings) != count || count < 8 {
		t.Errorf("the paper's setting and %d changes of it are %d settings", count-1, len(settings))
	}
}

// Of 10 uniform features u.c has the variance 1/12, at lambda 0. At lambda 1 the bump has about
// the mean of exp(-z^2/2) with a normal z, 1/sqrt(2), and the variance 1/sqrt(3) - 1/2. With
// r = u.v the product xy has the mean r and the variance 1 + r^2 - 1.2 sum u_i^2 v_i^2.
func TestFamily(t *testing.T) {
	u, v, r, fourth := envs.Direction(1, "problem/linear part", 10), envs.Direction(1, "problem/bump", 10), 0.0, 0.0
	for i := range u {
		r += u[i] * v[i]
		fourth += u[i] * u[i] * v[i] * v[i]
	}
	for _, c := range []struct {
		problem        paper.Family
		mean, variance float64
	}{
		{paper.Family{}, math.NaN(), 1. / 12}, {paper.Family{Lambda: 1}, 1 / math.Sqrt2, 1/math.Sqrt(3) - 0.5},
		{paper.Family{Lambda: 1, Product: true}, r / math.Sqrt(12), (1 + r*r - 1.2*fourth) / 12},
	} {
		envtest.TestProblem(t, c.problem)
		env, expected, sum, squares := must(c.problem.New([]uint64{1})), make([]float64, 5), 0.0, 0.0
		const steps = 4000
		for range steps {
			env.(envs.Oracle).ExpectedRewards(expected)
			for _, x := range expected {
				sum, squares = sum+x/(5*steps), squares+x*x/(5*steps)
			}
			must(env.Step([]int{0}))
		}
		near(t, fmt.Sprint("the variance of ", c.problem), squares-sum*sum, c.variance, 0.06*c.variance)
		if !math.IsNaN(c.mean) {
			near(t, fmt.Sprint("the mean of ", c.problem), sum, c.mean, 0.02)
		}
	}
}
