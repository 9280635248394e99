package site_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/notebooks/site"
)

// The repository's notebooks and figures become pages in which everything leads
// somewhere, is described, and comes from the site itself.
func TestRepository(t *testing.T) {
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	s := site.Site{Root: root, Results: "published", Claims: paper.Claims(nil, nil)}
	s.Notebooks, _ = filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb"))
	figures, _ := filepath.Glob(filepath.Join(root, "notebooks", "published", "figures", "*-loglog.png"))
	for _, f := range figures {
		s.Figures = append(s.Figures, site.Figure{File: f, Title: filepath.Base(f), Alt: "regret", Notebook: strings.TrimSuffix(filepath.Base(f), "-loglog.png")})
	}
	if len(s.Notebooks) < 10 || len(figures) < 4 {
		t.Fatalf("%d notebooks, %d figures", len(s.Notebooks), len(figures))
	}
	dir := filepath.Join(t.TempDir(), "site")
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	pages := checkPages(t, dir)
	if len(pages) != len(s.Notebooks)+1 {
		t.Errorf("%d pages of %d notebooks and an index", len(pages), len(s.Notebooks))
	}
	pictures := 0
	for _, file := range s.Notebooks {
		name := strings.TrimSuffix(filepath.Base(file), ".ipynb")
		pictures += pages[name+".html"].pictures
		if pages[name+".html"].pictures == 0 {
			t.Errorf("the page of %s has no picture", name)
		}
		if !slices.Contains(pages["index.html"].links, name+".html") {
			t.Errorf("the index does not lead to %s", name)
		}
	}
	if n := pages["index.html"].pictures; n != len(figures) {
		t.Errorf("the index has %d pictures, want %d", n, len(figures))
	}
}

// seen is what is on a page.
type seen struct {
	links    []string
	pictures int
	text     string
}

// checkPages checks the pages of a site and the links among them.
func checkPages(t *testing.T, dir string) map[string]seen {
	t.Helper()
	files, pages, ids := map[string]bool{}, map[string]seen{}, map[string]bool{}
	fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		files[name] = !d.IsDir()
		return nil
	})
	type link struct{ page, target string }
	var links []link
	for name := range files {
		if path.Ext(name) != ".html" || strings.Contains(name, "/") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := html.Parse(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var p seen
		headings := 0
		for n := range doc.Descendants() {
			if n.Type == html.TextNode {
				p.text += n.Data
			}
			if n.Type != html.ElementNode {
				continue
			}
			attributes := map[string]string{}
			for _, a := range n.Attr {
				attributes[a.Key] = a.Val
				if strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s> is a script", name, n.Data, a.Key)
				}
			}
			if id := attributes["id"]; id != "" {
				if ids[name+"#"+id] {
					t.Errorf("%s has two elements with the id %s", name, id)
				}
				ids[name+"#"+id] = true
			}
			switch n.Data {
			case "script", "iframe", "object", "embed", "base", "merror":
				t.Errorf("%s has a <%s>", name, n.Data)
			case "h1":
				headings++
			case "a":
				links = append(links, link{name, attributes["href"]})
				p.links = append(p.links, attributes["href"])
			case "img":
				p.pictures++
				if len(attributes["alt"]) < 3 {
					t.Errorf("%s: %s is described as %q", name, attributes["src"], attributes["alt"])
				}
				if !files[attributes["src"]] {
					t.Errorf("%s shows %s, which is not in the site", name, attributes["src"])
				}
			case "link":
				if href := attributes["href"]; !files[href] && href != "data:," {
					t.Errorf("%s needs %s, which is not in the site", name, href)
				}
			}
		}
		if headings != 1 {
			t.Errorf("%s has %d headings of the first level", name, headings)
		}
		if i := strings.Index(p.text, "$$"); i >= 0 {
			t.Errorf("%s has a formula that was not recognised: %s", name, p.text[i:min(i+60, len(p.text))])
		}
		pages[name] = p
	}
	for _, l := range links {
		u, err := url.Parse(l.target)
		if err != nil || l.target == "" {
			t.Errorf("%s links to %q: %v", l.page, l.target, err)
			continue
		}
		if u.Scheme != "" {
			continue
		}
		to := u.Path
		if to == "" {
			to = l.page
		}
		if !files[to] {
			t.Errorf("%s links to %s, which is not in the site", l.page, l.target)
		}
		if u.Fragment != "" && !ids[to+"#"+u.Fragment] {
			t.Errorf("%s links to %s, where there is no such place", l.page, l.target)
		}
	}
	return pages
}

