package site

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// section is a heading of the second level.
type section struct{ ID, Title string }

// markdown renders the cells of one page.
type markdown struct {
	links    func(target string) (string, error)
	notebook func(name string) (page string)
	md       goldmark.Markdown
	ids      parser.IDs

	title    string // of the first heading
	abstract string // the first paragraph, as HTML
	sections []section
}

func newMarkdown(links func(target string) (string, error), notebook func(name string) string) *markdown {
	return &markdown{
		links: links, notebook: notebook,
		md: goldmark.New(
			goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
			goldmark.WithParserOptions(
				parser.WithAutoHeadingID(),
				// Before a backslash escapes what follows it.
				parser.WithInlineParsers(util.Prioritized(mathParser{}, 50)),
			),
			goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(mathRenderer{}, 500))),
		),
		ids: parser.NewContext().IDs(),
	}
}

// render is a cell as HTML.
func (m *markdown) render(source string) (string, error) {
	src := []byte(source)
	doc := m.md.Parser().Parse(text.NewReader(src), parser.WithContext(parser.NewContext(parser.WithIDs(m.ids))))
	if err := m.resolve(doc, src); err != nil {
		return "", err
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 && m.title == "" {
				m.title = plain(n, src)
			}
			if id, ok := n.AttributeString("id"); ok && n.Level == 2 {
				m.sections = append(m.sections, section{string(id.([]byte)), plain(n, src)})
			}
		case *ast.Paragraph:
			if m.abstract == "" {
				var b bytes.Buffer
				if err := m.md.Renderer().Render(&b, src, n); err != nil {
					return "", err
				}
				m.abstract = b.String()
				// A sentence may go on below, around a quotation.
				if !strings.HasSuffix(plain(n, src), ".") {
					m.abstract = strings.TrimSuffix(strings.TrimSpace(m.abstract), "</p>") + " …</p>\n"
				}
			}
		}
	}
	var b bytes.Buffer
	if err := m.md.Renderer().Render(&b, src, doc); err != nil {
		return "", err
	}
	// Wide tables are scrolled, and not the page.
	out := strings.ReplaceAll(b.String(), "<table>", `<div class="wide" tabindex="0"><table>`)
	return strings.ReplaceAll(out, "</table>", "</table></div>"), nil
}

// resolve changes the targets of links and pictures to those of the site, and
// makes links of the names of notebooks.
func (m *markdown) resolve(doc ast.Node, src []byte) error {
	var names []*ast.CodeSpan
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		change := func(target []byte) []byte {
			to, e := m.links(string(target))
			err = e
			return []byte(to)
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = change(n.Destination)
		case *ast.Image:
			n.Destination = change(n.Destination)
			if err == nil && plain(n, src) == "" {
				err = fmt.Errorf("the picture %s has no description: ![what one sees](%[1]s)", n.Destination)
			}
		case *ast.CodeSpan:
			if n.Parent().Kind() != ast.KindLink && m.notebook(plain(n, src)) != "" {
				names = append(names, n)
			}
		}
		return ast.WalkContinue, err
	})
	for _, n := range names {
		link := ast.NewLink()
		link.Destination = []byte(m.notebook(plain(n, src)))
		n.Parent().ReplaceChild(n.Parent(), n, link)
		link.AppendChild(link, n)
	}
	return err
}

// plain is a node's text.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Text:
				b.Write(n.Segment.Value(src))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.String:
				b.Write(n.Value)
			case *mathNode:
				b.WriteString(n.tex)
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// linkTarget is what a link of a notebook becomes. Relative ones name files from
// the notebook's folder.
func (b *builder) linkTarget(from *notebook, target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", fmt.Errorf("the link %q: %w", target, err)
	}
	if u.Scheme != "" || u.Host != "" || u.Path == "" {
		return target, nil
	}
	file := filepath.Join(filepath.Dir(from.file), filepath.FromSlash(u.Path))
	i := slices.IndexFunc(b.notebooks, func(n *notebook) bool { return n.file == file })
	if i >= 0 {
		return (&url.URL{Path: b.notebooks[i].name + ".html", Fragment: u.Fragment}).String(), nil
	}
	name, err := filepath.Rel(b.root, file)
	if err != nil || !filepath.IsLocal(name) {
		return "", fmt.Errorf("the link %s leads out of the repository", target)
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the link %s leads nowhere", target)
	}
	if err != nil {
		return "", fmt.Errorf("the link %s leads to no file that can be copied: %w", target, err)
	}
	name = path.Join("files", filepath.ToSlash(name))
	b.files[name] = data
	return (&url.URL{Path: name, Fragment: u.Fragment}).String(), nil
}

// mathNode is a formula in Markdown.
type mathNode struct {
	ast.BaseInline
	tex     string
	display bool
}

var kindMath = ast.NewNodeKind("Math")

func (n *mathNode) Kind() ast.NodeKind { return kindMath }

func (n *mathNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// mathParser takes $...$ and $$...$$ for formulas, the latter over several lines
// of a paragraph. As in Pandoc, a formula in a line neither begins nor ends with
// a space, and no digit follows it, so that sums of money are none.
type mathParser struct{}

func (mathParser) Trigger() []byte { return []byte{'$'} }

func (mathParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if !bytes.HasPrefix(line, []byte("$$")) {
		tex, length := inlineFormula(line)
		if length == 0 {
			return nil
		}
		block.Advance(length)
		return &mathNode{tex: tex}
	}
	saved, position := block.Position()
	block.Advance(2)
	var tex strings.Builder
	for {
		line, _ := block.PeekLine()
		if line == nil {
			block.SetPosition(saved, position)
			return nil
		}
		if end := bytes.Index(line, []byte("$$")); end >= 0 {
			tex.Write(line[:end])
			block.Advance(end + 2)
			return &mathNode{tex: tex.String(), display: true}
		}
		tex.Write(line)
		block.AdvanceLine()
	}
}

// inlineFormula is the formula at the beginning of a line, with its length in
// the line, 0 where there is none.
func inlineFormula(line []byte) (tex string, length int) {
	isSpace := func(i int) bool { return i >= len(line) || util.IsSpace(line[i]) }
	if isSpace(1) {
		return "", 0
	}
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '$':
			if i == 1 || isSpace(i-1) || i+1 < len(line) && line[i+1] >= '0' && line[i+1] <= '9' {
				return "", 0
			}
			return string(line[1:i]), i + 1
		}
	}
	return "", 0
}

type mathRenderer struct{}

func (mathRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindMath, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		out, err := formula(n.(*mathNode).tex, n.(*mathNode).display)
		w.WriteString(out)
		return ast.WalkContinue, err
	})
}
