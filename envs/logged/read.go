package logged

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Format names the columns of a CSV file. Columns without a purpose are neither read nor checked.
type Format struct {
	Decision       string   // default "decision": what the rows of a decision have in common
	User           string   // default "user", which may be missing
	Chosen         string   // default "chosen": 1 for the chosen candidate, else 0
	Reward         string   // default "reward"
	Propensity     string   // default "propensity", which may be missing; from 1e-6 to 1
	SamplingWeight string   // default "sampling_weight", which may be missing: how many decisions this one stands for
	Uniform        bool     // choices were uniformly random; no propensities are read
	Features       []string // default: all other columns
	Categories     []string // those of Features that are names, not numbers: each name is a feature of 0 or 1, such as "colour=red"
	Comma          rune     // default ','
	Hash           int      // above 0: where there are such names, all features share that many, by FNV-1a, the same in all files; 0: in order of their names
}

// ReadFile reads the log in a file: CSV, see Read; Vowpal Wabbit's where the file's name ends in .dsjson
// or .json; and the Open Bandit Dataset's in a folder, such as obd/random/men. See the package comment.
func ReadFile(path string, f Format) (*Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("logged: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return openBandit(path, f.Hash)
	} else if strings.HasSuffix(path, "json") {
		return dsjson(file, filepath.Base(path), f.Hash)
	}
	return Read(file, filepath.Base(path), f)
}

// Read reads a log from CSV with a header, in UTF-8. Blanks around a value do not count. Rewards and
// features are kept as float32. All that does not fit is an error with the file's name, the line, the
// column and the value, but for records whose fields are all empty. Log.Warnings says
//
//   - A last decision that does not fit is left out, for there a file may have been cut. A cut between
//     two candidates does not show.
//   - Rewards of candidates that were not chosen are not read.
func Read(r io.Reader, name string, f Format) (*Log, error) {
	rd := reader{Format: f, table: newTable(f.Hash), before: map[string]int{}}
	err := rd.open(r, f.Comma)
	if err == nil {
		if err = rd.findColumns(); err == nil {
			err = rd.rows()
		}
	}
	return rd.finish(name, err)
}

// table reads the records of a CSV file into a log.
type table struct {
	names
	log    *Log
	in     *csv.Reader
	text   *bufio.Reader
	header []string
	column map[string]int // by name
	err    error          // the first that wrong has made
}

func newTable(hash int) table { return table{names: names{map[string]int32{}, hash}, log: &Log{}} }

type record struct {
	fields []string
	line   int
}

// open reads the header.
func (t *table) open(r io.Reader, comma rune) error {
	t.text, t.column, t.header = bufio.NewReader(r), map[string]int{}, nil
	t.in = csv.NewReader(t.text) // it reads from t.text itself
	t.in.Comma, t.in.FieldsPerRecord = cmp.Or(comma, ','), -1
	start, _ := t.text.Peek(3)
	if s := string(start); strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") || strings.Contains(s, "\x00") {
		return errors.New("it is UTF-16, want UTF-8: save it as CSV UTF-8, or convert it with iconv -f UTF-16 -t UTF-8")
	} else if s == "\ufeff" { // a byte order mark
		t.text.Discard(len(s))
	}
	header, err := t.next()
	if err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	t.header = header.fields
	for i, name := range t.header {
		t.column[name] = i
	}
	return nil
}

// next returns the next record that is not empty, without blanks around the values; beside an error,
// what can be read of it.
func (t *table) next() (record, error) {
	for {
		fields, err := t.in.Read()
		row := record{fields: fields}
		for i, field := range fields {
			fields[i] = strings.TrimSpace(field)
		}
		if err != nil {
			return row, err
		}
		row.line, _ = t.in.FieldPos(0)
		if strings.Join(fields, "") == "" {
			continue
		}
		if t.header != nil && len(fields) != len(t.header) {
			err = fmt.Errorf("line %d: the record %q has %d columns, the header has %d", row.line, fields, len(fields), len(t.header))
		}
		return row, err
	}
}