// repository is a folder with a file, a folder of notebooks, and one of these,
// b.ipynb, to link to.
func repository(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{"LICENSE": "free", "notebooks/b.ipynb": notebookText(t, markdownCell("# B\n\n## A place"))} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

type object = map[string]any

func markdownCell(source string) object {
	return object{"cell_type": "markdown", "metadata": object{}, "source": source}
}

func codeCell(source string, outputs ...object) object {
	return object{"cell_type": "code", "metadata": object{}, "source": source, "execution_count": 1, "outputs": outputs}
}

func display(data object) object {
	return object{"output_type": "display_data", "data": data, "metadata": object{"image/png": object{"width": 7, "height": 5}}}
}

func notebookText(t *testing.T, cells ...object) string {
	t.Helper()
	text, err := json.Marshal(object{"nbformat": 4, "nbformat_minor": 5, "metadata": object{}, "cells": cells})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// write writes the site of a notebook a.ipynb with the cells, and of b.ipynb.
func write(t *testing.T, cells ...object) (dir string, err error) {
	t.Helper()
	root := repository(t)
	a := filepath.Join(root, "notebooks", "a.ipynb")
	if err := os.WriteFile(a, []byte(notebookText(t, cells...)), 0o666); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(root, "site")
	return dir, site.Site{Root: root, Notebooks: []string{a, filepath.Join(root, "notebooks", "b.ipynb")}}.Write(dir)
}

// pageOf is the body of a.html of a notebook with the cells.
func pageOf(t *testing.T, cells ...object) string {
	t.Helper()
	dir, err := write(t, append([]object{markdownCell("# A")}, cells...)...)
	if err != nil {
		t.Fatal(err)
	}
	checkPages(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, "a.html"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "<main>")
	body, _, _ = strings.Cut(body, "</main>")
	return body
}

// onePicture is a PNG file of 2 by 2 pixels, as a notebook has it.
func onePicture(t *testing.T) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 2, 2))
	img.Set(1, 1, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()) + "\n"
}

