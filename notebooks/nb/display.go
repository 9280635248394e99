package nb

import (
	"fmt"
	"html"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Text shows text as it is, in a fixed-width font and in its place among
// pictures and tables.
func Text(text string) {
	HTML("<pre>"+html.EscapeString(text)+"</pre>", text)
}

// Markdown shows text with Markdown and LaTeX in it. A front end that does not
// trust the notebook shows the source.
func Markdown(text string) {
	display(map[protocol.MIMEType]any{
		protocol.MIMETextMarkdown: text,
		protocol.MIMETextPlain:    text,
	}, nil)
}

// HTML shows HTML, and plain where there is no HTML: outside a notebook, or in
// a search through the file.
func HTML(source, plain string) {
	display(map[protocol.MIMEType]any{
		protocol.MIMETextHTML:  source,
		protocol.MIMETextPlain: plain,
	}, nil)
}

// Table shows a table of texts, in columns aligned with spaces where there is
// no HTML. It panics when a row has another length than the header.
func Table(header []string, rows [][]string) {
	for i, row := range rows {
		if len(row) != len(header) {
			panic(fmt.Sprintf("nb: row %d of the table has %d cells, the header has %d", i, len(row), len(header)))
		}
	}
	var rich, plain strings.Builder
	w := tabwriter.NewWriter(&plain, 0, 0, 2, ' ', 0)
	line := func(tag string, cells []string) {
		rich.WriteString("<tr>")
		for _, cell := range cells {
			fmt.Fprintf(&rich, `<%s style="text-align:left">%s</%[1]s>`, tag, html.EscapeString(cell))
		}
		rich.WriteString("</tr>\n")
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	rich.WriteString("<table>\n<thead>\n")
	line("th", header)
	rich.WriteString("</thead>\n<tbody>\n")
	for _, row := range rows {
		line("td", row)
	}
	rich.WriteString("</tbody>\n</table>")
	w.Flush()
	HTML(rich.String(), strings.TrimRight(plain.String(), "\n"))
}

// display shows one output in all the forms that it has; the front end chooses
// the richest that it can show. It returns when the kernel has it and ends the
// program when the kernel cannot be reached.
func display(data map[protocol.MIMEType]any, metadata map[string]any) {
	if !gonbui.IsNotebook {
		fmt.Println(data[protocol.MIMETextPlain])
		return
	}
	gonbui.SendData(&protocol.DisplayData{Data: data, Metadata: metadata})
	if err := flush(); err != nil {
		fmt.Fprintf(os.Stderr, "nb: the notebook cannot be reached: %v\n", err)
		os.Exit(1)
	}
}

// patience is how long the kernel may take for an answer that usually comes
// within a millisecond.
const patience = time.Minute

// flush waits until the kernel has all that was sent. It is gonbui.Sync with an
// end: Sync waits for ever when the kernel goes away meanwhile.
func flush() error {
	if !gonbui.IsNotebook {
		return nil
	}
	// Open is also the question, under a lock, whether anything has failed.
	if err := gonbui.Open(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		gonbui.Sync()
		close(done)
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		select {
		case <-done:
			return gonbui.Open()
		case <-tick.C:
			if err := gonbui.Open(); err != nil {
				return err
			}
		case <-late:
			return fmt.Errorf("no answer from the kernel for %v", patience)
		}
	}
}
