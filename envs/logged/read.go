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

// ReadFile reads CSV, see Read; Vowpal Wabbit's .dsjson or .json; or the Open Bandit Dataset's obd/random/men.
// A file is streamed. Its log takes 4 bytes a feature value, or 12 a value that is not 0 where there are categories,
// and .2 kB a decision; reading takes up to 3.5 times that, and about twice with GOGC=25. So 10 GB of CSV, of 10
// candidates with 20 features, take 16 or 10 GB, and of the Open Bandit Dataset, 31 million decisions, 26 or 16 GB.
func ReadFile(path string, f Format) (*Log, error) {
	t := newTable(f)
	path, err := t.catalogue(path)
	file, err2 := os.Open(path)
	if err := cmp.Or(err, err2); err != nil {
		return nil, fmt.Errorf("logged: %w", err)
	}
	defer file.Close()
	if strings.HasSuffix(path, "json") {
		t.lines, t.single, t.parse, t.Decision = true, true, (*table).event, "EventId"
	}
	return t.finish(path, t.read(file))
}

// Read reads a log from CSV with a header, in UTF-8, without blanks around values. Rewards and features are
// kept as float32. All that does not fit is an error with file, line, column and value. Log.Warnings counts
// records whose fields are all empty, which are left out, rewards of candidates that were not chosen, which are
// not read, and numbers that float32 rounds and that are 2^24 or more, such as ids and times, or become 0. A file
// may have been cut: a last decision that does not fit is left out with a warning, and where no newline is behind
// the last value, 0.5 may be of 0.53. A cut between two candidates does not show.
func Read(r io.Reader, name string, f Format) (*Log, error) {
	t := newTable(f)
	return t.finish(name, t.read(r))
}

// table reads the records of a file into a log.
type table struct {
	Format
	log      *Log
	lines    bool        // the file is not CSV: records are lines
	single   bool        // records are decisions or items, not candidates, and have columns that Format does not name
	in       *csv.Reader // nil where records are lines
	text     *bufio.Reader
	header   []string
	column   map[string]int   // by name
	index    map[string]int32 // numbers of features, as they are found
	before   map[string]int   // lines of decisions
	counts   map[string]int   // how much was left out or rounded, by what to say of it
	parse    func(t *table, rows []record) (Decision, error)
	contexts []float32 // room for those of the next decisions, see pack
	values   []value   // the same
	line     int       // that was read
	what     string    // there is one of in a record or more
	err      error     // the first that wrong has made
}

func newTable(f Format) *table {
	return &table{Format: f, log: &Log{}, index: map[string]int32{}, before: map[string]int{}, counts: map[string]int{}, parse: (*table).candidates, what: "decision"}
}

type record struct {
	fields []string
	line   int
}

// read reads a file: what is before its records, and these.
func (t *table) read(r io.Reader) error {
	t.text, t.column, t.header = bufio.NewReader(r), map[string]int{}, nil
	start, _ := t.text.Peek(3)
	if t.Hash < 0 || t.Hash > 1<<20 {
		return fmt.Errorf("Format.Hash is %d, want 0 to %d", t.Hash, 1<<20)
	} else if s := string(start); strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") || strings.Contains(s, "\x00") {
		return errors.New("it is UTF-16, want UTF-8: save it as UTF-8, or convert it with iconv -f UTF-16 -t UTF-8")
	} else if s == "\ufeff" { // a byte order mark
		t.text.Discard(len(s))
	}
	if !t.lines {
		t.in = csv.NewReader(t.text) // which reads from it directly
		t.in.Comma, t.in.FieldsPerRecord = cmp.Or(t.Comma, ','), -1
		header, err := t.next()
		if err != nil {
			return fmt.Errorf("the header: %w", err)
		}
		t.header = header.fields
		for i, name := range t.header {
			t.column[name] = i
		}
	}
	if !t.single {
		if err := t.findColumns(); err != nil {
			return err
		}
	}
	return t.rows()
}