func TestCells(t *testing.T) {
	for name, test := range map[string]struct {
		cell        object
		want, lacks []string
	}{
		"Markdown": {markdownCell("x <script>alert(1)</script> *y* `<z>`"), []string{"<em>y</em>", "<code>&lt;z&gt;</code>"}, []string{"<script"}},
		"links": {
			markdownCell("[b](b.ipynb#a-place), `b`, [b `b`](b.ipynb), [l](../LICENSE), <https://a.example>"),
			[]string{`<a href="b.html#a-place">b</a>`, `<a href="b.html"><code>b</code></a>`, `<a href="b.html">b <code>b</code></a>`, `<a href="files/LICENSE">l</a>`, `<a href="https://a.example">`}, nil,
		},
		"the own name is no link": {markdownCell("`a`"), []string{"<code>a</code>"}, []string{"<a "}},
		"Go": {
			codeCell("// all\nfor i := range 3 { f(\"<%>\", 'c') }\n%%\n"),
			[]string{`<span class="c">// all</span>`, `<span class="k">for</span> i := <span class="k">range</span> <span class="n">3</span> { f(<span class="s">&#34;&lt;%&gt;&#34;</span>, <span class="s">&#39;c&#39;</span>) }`, `<span class="m">%%</span>`},
			nil,
		},
		"code that is no Go": {codeCell("a := \"open\n`too"), []string{"open", "too"}, nil},
		"a set-up cell":      {codeCell("%env A=1\n!*ls"), []string{"<details", "%env A=1", "!*ls"}, nil},
		"a stream":           {codeCell("x", object{"output_type": "stream", "name": "stderr", "text": []string{"a <b>\n", "\x1b[31mred\x1b[0m"}}), []string{`class="out stderr"`, "a &lt;b&gt;\nred</pre>"}, nil},
		"an error":           {codeCell("x", object{"output_type": "error", "ename": "E", "evalue": "why", "traceback": []string{"line <1>"}}), []string{`class="out error"`, "line &lt;1&gt;"}, nil},
		"HTML": {
			codeCell("x", display(object{"text/html": `<table onclick="f()"><tr><th style="text-align:left;position:fixed" colspan="2">h<img src="http://a.example/p.png"><script>f()</script></th></tr></table>`, "text/plain": "other"})),
			[]string{`<table><tr><th style="text-align: left" colspan="2">h`}, []string{"script", "onclick", "fixed", "a.example", "other"},
		},
		"text":         {codeCell("x", display(object{"text/plain": "1 < 2"})), []string{"1 &lt; 2"}, nil},
		"a raw cell":   {object{"cell_type": "raw", "metadata": object{}, "source": "hidden"}, nil, []string{"hidden"}},
		"empty HTML":   {codeCell("x", display(object{"text/html": ""})), nil, []string{"out"}},
		"a picture":    {codeCell("x", display(object{"image/png": onePicture(t), "text/plain": `two "dots"`})), []string{`<img src="pictures/a-1.png" alt="two &#34;dots&#34;" width="7" height="5"`}, []string{"out"}},
		"a wide table": {markdownCell("|a|\n|-|\n|b|"), []string{`<div class="wide" tabindex="0"><table>`, "</table></div>"}, nil},
	} {
		body := pageOf(t, test.cell)
		for _, want := range test.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks %s:\n%s", name, want, body)
			}
		}
		for _, lacks := range test.lacks {
			if strings.Contains(body, lacks) {
				t.Errorf("%s: the page has %s:\n%s", name, lacks, body)
			}
		}
	}
}

var between = regexp.MustCompile(`>\s+<`)

func TestFormulas(t *testing.T) {
	half := "<mfrac><mn>1</mn><mn>2</mn></mfrac>"
	for source, want := range map[string]string{
		`$\frac12$`:              half,
		`$\frac{1}2$`:            half,
		`$\frac 1 2$`:            half,
		`$\frac\alpha{\frac12}$`: "<mfrac><mi>α</mi>" + half + "</mfrac>",
		"$$\n\\frac12\n$$":       half,
		`$$x \tag{13}$$`:         `<span class="number">(13)</span>`,
		`$x_i * y_i$ and $a*b$`:  "</math> and ",
		`it costs $5 or $6`:      "it costs $5 or $6",
		`$ x$`:                   "$ x$",
		"`$x$`":                  "<code>$x$</code>",
		`$a$b$`:                  "</math>b$",
		"$$x$$ *and* on":         "</span><em>and</em> on",
		`**$\mu$**`:              "<strong><math",
		`\$x$`:                   "$x$",
		"|a|\n|-|\n|$b$|":        "<td><math",
		`## $\kappa$`:            "<math",
		`$x<y$, a & b`:           "</math>, a &amp; b",
		"$$a$$\n\n- $b$":         "<li><math",
		`$\mathbf c$`:            "𝐜",
	} {
		body := between.ReplaceAllString(pageOf(t, markdownCell(source)), "><")
		if !strings.Contains(body, want) {
			t.Errorf("%q lacks %s:\n%s", source, want, body)
		}
	}
}

