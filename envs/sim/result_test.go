package sim_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

// sample is a result with numbers that are hard to print.
func sample() *sim.Result {
	return &sim.Result{
		Experiment:  "lesson",
		Entry:       "ε = 0.1",
		Problem:     `sim_test.field {"A":"#,\""}`,
		Algorithm:   "sim_test.student {}",
		Runs:        2,
		Steps:       3,
		Seed:        math.MaxUint64,
		Version:     "v1",
		Check:       "reward 1",
		Checkpoints: []int{1, 2, 3},
		Reward:      [][]float64{{0.1, 0.30000000000000004, 1e300}, {math.Copysign(0, -1), -5e-324, 1.0 / 3}},
		Regret:      [][]float64{{0, 1, 2}, {3, 4, 5}},
	}
}

// sampleText is sample as the format says, written by hand but for the hash.
const sampleText = `# contextrec result: 3
# experiment: lesson
# entry: ε = 0.1
# problem: sim_test.field {"A":"#,\""}
# algorithm: sim_test.student {}
# runs: 2
# steps: 3
# seed: 18446744073709551615
# version: v1
# backend: 
# check: reward 1
run,step,reward,regret
0,1,0.1,0
0,2,0.30000000000000004,1
0,3,1e+300,2
1,1,-0,3
1,2,-5e-324,4
1,3,0.3333333333333333,5
`

// seal adds the last line to a text.
func seal(text string) string {
	_, rows, _ := strings.Cut(text, "\nrun,step,reward,regret\n")
	return text + fmt.Sprintf("# end: %d rows, sha256 %x\n", strings.Count(rows, "\n"), sha256.Sum256([]byte(text)))
}

func TestResultText(t *testing.T) {
	if text := sample().Format(); text != seal(sampleText) {
		t.Errorf("written:\n%s\nwant:\n%s", text, seal(sampleText))
	}
	blind := sample()
	blind.Regret = nil
	for _, want := range []*sim.Result{sample(), blind} {
		have, err := sim.ReadResult(want.Format())
		// Negative zero is equal to zero, hence the bits.
		if err != nil || !reflect.DeepEqual(have, want) || !math.Signbit(have.Reward[1][0]) {
			t.Errorf("read %+v with error %v, want %+v", have, err, want)
		}
	}
}

// Every beginning of a result and every result with a changed bit is refused.
func TestReadDamaged(t *testing.T) {
	text := seal(sampleText)
	for n := range text {
		if r, err := sim.ReadResult(text[:n]); err == nil || r != nil {
			t.Errorf("the first %d bytes: result %+v, error %v", n, r, err)
		}
	}
	for i := range 8 * len(text) {
		damaged := []byte(text)
		damaged[i/8] ^= 1 << (i % 8)
		if r, err := sim.ReadResult(string(damaged)); err == nil {
			t.Errorf("with bit %d of byte %d changed it is a result: %+v", i%8, i/8, r)
		}
	}
}

// Texts whose hash is right and which are wrong all the same.
func TestReadForeign(t *testing.T) {
	for _, test := range []struct{ old, new string }{
		{"result: 3", "result: 2"},
		{"# entry: ", "# candidate: "},
		{"# runs: 2", "# runs: two"},
		{"# runs: 2", "# runs: 1000000000"},
		{"# runs: 2", "# runs: 3"},
		{"# runs: 2", "# runs: 1"},
		{"# steps: 3", "# steps: 4"},
		{"# steps: 3", "# steps: 03"},
		{"# seed: 18446744073709551615", "# seed: -1"},
		{"run,step", "step,run"},
		{"0,2,0.30000000000000004,1\n", ""},
		{"1,3,0.3333333333333333,5\n", ""},
		{"0,2,0.30000000000000004,1", "0,2,0.300000000000000044,1"},
		{"0,2,0.30000000000000004,1", "0,2,0.30000000000000004,"},
		{"0,2,0.30000000000000004,1", "0,2,0.30000000000000004"},
		{"0,2,0.30000000000000004,1", "0,2,x,1"},
		{"0,2,0.30000000000000004,1", "0,4,0.30000000000000004,1"},
		{"0,3,1e+300,2\n1,1,-0,3\n", "1,1,-0,3\n0,3,1e+300,2\n"},
		{"-5e-324", "1e400"},
	} {
		if r, err := sim.ReadResult(seal(strings.Replace(sampleText, test.old, test.new, 1))); err == nil {
			t.Errorf("%q for %q: a result: %+v", test.new, test.old, r)
		}
	}
}

