package logged

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Format names the columns of a file. Columns without a purpose are neither read nor checked.
type Format struct {
	Decision   string   // default "decision": what the rows of a decision have in common
	User       string   // default "user", which may be missing
	Chosen     string   // default "chosen": 1 for the chosen candidate, else 0
	Reward     string   // default "reward"
	Propensity string   // default "propensity", which may be missing; from 1e-6 to 1
	Uniform    bool     // choices were uniformly random; no propensities are read
	Features   []string // default: all other columns
	Comma      rune     // default ','
}

// ReadFile reads the log in a CSV file, see Read.
func ReadFile(path string, f Format) (*Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("logged: %w", err)
	}
	defer file.Close()
	return Read(file, filepath.Base(path), f)
}

// Read reads a log from CSV with a header, in UTF-8. Blanks around a value do not count. All that does
// not fit is an error with the file's name, the line, the column and the value. What may be no fault
// is said in Log.Warnings, once each:
//
//   - Records whose fields are all empty are skipped.
//   - Rewards and features are kept as float32, which has 7 digits. It is said where that changes them
//     by 0.5, or by a thousandth of a column's range.
func Read(r io.Reader, name string, f Format) (*Log, error) {
	rd, text := reader{Format: f, log: &Log{}, columns: map[int]*column{}}, bufio.NewReader(r)
	rd.in = csv.NewReader(text)
	rd.in.Comma, rd.in.FieldsPerRecord = cmp.Or(f.Comma, ','), -1
	start, _ := text.Peek(3)
	err := error(nil)
	if s := string(start); strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") || strings.Contains(s, "\x00") {
		err = errors.New("it is UTF-16, want UTF-8: save it as CSV UTF-8, or convert it with iconv -f UTF-16 -t UTF-8")
	} else if s == "\ufeff" { // a byte order mark
		text.Discard(len(s))
	}
	if err == nil {
		err = rd.findColumns()
	}
	if err == nil {
		err = rd.rows()
	}
	if err != nil {
		return nil, fmt.Errorf("logged: %s: %w", name, err)
	}
	return rd.log, nil
}

// column is what is known of the values of a column.
type column struct {
	low, high float64
	changed   int     // how many float32 changes
	most      float64 // and by how much at most
}

type reader struct {
	Format
	in      *csv.Reader
	log     *Log
	header  []string
	columns map[int]*column // of rewards and features
	empty   int             // records

	decision, user, chosen, reward, propensity int // columns; -1: not read
	features                                   []int
}

type record struct {
	fields []string
	line   int
}

// next returns the next record that is not empty, without blanks around the values.
func (rd *reader) next() (record, error) {
	for {
		fields, err := rd.in.Read()
		if err != nil {
			return record{}, err
		}
		line, _ := rd.in.FieldPos(0)
		for i, field := range fields {
			fields[i] = strings.TrimSpace(field)
		}
		switch {
		case strings.Join(fields, "") == "":
			rd.empty++
		case rd.header != nil && len(fields) != len(rd.header):
			return record{}, fmt.Errorf("line %d: the record %q has %d columns, the header has %d", line, fields, len(fields), len(rd.header))
		default:
			return record{fields, line}, nil
		}
	}
}

// findColumns reads the header and finds the columns.
func (rd *reader) findColumns() error {
	header, err := rd.next()
	if err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	rd.header = header.fields
	used := make([]bool, len(rd.header))
	find := func(name string) int {
		i := slices.Index(rd.header, name)
		switch {
		case i < 0:
			err = cmp.Or(err, fmt.Errorf("there is no column %q: with %q between columns, they are %q", name, rd.in.Comma, rd.header))
			return i
		case name == "":
			err = cmp.Or(err, errors.New("a column has no name: say which are features in Format.Features"))
		case used[i] || slices.Contains(rd.header[i+1:], name):
			err = cmp.Or(err, fmt.Errorf("column %q has two purposes or stands twice", name))
		}
		used[i] = true
		return i
	}
	rd.user, rd.propensity = -1, -1
	if rd.User != "" || slices.Contains(rd.header, "user") {
		rd.user = find(cmp.Or(rd.User, "user"))
	}
	propensity := cmp.Or(rd.Propensity, "propensity")
	if !rd.Uniform && (rd.Propensity != "" || slices.Contains(rd.header, propensity)) {
		rd.propensity = find(propensity)
	}
	rd.decision = find(cmp.Or(rd.Decision, "decision"))
	rd.chosen, rd.reward = find(cmp.Or(rd.Chosen, "chosen")), find(cmp.Or(rd.Reward, "reward"))
	rd.log.Features = slices.Clone(rd.Features)
	for i, name := range rd.header {
		if rd.Features == nil && !used[i] && name != propensity {
			rd.log.Features = append(rd.log.Features, name)
		}
	}
	for _, name := range rd.log.Features {
		rd.features = append(rd.features, find(name))
	}
	if len(rd.features) == 0 {
		err = cmp.Or(err, fmt.Errorf("no column has features: they are %q", rd.header))
	}
	return err
}

