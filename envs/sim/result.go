package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
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
	Problem    string // Go type and JSON
	Algorithm  string // Go type and JSON
	Runs       int
	Steps      int
	Seed       uint64
	Version    string // of the program; several joined by ", " where runs came from several
	Backend    string // likewise

	Checkpoints []int       // ascending steps (1-based counts); the last is Steps
	Reward      [][]float64 // [run][checkpoint], cumulated realised reward
	Regret      [][]float64 // [run][checkpoint], cumulated expected regret; nil where there is no Oracle
}

// The text format, version 1: header lines `# key: value` in fixed order, the
// CSV line run,step,reward,regret, one line a run and checkpoint, and a last
// line with the number of those and the SHA-256 of all bytes before it.
const (
	magic      = "# contextrec result: 1\n"
	columns    = "run,step,reward,regret"
	endLine    = "# end: %d rows, sha256 %x\n"
	maxFile    = 1 << 30 // bytes; 100 times a result of 5,000 runs
	maxHeading = 1 << 20 // bytes of the header
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
// same float64; regret is empty where there is no Oracle. A result that
// ReadResult would refuse, because its fields contradict each other, is an
// error and writes nothing.
func (r *Result) Write(w io.Writer) error {
	text, err := format(r, whole)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// ReadResult reads what Write wrote. Anything else, down to one changed bit or
// a missing last line, is an error that names the line. Memory stays within a
// small multiple of what is read, which is 1 GiB at most.
func ReadResult(r io.Reader) (*Result, error) {
	text, err := readAll(r)
	if err != nil {
		return nil, err
	}
	res, run, err := parse(text)
	if err != nil {
		return nil, err
	}
	if run != whole {
		return nil, fmt.Errorf("line %d: a part of a result, run %d alone", 2+len(res.header()), run)
	}
	return res, nil
}

func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("larger than %d bytes", maxFile)
	}
	return text, err
}

// whole says, where the number of a run is asked for, that a text holds all.
const whole = -1

// format is the text of a result, or of the part of it that is one run: then
// Reward and Regret hold that run alone.
func format(r *Result, run int) ([]byte, error) {
	if err := r.check(run); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(magic)
	for _, f := range r.header() {
		fmt.Fprintf(&b, "# %s: %s\n", f.key, f.text())
	}
	if run != whole {
		fmt.Fprintf(&b, "# part: %d\n", run)
	}
	b.WriteString(columns + "\n")
	rows := csv.NewWriter(&b)
	record := make([]string, 4)
	for i, rewards := range r.Reward {
		record[0] = strconv.Itoa(max(i, run))
		for k, x := range rewards {
			record[1] = strconv.Itoa(r.Checkpoints[k])
			record[2] = strconv.FormatFloat(x, 'g', -1, 64)
			record[3] = ""
			if r.Regret != nil {
				record[3] = strconv.FormatFloat(r.Regret[i][k], 'g', -1, 64)
			}
			rows.Write(record) // into a bytes.Buffer, which does not fail
		}
	}
	rows.Flush()
	fmt.Fprintf(&b, endLine, len(r.Reward)*len(r.Checkpoints), sha256.Sum256(b.Bytes()))
	return b.Bytes(), nil
}

// parse is the inverse of format.
func parse(text []byte) (r *Result, run int, err error) {
	if !bytes.HasPrefix(text, []byte(magic)) {
		return nil, 0, fmt.Errorf("line 1: not a result file: want %q", strings.TrimSpace(magic))
	}
	r = new(Result)
	run = whole
	line := 1
	rest := text[len(magic):]
	next := func() (string, bool) {
		before, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok || len(text)-len(after) > maxHeading {
			return "", false
		}
		line, rest = line+1, after
		return string(before), true
	}
	for _, f := range r.header() {
		s, ok := next()
		value, isField := strings.CutPrefix(s, "# "+f.key+": ")
		if !ok || !isField {
			return nil, 0, fmt.Errorf("line %d: want the header line %q", line, "# "+f.key+": ...")
		}
		if err := f.set(value); err != nil {
			return nil, 0, fmt.Errorf("line %d: %s: %w", line, f.key, err)
		}
	}
	s, ok := next()
	if value, isPart := strings.CutPrefix(s, "# part: "); isPart {
		if run, err = strconv.Atoi(value); err != nil || run < 0 || run >= r.Runs {
			return nil, 0, fmt.Errorf("line %d: part %q of %d runs", line, value, r.Runs)
		}
		s, ok = next()
	}
	if !ok || s != columns {
		return nil, 0, fmt.Errorf("line %d: want %q", line, columns)
	}

	// Everything up to the last line is rows.
	end := bytes.LastIndexByte(bytes.TrimSuffix(rest, []byte("\n")), '\n') + 1
	if !bytes.HasPrefix(rest[end:], []byte("# end: ")) {
		return nil, 0, fmt.Errorf("line %d: the file is cut off: the last line, %q, is missing", line+bytes.Count(rest, []byte("\n")), "# end: ...")
	}
	rows, err := r.parseRows(rest[:end], line, max(run, 0))
	if err != nil {
		return nil, 0, err
	}
	want := fmt.Sprintf(endLine, rows, sha256.Sum256(text[:len(text)-len(rest)+end]))
	if string(rest[end:]) != want {
		return nil, 0, fmt.Errorf("line %d: the file is damaged: want %q", line+rows+1, strings.TrimSpace(want))
	}
	return r, run, r.check(run)
}

