package paper

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the claims as text in lines of up to width characters, a
// paragraph a claim: number and verdict, the claim, and below it every part
// with a mark of its own verdict: + reproduced, - not reproduced, ? undecided,
// . not run, and none for a note; a last line explains the marks.
func WriteText(w io.Writer, claims []Claim, width int) error {
	var b strings.Builder
	for i, c := range claims {
		if i > 0 {
			b.WriteByte('\n')
		}
		wrap(&b, fmt.Sprintf("%2d  %-14s  ", c.Row, c.Verdict), c.Statement+" ["+c.about()+"]", width)
		for _, p := range c.Parts {
			wrap(&b, strings.Repeat(" ", 18)+mark[p.Verdict]+" ", p.Evidence, width)
		}
	}
	if len(claims) > 0 {
		b.WriteString("\n+ reproduced   - not reproduced   ? undecided   . not run\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the claims as a table in GitHub's Markdown.
func WriteMarkdown(w io.Writer, claims []Claim) error {
	var b strings.Builder
	b.WriteString("| # | The paper claims | Measured: means, and differences with 95 % intervals | Verdict |\n|--:|---|---|---|\n")
	for _, c := range claims {
		var parts []string
		for _, p := range c.Parts {
			text := escape.Replace(p.Evidence)
			if p.Verdict != Note {
				text += ": *" + string(p.Verdict) + "*"
			}
			parts = append(parts, text)
		}
		fmt.Fprintf(&b, "| %d | %s (%s) | %s | **%s** |\n", c.Row, escape.Replace(c.Statement), escape.Replace(c.about()), strings.Join(parts, "<br>"), c.Verdict)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var mark = map[Verdict]string{Reproduced: "+", NotReproduced: "-", Undecided: "?", NotRun: ".", Note: " "}

var escape = strings.NewReplacer("|", `\|`, "_", `\_`, "*", `\*`, "<", "&lt;", ">", "&gt;")

func (c Claim) about() string {
	if c.Setting == "" {
		return c.Source
	}
	return c.Source + "; " + c.Setting
}

// wrap writes text after a head, the following lines below the text.
func wrap(b *strings.Builder, head, text string, width int) {
	indent := strings.Repeat(" ", len(head))
	line := head
	for _, word := range strings.Fields(text) {
		if len(line) > len(head) && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if len(line) > len(head) {
			line += " "
		}
		line += word
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
