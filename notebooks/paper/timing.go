package paper

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/contextrec/contextrec/notebooks/figure"
)

// A Timing is how long an operation took: a number of the benchmark (paper
// bench), with where it comes from.
type Timing struct {
	Machine string // processor, and the accelerator where one computed
	Version string // of this module; of a peer, what its backend says
	Backend string // "go simd", "xla:cuda", "PyTorch 2.1, OpenBLAS"
	Loop    string // "host": it calls the backend for each operation; "device": the backend loops by itself
	Threads int    // of the processor that computed; 0: as many as the backend liked
	Clock   string // "wall", or "cpu": time of the processor, without what other programs take of it

	Shape     string // problem and networks
	Runs      int    // R, runs that an operation is of
	Operation string // "act", "update", or "step": environment, decision, history, update and metrics

	Micros    float64 // microseconds of an operation of all runs: the median of the turns
	Low, High float64 // the fastest and the slowest turn
}

// PerRun is the median in microseconds of an operation of one run.
func (t Timing) PerRun() float64 { return t.Micros / float64(t.Runs) }

// Spread is half of the distance between the fastest and the slowest turn, as a
// fraction of the median.
func (t Timing) Spread() float64 { return (t.High - t.Low) / 2 / t.Micros }

var timingHeader = []string{"machine", "version", "backend", "loop", "threads", "clock", "shape", "runs", "operation", "microseconds", "low", "high"}

// WriteTimings writes timings as a CSV file with a header.
func WriteTimings(w io.Writer, timings []Timing) error {
	out := csv.NewWriter(w)
	rows := [][]string{timingHeader}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
	for _, t := range timings {
		rows = append(rows, []string{t.Machine, t.Version, t.Backend, t.Loop, strconv.Itoa(t.Threads), t.Clock, t.Shape, strconv.Itoa(t.Runs),
			t.Operation, number(t.Micros), number(t.Low), number(t.High)})
	}
	if err := out.WriteAll(rows); err != nil { // which flushes
		return fmt.Errorf("paper: writing timings: %w", err)
	}
	return nil
}

// ReadTimings reads what WriteTimings wrote. The error names the line.
func ReadTimings(r io.Reader) ([]Timing, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = len(timingHeader)
	var timings []Timing
	for first := true; ; first = false {
		row, err := in.Read()
		if err == io.EOF && !first {
			return timings, nil
		}
		if err == io.EOF {
			return nil, errors.New("paper: timings without a header")
		}
		if err != nil {
			return nil, fmt.Errorf("paper: timings: %w", err)
		}
		line, _ := in.FieldPos(0)
		if first {
			if !slices.Equal(row, timingHeader) {
				return nil, fmt.Errorf("paper: timings, line %d: the header is %q, want %q", line, strings.Join(row, ","), strings.Join(timingHeader, ","))
			}
			continue
		}
		t := Timing{Machine: row[0], Version: row[1], Backend: row[2], Loop: row[3], Clock: row[5], Shape: row[6], Operation: row[8]}
		var errs []error
		for i, to := range map[int]*int{4: &t.Threads, 7: &t.Runs} {
			var err error
			*to, err = strconv.Atoi(row[i])
			errs = append(errs, err)
		}
		for i, to := range map[int]*float64{9: &t.Micros, 10: &t.Low, 11: &t.High} {
			var err error
			*to, err = strconv.ParseFloat(row[i], 64)
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("paper: timings, line %d: %w", line, err)
		}
		if !(t.Low > 0 && t.Low <= t.Micros && t.Micros <= t.High) || math.IsInf(t.High, 1) || t.Runs < 1 || t.Threads < 0 {
			return nil, fmt.Errorf("paper: timings, line %d: %v microseconds in %v to %v, of %d runs on %d threads", line, t.Micros, t.Low, t.High, t.Runs, t.Threads)
		}
		timings = append(timings, t)
	}
}

// SpeedFolder is where, in the repository, the published timings are: a CSV file
// for each machine, made by
//
//	go run ./notebooks/cmd/paper bench -format csv
const SpeedFolder = "notebooks/published/speed"

// StoredTimings returns the timings of all CSV files of a folder, in the order of
// their names. It is an error when there are none, or two of the same thing.
func StoredTimings(folder string) ([]Timing, error) {
	files, err := fs.Glob(os.DirFS(folder), "*.csv")
	if err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("paper: no timings in %s", folder)
	}
	var all []Timing
	type timed struct {
		origin, computer, shape, operation string
		runs                               int
	}
	seen := map[timed]string{}
	for _, name := range files {
		name = filepath.Join(folder, name)
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("paper: %w", err)
		}
		timings, err := ReadTimings(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, t := range timings {
			k := timed{TimingOrigin(t), t.computer(), t.Shape, t.Operation, t.Runs}
			if other, ok := seen[k]; ok {
				return nil, fmt.Errorf("%s: %s of %s, R = %d, on %s (%s) is in %s too", name, t.Operation, t.Shape, t.Runs, t.computer(), TimingOrigin(t), other)
			}
			seen[k] = name
		}
		all = append(all, timings...)
	}
	return all, nil
}

