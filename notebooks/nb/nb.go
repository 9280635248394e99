// Package nb is what the notebooks of this repository use to show things: plots
// as PNG, tables, text, a progress bar, and errors that fail the cell.
//
// Outside a notebook the same calls print plain text to stdout, and the bar draws on
// stderr. GoNB loses what is under way when a cell's program ends, so everything here waits
// until the kernel has it. Text printed to stdout travels by another pipe than pictures, so
// a cell shows text among pictures by [Text], not by fmt.
package nb

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"os"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Show shows a plot of 6.4 x 4 inches. The text alt says what is to be seen, to
// readers who cannot see it and where pictures cannot be shown.
func Show(p *plot.Plot, alt string) { ShowSize(p, alt, figure.Width, figure.Height) }

// ShowSize shows a plot of another size, as PNG with 192 dots an inch: SVG is lost in
// notebooks that came from somebody else.
func ShowSize(p *plot.Plot, alt string, width, height vg.Length) {
	showPNG(alt, width, height, 1, p)
}

// ShowGrid shows plots beside and below each other, row by row in the given number of columns, as
// one picture 9.6 inches wide whose axes are aligned. It panics when there is no plot or no column.
func ShowGrid(columns int, alt string, plots ...*plot.Plot) {
	width := 9.6 * vg.Inch
	rows := vg.Length(math.Ceil(float64(len(plots)) / float64(columns)))
	showPNG(alt, width, 0.66*rows*width/vg.Length(columns), columns, plots...)
}

func showPNG(alt string, width, height vg.Length, columns int, plots ...*plot.Plot) {
	var png bytes.Buffer
	Check(figure.Write(&png, "png", width, height, columns, plots...))
	pixels := func(l vg.Length) int { return int(math.Round(float64(l / vg.Inch * 96))) } // of CSS
	display(map[protocol.MIMEType]any{protocol.MIMEImagePNG: png.Bytes(), protocol.MIMETextPlain: alt}, map[string]any{
		string(protocol.MIMEImagePNG): map[string]int{"width": pixels(width), "height": pixels(height)},
	})
}

// Text shows text as it is, in a fixed-width font and in its place among pictures and tables.
func Text(text string) { HTML("<pre>"+html.EscapeString(text)+"</pre>", text) }

// HTML shows HTML, and plain where there is no HTML: outside a notebook, or in
// a search through the file.
func HTML(source, plain string) {
	display(map[protocol.MIMEType]any{protocol.MIMETextHTML: source, protocol.MIMETextPlain: plain}, nil)
}

// Table shows a table of texts, in columns aligned with spaces where there is no HTML. A cell may
// have several lines. It panics when a row has another length than the header.
func Table(header []string, rows [][]string) {
	var rich strings.Builder
	line := func(tag string, cells []string) {
		rich.WriteString("<tr>")
		for _, cell := range cells {
			text := strings.ReplaceAll(html.EscapeString(cell), "\n", "<br>")
			fmt.Fprintf(&rich, `<%s style="text-align:left">%s</%[1]s>`, tag, text)
		}
		rich.WriteString("</tr>\n")
	}
	rich.WriteString("<table>\n<thead>\n")
	line("th", header)
	rich.WriteString("</thead>\n<tbody>\n")
	for i, row := range rows {
		if len(row) != len(header) {
			panic(fmt.Sprintf("nb: row %d of the table has %d cells, the header has %d", i, len(row), len(header)))
		}
		line("td", row)
	}
	rich.WriteString("</tbody>\n</table>")
	HTML(rich.String(), strings.TrimRight(Must(paper.TableText("text", header, rows)), "\n"))
}

// Must returns v, or fails the cell where err is not nil, as Check does.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check fails the cell where err is not nil: it prints the error to stderr and
// ends the program with status 1. What was shown before is kept.
func Check(err error) {
	if err == nil {
		return
	}
	flush() // when that fails too, the first error is the one to report
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// display shows one output in all the forms that it has. It returns when the kernel has
// it and ends the program when the kernel cannot be reached.
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

// flush waits until the kernel has all that was sent.
func flush() error {
	if !gonbui.IsNotebook {
		return nil
	}
	// Open is also the question, under a lock, whether anything has failed.
	if err := gonbui.Open(); err != nil {
		return err
	}
	gonbui.Sync()
	return gonbui.Open()
}
