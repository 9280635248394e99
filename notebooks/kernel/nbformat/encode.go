package nbformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Write writes the notebook to a file, by way of a temporary file beside it
// that is then renamed: nobody sees half a notebook.
func Write(path string, n *Notebook) error {
	data, err := n.Encode()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails, as it should, once renamed
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return err
}

// Encode returns the file of a notebook. It is an error when a cell or an
// output has an unknown type or ids are missing or equal.
func (n *Notebook) Encode() ([]byte, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	cells := make([]any, len(n.Cells))
	for i, c := range n.Cells {
		cells[i] = encodeCell(c)
	}
	// Maps, not structs: encoding/json sorts their keys.
	file := map[string]any{
		"cells":          cells,
		"metadata":       object(n.Metadata),
		"nbformat":       4,
		"nbformat_minor": max(n.Minor, 5),
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(file); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func encodeCell(c Cell) map[string]any {
	out := map[string]any{
		"cell_type": c.Type,
		"id":        c.ID,
		"metadata":  object(c.Metadata),
		"source":    lines(c.Source),
	}
	if c.Attachments != nil {
		out["attachments"] = c.Attachments
	}
	if c.Type == Code {
		outputs := make([]any, len(c.Outputs))
		for i, o := range c.Outputs {
			outputs[i] = encodeOutput(o)
		}
		out["outputs"] = outputs
		out["execution_count"] = count(c.ExecutionCount)
	}
	return out
}

func encodeOutput(o Output) map[string]any {
	out := map[string]any{"output_type": o.Type}
	switch o.Type {
	case Stream:
		out["name"] = o.Name
		out["text"] = lines(o.Text)
	case DisplayData, ExecuteResult:
		data := make(map[string]any, len(o.Data))
		for mime, v := range o.Data {
			if s, ok := v.(string); ok && isLines(mime) {
				v = lines(s)
			}
			data[mime] = v
		}
		out["data"] = data
		out["metadata"] = object(o.Metadata)
		if o.Type == ExecuteResult {
			out["execution_count"] = count(o.ExecutionCount)
		}
	case Error:
		out["ename"] = o.ErrorName
		out["evalue"] = o.ErrorValue
		out["traceback"] = append([]string{}, o.Traceback...)
	}
	return out
}

// isLines tells the MIME types that Jupyter stores as lists of lines; pictures
// it stores as one string.
func isLines(mime string) bool {
	return strings.HasPrefix(mime, "text/") || mime == "image/svg+xml" || mime == "application/javascript"
}

// lines splits a text after each newline. It is never nil: the format wants a
// list.
func lines(s string) []string {
	if s == "" {
		return []string{}
	}
	l := strings.SplitAfter(s, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

func object(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func count(n int) any {
	if n == 0 {
		return nil
	}
	return n
}
