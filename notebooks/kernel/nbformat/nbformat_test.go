package nbformat_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/kernel/nbformat"
)

// testdata/jupyter.ipynb was written by Jupyter's own Python library, nbformat
// 5.5.0, from a notebook with every kind of cell and output.
func TestReadsAndWritesWhatJupyterWrites(t *testing.T) {
	file := filepath.Join("testdata", "jupyter.ipynb")
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := nbformat.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("written back differently:\n%s", got)
	}

	// And it is understood, not just carried along.
	code := n.Cells[2]
	if code.Type != nbformat.Code || code.Source != "%%\nfmt.Println(`<b>`)\n" || code.ExecutionCount != 3 || len(code.Outputs) != 5 {
		t.Fatalf("code cell is %+v", code)
	}
	if got := code.Outputs[0].Text; got != "one\ntwo\n\nthree" {
		t.Errorf("stdout is %q", got)
	}
	wantData := map[string]any{
		"image/png":              "iVBORw0KGgo=",
		"text/plain":             "alt\ntext",
		"text/html":              "<p>\n</p>",
		"image/svg+xml":          "<svg>\n</svg>",
		"application/json":       map[string]any{"b": []any{json.Number("1"), json.Number("2.5"), nil}, "a": map[string]any{}},
		"application/vnd.x+json": "a\nb",
	}
	if got := code.Outputs[2].Data; !reflect.DeepEqual(got, wantData) {
		t.Errorf("data is %v, want %v", got, wantData)
	}
	if o := code.Outputs[4]; o.ErrorName != "ERROR" || o.ErrorValue != "x\ny" || !reflect.DeepEqual(o.Traceback, []string{"a\nb", "c"}) {
		t.Errorf("error is %+v", o)
	}
	if n.Cells[0].Attachments == nil || n.Cells[3].Source != "" || n.Cells[3].ExecutionCount != 0 {
		t.Errorf("cells are %+v", n.Cells)
	}
}

// Before version 4.5 cells had no ids; other programs write a cell's source as
// one string.
func TestOlderNotebook(t *testing.T) {
	const old = `{"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": [
		{"cell_type": "markdown", "metadata": {}, "source": "one\ntwo"},
		{"cell_type": "code", "metadata": {}, "source": ["a\n", "b"], "outputs": [], "execution_count": null}]}`
	n, err := nbformat.Decode([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if n.Minor != 5 || n.Cells[0].ID != "cell-0" || n.Cells[1].ID != "cell-1" {
		t.Errorf("minor version %d, ids %q and %q", n.Minor, n.Cells[0].ID, n.Cells[1].ID)
	}
	if n.Cells[0].Source != "one\ntwo" || n.Cells[1].Source != "a\nb" {
		t.Errorf("sources %q and %q", n.Cells[0].Source, n.Cells[1].Source)
	}
	data, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := nbformat.Decode(data); err != nil || !reflect.DeepEqual(again, n) {
		t.Errorf("read back as %+v, %v", again, err)
	}
}

func TestBadNotebooks(t *testing.T) {
	const cell = `{"cell_type": "raw", "id": "a", "metadata": {}, "source": ""}`
	wrap := func(cells string) string {
		return `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [` + cells + `]}`
	}
	for _, test := range []struct{ data, want string }{
		{"", "not a notebook"},
		{"print(1)", "not a notebook: line 1"},
		{"{\"cells\": [\n<<<<<<< HEAD\n", "not a notebook: line 2"},
		{`{"cells": []}`, "it has no nbformat"},
		{`{"nbformat": 3, "nbformat_minor": 0, "worksheets": []}`, "a notebook of format 3.0, only format 4"},
		{`{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": 7}`, "not a notebook of format 4"},
		{wrap(cell) + "}", "not a notebook"},
		{wrap(strings.Replace(cell, "raw", "heading", 1)), `cell 0: cell_type "heading"`},
		{wrap(strings.Replace(cell, `"a"`, `"a b"`, 1)), `cell 0: id "a b"`},
		{wrap(cell + "," + cell), `cells 0 and 1 have the same id "a"`},
		{wrap(strings.Replace(cell, `"source": ""`, `"source": 1`, 1)), "cell 0: want a string or a list of strings"},
		{wrap(strings.Replace(cell, `"id"`, `"colour": 1, "id"`, 1)), `unknown field "colour"`},
	} {
		_, err := nbformat.Decode([]byte(test.data))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want %q", test.data, err, test.want)
		}
	}

	n := &nbformat.Notebook{Cells: []nbformat.Cell{{Type: nbformat.Code, ID: "a", Outputs: []nbformat.Output{{Type: "smell"}}}}}
	if _, err := n.Encode(); err == nil || !strings.Contains(err.Error(), `output_type "smell"`) {
		t.Errorf("error of an unknown output is %v", err)
	}
}

func TestWriteReplacesAtOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.ipynb")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	bad := &nbformat.Notebook{Cells: []nbformat.Cell{{Type: "heading", ID: "a"}}}
	if err := nbformat.Write(file, bad); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error of a bad notebook is %v, want the file's name in it", err)
	}
	if data, _ := os.ReadFile(file); string(data) != "old" {
		t.Errorf("a bad notebook has left %q", data)
	}
	if err := nbformat.Write(file, &nbformat.Notebook{}); err != nil {
		t.Fatal(err)
	}
	const want = "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"
	if data, _ := os.ReadFile(file); string(data) != want {
		t.Errorf("an empty notebook is %q, want %q", data, want)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode is %v, want that of the old file, 0640", info.Mode())
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left, want 1", len(files))
	}
	if err := nbformat.Write(filepath.Join(dir, "no", "such.ipynb"), &nbformat.Notebook{}); err == nil {
		t.Error("no error for a folder that does not exist")
	}
}

func FuzzDecode(f *testing.F) {
	file, err := os.ReadFile(filepath.Join("testdata", "jupyter.ipynb"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add([]byte(`{"nbformat": 4, "nbformat_minor": 0, "cells": [{"cell_type": "code"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := nbformat.Decode(data)
		if err != nil {
			return
		}
		first, err := n.Encode()
		if err != nil {
			t.Fatal(err)
		}
		n, err = nbformat.Decode(first)
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, first)
		}
		if second, err := n.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("written differently the second time, %v:\n%s\n%s", err, first, second)
		}
	})
}
