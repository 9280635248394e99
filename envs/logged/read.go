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
	start, _ := buffered.Peek(buffered.Size()) // less of a short file
	header, line := firstLine(string(start))
	in := csv.NewReader(buffered)
	in.Comma = cmp.Or(f.Comma, ',')
	in.ReuseRecord = true
	rd := reader{in: in, seen: map[string]place{}}
	log, err := rd.read(f)
	if err == nil {
		return log, nil
	}
	var syntax *csv.ParseError
	var where *FileError
	switch {
	case errors.As(err, &syntax):
		where = &FileError{Line: syntax.StartLine, Err: explain(syntax)}
	case !errors.As(err, &where):
		where = &FileError{Err: err}
	}
	if hint := otherSeparator(header, in.Comma); hint != nil && where.Line == line {
		where.Column, where.Err = "", hint
	}
	where.File = name
	return nil, where
}

// firstLine is the first line of a text that is not empty, and its number, from 1.
func firstLine(text string) (line string, number int) {
	for number = 1; ; number++ {
		var more bool
		line, text, more = strings.Cut(text, "\n")
		if line = strings.TrimSuffix(line, "\r"); line != "" || !more {
			return line, number
		}
	}
}

// separators are what columns are usually separated by.
var separators = []struct {
	comma      rune
	name, code string
}{{',', "commas", "','"}, {';', "semicolons", "';'"}, {'\t', "tabs", `'\t'`}, {'|', "bars", "'|'"}}

// otherSeparator is an error where a header does not have the separator, and has
// another.
func otherSeparator(header string, comma rune) error {
	if strings.ContainsRune(header, comma) {
		return nil
	}
	for _, s := range separators {
		if strings.ContainsRune(header, s.comma) {
			return fmt.Errorf("the header is one column, %.40q: where columns are separated by %s, set Format.Comma to %s",
				strings.TrimSpace(header), s.name, s.code)
		}
	}
	return nil
}

// explain says what is wrong with the quotes of a row.
func explain(syntax *csv.ParseError) error {
	if errors.Is(syntax.Err, csv.ErrBareQuote) {
		return errors.New("a quote in a field that does not begin with one: quote the whole field and write that quote twice")
	}
	if !errors.Is(syntax.Err, csv.ErrQuote) {
		return syntax.Err
	}
	to := ""
	if syntax.Line > syntax.StartLine {
		to = fmt.Sprintf(" in what follows, down to line %d", syntax.Line)
	}
	return fmt.Errorf("a quote that begins a field of this row is not closed where a field ends%s; a quote within a quoted field is written twice", to)
}

// reader reads the rows of a file.
type reader struct {
	in   *csv.Reader
	cols columns
	log  *Log
	seen map[string]place // of the decisions before the current one

	// What the current decision has so far.
	id         string
	place      place
	candidates int
	chosen     int // -1: none
	told       int // propensities of its candidates
	sum        float64
}

// place is the lines of a decision's first row and its last.
type place struct{ first, last int }

func (p place) String() string {
	if p.first == p.last {
		return fmt.Sprintf("line %d", p.first)
	}
	return fmt.Sprintf("lines %d to %d", p.first, p.last)
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
		line, _ := rd.in.FieldPos(0)
		return nil, at(err, line)
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
		if errors.Is(err, csv.ErrFieldCount) {
			return nil, rd.length(row)
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
	id, err := rd.name(row, rd.cols.decision, "decision")
	if err != nil {
		return err
	}
	user := ""
	if rd.cols.user >= 0 {
		if user, err = rd.name(row, rd.cols.user, "user"); err != nil {
			return err
		}
	}
	if rd.log.Len() == 0 || id != rd.id {
		if before, again := rd.seen[id]; again {
			return rd.torn(id, before)
		}
		if rd.log.Len() > 0 {
			rd.seen[rd.id] = rd.place
			if err := rd.finish(); err != nil {
				return rd.orTorn(err)
			}
		}
		rd.begin(id, user, line)
	} else if rd.cols.user >= 0 && user != rd.log.User[rd.log.Len()-1] {
		return rd.bad(rd.cols.user, "decision %q is of user %q and of %q", id, rd.log.User[rd.log.Len()-1], user)
	}
	rd.place.last = line
	return rd.candidate(row)
}

// torn is the error of a decision with rows in two places.
func (rd *reader) torn(id string, before place) error {
	return rd.bad(rd.cols.decision, "decision %q is also in %v, with others between: all rows of a decision must stand together, decisions in the order of time",
		id, before)
}

// orTorn is the error of the decision that was read, or, where that is wrong
// because a part of its rows stands further down, the error that says so. The
// first decision may be the incomplete one, by which all others are counted.
func (rd *reader) orTorn(err error) error {
	for {
		row, readErr := rd.in.Read()
		if errors.Is(readErr, csv.ErrFieldCount) {
			continue
		}
		if readErr != nil {
			return err
		}
		id := strings.TrimSpace(row[rd.cols.decision])
		if id == rd.id || id == rd.log.ID[0] && rd.candidates != rd.log.Candidates {
			line, _ := rd.in.FieldPos(0)
			return at(rd.torn(id, rd.seen[id]), line)
		}
	}
}

// length is the error of a row of another length than the header.
func (rd *reader) length(row []string) error {
	line, _ := rd.in.FieldPos(0)
	text := fmt.Sprintf("the row has %d columns and the header %d", len(row), rd.in.FieldsPerRecord)
	if breaks := strings.Count(strings.Join(row, ""), "\n"); breaks > 0 {
		text += fmt.Sprintf("; a quoted field of it goes on to line %d, whose closing quote may be missing", line+breaks)
	}
	return &FileError{Line: line, Err: errors.New(text)}
}

func (rd *reader) begin(id, user string, line int) {
	rd.id, rd.place = strings.Clone(id), place{line, line}
	rd.candidates, rd.chosen, rd.told, rd.sum = 0, -1, 0, 0
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
		return at(rd.bad(column, format, args...), rd.place.first)
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
		_, pointErr := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
		if strings.Contains(text, ",") && pointErr == nil {
			return 0, false, rd.bad(column, "%.40q is not a finite number: decimals have a point", text)
		}
		return 0, false, rd.bad(column, "%.40q is not a finite number", text)
	}
	return x, true, nil
}

// name reads the name of a decision or a user.
func (rd *reader) name(row []string, column int, whose string) (string, error) {
	name := strings.TrimSpace(row[column])
	err := checkName(name)
	switch {
	case err == nil:
		return name, nil
	case strings.Contains(name, "\n"):
		return "", rd.bad(column, "the %s %w: is the quote before it closed?", whose, err)
	}
	return "", rd.bad(column, "the %s %w", whose, err)
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
