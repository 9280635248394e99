package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type object = map[string]any

// readNotebook reads a file of nbformat 4 (https://nbformat.readthedocs.io). What this
// program knows nothing about is written back as it was read.
func readNotebook(path string) (object, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var n object
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&n); err != nil {
		return nil, fmt.Errorf("%s is not a notebook: %w", path, err)
	}
	if _, ok := n["cells"].([]any); !ok || n["nbformat"] != json.Number("4") {
		return nil, fmt.Errorf("%s is not a notebook of format 4: nbformat is %v", path, n["nbformat"])
	}
	return n, nil
}

// writeNotebook replaces the file at path, by way of another file, which is of this process alone.
// It writes what Jupyter does: sorted keys, an indent of one space, no escaping of HTML.
func writeNotebook(path string, n object) error {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	e.Encode(n) // which was JSON
	temporary := path + "." + rand.Text()
	err := os.WriteFile(temporary, buf.Bytes(), 0o666)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary) // half a file, where the disk is full
	}
	return err
}

// prepare takes the outputs away from all code cells and returns those that are not empty. It
// declares the kernel, without the version of Go, which the file would change with.
func prepare(n object) (code []object) {
	metadata, _ := n["metadata"].(object)
	if metadata == nil {
		metadata = object{}
		n["metadata"] = metadata
	}
	metadata["kernelspec"] = object{"display_name": "Go (gonb)", "language": "go", "name": "gonb"}
	metadata["language_info"] = object{
		"codemirror_mode": "", "file_extension": ".go", "mimetype": "text/x-go",
		"name": "go", "nbconvert_exporter": "", "pygments_lexer": "",
	}
	for _, c := range n["cells"].([]any) {
		c, ok := c.(object)
		if !ok || c["cell_type"] != "code" {
			continue
		}
		c["outputs"], c["execution_count"] = []any{}, nil
		if strings.TrimSpace(text(c["source"])) != "" {
			code = append(code, c)
		}
	}
	return code
}

// text is a text that the file holds as one string or as a list of lines.
func text(v any) string {
	whole, _ := v.(string)
	list, _ := v.([]any)
	for _, line := range list {
		s, _ := line.(string)
		whole += s
	}
	return whole
}
