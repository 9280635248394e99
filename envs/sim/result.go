package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Result is a finished contender.
type Result struct {
	Experiment string
	Contender  string
	Problem    string // Go type and JSON; types of other modules have the path of their package
	Algorithm  string // likewise
	Runs       int
	Steps      int
	Seed       uint64
	Version    string // of the program; several are joined by ", "
	Backend    string // likewise

	Checkpoints []int       // ascending steps (1-based counts); the last is Steps
	Reward      [][]float64 // [run][checkpoint], cumulated realised reward
	Regret      [][]float64 // [run][checkpoint], cumulated expected regret; nil where there is no Oracle
}

// The text format, version 1. A part of a result has the rows of some runs
// only; in memory, the curves of the others are nil.
const (
	magic   = "# contextrec result: 1"
	columns = "run,step,reward,regret"
	ending  = "# end: "
	maxFile = 1 << 30 // bytes; a result of 100,000 runs is smaller
)

// Write writes the result as self-describing text:
//
//	# contextrec result: 1
//	# experiment: toy-linear
//	# contender: Lin-UCB
//	# problem: envs.Linear {"Candidates":5,"Dim":40}
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
// same float64; regret is empty where there is no Oracle. The last line counts
// the rows and hashes all bytes before it. Fields that contradict each other
// are an error, and nothing is written.
func (r *Result) Write(w io.Writer) error {
	if err := r.complete(); err != nil {
		return err
	}
	text, err := r.format()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// ReadResult reads what Write wrote. Anything else, down to one changed bit or
// a missing last line, is an error that names the line. Memory stays within a
// small multiple of what is read, which is 1 GiB at most.
func ReadResult(in io.Reader) (*Result, error) {
	r, err := read(in)
	if err != nil {
		return nil, err
	}
	return r, r.complete()
}

// read reads a result or a part of one.
func read(in io.Reader) (*Result, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return parse(text)
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
			row = strconv.AppendFloat(append(row, ','), reward, 'g', -1, 64)
			row = append(row, ',')
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

// parse accepts a text only if format makes the same bytes of what it says.
func parse(text []byte) (*Result, error) {
	r := new(Result)
	header := r.header()
	lines := bytes.SplitN(text, []byte("\n"), len(header)+2)
	if string(lines[0]) != magic {
		return nil, fmt.Errorf("line 1: not a result file: want %q", magic)
	}
	for i, f := range header {
		value, ok := "", false
		if i+2 < len(lines) {
			value, ok = strings.CutPrefix(string(lines[i+1]), "# "+f.key+": ")
		}
		if !ok {
			return nil, fmt.Errorf("line %d: want %q", i+2, "# "+f.key+": ...")
		}
		if err := f.set(value); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	if r.Runs < 1 || r.Runs > maxRuns {
		return nil, fmt.Errorf("line 6: %d runs, want 1 to %d", r.Runs, maxRuns)
	}
	if last := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1; !bytes.HasPrefix(text[last:], []byte(ending)) {
		return nil, fmt.Errorf("line %d: the file is cut off: want %q at its end", bytes.Count(text, []byte("\n"))+1, ending+"...")
	}
	if err := r.parseRows(text); err != nil {
		return nil, err
	}
	same, err := r.format()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, same) {
		n := 0
		for n < min(len(text), len(same)) && text[n] == same[n] {
			n++
		}
		return nil, fmt.Errorf("line %d: the file is damaged", bytes.Count(text[:n], []byte("\n"))+1)
	}
	return r, nil
}

// parseRows reads the curves from the rows of a text.
func (r *Result) parseRows(text []byte) error {
	r.Reward = make([][]float64, r.Runs)
	regrets := make([][]float64, r.Runs)
	in := csv.NewReader(bytes.NewReader(text))
	in.Comment = '#'
	in.FieldsPerRecord = 4
	in.ReuseRecord = true
	if _, err := in.Read(); err != nil { // the names of the columns
		return err
	}
	first := -1
	for {
		record, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err // has the line
		}
		line, _ := in.FieldPos(0)
		run, errRun := strconv.Atoi(record[0])
		step, errStep := strconv.Atoi(record[1])
		reward, errReward := strconv.ParseFloat(record[2], 64)
		if err := errors.Join(errRun, errStep, errReward); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if run < 0 || run >= r.Runs {
			return fmt.Errorf("line %d: run %d of %d", line, run, r.Runs)
		}
		if first < 0 {
			first = run
		}
		if k := len(r.Reward[run]); run == first {
			r.Checkpoints = append(r.Checkpoints, step)
		} else if k >= len(r.Checkpoints) || r.Checkpoints[k] != step {
			return fmt.Errorf("line %d: run %d has other steps than run %d", line, run, first)
		}
		r.Reward[run] = append(r.Reward[run], reward)
		if record[3] != "" {
			regret, err := strconv.ParseFloat(record[3], 64)
			if err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			regrets[run] = append(regrets[run], regret)
			r.Regret = regrets
		}
	}
}

// check reports fields that contradict each other.
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
		return fmt.Errorf("last checkpoint is %d of %d steps", before, r.Steps)
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

// complete reports a missing run.
func (r *Result) complete() error {
	for run, curve := range r.Reward {
		if curve == nil {
			return fmt.Errorf("run %d of %d is missing", run, r.Runs)
		}
	}
	return nil
}

// field is a header line; one of the pointers is set.
type field struct {
	key string
	str *string
	num *int
	u64 *uint64
}

func (r *Result) header() []field {
	return []field{
		{key: "experiment", str: &r.Experiment},
		{key: "contender", str: &r.Contender},
		{key: "problem", str: &r.Problem},
		{key: "algorithm", str: &r.Algorithm},
		{key: "runs", num: &r.Runs},
		{key: "steps", num: &r.Steps},
		{key: "seed", u64: &r.Seed},
		{key: "version", str: &r.Version},
		{key: "backend", str: &r.Backend},
	}
}

// configuration is the header lines that decide the curves and the contender's
// name: all but the last two.
func (r *Result) configuration() []field { return r.header()[:7] }

func (f field) text() string {
	switch {
	case f.num != nil:
		return strconv.Itoa(*f.num)
	case f.u64 != nil:
		return strconv.FormatUint(*f.u64, 10)
	}
	return *f.str
}

func (f field) set(s string) (err error) {
	switch {
	case f.num != nil:
		*f.num, err = strconv.Atoi(s)
	case f.u64 != nil:
		*f.u64, err = strconv.ParseUint(s, 10, 64)
	default:
		*f.str = s
	}
	return err
}

// fileName is the name of the result's file: the contender's name, made safe,
// and the first 8 hex digits of the SHA-256 of what decides the curves: the
// header lines experiment, problem, algorithm, runs, steps and seed.
func (r *Result) fileName() string {
	hash := sha256.New()
	for _, f := range r.configuration() {
		if f.key != "contender" {
			fmt.Fprintf(hash, "%s: %s\n", f.key, f.text())
		}
	}
	return slug(r.Contender) + "-" + hex.EncodeToString(hash.Sum(nil)[:4]) + ".csv"
}

// slug makes a file name of a contender's name: lower case, and one '-' for
// everything but letters, digits and '.'.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.')
	})
	s := strings.Trim(strings.Join(words, "-"), ".")
	if s == "" {
		return "contender"
	}
	return s
}
