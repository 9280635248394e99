package kkbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on what one record may take. The longest of the real files is a song
// of a few hundred composers, a few kilobytes.
const (
	maxRecord      = 1 << 20 // bytes
	maxQuotedBytes = 64 << 10
	maxQuotedLines = 16

	readBlock = 64 << 10 // bytes asked of the file at once
)

// A FileError is an error in the content of a file.
type FileError struct {
	File   string // as it was found, the archive that holds it included
	Line   int64  // of the record, the header is line 1; 0 where it is the file as a whole
	Column string // "" where it is the line as a whole
	Err    error
}

func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ": line %d", e.Line)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ": column %s", e.Column)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

func (e *FileError) Unwrap() error { return e.Err }

var (
	errCutOff  = errors.New("the file ends within a quoted field: it is cut off")
	errStopped = errors.New("stopped, since another file is in error")
)

// table reads the records of a CSV file in order: RFC 4180, but for what real
// copies of the data have besides. A quote within a field is part of it, lines
// end in LF or CRLF, empty lines are passed over, and a field that begins with
// a quote which nothing closes is taken as it stands, up to the next comma.
type table struct {
	file    string
	columns []string // those asked for
	place   []int    // where they are in a record
	width   int      // columns of the header

	r          io.Reader
	buf        []byte
	start, end int // what is read and not yet consumed
	eof        bool
	failed     error // of r

	line       int64 // of the current record
	lines      int64 // read so far
	spans      []span
	fields     [][]byte // of the current record; they are valid until the next
	stray      int      // records with a quote that nothing closes
	byteOrder  bool     // the file begins with a byte order mark
	returns    bool     // the header ends in CR LF
	unfinished bool     // the current record is the last and has no line end
}

// span is a field within what is not yet consumed.
type span struct {
	from, to int
	quoted   bool // and has quotes within
}

// newTable reads the header and finds the columns in it, by name.
func newTable(file string, r io.Reader, columns ...string) (*table, error) {
	t := &table{file: file, r: r, columns: columns, place: make([]int, len(columns)), buf: make([]byte, readBlock)}
	for t.end < 4 && t.fill() {
	}
	switch b := t.buf[:t.end]; {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		t.start, t.byteOrder = 3, true
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return nil, t.err("", errors.New("is UTF-16, want UTF-8"))
	}
	if ok, err := t.next(); err != nil {
		return nil, err
	} else if !ok {
		return nil, &FileError{File: file, Err: errors.New("is empty, want a header")}
	}
	t.width = len(t.fields)
	for i, name := range columns {
		t.place[i] = slices.IndexFunc(t.fields, func(f []byte) bool { return string(bytes.TrimSpace(f)) == name })
		if t.place[i] < 0 {
			return nil, t.err(name, fmt.Errorf("is missing in the header, which is %q", clip(bytes.Join(t.fields, []byte(",")))))
		}
	}
	return t, nil
}

// clip is the beginning of a text from a file, for a message.
func clip(b []byte) string {
	const most = 200
	if len(b) > most {
		return string(b[:most]) + "..."
	}
	return string(b)
}

// err is an error at the current record.
func (t *table) err(column string, err error) error {
	return &FileError{File: t.file, Line: max(t.line, 1), Column: column, Err: err}
}

// field is a column of the current record, "" where the record is too short.
func (t *table) field(column int) []byte {
	if p := t.place[column]; p < len(t.fields) {
		return t.fields[p]
	}
	return nil
}

// bad is an error about the value in a column of the current record.
func (t *table) bad(column int, want string) error {
	return t.err(t.columns[column], fmt.Errorf("is %q, want %s", clip(t.field(column)), want))
}

// ragged tells whether the record has another number of fields than the header.
func (t *table) ragged() bool { return len(t.fields) != t.width }

// cutOff tells whether the file ends within the current record.
func (t *table) cutOff() bool { return t.unfinished && len(t.fields) < t.width }

// fill reads more of the file, and reports false when there is no more, or no
// more may be kept.
func (t *table) fill() bool {
	if t.eof || t.failed != nil {
		return false
	}
	if t.start > 0 {
		t.end = copy(t.buf, t.buf[t.start:t.end])
		t.start = 0
	}
	if t.end == len(t.buf) {
		if t.end >= maxRecord {
			t.failed = t.err("", fmt.Errorf("is longer than %d bytes", maxRecord))
			t.failed.(*FileError).Line = t.lines + 1
			return false
		}
		t.buf = append(t.buf, make([]byte, len(t.buf))...)
	}
	for range 100 {
		n, err := t.r.Read(t.buf[t.end:])
		t.end += n
		if err == io.EOF {
			t.eof = true
		} else if err != nil {
			t.failed = &FileError{File: t.file, Line: t.lines + 1, Err: err}
		}
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	t.failed = &FileError{File: t.file, Line: t.lines + 1, Err: io.ErrNoProgress}
	return false
}

// lineEnd is where the line ends that begins at from, both counted from start.
// It is found where the file goes on after it, or ended, as whole says.
func (t *table) lineEnd(from int) (end int, whole bool) {
	seen := from
	for {
		if i := bytes.IndexByte(t.buf[t.start+seen:t.end], '\n'); i >= 0 {
			return seen + i, true
		}
		seen = t.end - t.start
		if !t.fill() {
			return t.end - t.start, false
		}
	}
}

// next moves to the next record, and reports false at the end of the file.
func (t *table) next() (bool, error) {
	for {
		n, whole := t.lineEnd(0)
		if t.failed != nil {
			return false, t.failed
		}
		if n == 0 && !whole {
			return false, nil
		}
		t.lines++
		t.line = t.lines
		t.unfinished = !whole
		used := n
		if whole {
			used++
		}
		line := t.buf[t.start : t.start+n]
		if n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
			t.returns = t.returns || t.line == 1
		}
		if len(line) == 0 {
			t.start += used
			continue
		}
		if bytes.IndexByte(line, '"') < 0 {
			t.split(line)
			t.start += used
			return true, t.encoded(line)
		}
		return true, t.quoted(n, whole)
	}
}

