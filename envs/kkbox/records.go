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

// table reads the records of a CSV file, line by line.
type table struct {
	text  *bufio.Reader
	line  int // number of the current line
	width int // columns of the header

	rows   int            // records that are used
	counts map[string]int // of what is odd, by what to say of it
}

// each calls f with the values of the columns of every record, found by their names in the header:
// "" where a record is too short. Records without any value and a last one that is cut off are left
// out, and counted.
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
		record, cut, err := t.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(strings.Join(record, "")) == "":
			t.counts["records without any value are left out"]++
			continue
		case cut:
			t.counts[fmt.Sprintf("record, the last one, in line %d, is incomplete and left out", t.line)]++
			return nil
		case len(record) != t.width:
			t.counts["records have another number of fields than the header"]++
		}
		record = append(record, make([]string, max(0, t.width-len(record)))...) // if it is too short
		for i, place := range places {
			values[i] = record[place]
		}
		t.rows++
		if err := f(values); err != nil {
			return err
		}
	}
}

// next reads a record. It is cut off if it is the last one and too short, or if its line has no end
// and it no last value, no closing quote or half a letter.
func (t *table) next() (record []string, cut bool, err error) {
	t.line++
	line, err := t.text.ReadString('\n')
	if err != nil && (err != io.EOF || line == "") {
		return nil, false, err
	}
	open, valid := err == io.EOF, utf8.ValidString(line)
	if !valid && (!open || t.width == 0) {
		return nil, false, fmt.Errorf("%.200q is not UTF-8: convert it with iconv", line)
	}
	if strings.Contains(line, `"`) {
		record = t.quoted(line)
	}
	if record == nil {
		record = strings.Split(strings.TrimRight(line, "\r\n"), ",")
	}
	_, err = t.text.Peek(1)
	cut = err == io.EOF && len(record) < t.width ||
		open && (record[len(record)-1] == "" || strings.Count(line, `"`)%2 > 0 || !valid)
	return record, cut, nil
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
	ahead, _ := t.text.Peek(1 << 12)
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
