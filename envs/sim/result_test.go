package sim_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

// sample is a result with numbers that are hard to print.
func sample() *sim.Result {
	return &sim.Result{
		Experiment:  "lesson",
		Contender:   "ε = 0.1",
		Problem:     `sim_test.field {"A":"#,\""}`,
		Algorithm:   "sim_test.student {}",
		Runs:        2,
		Steps:       30,
		Seed:        math.MaxUint64,
		Version:     "v1",
		Checkpoints: []int{1, 10, 30},
		Reward:      [][]float64{{0.1, 0.30000000000000004, 1e300}, {math.Copysign(0, -1), -5e-324, 1.0 / 3}},
		Regret:      [][]float64{{0, 1, 2}, {3, 4, 5}},
	}
}

// sampleText is sample as the format says, written by hand but for the hash.
const sampleText = `# contextrec result: 1
# experiment: lesson
# contender: ε = 0.1
# problem: sim_test.field {"A":"#,\""}
# algorithm: sim_test.student {}
# runs: 2
# steps: 30
# seed: 18446744073709551615
# version: v1
# backend: 
run,step,reward,regret
0,1,0.1,0
0,10,0.30000000000000004,1
0,30,1e+300,2
1,1,-0,3
1,10,-5e-324,4
1,30,0.3333333333333333,5
`

// seal adds the last line to a text.
func seal(text string) string {
	_, rows, _ := strings.Cut(text, "\nrun,step,reward,regret\n")
	return text + fmt.Sprintf("# end: %d rows, sha256 %x\n", strings.Count(rows, "\n"), sha256.Sum256([]byte(text)))
}

func write(t testing.TB, r *sim.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestResultText(t *testing.T) {
	if text := write(t, sample()); text != seal(sampleText) {
		t.Errorf("written:\n%s\nwant:\n%s", text, seal(sampleText))
	}
	blind := sample()
	blind.Regret = nil
	for _, want := range []*sim.Result{sample(), blind} {
		have, err := sim.ReadResult(strings.NewReader(write(t, want)))
		if err != nil {
			t.Fatal(err)
		}
		// Negative zero is equal to zero, hence the bits.
		if !reflect.DeepEqual(have, want) || !math.Signbit(have.Reward[1][0]) {
			t.Errorf("read %+v, want %+v", have, want)
		}
	}
}

// Every beginning of a result and every result with a changed bit is refused,
// with the line.
func TestReadDamaged(t *testing.T) {
	text := write(t, sample())
	for n := range text {
		if r, err := sim.ReadResult(strings.NewReader(text[:n])); err == nil {
			t.Errorf("the first %d bytes are a result: %+v", n, r)
		} else if !strings.Contains(err.Error(), "line ") {
			t.Errorf("the first %d bytes: error without a line: %v", n, err)
		}
	}
	for i := range 8 * len(text) {
		damaged := []byte(text)
		damaged[i/8] ^= 1 << (i % 8)
		if r, err := sim.ReadResult(bytes.NewReader(damaged)); err == nil {
			t.Errorf("with bit %d of byte %d changed it is a result: %+v", i%8, i/8, r)
		}
	}
}

// Texts whose hash is right and which are wrong all the same.
func TestReadForeign(t *testing.T) {
	if _, err := sim.ReadResult(strings.NewReader(seal(sampleText))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ old, new, text string }{
		{"result: 1", "result: 2", "line 1: not a result file"},
		{"# contender: ", "# candidate: ", `line 3: want "# contender: ..."`},
		{"# runs: 2", "# runs: two", "line 6"},
		{"# runs: 2", "# runs: 0", "line 6"},
		{"# runs: 2", "# runs: 1000000000", "line 6"},
		{"# runs: 2", "# runs: 3", "run 2 of 3 is missing"},
		{"# runs: 2", "# runs: 1", "line 15: run 1 of 1"},
		{"# steps: 30", "# steps: 31", "30 of 31 steps"},
		{"# steps: 30", "# steps: 030", "line 7: the file is damaged"},
		{"# seed: 18446744073709551615", "# seed: -1", "line 8"},
		{"run,step", "step,run", "line 11: the file is damaged"},
		{"0,10,0.30000000000000004,1\n", "", "line 15: run 1 has other steps"},
		{"1,10,-5e-324,4\n", "", "line 16: run 1 has other steps"},
		{"1,30,0.3333333333333333,5\n", "", "run 1 has 2 points at 3 checkpoints"},
		{"0,10,0.30000000000000004,1", "0,10,0.300000000000000044,1", "line 13: the file is damaged"},
		{"0,10,0.30000000000000004,1", "0,10,0.30000000000000004,NaN", "not finite"},
		{"0,10,0.30000000000000004,1", "0,10,0.30000000000000004,", "run 0 has 2 points at 3 checkpoints"},
		{"0,10,0.30000000000000004,1", "0,10,0.30000000000000004", "line 13"},
		{"0,10,0.30000000000000004,1", "0,10,x,1", "line 13"},
		{"0,10,0.30000000000000004,1", `"0",10,0.30000000000000004,1`, "line 13: the file is damaged"},
		{"0,10,0.30000000000000004,1", "0,40,0.30000000000000004,1", "line 16: run 1 has other steps"},
		{"0,30,1e+300,2\n1,1,-0,3\n", "1,1,-0,3\n0,30,1e+300,2\n", "line 14"},
		{"-5e-324", "1e400", "line 16"},
	} {
		text := strings.Replace(sampleText, test.old, test.new, 1)
		if text == sampleText {
			t.Fatalf("%q is not in the text", test.old)
		}
		_, err := sim.ReadResult(strings.NewReader(seal(text)))
		if err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%q for %q: error %v, want %q", test.new, test.old, err, test.text)
		}
	}
}