// parseRows reads CSV rows into the curves, the first run being number first,
// and returns how many there are. line is the number of the line before them.
func (r *Result) parseRows(text []byte, line, first int) (rows int, err error) {
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord = 4
	in.ReuseRecord = true
	for ; ; rows++ {
		record, err := in.Read()
		if err == io.EOF {
			return rows, nil
		}
		line++
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", line, err)
		}
		run, err1 := strconv.Atoi(record[0])
		step, err2 := strconv.Atoi(record[1])
		reward, err3 := strconv.ParseFloat(record[2], 64)
		var regret float64
		var err4 error
		if record[3] != "" {
			regret, err4 = strconv.ParseFloat(record[3], 64)
		}
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				return 0, fmt.Errorf("line %d: %w", line, err)
			}
		}
		if run == first+len(r.Reward) { // the next run begins
			r.Reward = append(r.Reward, nil)
			if record[3] != "" {
				r.Regret = append(r.Regret, nil)
			}
		}
		i := run - first
		if i < 0 || i != len(r.Reward)-1 || (record[3] == "") != (r.Regret == nil) || r.Regret != nil && len(r.Regret) != len(r.Reward) {
			return 0, fmt.Errorf("line %d: row of run %d is out of place", line, run)
		}
		k := len(r.Reward[i])
		if i == 0 {
			r.Checkpoints = append(r.Checkpoints, step)
		} else if k >= len(r.Checkpoints) || r.Checkpoints[k] != step {
			return 0, fmt.Errorf("line %d: step %d is not a checkpoint of run %d", line, step, first)
		}
		r.Reward[i] = append(r.Reward[i], reward)
		if r.Regret != nil {
			r.Regret[i] = append(r.Regret[i], regret)
		}
	}
}

// check reports fields that contradict each other.
func (r *Result) check(run int) error {
	for _, f := range r.header() {
		if f.str != nil && (strings.ContainsAny(*f.str, "\n\r") || len(*f.str) > maxHeading/8) {
			return fmt.Errorf("%s %.40q is not one line of at most %d bytes", f.key, *f.str, maxHeading/8)
		}
	}
	runs := r.Runs
	if run != whole {
		runs = 1
	}
	if runs < 1 || len(r.Reward) != runs || r.Regret != nil && len(r.Regret) != runs {
		return fmt.Errorf("%d reward curves and %d regret curves of %d runs", len(r.Reward), len(r.Regret), runs)
	}
	if n := len(r.Checkpoints); n == 0 || r.Checkpoints[0] < 1 || r.Checkpoints[n-1] != r.Steps {
		return fmt.Errorf("checkpoints do not end at step %d", r.Steps)
	}
	for k := 1; k < len(r.Checkpoints); k++ {
		if r.Checkpoints[k] <= r.Checkpoints[k-1] {
			return fmt.Errorf("checkpoints do not ascend at step %d", r.Checkpoints[k])
		}
	}
	for _, curve := range slices.Concat(r.Reward, r.Regret) {
		if len(curve) != len(r.Checkpoints) {
			return fmt.Errorf("a curve has %d points at %d checkpoints", len(curve), len(r.Checkpoints))
		}
		if k := slices.IndexFunc(curve, func(x float64) bool { return !finite(x) }); k >= 0 {
			return fmt.Errorf("a curve is %v at step %d", curve[k], r.Checkpoints[k])
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
