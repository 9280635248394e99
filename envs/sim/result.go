package sim

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
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
	Version    string // of the program; several are joined by ", "
	Backend    string // likewise

	Checkpoints []int       // ascending steps, the first step being 1; the last is Steps
	Reward      [][]float64 // [run][checkpoint], cumulated realised reward
	Regret      [][]float64 // [run][checkpoint], cumulated expected regret; nil where there is no Oracle
}

// The text format. A part of a result has the rows of some runs only; in memory,
// the curves of the others are nil.
const (
	magic   = "# contextrec result: 2"
	columns = "run,step,reward,regret"
	ending  = "# end: "
	maxFile = 1 << 30 // bytes
)

// Write writes the result as self-describing text:
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
// number of rows and the hash of all bytes before it. Fields that contradict each
// other are an error, and nothing is written.
func (r *Result) Write(w io.Writer) error {
	text, err := r.format()
	if err = cmp.Or(r.complete(), err); err == nil {
		_, err = w.Write(text)
	}
	return err
}

// ReadResult reads what Write wrote. Anything else, down to one changed bit or a
// missing last line, is an error that names the line. A file has at most 1 GiB.
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

func (r *Result) format() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(magic + "\n")
	for _, f := range r.header() {
		fmt.Fprintf(&b, "# %s: %s\n", f.key, f.text())
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
	return b.Bytes(), nil
}

// parse accepts a text only if format makes the same bytes of what it says. The
// result is never nil.
func parse(text []byte) (*Result, error) {
	r := new(Result)
	header := r.header()
	lines := strings.Split(string(text), "\n")
	switch {
	case len(text) > maxFile:
		return r, fmt.Errorf("larger than %d bytes", maxFile)
	case lines[0] != magic:
		return r, fmt.Errorf("line 1: not a result file: want %q", magic)
	case len(lines) < len(header)+4:
		return r, fmt.Errorf("line %d: the file is cut off", len(lines))
	}
	for i, f := range header {
		value, ok := strings.CutPrefix(lines[i+1], "# "+f.key+": ")
		if !ok {
			return r, fmt.Errorf("line %d: want %q", i+2, "# "+f.key+": ...")
		}
		if err := f.set(value); err != nil {
			return r, fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	if r.Runs < 1 || r.Runs > maxRuns {
		return r, fmt.Errorf("line 6: %d runs, want 1 to %d", r.Runs, maxRuns)
	}
	r.Reward = make([][]float64, r.Runs)
	regrets, first := make([][]float64, r.Runs), -1
	for i := len(header) + 2; !strings.HasPrefix(lines[i], ending); i++ {
		if i == len(lines)-1 {
			return r, fmt.Errorf("line %d: the file is cut off: want %q at its end", i+1, ending+"...")
		}
		cells := strings.Split(lines[i], ",")
		if len(cells) != 4 {
			return r, fmt.Errorf("line %d: %d cells, want 4", i+1, len(cells))
		}
		run, err1 := strconv.Atoi(cells[0])
		step, err2 := strconv.Atoi(cells[1])
		reward, err3 := strconv.ParseFloat(cells[2], 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			return r, fmt.Errorf("line %d: %w", i+1, err)
		}
		if run < 0 || run >= r.Runs {
			return r, fmt.Errorf("line %d: run %d of %d", i+1, run, r.Runs)
		}
		if first < 0 {
			first = run
		}
		if k := len(r.Reward[run]); run == first {
			r.Checkpoints = append(r.Checkpoints, step)
		} else if k >= len(r.Checkpoints) || r.Checkpoints[k] != step {
			return r, fmt.Errorf("line %d: run %d has other steps than run %d", i+1, run, first)
		}
		r.Reward[run] = append(r.Reward[run], reward)
		if cells[3] != "" {
			regret, err := strconv.ParseFloat(cells[3], 64)
			if err != nil {
				return r, fmt.Errorf("line %d: %w", i+1, err)
			}
			regrets[run] = append(regrets[run], regret)
			r.Regret = regrets
		}
	}
	same, err := r.format()
	if err != nil {
		return r, err
	}
	if !bytes.Equal(text, same) {
		n := 0
		for n < min(len(text), len(same)) && text[n] == same[n] {
			n++
		}
		return r, fmt.Errorf("line %d: the file is damaged", bytes.Count(text[:n], []byte("\n"))+1)
	}
	return r, nil
}

// check returns an error when fields contradict each other.
func (r *Result) check() error {
	for _, f := range r.header() {
		if strings.ContainsAny(f.text(), "\r\n") {
			return fmt.Errorf("%s %.40q is more than one line", f.key, f.text())
		}
	}
	if r.Runs < 1 || r.Runs > maxRuns || len(r.Reward) != r.Runs || r.Regret != nil && len(r.Regret) != r.Runs {
		return fmt.Errorf("%d reward curves and %d regret curves of %d runs", len(r.Reward), len(r.Regret), r.Runs)
	}
	before := 0
	for _, step := range r.Checkpoints {
		if step <= before {
			return fmt.Errorf("checkpoint %d after %d", step, before)
		}
		before = step
	}
	if before != r.Steps || r.Steps < 1 {
		return fmt.Errorf("the last checkpoint is %d of %d steps", before, r.Steps)
	}
	for run, reward := range r.Reward {
		curves := [][]float64{reward}
		if r.Regret != nil {
			curves = append(curves, r.Regret[run])
		}
		for _, curve := range curves {
			if len(curve) != len(r.Checkpoints) && (len(curve) > 0 || len(reward) > 0) {
				return fmt.Errorf("run %d has %d points at %d checkpoints", run, len(curve), len(r.Checkpoints))
			}
			if slices.ContainsFunc(curve, func(x float64) bool { return !finite(x) }) {
				return fmt.Errorf("a curve of run %d is not finite", run)
			}
		}
	}
	return nil
}

// complete returns an error when a run is missing.
func (r *Result) complete() error {
	if run := slices.IndexFunc(r.Reward, func(curve []float64) bool { return curve == nil }); run >= 0 {
		return fmt.Errorf("run %d of %d is missing", run, r.Runs)
	}
	return nil
}

// field is a header line.
type field struct {
	key   string
	value any // *string, *int or *uint64
}

func (r *Result) header() []field {
	return []field{
		{"experiment", &r.Experiment}, {"entry", &r.Entry}, {"problem", &r.Problem}, {"algorithm", &r.Algorithm},
		{"runs", &r.Runs}, {"steps", &r.Steps}, {"seed", &r.Seed}, {"version", &r.Version}, {"backend", &r.Backend},
	}
}

// configuration is what the curves depend on, and the entry's name.
func (r *Result) configuration() []field { return r.header()[:7] }

func (f field) text() string {
	switch v := f.value.(type) {
	case *int:
		return strconv.Itoa(*v)
	case *uint64:
		return strconv.FormatUint(*v, 10)
	}
	return *f.value.(*string)
}

func (f field) set(text string) (err error) {
	switch v := f.value.(type) {
	case *int:
		*v, err = strconv.Atoi(text)
	case *uint64:
		*v, err = strconv.ParseUint(text, 10, 64)
	case *string:
		*v = text
	}
	return err
}
