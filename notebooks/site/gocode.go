package site

import (
	"go/scanner"
	"go/token"
	"html"
	"strings"
)

// highlightGo is a cell's source as HTML, with spans of the classes k
// (keywords), s (strings), n (numbers), c (comments) and m (lines that are the
// kernel's and not Go).
func highlightGo(source string) string {
	// The scanner's literals are without carriage returns.
	source = strings.ReplaceAll(source, "\r", "")
	var b, code strings.Builder
	flush := func() {
		writeGo(&b, code.String())
		code.Reset()
	}
	for line := range strings.Lines(source) {
		if !isMagic(line) {
			code.WriteString(line)
			continue
		}
		flush()
		text := strings.TrimSuffix(line, "\n")
		b.WriteString(`<span class="m">` + html.EscapeString(text) + `</span>` + line[len(text):])
	}
	flush()
	return b.String()
}

// isMagic tells the lines that the kernel reads itself.
func isMagic(line string) bool {
	return strings.HasPrefix(line, "%") || strings.HasPrefix(line, "!")
}

// isSetUp tells the cells that have nothing but such lines.
func isSetUp(source string) bool {
	some := false
	for line := range strings.Lines(source) {
		if !isMagic(line) && strings.TrimSpace(line) != "" {
			return false
		}
		some = some || line != "%%\n" && isMagic(line)
	}
	return some
}

func writeGo(b *strings.Builder, code string) {
	file := token.NewFileSet().AddFile("", -1, len(code))
	var s scanner.Scanner
	s.Init(file, []byte(code), func(token.Position, string) {}, scanner.ScanComments)
	done := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		class := ""
		switch {
		case tok == token.COMMENT:
			class = "c"
		case tok == token.STRING || tok == token.CHAR:
			class = "s"
		case tok == token.INT || tok == token.FLOAT || tok == token.IMAG:
			class = "n"
		case tok.IsKeyword():
			class = "k"
		}
		if class == "" {
			continue
		}
		begin := file.Offset(pos)
		end := begin + len(literal)
		b.WriteString(html.EscapeString(code[done:begin]))
		b.WriteString(`<span class="` + class + `">` + html.EscapeString(code[begin:end]) + `</span>`)
		done = end
	}
	b.WriteString(html.EscapeString(code[done:]))
}
