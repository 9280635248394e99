package sim

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

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
	Low, High    float64 // 95 % interval of the mean by Student's t; infinite where there is one run
	Min, Max     float64
}

// Summary describes the final regret and the reward a step over the runs.
func (r *Result) Summary() Summary {
	return Summary{Regret: describe(r.Regret, 1), Reward: describe(r.Reward, float64(r.Steps))}
}

// String is the summary in one line.
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
	n := len(curves)
	if n == 0 {
		nan := math.NaN()
		return Statistics{nan, nan, nan, nan, nan, nan}
	}
	x := make([]float64, n)
	for i, curve := range curves {
		x[i] = curve[len(curve)-1] / divisor
	}
	slices.Sort(x)
	mean, half := stat.Mean(x, nil), math.Inf(1)
	if n > 1 {
		half = distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) * stat.StdErr(stat.StdDev(x, nil), float64(n))
	}
	return Statistics{mean, (x[(n-1)/2] + x[n/2]) / 2, mean - half, mean + half, x[0], x[n-1]}
}

const (
	magic   = "# contextrec result: 2"
	columns = "run,step,reward,regret"
	ending  = "# end: "
	maxFile = 1 << 30 // bytes
)

// keys are those of the header lines. The first 7 are settings.
var keys = [...]string{"experiment", "entry", "problem", "algorithm", "runs", "steps", "seed", "version", "backend"}

const settings = 7

func (r *Result) values() []string {
	return []string{r.Experiment, r.Entry, r.Problem, r.Algorithm, strconv.Itoa(r.Runs),
		strconv.Itoa(r.Steps), strconv.FormatUint(r.Seed, 10), r.Version, r.Backend}
}

// format is the file of a result, or of a part: the rows of some runs, where the
// curves of the others are nil.
func (r *Result) format() []byte {
	var b bytes.Buffer
	b.WriteString(magic + "\n")
	for i, value := range r.values() {
		fmt.Fprintf(&b, "# %s: %s\n", keys[i], value)
	}
	b.WriteString(columns + "\n")
	rows := 0
	for run, rewards := range r.Reward {
		for k, reward := range rewards {
			row := strconv.AppendInt(b.AvailableBuffer(), int64(run), 10)
			row = strconv.AppendInt(append(row, ','), int64(r.Checkpoints[k]), 10)
			row = append(strconv.AppendFloat(append(row, ','), reward, 'g', -1, 64), ',')
			if r.Regret != nil {
				row = strconv.AppendFloat(row, r.Regret[run][k], 'g', -1, 64)
			}
			b.Write(append(row, '\n'))
			rows++
		}
	}
	fmt.Fprintf(&b, "%s%d rows, sha256 %x\n", ending, rows, sha256.Sum256(b.Bytes()))
	return b.Bytes()
}

// ReadResult reads the file of a result:
//
//	# contextrec result: 2
//	# experiment: toy-linear
//	# entry: Lin-UCB
//	# problem: envs.Linear {"Candidates":5,"Dim":40,"RewardNoise":0.1}
//	# algorithm: baselines.LinUCB {"Alpha":1}
//	# runs: 20
//	# steps: 20000
//	# seed: 1
//	# version: v1.0.0
//	# backend: go
//	run,step,reward,regret
//	0,1,0.25,0.5
//	...
//	# end: 3020 rows, sha256 5f36...
//
// Reward and regret are cumulated, in the shortest form that reads back as the
// same float64; regret is empty where there is no Oracle. The last line has the
// number of rows and the hash of all bytes before it. Anything else, down to one
// changed bit or a missing last line, is an error. A file has at most 1 GiB.
func ReadResult(in io.Reader) (*Result, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	r, err := parse(text)
	if err = cmp.Or(err, r.complete()); err != nil {
		return nil, err
	}
	return r, nil
}

// parse reads a result or a part, and accepts a text only if format makes the
// same bytes of it. The result is never nil.
func parse(text []byte) (*Result, error) {
	r := new(Result)
	lines := strings.Split(string(text), "\n")
	switch {
	case len(text) > maxFile:
		return r, fmt.Errorf("larger than %d bytes", maxFile)
	case lines[0] != magic:
		return r, fmt.Errorf("line 1: not a result file: want %q", magic)
	case len(lines) < len(keys)+4 || !strings.HasPrefix(lines[len(lines)-2], ending):
		return r, fmt.Errorf("line %d: the file is cut off: want %q at its end", len(lines), ending+"...")
	}
	v := make([]string, len(keys))
	for i, key := range keys {
		v[i] = strings.TrimPrefix(lines[i+1], "# "+key+": ")
	}
	r.Experiment, r.Entry, r.Problem, r.Algorithm, r.Version, r.Backend = v[0], v[1], v[2], v[3], v[7], v[8]
	var errs [3]error
	r.Runs, errs[0] = strconv.Atoi(v[4])
	r.Steps, errs[1] = strconv.Atoi(v[5])
	r.Seed, errs[2] = strconv.ParseUint(v[6], 10, 64)
	if err := errors.Join(errs[:]...); err != nil || r.Runs < 1 || r.Runs > maxRuns {
		return r, fmt.Errorf("lines 6 to 8: %q runs, %q steps and seed %q are out of bounds", v[4], v[5], v[6])
	}
	rewards, regrets := make([][]float64, r.Runs), make([][]float64, r.Runs)
	r.Reward = rewards
	for i := len(keys) + 2; i < len(lines)-2; i++ {
		cells := strings.Split(lines[i], ",")
		run, _ := strconv.Atoi(cells[0]) // what is no number differs from what format makes of it
		if len(cells) != 4 || run < 0 || run >= r.Runs {
			return r, fmt.Errorf("line %d: %.40q is no row of runs 0 to %d", i+1, lines[i], r.Runs-1)
		}
		step, _ := strconv.Atoi(cells[1])
		reward, _ := strconv.ParseFloat(cells[2], 64)
		if !finite(reward) {
			return r, fmt.Errorf("line %d: the reward is %v", i+1, reward)
		}
		if rewards[run] = append(rewards[run], reward); run == r.first() {
			r.Checkpoints = append(r.Checkpoints, step)
		}
		if regret, err := strconv.ParseFloat(cells[3], 64); err == nil && finite(regret) {
			regrets[run], r.Regret = append(regrets[run], regret), regrets
		}
	}
	if r.Steps < 1 || r.Steps > maxSteps || !slices.Equal(r.Checkpoints, Checkpoints(r.Steps)) {
		return r, fmt.Errorf("the rows are not at the checkpoints of %d steps", r.Steps)
	}
	n := len(r.Checkpoints)
	for run, x := range rewards {
		if len(x) > 0 && len(x) != n || r.Regret != nil && len(regrets[run]) != len(x) {
			return r, fmt.Errorf("run %d has %d rewards and %d regrets, want %d numbers", run, len(x), len(regrets[run]), n)
		}
	}
	if same := r.format(); !bytes.Equal(text, same) {
		at := 0
		for at < min(len(text), len(same)) && text[at] == same[at] {
			at++
		}
		return r, fmt.Errorf("line %d: the file is damaged", bytes.Count(text[:at], []byte("\n"))+1)
	}
	return r, nil
}

// complete returns an error when a run is missing.
func (r *Result) complete() error {
	for run, curve := range r.Reward {
		if curve == nil {
			return fmt.Errorf("run %d of %d is missing", run, r.Runs)
		}
	}
	return nil
}

// first is the first run that is there.
func (r *Result) first() int {
	return slices.IndexFunc(r.Reward, func(curve []float64) bool { return curve != nil })
}