// last warns that the last record is left out, where an error is of that one.
func (t *table) last(err error) bool {
	var open *csv.ParseError // a quote that has taken the lines below it is another fault
	if _, more := t.text.Peek(1); more == nil || errors.As(err, &open) && open.StartLine < open.Line {
		return false
	}
	if err != io.EOF {
		t.log.warn("the last decision is left out: %v", err)
	}
	return true
}

// wrong is the error of a value, of which the table keeps the first.
func (t *table) wrong(row record, column, format string, args ...any) error {
	err := fmt.Errorf("line %d, column %q: %s", row.line, column, fmt.Sprintf(format, args...))
	t.err = cmp.Or(t.err, err)
	return err
}

func (t *table) field(row record, column string) string {
	i, known := t.column[column]
	if !known {
		t.wrong(row, column, "it is missing")
		return ""
	}
	return row.fields[i]
}

func (t *table) number(row record, column string, least, most float64, want string) float64 {
	x, bad := strconv.ParseFloat(t.field(row, column), 64)
	if bad != nil || !(x >= least && x <= most) {
		t.wrong(row, column, "%q is not %s", t.field(row, column), want)
	}
	return x
}

func (t *table) float32(row record, column string) float32 {
	return float32(t.number(row, column, -math.MaxFloat32, math.MaxFloat32, "a finite number"))
}

// finish returns the log, or the error of the file of that name.
func (t *table) finish(name string, err error) (*Log, error) {
	if err == nil && len(t.log.Decisions) == 0 {
		err = errors.New(cmp.Or(strings.Join(t.log.Warnings, "; "), "there are no decisions"))
	}
	if err != nil {
		return nil, fmt.Errorf("logged: %s: %w", name, err)
	}
	if t.log.Features == nil {
		t.log.name(t.names)
	}
	return t.log, nil
}

type reader struct {
	Format
	table
	before   map[string]int // lines of decisions
	unchosen bool           // a candidate that was not chosen has a reward
}

// findColumns gives columns their usual names, and checks that the header has each once.
func (rd *reader) findColumns() error {
	f, used := &rd.Format, []string(nil)
	for i, c := range []struct {
		name  *string
		usual string
	}{{&f.Decision, "decision"}, {&f.Chosen, "chosen"}, {&f.Reward, "reward"}, {&f.User, "user"}, {&f.SamplingWeight, "sampling_weight"}, {&f.Propensity, "propensity"}} {
		if *c.name == "" && (i < 3 || slices.Contains(rd.header, c.usual)) {
			*c.name = c.usual
		}
		if *c.name != "" {
			used = append(used, *c.name)
		}
	}
	if f.Features == nil {
		f.Features = slices.DeleteFunc(slices.Clone(rd.header), func(name string) bool { return slices.Contains(used, name) })
	}
	if f.Uniform {
		used = slices.DeleteFunc(used, func(name string) bool { return name == f.Propensity })
		f.Propensity = ""
	}
	used = append(used, f.Features...)
	for i, name := range append(used, f.Categories...) {
		at, category := slices.Index(rd.header, name), i >= len(used)
		switch {
		case at < 0 || category && !slices.Contains(f.Features, name):
			return fmt.Errorf("there is no column %q for this: with %q between columns, they are %q, and features are %q", name, rd.in.Comma, rd.header, f.Features)
		case name == "":
			return errors.New("a column has no name: say which are features in Format.Features")
		case !category && (slices.Contains(used[:i], name) || slices.Contains(rd.header[at+1:], name)):
			return fmt.Errorf("column %q has two purposes or stands twice", name)
		}
	}
	if len(f.Features) == 0 {
		return fmt.Errorf("no column has features: they are %q", rd.header)
	} else if len(f.Categories) == 0 {
		rd.log.Features = f.Features
	}
	return nil
}

// rows reads the records below the header, decision by decision.
func (rd *reader) rows() error {
	var rows []record // of the decision that is being read
	for end, at := error(nil), rd.column[rd.Decision]; end == nil; {
		var row record
		row, end = rd.next()
		// A record that was cut may belong to the decision before it.
		same := len(rows) > 0 && end != io.EOF && (len(row.fields) <= at+1 || row.fields[at] == rows[0].fields[at])
		if len(rows) > 0 && (end != nil || !same) {
			d, err := rd.parse(rows)
			switch {
			case err == nil && !same:
				rd.log.add(d)
			case err != nil && end == io.EOF:
				end = err
			case err != nil && !same:
				return err
			}
			rd.before[d.ID], rows = rows[0].line, rows[:0]
		}
		if end != nil && !rd.last(end) {
			return end
		}
		rows = append(rows, row)
	}
	return nil
}

