package kkbox

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxAhead is how many bytes after its first line a record with line ends in quotes may have.
const maxAhead = 1 << 12

// table reads the records of a CSV file, line by line.
type table struct {
	text  *bufio.Reader
	line  int // number of the current line
	width int // columns of the header

	rows       int  // records that are used
	empty      int  // records without any value
	ragged     int  // records of another number of fields than the header
	unreadable int  // values that are no such number or code
	cutOff     bool // the last record is incomplete
}

// each calls f with the values of the columns of every record, found by their
// names in the header: "" where a record is too short. It leaves out, and counts,
// records without any value and a last one that is cut off: which is too short, or has
// no line end and no last value, no closing quote or half a letter.
func (t *table) each(columns []string, f func(values []string) error) error {
	if start, _ := t.text.Peek(3); string(start) == "\ufeff" { // a byte order mark
		t.text.Discard(len(start))
	}
	header, _, err := t.next()
	if err != nil && err != io.EOF {
		return err
	}
	var places []int
	for _, name := range columns {
		at := slices.IndexFunc(header, func(cell string) bool { return strings.TrimSpace(cell) == name })
		if at < 0 {
			return fmt.Errorf("column %s: is missing in the header, which is %.200q", name, header)
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
	return err == io.EOF
}

// next reads a record, and says whether its line has an end.
func (t *table) next() (record []string, whole bool, err error) {
	t.line++
	line, err := t.text.ReadString('\n')
	if err != nil && (err != io.EOF || line == "") {
		return nil, false, err
	}
	whole = err == nil
	if valid := utf8.ValidString(line); !valid && (whole || t.width == 0) {
		return nil, false, fmt.Errorf("%.200q is not UTF-8: convert it with iconv", line)
	} else if !valid || !whole && strings.Count(line, `"`)%2 > 0 {
		t.cutOff = true // within a letter, or in quotes
		return nil, false, io.EOF
	}
	if strings.Contains(line, `"`) {
		record = t.quoted(line)
	}
	if record == nil {
		record = strings.Split(strings.TrimRight(line, "\r\n"), ",")
	}
	return record, whole, nil
}

// quoted reads the record of the header's width that begins with a line: the line alone, whatever
// quotes are within its fields, or with lines after it. Where both make none it returns nil: the
// quotes are taken as they stand.
func (t *table) quoted(line string) []string {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes, r.FieldsPerRecord = true, t.width // 0: any
	if record, err := r.Read(); err == nil {
		return record
	}
	ahead, _ := t.text.Peek(maxAhead)
	ahead = ahead[:bytes.LastIndexByte(ahead, '\n')+1]
	r = csv.NewReader(io.MultiReader(strings.NewReader(line), bytes.NewReader(ahead)))
	r.FieldsPerRecord = t.width
	record, err := r.Read()
	if err != nil {
		return nil
	}
	rest := int(r.InputOffset()) - len(line)
	t.line += bytes.Count(ahead[:rest], []byte("\n"))
	t.text.Discard(rest)
	return record
}
