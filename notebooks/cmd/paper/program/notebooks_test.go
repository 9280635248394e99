package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/cmd/paper/internal/cli"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// notebook is as much of a stored notebook as the tests look at.
type notebook struct {
	Cells []cell
}

type cell struct {
	Type    string   `json:"cell_type"`
	Count   int      `json:"execution_count"`
	Source  lines    `json:"source"`
	Outputs []output `json:"outputs"`
}

// output is an output of a cell.
type output struct {
	Type string           `json:"output_type"`
	Name string           `json:"name"` // of a stream
	Text lines            `json:"text"`
	Data map[string]lines `json:"data"`

	Metadata map[string]map[string]int `json:"metadata"`
}

// lines is text that a notebook stores as a string or as a list of its lines.
type lines string

func (l *lines) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err == nil {
		*l = lines(strings.Join(list, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

func readNotebook(t *testing.T, path string) notebook {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}

func (n notebook) code() []cell {
	return slices.DeleteFunc(slices.Clone(n.Cells), func(c cell) bool { return c.Type != "code" })
}

// storedNotebooks are the repository's notebooks.
func storedNotebooks(t *testing.T) (root string, names []string) {
	t.Helper()
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	names, err = cli.Notebooks(root, nil)
	if err != nil || len(names) == 0 {
		t.Fatalf("notebooks are %v, %v", names, err)
	}
	return root, names
}

// Every figure of the paper has its notebook, and so have the first steps, the
// reader's own work, the music data, the study of greed and the theory.
func TestNotebooksAreThere(t *testing.T) {
	_, names := storedNotebooks(t)
	for _, name := range []string{"quickstart", paper.ToyLinear, paper.ToyBernoulli, paper.ToyMixed, paper.ToyDropout, paper.GreedStudy, "theory", "speed", "own-problem", "own-data", "kkbox-data", paper.MusicStatelessName, paper.MusicStateName} {
		if !slices.Contains(names, name+".ipynb") {
			t.Errorf("there is no %s.ipynb", name)
		}
	}
}

// What a reader types into a cell is short: long work, types and functions are
// the packages'. But to declare a problem of one's own is to declare a type,
// with methods, and so one notebook does.
func TestNotebookCells(t *testing.T) {
	const declares = "own-problem.ipynb"
	root, names := storedNotebooks(t)
	setup := readNotebook(t, filepath.Join("testdata", "template.ipynb")).code()[0].Source
	for _, name := range names {
		code := readNotebook(t, filepath.Join(root, "notebooks", name)).code()
		if len(code) == 0 || code[0].Source != setup {
			t.Errorf("%s does not begin with the set-up cell of testdata/template.ipynb", name)
			continue
		}
		maxLines, maxTypes := 15, 0
		if name == declares {
			maxLines, maxTypes = 18, 1
		}
		funcs, types := 0, 0
		for i, c := range code[1:] {
			where := fmt.Sprintf("%s: code cell %d", name, i+2)
			if n := filled(string(c.Source)); n > maxLines {
				t.Errorf("%s has %d lines, at most %d", where, n, maxLines)
			}
			cell := parseCell(string(c.Source))
			for _, p := range cell.problems {
				t.Errorf("%s: %s", where, p)
			}
			funcs, types = funcs+cell.funcs, types+cell.types
		}
		if funcs > 1 || types > maxTypes {
			t.Errorf("%s declares %d functions, at most 1, and %d types, at most %d", name, funcs, types, maxTypes)
		}
	}
}

// filled counts the lines that are not empty.
func filled(text string) (n int) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// declared is what a cell declares: functions, without the methods of types,
// and types; and what it must not have.
type declared struct {
	funcs, types int
	problems     []string
}

func parseCell(source string) (cell declared) {
	// What stands below %% is the body of main.
	declarations, main, _ := strings.Cut("\n"+source+"\n", "\n%%")
	if _, below, hasMain := strings.Cut(main, "\n"); hasMain {
		main = below
	}
	var program strings.Builder
	program.WriteString("package cell\n")
	add := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "%") && !strings.HasPrefix(line, "!") {
				program.WriteString(line + "\n")
			}
		}
	}
	add(declarations)
	program.WriteString("func main() {\n")
	add(main)
	program.WriteString("}\n")
	f, err := parser.ParseFile(token.NewFileSet(), "", program.String(), parser.SkipObjectResolution)
	if err != nil {
		return declared{problems: []string{err.Error()}}
	}
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(path, clone.Module+"/") {
			cell.problems = append(cell.problems, "imports "+path+", which is neither this module's nor Go's")
		}
		if i.Name != nil && i.Name.Name == "." {
			cell.problems = append(cell.problems, "imports "+path+" with a dot, which breaks the cells after it")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name != "main" && n.Recv == nil {
				cell.funcs++
			}
		case *ast.TypeSpec:
			cell.types++
		}
		return true
	})
	return cell
}

