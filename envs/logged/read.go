package logged

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ReadFile reads the log in a CSV file, see Read.
func ReadFile(path string, f Format) (*Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("logged: %w", err)
	}
	defer file.Close()
	return Read(file, filepath.Base(path), f)
}

// Read reads a log from CSV: UTF-8, with a header, quotes where they are needed.
// It holds the features, 4 bytes each, and of the text no more than the names of
// decisions and users. Blanks around a value and a byte order mark do not count.
//
// Whatever does not fit the format is a FileError that has the name, which is
// how errors call the file, the line and the column: a column that is missing,
// named twice or without a name; a row of another length; a number that is none
// or not finite; a decision without a choice, with two, with another number of
// candidates than the first, of two users, or in two places of the file; a
// choice without a reward; a reward of what was not chosen; a propensity that is
// no probability above 0, or propensities of all candidates that do not sum to
// 1 within their rounding (0.005 each); a name with control characters in it; a
// file without decisions.
func Read(r io.Reader, name string, f Format) (*Log, error) {
	buffered := bufio.NewReader(r)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" {
		buffered.Discard(3)
	}
	in := csv.NewReader(buffered)
	in.Comma = cmp.Or(f.Comma, ',')
	in.ReuseRecord = true
	rd := reader{in: in, seen: map[string]int{}}
	log, err := rd.read(f)
	if err == nil {
		return log, nil
	}
	var syntax *csv.ParseError
	var where *FileError
	switch {
	case errors.As(err, &syntax):
		err = syntax.Err
		if errors.Is(err, csv.ErrFieldCount) {
			err = fmt.Errorf("a row of another length than the header, which has %d columns", in.FieldsPerRecord)
		}
		return nil, &FileError{File: name, Line: syntax.Line, Err: err}
	case errors.As(err, &where):
		where.File = name
		return nil, where
	}
	return nil, &FileError{File: name, Err: err}
}

// reader reads the rows of a file.
type reader struct {
	in   *csv.Reader
	cols columns
	log  *Log
	seen map[string]int // the line in which a decision begins

	// What the current decision has so far.
	id         string
	line       int // of its first row
	candidates int
	chosen     int // -1: none
	told       int // propensities of its candidates
	sum        float64
}

func (rd *reader) read(f Format) (*Log, error) {
	header, err := rd.in.Read()
	if err == io.EOF {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = strings.TrimSpace(name)
	}
	if rd.cols, err = f.find(names); err != nil {
		return nil, at(err, 1)
	}
	log := &Log{Dim: len(rd.cols.features)}
	for _, i := range rd.cols.features {
		log.Features = append(log.Features, names[i])
	}
	rd.log = log
	for {
		row, err := rd.in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := rd.in.FieldPos(0)
		if err := rd.add(row, line); err != nil {
			return nil, at(err, line)
		}
	}
	if log.Len() == 0 {
		return nil, errors.New("there are no decisions below the header")
	}
	if err := rd.finish(); err != nil {
		return nil, err
	}
	if f.Uniform {
		log.Propensity = make([]float64, log.Len())
		for i := range log.Propensity {
			log.Propensity[i] = 1 / float64(log.Candidates)
		}
	}
	return log, nil
}

// add adds a row: to the decision that is being read, or as the first of another.
func (rd *reader) add(row []string, line int) error {
	id := strings.TrimSpace(row[rd.cols.decision])
	if err := checkName(id); err != nil {
		return rd.bad(rd.cols.decision, "the decision %w", err)
	}
	user := ""
	if rd.cols.user >= 0 {
		user = strings.TrimSpace(row[rd.cols.user])
		if err := checkName(user); err != nil {
			return rd.bad(rd.cols.user, "the user %w", err)
		}
	}
	if rd.log.Len() == 0 || id != rd.id {
		if rd.log.Len() > 0 {
			if err := rd.finish(); err != nil {
				return err
			}
		}
		if before, again := rd.seen[id]; again {
			return rd.bad(rd.cols.decision, "decision %q is also in line %d, with others between: the rows of a decision follow each other", id, before)
		}
		rd.begin(id, user, line)
	} else if rd.cols.user >= 0 && user != rd.log.User[rd.log.Len()-1] {
		return rd.bad(rd.cols.user, "decision %q is of user %q and of %q", id, rd.log.User[rd.log.Len()-1], user)
	}
	return rd.candidate(row)
}

