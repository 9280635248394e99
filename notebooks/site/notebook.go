package site

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// notebook is as much of a notebook of format 4 as pages show:
// https://nbformat.readthedocs.io/en/latest/format_description.html.
type notebook struct {
	file     string // absolute
	name     string // the file's name without .ipynb
	Format   int    `json:"nbformat"`
	Cells    []cell
	Metadata struct {
		Language struct{ Name string } `json:"language_info"`
	}
}

type cell struct {
	Type    string   `json:"cell_type"`
	Source  lines    `json:"source"`
	Count   *int     `json:"execution_count"`
	Outputs []output `json:"outputs"`
}

type output struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"` // of a stream
	Text      lines                      `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
	Error     string                     `json:"ename"`
	Reason    string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// lines is text that a notebook has as a string or as a list of its lines.
type lines string

func (l *lines) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err == nil {
		*l = lines(strings.Join(list, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

func readNotebook(file string) (*notebook, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	file, err = filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	n := &notebook{file: file, name: strings.TrimSuffix(filepath.Base(file), ".ipynb")}
	if err := json.Unmarshal(data, n); err != nil {
		return nil, fmt.Errorf("%s is no notebook: %w", file, err)
	}
	if n.Format != 4 {
		return nil, fmt.Errorf("%s has notebook format %d, want 4", file, n.Format)
	}
	return n, nil
}

// text is an output in a form that is text, "" where it has none.
func (o output) text(mime string) string {
	var l lines
	if raw, ok := o.Data[mime]; ok && json.Unmarshal(raw, &l) == nil {
		return string(l)
	}
	return ""
}

// picture is an output that is a picture.
type picture struct {
	extension     string
	data          []byte
	width, height int // in CSS pixels; 0: the file's own
}

// pictures are the forms that browsers show, the better first.
var pictures = []struct {
	mime, extension string
	isText          bool
}{
	{"image/png", ".png", false},
	{"image/jpeg", ".jpg", false},
	{"image/svg+xml", ".svg", true},
}

// picture returns nil where an output is none.
func (o output) picture() (*picture, error) {
	for _, form := range pictures {
		text := o.text(form.mime)
		if text == "" {
			continue
		}
		p := &picture{extension: form.extension, data: []byte(text)}
		if !form.isText {
			var err error
			if p.data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err != nil {
				return nil, fmt.Errorf("a picture of the type %s: %w", form.mime, err)
			}
		}
		var size struct{ Width, Height float64 }
		if raw, ok := o.Metadata[form.mime]; ok && json.Unmarshal(raw, &size) == nil {
			p.width, p.height = int(size.Width), int(size.Height)
		}
		return p, nil
	}
	return nil, nil
}