func TestWriteInvalid(t *testing.T) {
	for name, change := range map[string]func(r *sim.Result){
		"two lines":        func(r *sim.Result) { r.Contender = "a\nb" },
		"runs":             func(r *sim.Result) { r.Runs = 3 },
		"no runs":          func(r *sim.Result) { r.Runs, r.Reward, r.Regret = 0, nil, nil },
		"steps":            func(r *sim.Result) { r.Steps = 31 },
		"missing run":      func(r *sim.Result) { r.Reward[1], r.Regret[1] = nil, nil },
		"missing regret":   func(r *sim.Result) { r.Regret[1] = nil },
		"short curve":      func(r *sim.Result) { r.Reward[1] = r.Reward[1][:2] },
		"NaN":              func(r *sim.Result) { r.Reward[1][1] = math.NaN() },
		"checkpoints":      func(r *sim.Result) { r.Checkpoints[0] = 10 },
		"checkpoint of 0":  func(r *sim.Result) { r.Checkpoints[0] = 0 },
		"no checkpoint":    func(r *sim.Result) { r.Checkpoints = nil },
		"a regret too few": func(r *sim.Result) { r.Regret = r.Regret[:1] },
	} {
		r := sample()
		change(r)
		var b bytes.Buffer
		if err := r.Write(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s: wrote %d bytes, error %v", name, b.Len(), err)
		}
	}
}

// What is read is written again as the same bytes.
func FuzzReadResult(f *testing.F) {
	f.Add([]byte(seal(sampleText)), true)
	f.Add([]byte(sampleText), false)
	f.Add([]byte(strings.ReplaceAll(sampleText, "# runs: 2", "# runs: 100000")), false)
	f.Add([]byte("# contextrec result: 1\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, sealed bool) {
		if !sealed {
			text = []byte(seal(string(text))) // else the hash keeps most texts from being looked at
		}
		r, err := sim.ReadResult(bytes.NewReader(text))
		if err != nil {
			return
		}
		if again := write(t, r); again != string(text) {
			t.Errorf("read\n%s\nand wrote\n%s", text, again)
		}
	})
}
