// Package nbformat reads and writes Jupyter notebooks, version 4 of the file
// format (https://nbformat.readthedocs.io).
//
// What it writes is what Jupyter itself writes: format 4.5, sorted keys, an
// indent of one space, text as lists of lines, no escaping of HTML and a final
// newline. A notebook that was written by this package or by Jupyter is read
// and written back byte for byte, so that a diff shows what changed and
// nothing else.
package nbformat

import "fmt"

// Types of cells.
const (
	Code     = "code"
	Markdown = "markdown"
	Raw      = "raw"
)

// Types of outputs.
const (
	Stream        = "stream"
	DisplayData   = "display_data"
	ExecuteResult = "execute_result"
	Error         = "error"
)

// Notebook is one .ipynb file.
type Notebook struct {
	Cells    []Cell
	Metadata map[string]any // JSON values, numbers as json.Number

	// Minor is the minor version of the format, at least 5. Older notebooks
	// become 4.5 when they are read: their cells are given ids.
	Minor int
}

// Cell is one cell. The fields from ExecutionCount on are of code cells.
type Cell struct {
	Type        string // Code, Markdown or Raw
	ID          string // unique in the notebook, 1 to 64 letters, digits, '-' or '_'
	Source      string
	Metadata    map[string]any
	Attachments map[string]any // of Markdown and Raw cells; nil: none

	ExecutionCount int // 1 and up; 0: not executed
	Outputs        []Output
}

// Output is one output of a code cell. Which fields have a meaning depends on
// the type.
type Output struct {
	Type string // Stream, DisplayData, ExecuteResult or Error

	Name string // Stream: "stdout" or "stderr"
	Text string // Stream

	Data           map[string]any // DisplayData, ExecuteResult: by MIME type; a string, or any JSON value for JSON types
	Metadata       map[string]any // DisplayData, ExecuteResult
	ExecutionCount int            // ExecuteResult

	ErrorName  string   // Error
	ErrorValue string   // Error
	Traceback  []string // Error
}

// SetKernel records the kernel that the notebook is meant for, which is how
// Jupyter and GitHub know what to start and how to colour the cells.
func (n *Notebook) SetKernel(name, displayName, language, extension, mimetype string) {
	if n.Metadata == nil {
		n.Metadata = make(map[string]any)
	}
	n.Metadata["kernelspec"] = map[string]any{
		"display_name": displayName,
		"language":     language,
		"name":         name,
	}
	// Jupyter records the version of the language too. It is left out: it would
	// change the file with every release of the language.
	n.Metadata["language_info"] = map[string]any{
		"codemirror_mode":    "",
		"file_extension":     extension,
		"mimetype":           mimetype,
		"name":               language,
		"nbconvert_exporter": "",
		"pygments_lexer":     "",
	}
}

// check finds what the format forbids.
func (n *Notebook) check() error {
	ids := make(map[string]int)
	for i, c := range n.Cells {
		if c.Type != Code && c.Type != Markdown && c.Type != Raw {
			return fmt.Errorf("cell %d: cell_type %q, want code, markdown or raw", i, c.Type)
		}
		if !validID(c.ID) {
			return fmt.Errorf("cell %d: id %q, want 1 to 64 letters, digits, '-' or '_'", i, c.ID)
		}
		if j, ok := ids[c.ID]; ok {
			return fmt.Errorf("cells %d and %d have the same id %q", j, i, c.ID)
		}
		ids[c.ID] = i
		for j, o := range c.Outputs {
			if o.Type != Stream && o.Type != DisplayData && o.Type != ExecuteResult && o.Type != Error {
				return fmt.Errorf("cell %d: output %d: output_type %q, want stream, display_data, execute_result or error", i, j, o.Type)
			}
		}
	}
	return nil
}

func validID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 64
}

// addIDs names the cells of a notebook from before version 4.5 after their
// place, so that reading it twice gives the same names.
func (n *Notebook) addIDs() {
	taken := make(map[string]bool)
	for _, c := range n.Cells {
		taken[c.ID] = true
	}
	for i := range n.Cells {
		if n.Cells[i].ID != "" {
			continue
		}
		id := fmt.Sprintf("cell-%d", i)
		for taken[id] {
			id += "-"
		}
		n.Cells[i].ID, taken[id] = id, true
	}
}