// parse makes a decision of its rows.
func (rd *reader) parse(rows []record) (Decision, error) {
	d := Decision{ID: strings.Clone(rd.field(rows[0], rd.Decision)), Chosen: -1}
	if rd.User != "" {
		d.User = strings.Clone(rd.field(rows[0], rd.User))
	}
	for i, row := range rows {
		chosen := rd.field(row, rd.Chosen)
		switch {
		case rd.User != "" && rd.field(row, rd.User) != d.User:
			return d, rd.wrong(row, rd.User, "%q, the first row of decision %q has %q", rd.field(row, rd.User), d.ID, d.User)
		case chosen != "0" && chosen != "1" || chosen == "1" && d.Chosen >= 0:
			return d, rd.wrong(row, rd.Chosen, "%q, want 1 for one candidate of a decision and 0 for the others", chosen)
		case chosen == "1":
			d.Chosen, d.Reward = i, rd.float32(row, rd.Reward)
			if rd.Uniform {
				d.Propensity = 1 / float64(len(rows))
			} else if rd.Propensity != "" {
				d.Propensity = rd.number(row, rd.Propensity, leastPropensity, 1, "a probability from 1e-6 to 1")
			}
			if rd.SamplingWeight != "" {
				d.SamplingWeight = rd.number(row, rd.SamplingWeight, math.SmallestNonzeroFloat64, math.MaxFloat64, "a positive number")
			}
		default:
			if x, err := strconv.ParseFloat(rd.field(row, rd.Reward), 64); err == nil && x != 0 && !rd.unchosen {
				rd.log.warn("line %d has a reward of a candidate that was not chosen: such rewards are not read", row.line)
				rd.unchosen = true
			}
		}
		for _, name := range rd.Features {
			switch {
			case len(rd.Categories) == 0:
				d.Contexts = append(d.Contexts, rd.float32(row, name))
			case slices.Contains(rd.Categories, name):
				d.values = append(d.values, value{int32(i), rd.at(name + "=" + rd.field(row, name)), 1})
			default:
				d.values = append(d.values, value{int32(i), rd.at(name), rd.float32(row, name)})
			}
		}
	}
	if d.Contexts == nil {
		d.size = len(rows)
	}
	if before := rd.before[d.ID]; before > 0 {
		rd.wrong(rows[0], rd.Decision, "%q is also in line %d, with others between", d.ID, before)
	} else if d.Chosen < 0 {
		rd.wrong(rows[0], rd.Chosen, "decision %q has no choice", d.ID)
	}
	return d, rd.err
}

// names numbers features as they are found, or by their hashes.
type names struct {
	index map[string]int32
	hash  int
}

func (n names) at(name string) int32 {
	if n.hash > 0 {
		h := fnv.New32a()
		io.WriteString(h, name)
		return int32(h.Sum32() % uint32(n.hash))
	}
	i, known := n.index[name]
	if !known {
		i = int32(len(n.index))
		n.index[strings.Clone(name)] = i
	}
	return i
}

// name names the features, in the order of their names.
func (l *Log) name(n names) {
	if n.hash > 0 {
		for k := range n.hash {
			l.Features = append(l.Features, fmt.Sprint("hash ", k))
		}
		return
	}
	place := make([]int32, len(n.index))
	for i, name := range slices.Sorted(maps.Keys(n.index)) {
		l.Features, place[n.index[name]] = append(l.Features, name), int32(i)
	}
	for _, d := range append(l.Decisions, Decision{values: l.items}) {
		for i := range d.values {
			d.values[i].feature = place[d.values[i].feature]
		}
	}
}

func (l *Log) add(d Decision) {
	l.Decisions = append(l.Decisions, d)
	l.Candidates = max(l.Candidates, l.size(d))
}

func (l *Log) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}
