package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// outputs collects what one cell puts out. What is stored does not depend on timing: stdout is one
// output, stderr the next, and pictures and tables follow in their order. GoNB carries text and the
// others on different pipes, so their order among each other is chance even in a browser.
type outputs struct {
	stdout, stderr strings.Builder
	rich           []object
	size           int                // bytes of all that the cell puts out
	displays       map[string]display // those that may be updated, by their ids
	failure        object             // an output of type error; nil: none so far
	silent         error              // why the cell failed although the kernel calls it good
}

type display struct {
	output object
	size   int
}

const mostOutput = 1 << 20 // bytes that a cell may put out

// GoNB reports the end of a shell line that failed, and a %command that it does
// not know, as one message on stderr.
var failed = regexp.MustCompile(`^(?:\^C\n)?(exit status \d+|signal: .+|"%.*" unknown or not implemented)(?: yet\.)?\n?$`)

// content is that of the messages which this program reads.
type content struct {
	Status         string // of an execute_reply
	State          string `json:"execution_state"` // of a status
	Name, Text     string // of a stream
	Data, Metadata object // of a display
	Transient      struct {
		ID string `json:"display_id"`
	}
	ErrorName  string `json:"ename"`
	ErrorValue string `json:"evalue"`
	Traceback  []string
}

// add takes in a message of the iopub channel, of size bytes. One that is too much is not kept.
func (o *outputs) add(kind string, c content, size int) (tooMuch string) {
	shown, known := o.displays[c.Transient.ID]
	o.size += size - shown.size
	if o.size > mostOutput {
		return "more than 1 MiB of output"
	}
	switch kind {
	case "stream":
		if c.Name != "stderr" {
			o.stdout.WriteString(c.Text)
			break
		}
		o.stderr.WriteString(c.Text)
		if found := failed.FindStringSubmatch(c.Text); found != nil {
			o.silent = errors.New(found[1])
		}
	case "display_data", "update_display_data", "execute_result":
		if !known {
			shown.output = object{"output_type": "display_data"}
			o.rich = append(o.rich, shown.output)
		}
		shown.output["data"], shown.output["metadata"] = stored(c.Data), c.Metadata
		if c.Transient.ID != "" {
			o.displays[c.Transient.ID] = display{shown.output, size}
		}
	case "error":
		o.fail(c.ErrorName, c.ErrorValue, c.Traceback)
	}
	return ""
}

// stored is a display's data as the file holds it: text as a list of lines. It
// is empty when nothing is shown, as of a progress bar that was erased.
func stored(data object) object {
	kept := object{}
	for mime, v := range data {
		if s, ok := v.(string); ok && s != "" && (strings.HasPrefix(mime, "text/") || mime == "image/svg+xml") {
			kept[mime] = slices.Collect(strings.Lines(s))
		} else if v != "" {
			kept[mime] = v
		}
	}
	return kept
}

func (o *outputs) fail(name, value string, traceback []string) {
	o.failure = object{"output_type": "error", "ename": name, "evalue": value, "traceback": traceback}
}

func (o *outputs) list() []any {
	all := []any{}
	for i, name := range []string{"stdout", "stderr"} {
		if text := []string{o.stdout.String(), o.stderr.String()}[i]; text != "" {
			all = append(all, object{"output_type": "stream", "name": name, "text": slices.Collect(strings.Lines(text))})
		}
	}
	for _, out := range o.rich {
		if len(out["data"].(object)) > 0 {
			all = append(all, out)
		}
	}
	if o.failure != nil {
		all = append(all, o.failure)
	}
	return all
}

// said is the end of what the cell said, for an error message.
func (o *outputs) said() string {
	said := o.stdout.String() + o.stderr.String()
	if o.failure != nil && !strings.Contains(said, o.failure["evalue"].(string)) {
		said += o.failure["evalue"].(string)
	}
	return strings.TrimSpace(said[max(0, len(said)-8<<10):])
}
