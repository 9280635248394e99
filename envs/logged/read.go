package logged

import (
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

// Format names the columns of a file. Columns without a purpose are not read.
type Format struct {
	Decision   string   // default "decision": what the rows of a decision have in common
	User       string   // default "user", which may be missing
	Chosen     string   // default "chosen": 1 for the chosen candidate, else 0
	Reward     string   // default "reward"
	Propensity string   // default "propensity", which may be missing; at least 1e-6
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

// Read reads a log from CSV with a header. Blanks around a value do not count. Records whose fields
// are all empty are skipped. A last decision that is incomplete, as in the copy of a file that is
// still being written, is left out. Log.Warnings says both. All else that does
// not fit is an error with the file's name, the line, the column and the value.
func Read(r io.Reader, name string, f Format) (*Log, error) {
	rd := reader{Format: f, in: csv.NewReader(r), log: &Log{}}
	rd.in.Comma, rd.in.FieldsPerRecord = cmp.Or(f.Comma, ','), -1
	err := rd.columns()
	if err == nil {
		err = rd.rows()
	}
	if err != nil {
		return nil, fmt.Errorf("logged: %s: %w", name, err)
	}
	return rd.log, nil
}

type reader struct {
	Format
	in     *csv.Reader
	log    *Log
	header []string
	empty  int  // records
	cut    bool // the last record is incomplete

	decision, user, chosen, reward, propensity int // columns; -1: not read
	features                                   []int
}

type record struct {
	fields []string
	line   int
}

// next returns the next record that is not empty, without blanks around the values. The record is
// io.EOF's where it is the last one and incomplete.
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
		case rd.header == nil || len(fields) == len(rd.header):
			return record{fields, line}, nil
		default:
			_, end := rd.in.Read()
			if rd.cut = end == io.EOF && len(fields) < len(rd.header); rd.cut {
				return record{}, io.EOF
			}
			return record{}, fmt.Errorf("line %d: the record %q has %d columns, the header has %d", line, fields, len(fields), len(rd.header))
		}
	}
}

// columns reads the header and finds the columns.
func (rd *reader) columns() error {
	header, err := rd.next()
	if err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	rd.header = header.fields
	rd.header[0] = strings.TrimPrefix(rd.header[0], "\ufeff")
	used := make([]bool, len(rd.header))
	find := func(name string) int {
		i := slices.Index(rd.header, name)
		switch {
		case i < 0:
			err = cmp.Or(err, fmt.Errorf("there is no column %q: with %q between columns, they are %q", name, rd.in.Comma, rd.header))
			return i
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
	if rd.Propensity != "" || slices.Contains(rd.header, "propensity") {
		rd.propensity = find(cmp.Or(rd.Propensity, "propensity"))
	}
	rd.decision = find(cmp.Or(rd.Decision, "decision"))
	rd.chosen, rd.reward = find(cmp.Or(rd.Chosen, "chosen")), find(cmp.Or(rd.Reward, "reward"))
	rd.log.Features = slices.Clone(rd.Features)
	for i, name := range rd.header {
		if rd.Features == nil && !used[i] {
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
			before := lines[d.ID]
			switch {
			case end != nil && (rd.cut || err == nil && d.Chosen < 0):
				rd.log.Warnings = append(rd.log.Warnings, fmt.Sprintf("the last decision, %q, is incomplete and left out", d.ID))
			case err != nil:
				return err
			case before > 0:
				return rd.wrong(rows[0], rd.decision, "%q is also in line %d, with others between", d.ID, before)
			case d.Chosen < 0:
				return rd.wrong(rows[0], rd.chosen, "decision %q has no choice", d.ID)
			default:
				rd.log.Decisions = append(rd.log.Decisions, d)
				rd.log.Candidates = max(rd.log.Candidates, len(rows))
			}
			lines[d.ID], rows = rows[0].line, rows[:0]
		}
		rows = append(rows, row)
	}
	if rd.empty > 0 {
		rd.log.Warnings = append(rd.log.Warnings, fmt.Sprintf("%d empty records are skipped", rd.empty))
	}
	if len(rd.log.Decisions) == 0 {
		return errors.New(strings.Join(append([]string{"there are no complete decisions"}, rd.log.Warnings...), "; "))
	}
	return nil
}

// parse makes a decision of its rows. Chosen is -1 where they have no choice.
func (rd *reader) parse(rows []record) (Decision, error) {
	d := Decision{ID: strings.Clone(rows[0].fields[rd.decision]), Chosen: -1}
	if rd.user >= 0 {
		d.User = strings.Clone(rows[0].fields[rd.user])
	}
	var err error
	number := func(row record, column int, least, most float64, want string) float64 {
		x, bad := strconv.ParseFloat(row.fields[column], 64)
		if bad != nil || !(x >= least && x <= most) {
			err = cmp.Or(err, rd.wrong(row, column, "%q is not %s", row.fields[column], want))
		}
		return x
	}
	for i, row := range rows {
		chosen := row.fields[rd.chosen]
		switch {
		case rd.user >= 0 && row.fields[rd.user] != d.User:
			return d, rd.wrong(row, rd.user, "%q, the first row of decision %q has %q", row.fields[rd.user], d.ID, d.User)
		case chosen != "0" && chosen != "1" || chosen == "1" && d.Chosen >= 0:
			return d, rd.wrong(row, rd.chosen, "%q, want 1 for one candidate of a decision and 0 for the others", chosen)
		}
		if chosen == "1" {
			d.Chosen, d.Reward = i, float32(number(row, rd.reward, -math.MaxFloat32, math.MaxFloat32, "a finite number"))
			if rd.Uniform {
				d.Propensity = 1 / float64(len(rows))
			} else if rd.propensity >= 0 {
				d.Propensity = number(row, rd.propensity, 1e-6, 1, "a probability from 1e-6 to 1")
			}
		}
		for _, column := range rd.features {
			d.Contexts = append(d.Contexts, float32(number(row, column, -math.MaxFloat32, math.MaxFloat32, "a finite number")))
		}
	}
	return d, err
}

func (rd *reader) wrong(row record, column int, format string, args ...any) error {
	return fmt.Errorf("line %d, column %q: %s", row.line, rd.header[column], fmt.Sprintf(format, args...))
}