// What cannot be shown well is an error that names the notebook and the cell, and
// nothing is written.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		cell object
		want string
	}{
		"dead link":        {markdownCell("[x](missing.md)"), "the link missing.md leads nowhere"},
		"link out":         {markdownCell("[x](../../../x)"), "the link ../../../x leads out of the repository"},
		"absolute link":    {markdownCell("[x](/etc/passwd)"), "leads nowhere"},
		"link to a folder": {markdownCell("[x](..)"), "no file"},
		"no description":   {codeCell("x", display(object{"image/png": onePicture(t)})), "a picture without a description"},
		"no alt text":      {markdownCell("![](../LICENSE)"), "has no description"},
		"no picture":       {codeCell("x", display(object{"image/png": "aGFsbG8=", "text/plain": "hello"})), `the picture "hello" cannot be read`},
		"no base64":        {codeCell("x", display(object{"image/png": "!", "text/plain": "hello"})), "illegal base64"},
		"half a fraction":  {markdownCell(`$\frac1$`), "argument too few"},
		"unknown TeX":      {markdownCell(`$\nosuchthing$`), "nosuchthing"},
	} {
		dir, err := write(t, test.cell)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "a.ipynb, cell 1") {
			t.Errorf("%s: the error is %v, want one with %q", name, err, test.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: there is a site", name)
		}
	}
}

func TestNoNotebook(t *testing.T) {
	root := repository(t)
	for text, want := range map[string]string{"{": "is no notebook", `{"nbformat": 3}`: "notebook format 3, want 4"} {
		file := filepath.Join(root, "notebooks", "a.ipynb")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		err := site.Site{Root: root, Notebooks: []string{file}}.Write(filepath.Join(root, "site"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %s it says %v, want %s", text, err, want)
		}
	}
	b := filepath.Join(root, "notebooks", "b.ipynb")
	if err := (site.Site{Root: root, Notebooks: []string{b, b}}).Write(filepath.Join(root, "site")); err == nil {
		t.Error("two pages of one name were written")
	}
	if err := (site.Site{Root: root}).Write(filepath.Join(root, "site")); err == nil {
		t.Error("a site without notebooks was written")
	}
}

// listing is all files in a folder, with their contents.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(&b, "%s %s\n", name, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Write replaces nothing but a site, and leaves no trace of what fails.
func TestFolder(t *testing.T) {
	root := repository(t)
	b := filepath.Join(root, "notebooks", "b.ipynb")
	s := site.Site{Root: root, Notebooks: []string{b}}
	parent := t.TempDir()
	dir := filepath.Join(parent, "new", "site")
	for range 2 { // made, and replaced
		if err := s.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	first := listing(t, dir)
	if err := os.WriteFile(b, []byte(notebookText(t, markdownCell("# Changed"))), 0o666); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "own.txt")
	if err := os.WriteFile(own, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(dir); err == nil || !strings.Contains(err.Error(), "own.txt") {
		t.Errorf("of a file of somebody's own in the site it says %v", err)
	}
	os.Remove(own)
	if listing(t, dir) != first {
		t.Error("what was refused has changed the folder")
	}
	if err := os.WriteFile(b, []byte(notebookText(t, markdownCell("[x](missing)"))), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(dir); err == nil || listing(t, dir) != first {
		t.Errorf("an error (%v) has changed the folder", err)
	}
	if err := os.WriteFile(b, []byte(notebookText(t, markdownCell("# Changed"))), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(dir); err != nil || !strings.Contains(listing(t, dir), "Changed") {
		t.Errorf("a site was not replaced: %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 1 {
		t.Errorf("beside the site there is %v", entries)
	}

	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{parent, file, filepath.Join(file, "below")} {
		if err := s.Write(refused); err == nil {
			t.Errorf("%s was replaced", refused)
		}
	}
	empty := t.TempDir()
	link := filepath.Join(parent, "link")
	if err := os.Symlink(empty, link); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(link); err != nil || listing(t, empty) == "" {
		t.Errorf("through a link to an empty folder: %v", err)
	}
}