func TestParseCell(t *testing.T) {
	for source, want := range map[string]string{
		"import \"fmt\"\n\n%%\nfmt.Println()":                         "0 0 []",
		"%%\nx := func() int { return 1 }()":                          "0 0 []",
		"func f() {}\n\n%% -flag\nf()":                                "1 0 []",
		"import . \"fmt\"":                                            "0 0 [imports fmt with a dot, which breaks the cells after it]",
		"import \"" + clone.Module + "/pgcr\"\n!echo":                 "0 0 []",
		"import \"gonum.org/v1/plot\"":                                "0 0 [imports gonum.org/v1/plot, which is neither this module's nor Go's]",
		"type a int\n%%\ntype b = int":                                "0 2 []",
		"type a int\nfunc (a) f() {}":                                 "0 1 []",
		"%noautoget\n!*ls | wc\nvar x = 1":                            "0 0 []",
		"var f = func() {}\nfunc g() {}\nfunc h() {}\n%%\ng(); h()\n": "2 0 []",
	} {
		cell := parseCell(source)
		if got := fmt.Sprint(cell.funcs, cell.types, cell.problems); got != want {
			t.Errorf("%q: %s, want %s", source, got, want)
		}
	}
	if cell := parseCell("package main"); len(cell.problems) != 1 {
		t.Errorf("of a package clause it says %q", cell.problems)
	}
}

// Notebooks are stored as they were executed from top to bottom, with pictures
// that are shown everywhere and described for who cannot see them.
func TestNotebookOutputs(t *testing.T) {
	root, names := storedNotebooks(t)
	for _, name := range names {
		n := readNotebook(t, filepath.Join(root, "notebooks", name))
		checkExecuted(t, name, n)
	}
}

func checkExecuted(t *testing.T, name string, n notebook) {
	t.Helper()
	pictures := 0
	for i, c := range n.code() {
		where := fmt.Sprintf("%s: code cell %d", name, i+1)
		if c.Count != i+1 {
			t.Errorf("%s has the execution count %d: execute the notebook and store it", where, c.Count)
			return
		}
		if _, main, _ := strings.Cut(string(c.Source), "%%"); main != "" && len(c.Outputs) == 0 {
			t.Errorf("%s runs and shows nothing", where)
		}
		for _, o := range c.Outputs {
			if o.Type == "error" || o.Name == "stderr" {
				t.Errorf("%s failed or complains: %s", where, o.Text)
			}
			for mime, data := range o.Data {
				if mime == "image/png" {
					pictures++
					if strings.TrimSpace(string(o.Data["text/plain"])) == "" {
						t.Errorf("%s: a picture without a description", where)
					}
				}
				if strings.Contains(mime, "svg") || strings.Contains(string(data), "<svg") {
					t.Errorf("%s: SVG is lost in notebooks that came from somebody else", where)
				}
			}
		}
	}
	if pictures == 0 {
		t.Errorf("%s shows no picture", name)
	}
}

// Every notebook runs in the real kernel, all in one store as reproduce does it.
// Music, whose experiments have 250 times the steps, is played at another scale.
func TestNotebooks(t *testing.T) {
	root, binDir := kernelFolder(t)
	if want := filepath.Join(root, "notebooks", ".bin"); binDir != want {
		t.Fatalf("the kernel is in %s, want %s", binDir, want)
	}
	_, names := storedNotebooks(t)
	out := t.TempDir()
	for scale, names := range map[string][]string{
		"0.01":    slices.DeleteFunc(slices.Clone(names), playsMusic),
		"0.00001": slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !playsMusic(name) }),
	} {
		env := []string{"PAPER_SCALE=" + scale, "PAPER_OUT=" + out}
		if err := executeNotebooks(t.Context(), root, names, filepath.Join(out, "notebooks"), env, 2, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		executed := readNotebook(t, filepath.Join(out, "notebooks", name))
		checkExecuted(t, name, executed)
		if stored := readNotebook(t, filepath.Join(root, "notebooks", name)); len(executed.Cells) != len(stored.Cells) {
			t.Errorf("%s: executed it has %d cells, stored %d", name, len(executed.Cells), len(stored.Cells))
		}
	}
}
