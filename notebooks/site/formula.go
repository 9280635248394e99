package site

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/wyatt915/treeblood"
)

// formula is TeX as MathML. A display formula with a \tag has its number at the
// right.
func formula(tex string, display bool) (string, error) {
	number := ""
	if m := tag.FindStringSubmatch(tex); m != nil {
		number = m[1]
		tex = tag.ReplaceAllString(tex, "")
	}
	tex, err := braced(strings.TrimSpace(tex))
	if err != nil {
		return "", err
	}
	tex = function.ReplaceAllString(tex, `$1\,$2`)
	render := treeblood.InlineStyle
	if display {
		render = treeblood.DisplayStyle
	}
	mathML, err := render(tex, nil)
	if err == nil && strings.Contains(mathML, "<merror") {
		err = errors.New("it has commands that are not known")
	}
	if err != nil {
		return "", fmt.Errorf("the formula %s cannot be shown: %w", tex, err)
	}
	// The source is not well-formed there.
	mathML = annotation.ReplaceAllString(mathML, "")
	if !display {
		return mathML, nil
	}
	if number != "" {
		number = `<span class="number">(` + html.EscapeString(number) + `)</span>`
	}
	return `<span class="formula" tabindex="0">` + mathML + number + `</span>`, nil
}

var (
	tag        = regexp.MustCompile(`\s*\\tag\{([^{}]*)\}`)
	annotation = regexp.MustCompile(`(?s)\s*<annotation.*</annotation>`)

	// A letter after a function's name stands apart.
	function = regexp.MustCompile(`(\\(?:log|exp|max|min))\s*(\\(?:hat|mu|nu|kappa|theta|frac)|[A-Za-z])`)
)

// braced puts braces around the arguments of fractions, which TeX lets be single
// characters and commands, as in \frac12.
func braced(tex string) (string, error) {
	var b strings.Builder
	for {
		at := fraction.FindStringIndex(tex)
		if at == nil {
			b.WriteString(tex)
			return b.String(), nil
		}
		b.WriteString(tex[:at[1]])
		tex = tex[at[1]:]
		for range 2 {
			tex = strings.TrimLeft(tex, " \n")
			end := argument(tex)
			if end == 0 {
				return "", fmt.Errorf("the formula %s has a fraction with an argument too few", b.String()+tex)
			}
			inner := tex[:end]
			if inner[0] == '{' {
				inner = inner[1 : len(inner)-1]
			}
			inner, err := braced(inner)
			if err != nil {
				return "", err
			}
			b.WriteString("{" + inner + "}")
			tex = tex[end:]
		}
	}
}

var (
	fraction = regexp.MustCompile(`\\[dt]?frac`)
	command  = regexp.MustCompile(`^\\(?:[A-Za-z]+|.)`)
)

// argument is the length of what TeX takes as one argument, 0 if there is none.
func argument(tex string) int {
	switch {
	case tex == "" || tex[0] == '}':
		return 0
	case tex[0] == '\\':
		return len(command.FindString(tex))
	case tex[0] != '{':
		_, n := utf8.DecodeRuneInString(tex)
		return n
	}
	depth := 0
	for i := 0; i < len(tex); i++ {
		switch tex[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