// split makes the fields of a line in which quotes mean nothing.
func (t *table) split(line []byte) {
	t.fields = t.fields[:0]
	for {
		i := bytes.IndexByte(line, ',')
		if i < 0 {
			t.fields = append(t.fields, line)
			return
		}
		t.fields = append(t.fields, line[:i])
		line = line[i+1:]
	}
}

// quoted makes the fields of a record whose first line has a quote and n bytes,
// and moves on.
func (t *table) quoted(n int, whole bool) error {
	end, ended, lines := n, whole, int64(1)
	single := false // whether quotes have one in them that is not doubled
	record, limit := t.upTo(end)
	t.spans = t.spans[:0]
	for at := 0; ; at++ { // a field begins
		if at == limit || record[at] != '"' {
			length := bytes.IndexByte(record[at:limit], ',')
			if length < 0 {
				length = limit - at
			}
			t.spans = append(t.spans, span{from: at, to: at + length})
			at += length
		} else {
			s := span{from: at + 1}
			for search := s.from; ; {
				i := bytes.IndexByte(record[search:limit], '"')
				if i < 0 { // on to the next line
					next, more := 0, false
					if ended && lines < maxQuotedLines && end-s.from < maxQuotedBytes {
						next, more = t.lineEnd(end + 1)
						if t.failed != nil {
							return t.failed
						}
					}
					if next <= end+1 && !more {
						return t.unclosed(n, whole, !ended, lines)
					}
					search, end, ended = limit, next, more
					record, limit = t.upTo(end)
					lines++
					continue
				}
				s.to = search + i
				after := s.to + 1
				if after == limit || record[after] == ',' {
					t.spans = append(t.spans, s)
					at = after
					break
				}
				if s.quoted = true; record[after] == '"' {
					after++
				} else {
					single = true
				}
				search = after
			}
		}
		if at == limit {
			break
		}
	}
	// Whoever writes line ends in quotes doubles the quotes in them, and all
	// the fields are there.
	if lines > 1 && (single || t.width > 0 && len(t.spans) != t.width) {
		return t.unclosed(n, whole, false, lines)
	}
	t.fields = t.fields[:0]
	for _, s := range t.spans {
		t.fields = append(t.fields, record[s.from:s.to])
	}
	t.lines += lines - 1
	t.unfinished = !ended
	t.start += end
	if ended {
		t.start++
	}
	if err := t.encoded(record); err != nil {
		return err
	}
	for i, s := range t.spans {
		if s.quoted {
			t.fields[i] = unescape(t.fields[i])
		}
	}
	return nil
}

// upTo is the current record up to the end of a line, and where the text ends in
// it, which is before a carriage return.
func (t *table) upTo(end int) (record []byte, limit int) {
	record, limit = t.buf[t.start:t.start+end], end
	if end > 0 && record[end-1] == '\r' {
		limit--
	}
	return record, limit
}

// unclosed takes the first line of a record as it stands: it has a quote that
// nothing closes, or something on another line by chance. It is an error where
// the file ends within the quotes instead.
func (t *table) unclosed(n int, whole, cut bool, lines int64) error {
	line, limit := t.upTo(n)
	t.split(line[:limit])
	if cut && (lines == 1 || len(t.fields) != t.width) {
		column := ""
		if i := slices.Index(t.place, len(t.spans)); i >= 0 {
			column = t.columns[i]
		}
		return t.err(column, errCutOff)
	}
	t.stray++
	t.start += n
	if whole {
		t.start++
	}
	return t.encoded(line)
}

// unescape replaces two quotes in a row by one, in place.
func unescape(b []byte) []byte {
	n := 0
	for i := 0; i < len(b); i++ {
		if b[i] == '"' && i+1 < len(b) && b[i+1] == '"' {
			i++
		}
		b[n] = b[i]
		n++
	}
	return b[:n]
}

// encoded is an error where the record is not UTF-8.
func (t *table) encoded(line []byte) error {
	if utf8.Valid(line) {
		return nil
	}
	for i, f := range t.fields {
		if !utf8.Valid(f) {
			column := slices.Index(t.place, i)
			name := fmt.Sprint(i + 1)
			if column >= 0 {
				name = t.columns[column]
			}
			return t.err(name, fmt.Errorf("is %q, which is not UTF-8", clip(f)))
		}
	}
	return t.err("", errors.New("is not UTF-8"))
}
