package sim

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Result is a finished entry.
type Result struct {
	Experiment string
	Entry      string // the name
	Problem    string // Go type and JSON, such as `envs.Linear {"Candidates":5}`
	Algorithm  string // likewise
	Runs       int
	Steps      int
	Seed       uint64
	Version    string // Options.Version of the last part
	Backend    string // likewise

	// Check is the reward and the regret of the first 10,000 steps of run 0, to 6 digits, if the
	// candidates are chosen in turn. Results with different checks are of different problems.
	Check string

	Checkpoints []int       // ascending steps, the first step being 1; the last is Steps
	Reward      [][]float64 // [run][checkpoint], cumulated realised reward
	Regret      [][]float64 // [run][checkpoint], cumulated expected regret; nil where there is no Oracle
}

// Summary describes a result over its runs.
type Summary struct {
	Regret Statistics // of the regret after the last step; all NaN where there is no Oracle
	Reward Statistics // of the reward a step
}

// Statistics describe one number a run.
type Statistics struct {
	Mean, Median float64
	Low, High    float64 // see Interval95
	Min, Max     float64
}

// Summary describes the final regret and the reward a step over the runs.
func (r *Result) Summary() Summary {
	return Summary{Regret: describe(r.Regret, 1), Reward: describe(r.Reward, float64(r.Steps))}
}

func (r *Result) String() string {
	s, regret := r.Summary(), ""
	if r.Regret != nil {
		regret = fmt.Sprintf("regret %.4g [%.4g, %.4g], ", s.Regret.Mean, s.Regret.Low, s.Regret.High)
	}
	return fmt.Sprintf("%s, %s: %d runs of %d steps, %sreward a step %.4g [%.4g, %.4g]",
		r.Experiment, r.Entry, r.Runs, r.Steps, regret, s.Reward.Mean, s.Reward.Low, s.Reward.High)
}

// describe describes the last values of curves, divided.
func describe(curves [][]float64, divisor float64) Statistics {
	var x []float64
	for _, curve := range curves {
		x = append(x, curve[len(curve)-1]/divisor)
	}
	if x == nil {
		x = []float64{math.NaN()}
	}
	slices.Sort(x)
	n := len(x)
	mean, low, high := Interval95(x)
	return Statistics{mean, (x[(n-1)/2] + x[n/2]) / 2, low, high, x[0], x[n-1]}
}

// Interval95 is the mean of independent values with its 95 % interval by Student's t. The
// interval is infinite where nothing is known of the spread: of one value, or of values
// that differ by no more than rounding.
func Interval95(x []float64) (mean, low, high float64) {
	mean, sd := stat.MeanStdDev(x, nil)
	half, n := math.Inf(1), float64(len(x))
	if sd > 1e-12*math.Abs(mean) {
		half = distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
	}
	return mean, mean - half, mean + half
}

// Differences are a[r] - factor*b[r] of numbers of two entries, whose runs meet the same problem streams:
// what they have in common cancels. One by rounding, below 1e-12 of a[r], is 0. Other lengths panic.
func Differences(a, b []float64, factor float64) []float64 {
	d := floats.AddScaledTo(make([]float64, len(a)), a, -factor, b)
	for r := range d {
		if math.Abs(d[r]) < 1e-12*math.Abs(a[r]) {
			d[r] = 0
		}
	}
	return d
}

// keys are those of the header lines. The first 7 are settings.
var keys = [...]string{"experiment", "entry", "problem", "algorithm", "runs", "steps", "seed", "version", "backend", "check"}

func (r *Result) values() []string {
	return []string{r.Experiment, r.Entry, r.Problem, r.Algorithm, strconv.Itoa(r.Runs),
		strconv.Itoa(r.Steps), strconv.FormatUint(r.Seed, 10), r.Version, r.Backend, r.Check}
}

// format is the file of a result, or of a part: the rows of some runs, where the
// curves of the others are nil.
func (r *Result) format() []byte {
	var b bytes.Buffer
	b.WriteString("# contextrec result: 3\n")
	for i, value := range r.values() {
		fmt.Fprintf(&b, "# %s: %s\n", keys[i], value)
	}
	b.WriteString("run,step,reward,regret\n")
	rows := 0
	for run, rewards := range r.Reward {
		for k, reward := range rewards {
			fmt.Fprintf(&b, "%d,%d,%v,", run, r.Checkpoints[k], reward)
			if r.Regret != nil {
				fmt.Fprint(&b, r.Regret[run][k])
			}
			b.WriteByte('\n')
			rows++
		}
	}
	fmt.Fprintf(&b, "# end: %d rows, sha256 %x\n", rows, sha256.Sum256(b.Bytes()))
	return b.Bytes()
}

var errDamaged = errors.New("it is no result file of this version, or it is damaged or cut off")

// parse reads the file of a result, or of a part if it need not be complete. It accepts a text only
// if format makes the same bytes of it: what is no number, say, is parsed as something else.
func parse(text []byte, complete bool) (*Result, error) {
	lines := strings.Split(string(text), "\n")
	first, end := len(keys)+2, len(lines)-2 // of the rows
	if end <= first {
		return nil, errDamaged
	}
	v := make([]string, len(keys))
	for i, key := range keys {
		v[i] = strings.TrimPrefix(lines[i+1], "# "+key+": ")
	}
	r := &Result{Experiment: v[0], Entry: v[1], Problem: v[2], Algorithm: v[3], Version: v[7], Backend: v[8], Check: v[9]}
	r.Runs, _ = strconv.Atoi(v[4])
	r.Steps, _ = strconv.Atoi(v[5])
	r.Seed, _ = strconv.ParseUint(v[6], 10, 64)
	if r.Runs < 1 || r.Runs > maxRuns || r.Steps < 1 || r.Steps > maxSteps {
		return nil, errDamaged
	}
	r.Checkpoints, r.Reward = Checkpoints(r.Steps), make([][]float64, r.Runs)
	regrets := make([][]float64, r.Runs)
	for _, line := range lines[first:end] {
		cells := strings.Split(line, ",")
		run, _ := strconv.Atoi(cells[0])
		if len(cells) != 4 || run < 0 || run >= r.Runs {
			return nil, errDamaged
		}
		reward, _ := strconv.ParseFloat(cells[2], 64)
		r.Reward[run] = append(r.Reward[run], reward)
		if regret, err := strconv.ParseFloat(cells[3], 64); err == nil {
			regrets[run], r.Regret = append(regrets[run], regret), regrets
		}
	}
	for run, x := range r.Reward {
		if x != nil && len(x) != len(r.Checkpoints) || r.Regret != nil && len(regrets[run]) != len(x) {
			return nil, errDamaged
		}
	}
	if !bytes.Equal(text, r.format()) {
		return nil, errDamaged
	}
	if complete && !r.complete() {
		return nil, fmt.Errorf("%d of %d runs are there", len(r.there()), r.Runs)
	}
	return r, nil
}

func (r *Result) complete() bool { return len(r.there()) == r.Runs }

// there are the runs that are not missing; every file has one.
func (r *Result) there() (there []int) {
	for run, curve := range r.Reward {
		if curve != nil {
			there = append(there, run)
		}
	}
	return there
}
