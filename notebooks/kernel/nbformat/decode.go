package nbformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Read reads the notebook in a file. Errors name the file and what is wrong
// with it.
func Read(path string) (*Notebook, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// Decode reads a notebook. It is an error when data is not JSON, is not a
// notebook of format 4, or holds a field that the format does not know (which
// writing it back would lose).
func Decode(data []byte) (*Notebook, error) {
	var version struct {
		Format *int `json:"nbformat"`
		Minor  int  `json:"nbformat_minor"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("not a notebook: %w", at(data, err))
	}
	if version.Format == nil {
		return nil, errors.New("not a notebook: it has no nbformat")
	}
	if *version.Format != 4 {
		return nil, fmt.Errorf("a notebook of format %d.%d, only format 4 is understood", *version.Format, version.Minor)
	}

	var in notebookJSON
	if err := strict(data, &in); err != nil {
		return nil, fmt.Errorf("not a notebook of format 4: %w", at(data, err))
	}
	n := &Notebook{Metadata: in.Metadata, Minor: max(in.Minor, 5)}
	for i, raw := range in.Cells {
		c, err := decodeCell(raw)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		n.Cells = append(n.Cells, c)
	}
	if in.Minor < 5 {
		n.addIDs()
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	return n, nil
}

type notebookJSON struct {
	Cells    []json.RawMessage `json:"cells"`
	Metadata map[string]any    `json:"metadata"`
	Format   int               `json:"nbformat"`
	Minor    int               `json:"nbformat_minor"`
}

type cellJSON struct {
	Attachments    map[string]any    `json:"attachments"`
	Type           string            `json:"cell_type"`
	ExecutionCount *int              `json:"execution_count"`
	ID             string            `json:"id"`
	Metadata       map[string]any    `json:"metadata"`
	Outputs        []json.RawMessage `json:"outputs"`
	Source         text              `json:"source"`
}

type outputJSON struct {
	Data           map[string]json.RawMessage `json:"data"`
	ErrorName      string                     `json:"ename"`
	ErrorValue     string                     `json:"evalue"`
	ExecutionCount *int                       `json:"execution_count"`
	Metadata       map[string]any             `json:"metadata"`
	Name           string                     `json:"name"`
	Type           string                     `json:"output_type"`
	Text           text                       `json:"text"`
	Traceback      []string                   `json:"traceback"`
}

func decodeCell(raw json.RawMessage) (Cell, error) {
	var in cellJSON
	if err := strict(raw, &in); err != nil {
		return Cell{}, err
	}
	c := Cell{
		Type:        in.Type,
		ID:          in.ID,
		Source:      string(in.Source),
		Metadata:    in.Metadata,
		Attachments: in.Attachments,
	}
	if in.ExecutionCount != nil {
		c.ExecutionCount = *in.ExecutionCount
	}
	for j, raw := range in.Outputs {
		o, err := decodeOutput(raw)
		if err != nil {
			return Cell{}, fmt.Errorf("output %d: %w", j, err)
		}
		c.Outputs = append(c.Outputs, o)
	}
	return c, nil
}

func decodeOutput(raw json.RawMessage) (Output, error) {
	var in outputJSON
	if err := strict(raw, &in); err != nil {
		return Output{}, err
	}
	o := Output{
		Type:       in.Type,
		Name:       in.Name,
		Text:       string(in.Text),
		Metadata:   in.Metadata,
		ErrorName:  in.ErrorName,
		ErrorValue: in.ErrorValue,
		Traceback:  in.Traceback,
	}
	if in.ExecutionCount != nil {
		o.ExecutionCount = *in.ExecutionCount
	}
	if in.Data == nil {
		return o, nil
	}
	o.Data = make(map[string]any, len(in.Data))
	for mime, raw := range in.Data {
		var err error
		if isJSON(mime) {
			var v any
			err = strict(raw, &v)
			o.Data[mime] = v
		} else {
			var s text
			err = json.Unmarshal(raw, &s)
			o.Data[mime] = string(s)
		}
		if err != nil {
			return Output{}, fmt.Errorf("%s: %w", mime, err)
		}
	}
	return o, nil
}

// text is a string that the file holds whole or as a list of lines.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var whole string
	if json.Unmarshal(data, &whole) == nil {
		*t = text(whole)
		return nil
	}
	var lines []string
	if json.Unmarshal(data, &lines) != nil {
		return errors.New("want a string or a list of strings")
	}
	*t = text(strings.Join(lines, ""))
	return nil
}

// strict decodes one JSON value, refuses fields that v does not have, and
// keeps numbers as they are written.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after the end of the JSON value")
	}
	return nil
}

// at adds the line to a JSON error: that is where a merge conflict or a
// hand-made mistake is.
func at(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
	return fmt.Errorf("line %d: %w", line, err)
}

// isJSON tells MIME types whose data is a JSON value from those whose data is
// text.
func isJSON(mime string) bool {
	return mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}