// rows reads the records below the header, decision by decision.
func (rd *reader) rows() error {
	var rows []record // of the decision that is being read
	lines := map[string]int{}
	for end := error(nil); end == nil; {
		var row record
		if row, end = rd.next(); end != nil && end != io.EOF {
			return end
		}
		if len(rows) > 0 && (end != nil || row.fields[rd.decision] != rows[0].fields[rd.decision]) {
			d, err := rd.parse(rows)
			switch before := lines[d.ID]; {
			case err != nil:
				return err
			case before > 0:
				return rd.wrong(rows[0], rd.decision, "%q is also in line %d, with others between", d.ID, before)
			case d.Chosen < 0:
				return rd.wrong(rows[0], rd.chosen, "decision %q has no choice", d.ID)
			}
			rd.log.Decisions = append(rd.log.Decisions, d)
			rd.log.Candidates = max(rd.log.Candidates, len(rows))
			lines[d.ID], rows = rows[0].line, rows[:0]
		}
		rows = append(rows, row)
	}
	if rd.empty > 0 {
		rd.warn("%d empty records are skipped", rd.empty)
	}
	for i, name := range rd.header {
		if c := rd.columns[i]; c != nil && c.high > c.low && (c.most >= 0.5 || c.most > 1e-3*(c.high-c.low)) {
			rd.warn("column %q, %v to %v: float32 changes %d values, by up to %.2g: subtract an offset, or make categories columns of 0 and 1", name, c.low, c.high, c.changed, c.most)
		}
	}
	if len(rd.log.Decisions) == 0 {
		return errors.New("there are no decisions")
	}
	return nil
}

func (rd *reader) warn(format string, args ...any) {
	rd.log.Warnings = append(rd.log.Warnings, fmt.Sprintf(format, args...))
}

// parse makes a decision of its rows. Chosen is -1 where they have no choice.
func (rd *reader) parse(rows []record) (d Decision, err error) {
	number := func(row record, column int, least, most float64, want string) float64 {
		x, bad := strconv.ParseFloat(row.fields[column], 64)
		if bad != nil || !(x >= least && x <= most) {
			err = cmp.Or(err, rd.wrong(row, column, "%q is not %s", row.fields[column], want))
		}
		return x
	}
	short := func(row record, i int) float32 {
		x := number(row, i, -math.MaxFloat32, math.MaxFloat32, "a finite number")
		if rd.columns[i] == nil {
			rd.columns[i] = &column{low: x, high: x}
		}
		c := rd.columns[i]
		c.low, c.high = min(c.low, x), max(c.high, x)
		if change := math.Abs(float64(float32(x)) - x); change > 0 {
			c.changed, c.most = c.changed+1, max(c.most, change)
		}
		return float32(x)
	}
	d.Chosen = -1
	for i, row := range rows {
		if i == 0 {
			d.ID = strings.Clone(row.fields[rd.decision])
			if rd.user >= 0 {
				d.User = strings.Clone(row.fields[rd.user])
			}
		}
		chosen := row.fields[rd.chosen]
		switch {
		case rd.user >= 0 && row.fields[rd.user] != d.User:
			return d, rd.wrong(row, rd.user, "%q, the first row of decision %q has %q", row.fields[rd.user], d.ID, d.User)
		case chosen != "0" && chosen != "1" || chosen == "1" && d.Chosen >= 0:
			return d, rd.wrong(row, rd.chosen, "%q, want 1 for one candidate of a decision and 0 for the others", chosen)
		case chosen == "1":
			d.Chosen, d.Reward = i, short(row, rd.reward)
			if rd.Uniform {
				d.Propensity = 1 / float64(len(rows))
			} else if rd.propensity >= 0 {
				d.Propensity = number(row, rd.propensity, leastPropensity, 1, "a probability from 1e-6 to 1")
			}
		}
		for _, column := range rd.features {
			d.Contexts = append(d.Contexts, short(row, column))
		}
	}
	return d, err
}

func (rd *reader) wrong(row record, column int, format string, args ...any) error {
	return fmt.Errorf("line %d, column %q: %s", row.line, rd.header[column], fmt.Sprintf(format, args...))
}