// next returns the next record that is not empty, without blanks around values; beside an error, its start.
func (t *table) next() (record, error) {
	for t.in == nil {
		text, err := t.text.ReadString('\n')
		t.line++
		row := record{[]string{text}, t.line}
		if strings.TrimSpace(text) != "" {
			return row, nil
		} else if err != nil {
			return row, err
		}
	}
	for {
		fields, err := t.in.Read()
		for i, field := range fields {
			fields[i] = strings.TrimSpace(field)
		}
		row := record{fields: fields}
		if err != nil {
			return row, err
		}
		row.line, _ = t.in.FieldPos(0)
		if strings.Join(fields, "") == "" {
			t.counts["records whose fields are all empty are left out"]++
			continue
		}
		if t.header != nil && len(fields) != len(t.header) {
			err = fmt.Errorf("line %d has %d columns, the header has %d: %q", row.line, len(fields), len(t.header), fields)
		}
		return row, err
	}
}

// last warns that the last decision or item is left out, where an error is of that one; else it returns the error.
func (t *table) last(err error) error {
	var open *csv.ParseError // a quote that has taken the lines below it is another fault
	_, more := t.next()
	t.text.UnreadByte()
	end, _ := t.text.ReadByte()
	switch {
	case more != io.EOF || errors.As(err, &open) && open.StartLine < open.Line:
		return err
	case err != io.EOF:
		t.log.warn("the last %s is left out: %v", t.what, err)
	case t.in != nil && end != '\n':
		t.log.warn("no newline is behind the last %s: if it was cut there, its last value is wrong", t.what)
	}
	return nil
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
		t.wrong(row, column, "%.200q is not %s", t.field(row, column), want)
	}
	return x
}

// probability is the propensity of a choice among some candidates.
func (t *table) probability(row record, column string, candidates int) float64 {
	if t.Uniform {
		return 1 / float64(candidates)
	}
	return t.number(row, column, leastPropensity, 1, "a probability from 1e-6 to 1")
}

func (t *table) whole(row record, column string, least, most int) int {
	i, err := strconv.Atoi(t.field(row, column))
	if err != nil || i < least || i > most {
		t.wrong(row, column, "%.200q is not a whole number from %d to %d", t.field(row, column), least, most)
	}
	return i
}

func (t *table) float32(row record, column string) float32 {
	return t.short(column, t.number(row, column, -math.MaxFloat32, math.MaxFloat32, "a finite number"))
}

// short is a number as logs keep it. It counts ids, times and the like that change, and what becomes 0.
func (t *table) short(column string, x float64) float32 {
	kept := float32(x) // from 2^53 on, x may have been rounded
	if size := math.Abs(x); size >= 1<<53 || float64(kept) != x && (size >= 1<<24 || kept == 0) {
		t.counts[fmt.Sprintf("numbers of column %.100q have more digits than float32 keeps: subtract an offset, scale them, or make them categories", column)]++
	}
	return kept
}

// at is the number of a feature.
func (t *table) at(name string) int32 {
	if t.Hash > 0 {
		h := fnv.New32a()
		io.WriteString(h, name)
		return int32(h.Sum32() % uint32(t.Hash))
	}
	i, known := t.index[name]
	if !known {
		i = int32(len(t.index))
		t.index[strings.Clone(name)] = i
	}
	return i
}

// add adds the decision of some records, unless there is nothing in it to be learned.
func (t *table) add(rows []record) error {
	t.err = nil
	d, err := t.parse(t, rows)
	size := t.log.size(d)
	if err != nil || size == 0 {
		return err
	}
	if before := t.before[d.ID]; before > 0 {
		return t.wrong(rows[0], t.Decision, "%q is also in line %d", d.ID, before)
	}
	t.before[d.ID], t.log.Candidates = rows[0].line, max(t.log.Candidates, size)
	d.Contexts, d.values = pack(&t.contexts, d.Contexts), pack(&t.values, d.values)
	t.log.Decisions = append(t.log.Decisions, d)
	return nil
}