func (rd *reader) begin(id, user string, line int) {
	rd.id, rd.line = strings.Clone(id), line
	rd.candidates, rd.chosen, rd.told, rd.sum = 0, -1, 0, 0
	rd.seen[rd.id] = line
	log := rd.log
	log.ID = append(log.ID, rd.id)
	log.Chosen = append(log.Chosen, -1)
	log.Reward = append(log.Reward, 0)
	if rd.cols.user >= 0 {
		log.User = append(log.User, strings.Clone(user))
	}
	if rd.cols.propensity >= 0 {
		log.Propensity = append(log.Propensity, 0)
	}
}

// candidate adds a candidate to the last decision.
func (rd *reader) candidate(row []string) error {
	log, last := rd.log, rd.log.Len()-1
	chosen := false
	switch text := strings.TrimSpace(row[rd.cols.chosen]); text {
	case "0":
	case "1":
		chosen = true
	default:
		return rd.bad(rd.cols.chosen, "%q, want 1 for the chosen candidate and 0 for the others", text)
	}
	if chosen && rd.chosen >= 0 {
		return rd.bad(rd.cols.chosen, "decision %q has a second choice", rd.id)
	}
	reward, told, err := rd.number(row, rd.cols.reward)
	switch {
	case err != nil:
		return err
	case chosen && !told:
		return rd.bad(rd.cols.reward, "the chosen candidate has no reward")
	case !chosen && reward != 0:
		return rd.bad(rd.cols.reward, "%v for a candidate that was not chosen: nobody knows what it would have earned", reward)
	case !finite(float64(float32(reward))):
		return rd.bad(rd.cols.reward, "%v is too large", reward)
	}
	if chosen {
		rd.chosen = rd.candidates
		log.Chosen[last], log.Reward[last] = rd.candidates, float32(reward)
	}
	if rd.cols.propensity >= 0 {
		if err := rd.propensity(row, chosen); err != nil {
			return err
		}
	}
	for _, column := range rd.cols.features {
		x, told, err := rd.number(row, column)
		if err == nil && !told {
			err = rd.bad(column, "a candidate without a value")
		}
		if err == nil && !finite(float64(float32(x))) {
			err = rd.bad(column, "%v is too large", x)
		}
		if err != nil {
			return err
		}
		log.Contexts = append(log.Contexts, float32(x))
	}
	rd.candidates++
	return nil
}

func (rd *reader) propensity(row []string, chosen bool) error {
	p, told, err := rd.number(row, rd.cols.propensity)
	switch {
	case err != nil:
		return err
	case told && !(p >= 0 && p <= 1):
		return rd.bad(rd.cols.propensity, "%v is no probability", p)
	case chosen && !(p > 0):
		return rd.bad(rd.cols.propensity, "the chosen candidate needs the probability with which it was chosen, above 0")
	}
	if told {
		rd.told++
		rd.sum += p
	}
	if chosen {
		rd.log.Propensity[rd.log.Len()-1] = p
	}
	return nil
}

// finish checks the decision that was read.
func (rd *reader) finish() error {
	whole := func(column int, format string, args ...any) error {
		return at(rd.bad(column, format, args...), rd.line)
	}
	if rd.log.Candidates == 0 {
		rd.log.Candidates = rd.candidates
	}
	rounding := 0.005 * float64(rd.told)
	switch {
	case rd.candidates < 2:
		return whole(rd.cols.decision, "decision %q has 1 candidate, want at least 2", rd.id)
	case rd.candidates != rd.log.Candidates:
		return whole(rd.cols.decision, "decision %q has %d candidates, the first one has %d: all have the same number", rd.id, rd.candidates, rd.log.Candidates)
	case rd.chosen < 0:
		return whole(rd.cols.chosen, "decision %q has no choice", rd.id)
	case rd.sum > 1+rounding || rd.told == rd.candidates && rd.sum < 1-rounding:
		return whole(rd.cols.propensity, "the propensities of decision %q sum to %.4g", rd.id, rd.sum)
	}
	return nil
}

// number reads a number, told saying whether there is one.
func (rd *reader) number(row []string, column int) (x float64, told bool, err error) {
	text := strings.TrimSpace(row[column])
	if text == "" {
		return 0, false, nil
	}
	x, err = strconv.ParseFloat(text, 64)
	if err != nil || !finite(x) {
		return 0, false, rd.bad(column, "%.40q is not a finite number", text)
	}
	return x, true, nil
}

// checkName reports what makes a text no name, as in "the user has no name".
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("has no name")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("has the name %.40q, which is no line of UTF-8", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("has the name %.40q, with blanks around it", name)
	}
	return nil
}

func (rd *reader) bad(column int, format string, args ...any) error {
	return atColumn(rd.cols.names[column], format, args...)
}

// at tells an error's line, unless it knows it.
func at(err error, line int) error {
	var where *FileError
	if errors.As(err, &where) && where.Line == 0 {
		where.Line = line
	}
	return err
}
