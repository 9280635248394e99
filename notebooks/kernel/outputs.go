package kernel

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/contextrec/contextrec/notebooks/kernel/nbformat"
)

// outputs collects what one cell puts out.
type outputs struct {
	stdout, stderr strings.Builder
	rich           []*nbformat.Output
	failure        *nbformat.Output // of type Error; nil: none so far
	silent         string           // why a cell failed that the kernel calls good; "": it did not
}

// displays finds outputs by their display id, for updates. An id lives as long
// as the kernel: a cell may update an output of an earlier one.
type displays map[string]*nbformat.Output

// GoNB reports the end of a shell line or script that failed as one message of
// its own on stderr, after what the command itself wrote there.
var exitText = regexp.MustCompile(`^(\^C\n)?(exit status \d+|signal: .+)\n$`)

// unknownText is all that GoNB says about a %command that it does not know.
var unknownText = regexp.MustCompile(`^"%.*" unknown or not implemented yet\.$`)

// add takes in one message of the iopub channel.
func (o *outputs) add(m message, byID displays) error {
	switch m.Header.Type {
	case "stream":
		var c struct{ Name, Text string }
		if err := json.Unmarshal(m.Content, &c); err != nil {
			return err
		}
		if c.Name != "stderr" {
			o.stdout.WriteString(c.Text)
			return nil
		}
		o.stderr.WriteString(c.Text)
		if o.silent == "" && exitText.MatchString(c.Text) {
			o.silent = strings.TrimSpace(strings.TrimPrefix(c.Text, "^C\n"))
		}
		if o.silent == "" && unknownText.MatchString(c.Text) {
			o.silent = "command " + strings.TrimSuffix(c.Text, " yet.")
		}
	case "display_data", "update_display_data", "execute_result":
		var c struct {
			Data, Metadata map[string]any
			Transient      struct {
				ID string `json:"display_id"`
			}
		}
		if err := json.Unmarshal(m.Content, &c); err != nil {
			return err
		}
		if old := byID[c.Transient.ID]; old != nil {
			old.Data, old.Metadata = c.Data, c.Metadata
		}
		if m.Header.Type == "update_display_data" {
			return nil
		}
		out := &nbformat.Output{Type: nbformat.DisplayData, Data: c.Data, Metadata: c.Metadata}
		o.rich = append(o.rich, out)
		if c.Transient.ID != "" {
			byID[c.Transient.ID] = out
		}
	case "error":
		var c struct {
			Name      string `json:"ename"`
			Value     string `json:"evalue"`
			Traceback []string
		}
		if err := json.Unmarshal(m.Content, &c); err != nil {
			return err
		}
		o.failure = &nbformat.Output{Type: nbformat.Error, ErrorName: c.Name, ErrorValue: c.Value, Traceback: c.Traceback}
	}
	return nil
}

// fail stores an error that the kernel has not reported itself.
func (o *outputs) fail(name, value string) {
	o.failure = &nbformat.Output{Type: nbformat.Error, ErrorName: name, ErrorValue: value, Traceback: []string{name + ": " + value}}
}

// stored are the outputs in the order and form in which a notebook keeps them.
func (o *outputs) stored() []nbformat.Output {
	var all []nbformat.Output
	for _, s := range []struct {
		name string
		text *strings.Builder
	}{{"stdout", &o.stdout}, {"stderr", &o.stderr}} {
		if s.text.Len() > 0 {
			all = append(all, nbformat.Output{Type: nbformat.Stream, Name: s.name, Text: overwrite(s.text.String())})
		}
	}
	for _, out := range o.rich {
		if !isEmpty(out.Data) {
			all = append(all, *out)
		}
	}
	if o.failure != nil {
		all = append(all, *o.failure)
	}
	return all
}

// text is what the cell said, for an error message.
func (o *outputs) text() string {
	parts := []string{overwrite(o.stdout.String()), overwrite(o.stderr.String())}
	// Of a program that fails the kernel says only the exit status, twice.
	if o.failure != nil && !strings.HasSuffix(strings.TrimSpace(parts[1]), o.failure.ErrorValue) {
		parts = append(parts, o.failure.ErrorValue)
	}
	var said []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			said = append(said, p)
		}
	}
	return escapes.ReplaceAllString(strings.Join(said, "\n"), "")
}

// escapes are the terminal's codes for colours.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// isEmpty tells an output that shows nothing: what is left of a progress bar
// that was erased.
func isEmpty(data map[string]any) bool {
	for _, v := range data {
		if v != "" {
			return false
		}
	}
	return true
}

// overwrite does what a terminal does with carriage returns: what follows
// replaces the line from its start, character by character.
func overwrite(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		body, end := strings.CutSuffix(line, "\n")
		body = strings.TrimSuffix(body, "\r")
		if !strings.Contains(body, "\r") {
			lines[i] = body
		} else {
			var shown []rune
			for part := range strings.SplitSeq(body, "\r") {
				r := []rune(part)
				shown = append(r, shown[min(len(r), len(shown)):]...)
			}
			lines[i] = string(shown)
		}
		if end {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}