// pack copies what a decision keeps to the room of a block for many, which takes less memory than a slice each.
func pack[T any](room *[]T, kept []T) []T {
	if len(kept) > cap(*room) {
		*room = make([]T, 0, max(1<<16, 8*len(kept)))
	}
	kept = append(*room, kept...)
	*room = kept[len(kept):]
	return slices.Clip(kept)
}

// finish returns the log, or the error of the file of that name.
func (t *table) finish(name string, err error) (*Log, error) {
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		t.log.warn("%d %s", t.counts[what], what)
	}
	if t.log.Features == nil && err == nil { // in the order of their names
		for k := range t.Hash {
			t.log.Features = append(t.log.Features, fmt.Sprint("hash ", k))
		}
		place := make([]int32, len(t.index))
		for i, name := range slices.Sorted(maps.Keys(t.index)) {
			place[t.index[name]] = int32(i)
			t.log.Features = append(t.log.Features, name)
		}
		for _, d := range append(t.log.Decisions, Decision{values: t.log.items}) {
			for i := 0; i < len(d.values) && t.Hash == 0; i++ {
				d.values[i].feature = place[d.values[i].feature]
			}
		}
	}
	if err == nil && len(t.log.Decisions)*len(t.log.Features) == 0 {
		err = errors.New(strings.Join(append(t.log.Warnings, "there are no decisions with features"), "; "))
	}
	if err != nil {
		return nil, fmt.Errorf("logged: %s: %.1000w", filepath.Base(name), err)
	}
	t.log.Warnings = append(t.log.Warnings, t.log.Check()...)
	return t.log, nil
}

// findColumns gives columns their usual names, and checks that the header has each once.
func (t *table) findColumns() error {
	f, used := &t.Format, []string(nil)
	for i, c := range []struct {
		name  *string
		usual string
	}{{&f.Decision, "decision"}, {&f.Chosen, "chosen"}, {&f.Reward, "reward"}, {&f.User, "user"}, {&f.SamplingWeight, "sampling_weight"}, {&f.Propensity, "propensity"}} {
		if *c.name == "" && (i < 3 || slices.Contains(t.header, c.usual)) {
			*c.name = c.usual
		}
		if *c.name != "" {
			used = append(used, *c.name)
		}
	}
	if f.Features == nil {
		f.Features = slices.DeleteFunc(slices.Clone(t.header), func(name string) bool { return slices.Contains(used, name) })
	}
	used = slices.DeleteFunc(used, func(name string) bool { return f.Uniform && name == f.Propensity }) // which is not read
	used = append(used, f.Features...)
	for i, name := range append(used, f.Categories...) {
		at, category := slices.Index(t.header, name), i >= len(used)
		switch {
		case at < 0 || category && !slices.Contains(f.Features, name):
			return fmt.Errorf("there is no column %q for this: with %q between columns, they are %q, and features are %q", name, t.in.Comma, t.header, f.Features)
		case name == "":
			return errors.New("a column has no name: say which are features in Format.Features")
		case !category && (slices.Contains(used[:i], name) || slices.Contains(t.header[at+1:], name)):
			return fmt.Errorf("column %q has two purposes or stands twice", name)
		}
	}
	if len(f.Categories) == 0 {
		t.log.Features = f.Features
	}
	return nil
}

// rows reads the records below the header, decision by decision.
func (t *table) rows() error {
	var rows []record // of the decision that is being read
	for at := t.column[t.Decision]; ; {
		row, end := t.next()
		// A record that was cut may belong to the decision before it.
		same := !t.single && end != io.EOF && len(rows) > 0 && (len(row.fields) <= at+1 || row.fields[at] == rows[0].fields[at])
		if len(rows) > 0 && !same {
			err := t.add(rows)
			if err != nil && end != io.EOF {
				return err
			}
			rows, end = rows[:0], cmp.Or(err, end)
		}
		if end != nil {
			return t.last(end)
		}
		rows = append(rows, row)
	}
}

func (l *Log) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf("%.1000s", fmt.Sprintf(format, args...)))
}
