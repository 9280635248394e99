package site

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/contextrec/contextrec/notebooks/paper"
)

// Site is what is written.
type Site struct {
	Root      string   // the repository's folder: no file out of it gets into a site
	Notebooks []string // executed notebooks, in the order of the index
	Figures   []Figure
	Claims    []paper.Claim
	Results   string // what the figures and the claims rest on: a sentence
}

// Figure is a picture of the index.
type Figure struct {
	File     string // a PNG file, of twice the size at which it is shown
	Title    string
	Alt      string // what one sees
	Notebook string // the name of the notebook that it leads to, if it is in the site
}

// Write writes the site into a folder, which it makes, or which is empty, or
// which has a site and nothing else: then that is replaced. On an error, the
// folder is as it was.
func (s Site) Write(dir string) error {
	files, err := s.render()
	if err != nil {
		return err
	}
	if err := replaceFolder(dir, files); err != nil {
		return fmt.Errorf("the site cannot be written: %w", err)
	}
	return nil
}

// builder collects the files of a site.
type builder struct {
	root      string
	notebooks []*notebook
	files     map[string][]byte
	drawn     map[string]int // pictures of each notebook
}

// page is a notebook's page for the templates.
type page struct {
	Name, Title    string
	Abstract, Body template.HTML
	Sections       []section
	Previous, Next *page
}

func (p *page) File() string { return p.Name + ".html" }

func (s Site) render() (map[string][]byte, error) {
	root, err := filepath.Abs(s.Root)
	if err != nil {
		return nil, err
	}
	b := &builder{root: root, files: map[string][]byte{"style.css": style}, drawn: map[string]int{}}
	if len(s.Notebooks) == 0 {
		return nil, errors.New("there are no notebooks for a site")
	}
	for _, file := range s.Notebooks {
		n, err := readNotebook(file)
		if err != nil {
			return nil, err
		}
		if n.name == "index" || b.page(n.name) != "" {
			return nil, fmt.Errorf("two pages would be called %s.html", n.name)
		}
		b.notebooks = append(b.notebooks, n)
	}
	var pages []*page
	for _, n := range b.notebooks {
		p, err := b.notebookPage(n)
		if err != nil {
			return nil, err
		}
		if len(pages) > 0 {
			p.Previous = pages[len(pages)-1]
			p.Previous.Next = p
		}
		pages = append(pages, p)
	}
	for _, p := range pages {
		if err := b.execute(p.File(), "page", p); err != nil {
			return nil, err
		}
	}
	index := struct {
		Site
		Pages    []*page
		Pictures []figure
	}{Site: s, Pages: pages}
	for _, f := range s.Figures {
		shown, err := b.figure(f)
		if err != nil {
			return nil, err
		}
		index.Pictures = append(index.Pictures, shown)
	}
	return b.files, b.execute("index.html", "index", index)
}

// page is the file of a notebook's page, "" where there is none of that name.
func (b *builder) page(name string) string {
	if slices.ContainsFunc(b.notebooks, func(n *notebook) bool { return n.name == name }) {
		return name + ".html"
	}
	return ""
}

func (b *builder) notebookPage(n *notebook) (*page, error) {
	md := newMarkdown(
		func(target string) (string, error) { return b.linkTarget(n, target) },
		func(name string) string {
			if name == n.name {
				return ""
			}
			return b.page(name)
		})
	var body strings.Builder
	for i, c := range n.Cells {
		out, err := b.cell(n, md, c)
		if err != nil {
			return nil, fmt.Errorf("%s, cell %d: %w", n.file, i+1, err)
		}
		body.WriteString(out)
	}
	title := md.title
	if title == "" {
		title = n.name
	}
	return &page{Name: n.name, Title: title, Abstract: template.HTML(md.abstract), Body: template.HTML(body.String()), Sections: md.sections}, nil
}

func (b *builder) cell(n *notebook, md *markdown, c cell) (string, error) {
	switch c.Type {
	case "markdown":
		return md.render(string(c.Source))
	case "code":
	default:
		return "", nil // raw cells are for other formats
	}
	outputs, err := b.outputs(n, md, c)
	if err != nil {
		return "", err
	}
	shown := cellHTML{Code: template.HTML(highlightGo(strings.TrimRight(string(c.Source), "\n"))), Outputs: template.HTML(outputs), SetUp: isSetUp(string(c.Source))}
	if c.Count != nil {
		shown.Count = *c.Count
	}
	var out bytes.Buffer
	err = templates.ExecuteTemplate(&out, "cell", shown)
	return out.String(), err
}

type cellHTML struct {
	Code, Outputs template.HTML
	Count         int
	SetUp         bool
}

// figure is one of the index, as HTML.
type figure struct {
	Title, Page string
	Picture     template.HTML
}

func (b *builder) figure(f Figure) (figure, error) {
	data, err := os.ReadFile(f.File)
	if err != nil {
		return figure{}, err
	}
	element, err := b.picture(filepath.Base(f.File), &picture{extension: ".png", data: data}, f.Alt)
	return figure{Title: f.Title, Page: b.page(f.Notebook), Picture: template.HTML(element)}, err
}

func (b *builder) execute(file, name string, data any) error {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return err
	}
	b.files[file] = out.Bytes()
	return nil
}

var (
	//go:embed pages.tmpl
	pagesSource string
	//go:embed style.css
	style []byte

	templates = template.Must(template.New("").Funcs(template.FuncMap{
		// class is a verdict as a name of a style.
		"class": func(v paper.Verdict) string { return strings.ReplaceAll(string(v), " ", "-") },
	}).Parse(pagesSource))
)