// What is read is written again as the same bytes.
func FuzzReadResult(f *testing.F) {
	f.Add(seal(sampleText), true)
	f.Add(sampleText, false)
	f.Add(strings.ReplaceAll(sampleText, "# runs: 2", "# runs: 100000"), false)
	f.Add("# contextrec result: 3\n", false)
	f.Fuzz(func(t *testing.T, text string, sealed bool) {
		if !sealed {
			text = seal(text) // else the hash keeps most texts from being looked at
		}
		if r, err := sim.ReadResult(text); err == nil && r.Format() != text {
			t.Errorf("read\n%s\nand wrote\n%s", text, r.Format())
		}
	})
}

func TestSummary(t *testing.T) {
	r := sim.Result{Experiment: "lesson", Entry: "a", Runs: 4, Steps: 10,
		Reward: [][]float64{{0, 9}, {0, 2}, {0, 4}, {0, 1}}, Regret: [][]float64{{9}, {4}, {2}, {1}}}
	near := func(have, want sim.Statistics) bool {
		h, w := reflect.ValueOf(have), reflect.ValueOf(want)
		for i := range h.NumField() {
			if x, y := h.Field(i).Float(), w.Field(i).Float(); !(math.Abs(x-y) < 1e-6) && x != y {
				return false
			}
		}
		return true
	}
	// By hand: the deviation is sqrt(38/3), its error half of that, t(0.975, 3) 3.182446.
	want := sim.Statistics{Mean: 4, Median: 3, Low: 4 - 5.663205, High: 4 + 5.663205, Min: 1, Max: 9}
	if s := r.Summary(); !near(s.Regret, want) {
		t.Errorf("regret %+v, want %+v", s.Regret, want)
	}
	want = sim.Statistics{Mean: 0.4, Median: 0.3, Low: 0.4 - 0.5663205, High: 0.4 + 0.5663205, Min: 0.1, Max: 0.9}
	if s := r.Summary(); !near(s.Reward, want) {
		t.Errorf("reward %+v, want %+v", s.Reward, want)
	}
	if have, want := r.String(), "lesson, a: 4 runs of 10 steps, regret 4 [-1.663, 9.663], reward a step 0.4 [-0.1663, 0.9663]"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
	one := sim.Result{Experiment: "lesson", Entry: "a", Runs: 1, Steps: 10, Reward: [][]float64{{5}}}
	want = sim.Statistics{Mean: 0.5, Median: 0.5, Low: math.Inf(-1), High: math.Inf(1), Min: 0.5, Max: 0.5}
	if s := one.Summary(); !near(s.Reward, want) || !math.IsNaN(s.Regret.Mean) {
		t.Errorf("one run without an Oracle: %+v", s)
	}
	three := sim.Result{Runs: 3, Steps: 10, Reward: [][]float64{{3}, {3}, {3 + 1e-15}}}
	want = sim.Statistics{Mean: 0.3, Median: 0.3, Low: math.Inf(-1), High: math.Inf(1), Min: 0.3, Max: 0.3}
	if s := three.Summary(); !near(s.Reward, want) {
		t.Errorf("three runs that are equal to rounding: %+v", s)
	}
	if have, want := one.String(), "lesson, a: 1 runs of 10 steps, reward a step 0.5 [-Inf, +Inf]"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
}