// TimingOrigin says where a timing is from.
func TimingOrigin(t Timing) string {
	clock := "wall time"
	if t.Clock == "cpu" {
		clock = "time of the processor"
	}
	return fmt.Sprintf("%s; version %s; %s", t.Machine, t.Version, clock)
}

// TimingOrigins groups timings by where they are from, in the order in which the
// origins first appear.
func TimingOrigins(timings []Timing) [][]Timing {
	var groups [][]Timing
	at := map[string]int{}
	for _, t := range timings {
		origin := TimingOrigin(t)
		i, ok := at[origin]
		if !ok {
			i = len(groups)
			at[origin] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// computer names what computed a timing.
func (t Timing) computer() string {
	name := t.Backend
	if t.Loop == "device" {
		name += ", device loop"
	}
	switch {
	case t.Threads == 1:
		name += ", 1 thread"
	case t.Threads > 1:
		name += fmt.Sprintf(", %d threads", t.Threads)
	}
	return name
}

// oneOrigin panics for timings that cannot stand beside each other.
func oneOrigin(function string, timings []Timing) {
	if groups := TimingOrigins(timings); len(groups) > 1 {
		panic(fmt.Sprintf("paper: %s: timings of %d origins: %s, %s", function, len(groups), TimingOrigin(groups[0][0]), TimingOrigin(groups[1][0])))
	}
}

// TimingTable lays timings out as a table of text cells: a row for each shape,
// number of runs and backend, and a column for each operation, in microseconds of
// all runs and, where there are several, of a run in brackets. It panics when the
// timings are not of one origin: see TimingOrigins.
func TimingTable(timings []Timing) (header []string, rows [][]string) {
	oneOrigin("TimingTable", timings)
	header = []string{"shape", "R", "backend", "act", "update", "step", "spread"}
	type key struct {
		shape, computer string
		runs            int
	}
	at := map[key]int{}
	spread := map[key]float64{}
	for _, t := range timings {
		k := key{t.Shape, t.computer(), t.Runs}
		i, ok := at[k]
		if !ok {
			i = len(rows)
			at[k] = i
			rows = append(rows, []string{t.Shape, strconv.Itoa(t.Runs), t.computer(), "-", "-", "-", ""})
		}
		cell := Microseconds(t.Micros)
		if t.Runs > 1 {
			cell += " (" + Microseconds(t.PerRun()) + ")"
		}
		if column := slices.Index(header, t.Operation); column >= 0 {
			rows[i][column] = cell
		}
		spread[k] = max(spread[k], t.Spread())
		rows[i][len(header)-1] = fmt.Sprintf("± %.0f %%", 100*spread[k])
	}
	return header, rows
}

// Microseconds writes a time with three significant digits, and thousands apart.
func Microseconds(x float64) string {
	if x >= 1000 {
		digits := strconv.FormatFloat(x, 'f', 0, 64)
		var groups []string
		for ; len(digits) > 3; digits = digits[:len(digits)-3] {
			groups = append([]string{digits[len(digits)-3:]}, groups...)
		}
		return strings.Join(append([]string{digits}, groups...), ",")
	}
	return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(max(x, 0.1))))), 64)
}

// UpdateBars are the microseconds of an update of one run, for bars: a label for
// each number of runs of a shape, in ascending order, and a series for each
// backend that has a timing of all of them. The error bars reach from the fastest
// turn to the slowest. It panics when the timings are not of one origin: see TimingOrigins.
func UpdateBars(timings []Timing, shape string) (labels []string, series []figure.Series) {
	oneOrigin("UpdateBars", timings)
	byComputer := map[string]map[int]Timing{}
	var computers []string
	var runs []int
	for _, t := range timings {
		if t.Shape != shape || t.Operation != "update" {
			continue
		}
		name := t.computer()
		if byComputer[name] == nil {
			byComputer[name] = map[int]Timing{}
			computers = append(computers, name)
		}
		byComputer[name][t.Runs] = t
		if !slices.Contains(runs, t.Runs) {
			runs = append(runs, t.Runs)
		}
	}
	slices.SortFunc(runs, cmp.Compare[int])
	for _, r := range runs {
		labels = append(labels, fmt.Sprintf("R = %d", r))
	}
	for _, name := range computers {
		s := figure.Series{Name: name}
		for _, r := range runs {
			if t, ok := byComputer[name][r]; ok {
				s.Y = append(s.Y, t.PerRun())
				s.Error = append(s.Error, (t.High-t.Micros)/float64(r))
				s.Below = append(s.Below, (t.Micros-t.Low)/float64(r))
			}
		}
		if len(s.Y) == len(runs) {
			series = append(series, s)
		}
	}
	return labels, series
}
