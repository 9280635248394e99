package site

import (
	"bytes"
	"fmt"
	"html"
	"image"
	_ "image/jpeg" // sizes of pictures
	_ "image/png"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
)

// outputs are the outputs of a cell as HTML.
func (b *builder) outputs(n *notebook, md *markdown, c cell) (string, error) {
	var all strings.Builder
	for _, o := range c.Outputs {
		out, err := b.output(n, md, o)
		if err != nil {
			return "", err
		}
		all.WriteString(out)
	}
	return all.String(), nil
}

func (b *builder) output(n *notebook, md *markdown, o output) (string, error) {
	switch o.Type {
	case "stream":
		return preformatted(o.Name, string(o.Text)), nil
	case "error":
		reason := strings.Join(o.Traceback, "\n")
		if reason == "" {
			reason = o.Error + ": " + o.Reason
		}
		return preformatted("error", reason), nil
	}
	if source := o.text("text/html"); strings.TrimSpace(source) != "" {
		return `<div class="html wide" tabindex="0">` + policy.Sanitize(source) + "</div>\n", nil
	}
	picture, err := o.picture()
	if err != nil {
		return "", err
	}
	if picture != nil {
		alt := strings.TrimSpace(o.text("text/plain"))
		if alt == "" {
			return "", fmt.Errorf("a picture without a description: its output has no text/plain")
		}
		b.drawn[n.name]++
		name := fmt.Sprintf("%s-%d%s", n.name, b.drawn[n.name], picture.extension)
		return b.picture(name, picture, alt)
	}
	if source := o.text("text/markdown"); source != "" {
		out, err := md.render(source)
		return `<div class="html">` + out + "</div>\n", err
	}
	return preformatted("text", o.text("text/plain")), nil
}

// picture keeps a picture as a file and returns the element that shows it.
func (b *builder) picture(name string, p *picture, alt string) (string, error) {
	if p.extension != ".svg" {
		size, _, err := image.DecodeConfig(bytes.NewReader(p.data))
		if err != nil {
			return "", fmt.Errorf("the picture %q cannot be read: %w", alt, err)
		}
		if p.width <= 0 || p.height <= 0 {
			p.width, p.height = size.Width, size.Height
		}
	}
	name = "pictures/" + name
	b.files[name] = p.data
	size := ""
	if p.width > 0 && p.height > 0 {
		size = fmt.Sprintf(` width="%d" height="%d"`, p.width, p.height)
	}
	// Browsers load a picture when its place comes near.
	return fmt.Sprintf("<figure><a href=\"%s\"><img src=\"%[1]s\" alt=\"%s\"%s loading=\"lazy\"></a></figure>\n", html.EscapeString(name), html.EscapeString(alt), size), nil
}

func preformatted(class, text string) string {
	text = strings.TrimRight(escapes.ReplaceAllString(text, ""), "\n")
	if text == "" {
		return ""
	}
	return fmt.Sprintf("<pre class=\"out %s\" tabindex=\"0\">%s</pre>\n", html.EscapeString(class), html.EscapeString(text))
}

// escapes are a terminal's colours.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// policy is what remains of an output's HTML.
var policy = func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("a", "b", "blockquote", "br", "caption", "code", "dd", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i",
		"kbd", "li", "ol", "p", "pre", "s", "small", "span", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul")
	p.AllowAttrs("colspan", "rowspan").Matching(bluemonday.Integer).OnElements("td", "th")
	p.AllowStyles("text-align").MatchingEnum("left", "center", "right").OnElements("td", "th", "p", "div")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowDataURIImages()
	p.AllowAttrs("alt", "width", "height").OnElements("img")
	p.RequireNoFollowOnLinks(false)
	return p
}()