func TestLoad(t *testing.T) {
	store, e := sim.Store{Dir: t.TempDir()}, lesson()
	_, loadErr := store.Load(e, e.Entries[0])
	_, resultsErr := store.Results(e.Name)
	if !errors.Is(loadErr, fs.ErrNotExist) || !errors.Is(resultsErr, fs.ErrNotExist) {
		t.Errorf("before the run: errors %v and %v", loadErr, resultsErr)
	}
	played := run(t, e, store.Dir, sim.Options{})
	for i, n := range e.Entries {
		if r, err := store.Load(e, n); err != nil || !reflect.DeepEqual(r, played[i]) {
			t.Errorf("%s: loaded %+v with error %v, played %+v", n.Name, r, err, played[i])
		}
	}
	// Another setting is another file, and not there.
	for name, change := range map[string]func(e *sim.Experiment){
		"Seed":      func(e *sim.Experiment) { e.Seed++ },
		"Steps":     func(e *sim.Experiment) { *e = e.Scale(2) },
		"Runs":      func(e *sim.Experiment) { e.Runs++ },
		"Problem":   func(e *sim.Experiment) { e.Problem = field{Mute: true} },
		"Algorithm": func(e *sim.Experiment) { e.Entries[0].Algorithm = student{Rate: 0.02} },
		"Name":      func(e *sim.Experiment) { e.Entries[0].Name = "Slow-Student" },
	} {
		other := lesson()
		change(&other)
		if _, err := store.Load(other, other.Entries[0]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	// Results has all scales, and ignores what is no result.
	run(t, e.Scale(0.1), store.Dir, sim.Options{})
	if err := os.WriteFile(filepath.Join(store.Dir, "lesson", "figure.png"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if all, err := store.Results("lesson"); err != nil || len(all) != 4 {
		t.Errorf("%d results, error %v", len(all), err)
	}
}

// A file that is not what its name says is refused by name, the others are
// returned, and Run leaves it as it is.
func TestRefused(t *testing.T) {
	dir, e := t.TempDir(), lesson()
	run(t, e, dir, sim.Options{})
	whole := files(t, dir)
	slow, quick := names(whole)[1], names(whole)[0]
	for name, content := range map[string]string{
		"empty":      "",
		"foreign":    "run,step\n1,2\n",
		"cut off":    whole[slow][:len(whole[slow])/2],
		"a digit":    strings.Replace(whole[slow], "\n3,2,", "\n3,2,1", 1),
		"another's":  whole[quick],
		"a part":     sample().Format(),
		"no rewards": seal(strings.SplitAfter(whole[slow], "regret\n")[0]),
	} {
		path, store := filepath.Join(dir, slow), sim.Store{Dir: dir}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		results, runErr := e.Run(t.Context(), store, sim.Options{Workers: 1})
		listed, listErr := store.Results("lesson")
		if len(results) != 1 || len(listed) != 1 || results[0].Entry != e.Entries[1].Name || listed[0].Entry != e.Entries[1].Name {
			t.Errorf("%s: Run returned %d results, Results %d", name, len(results), len(listed))
		}
		_, loadErr := store.Load(e, e.Entries[0])
		for _, err := range []error{runErr, listErr, loadErr} {
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove the file") {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != content {
			t.Errorf("%s: the file has changed", name)
		}
	}
}

func TestDifferences(t *testing.T) {
	got := sim.Differences([]float64{3, 0.3, 1e9, 5}, []float64{2, 0.1 + 0.2, 1e9 + 1e-4, 5}, 1)
	if want := []float64{1, 0, 0, 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("differences are %v, want %v: one by rounding is none", got, want)
	}
	if got := sim.Differences([]float64{10}, []float64{4}, 2); got[0] != 2 {
		t.Errorf("10 - 2*4 is %v", got[0])
	}
}
