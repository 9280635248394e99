package kkbox

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLines is how many lines after its first a record may have, in quotes.
const maxLines = 16

// table reads the records of a CSV file, line by line.
type table struct {
	text  *bufio.Reader
	ahead []string // lines read before their turn
	line  int      // number of the current line
	width int      // columns of the header

	rows       int  // records that are used
	empty      int  // records without any value
	ragged     int  // records of another number of fields than the header
	stray      int  // records with quotes that make no record
	unreadable int  // values that are no such number or code
	cutOff     bool // the last record is incomplete
}

// each calls f with the values of the columns of every record, found by their
// names in the header: "" where a record is too short. It leaves out, and counts,
// records without any value and a last one that is cut off: which is too short, or has
// no line end and no last value, no closing quote or half a letter. An error names line and column.
func (t *table) each(columns []string, f func(values []string) error) error {
	if start, _ := t.text.Peek(3); string(start) == "\ufeff" { // a byte order mark
		t.text.Discard(len(start))
	}
	header, _, err := t.next()
	if err == io.EOF {
		err = t.wrong("", errors.New("is empty, want a header"))
	}
	if err != nil {
		return err
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	var places []int
	for _, name := range columns {
		at := slices.Index(header, name)
		if at < 0 {
			return t.wrong(name, fmt.Errorf("is missing in the header, which is %.200q", header))
		}
		places = append(places, at)
	}
	t.width = len(header)
	values := make([]string, len(columns))
	for {
		record, whole, err := t.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(strings.Join(record, "")) == "":
			t.empty++
			continue
		case len(record) < t.width && t.ended(), !whole && record[len(record)-1] == "":
			t.cutOff = true
			return nil
		case len(record) != t.width:
			t.ragged++
		}
		for i, place := range places {
			values[i] = ""
			if place < len(record) {
				values[i] = record[place]
			}
		}
		t.rows++
		if err := f(values); err != nil {
			return err
		}
	}
}

func (t *table) ended() bool {
	_, err := t.text.Peek(1)
	return err != nil && len(t.ahead) == 0
}

// next reads a record, and says whether its line has an end.
func (t *table) next() (record []string, whole bool, err error) {
	t.line++
	var line string
	if len(t.ahead) > 0 {
		line, t.ahead = t.ahead[0], t.ahead[1:]
	} else if line, err = t.text.ReadString('\n'); err != nil && err != io.EOF {
		return nil, false, t.wrong("", err)
	} else if line == "" {
		return nil, false, io.EOF
	}
	whole = strings.HasSuffix(line, "\n")
	if valid := utf8.ValidString(line); !valid && (whole || t.width == 0) {
		return nil, false, t.wrong("", fmt.Errorf("%.200q is not UTF-8: convert it with iconv", line))
	} else if !valid || !whole && strings.Count(line, `"`)%2 > 0 {
		t.cutOff = true // within a letter, or in quotes
		return nil, false, io.EOF
	}
	bare := strings.TrimRight(line, "\r\n")
	if !strings.Contains(line, `"`) {
		return strings.Split(bare, ","), whole, nil
	}
	parse := func(text string, lazy bool) bool {
		r := csv.NewReader(strings.NewReader(text))
		r.LazyQuotes, r.FieldsPerRecord = lazy, t.width // 0: any
		record, err = r.Read()
		return err == nil
	}
	if parse(line, true) {
		return record, whole, nil
	}
	// Where the line alone makes no record of the header's width, lines after it may belong to it.
	// If they do not, its quotes are taken as they stand, or the file was cut off within them.
	ended := false
	for k := range maxLines {
		if k == len(t.ahead) {
			next, _ := t.text.ReadString('\n') // an error comes again
			if ended = next == ""; ended {
				break
			}
			t.ahead = append(t.ahead, next)
		}
		if line += t.ahead[k]; parse(line, false) {
			t.ahead = t.ahead[k+1:]
			t.line += k + 1
			return record, strings.HasSuffix(line, "\n"), nil
		}
	}
	record = strings.Split(bare, ",")
	isRecord := func(line string) bool { return strings.Count(line, ",") == t.width-1 }
	if t.cutOff = ended && !isRecord(bare) && !slices.ContainsFunc(t.ahead, isRecord); t.cutOff {
		return nil, false, io.EOF
	}
	t.stray++
	return record, whole, nil
}

func (t *table) wrong(column string, err error) error {
	if column != "" {
		column = " column " + column + ":"
	}
	return fmt.Errorf("line %d:%s %w", t.line, column, err)
}
