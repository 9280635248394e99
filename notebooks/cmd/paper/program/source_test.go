package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goFiles calls check for every Go file of the repository.
func goFiles(t *testing.T, check func(name string, f *ast.File, at func(token.Pos) string)) {
	t.Helper()
	set := token.NewFileSet()
	at := func(p token.Pos) string { return set.Position(p).String() }
	for name, data := range repositoryFiles(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parser.ParseFile(set, name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		check(name, f, at)
	}
}

// Importing a package changes nothing, but that package paper chooses the
// backend of its programs.
func TestNoInit(t *testing.T) {
	goFiles(t, func(name string, f *ast.File, at func(token.Pos) string) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && path.Dir(name) != "notebooks/paper" {
				t.Errorf("%s: func init", at(fn.Pos()))
			}
		}
	})
}

var getter = regexp.MustCompile(`^Get[A-Z]`)

func TestSignatures(t *testing.T) {
	goFiles(t, func(name string, f *ast.File, at func(token.Pos) string) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(name, "_test.go") {
				continue
			}
			if getter.MatchString(fn.Name.Name) {
				t.Errorf("%s: %s: a getter has the name of what it returns", at(fn.Pos()), fn.Name.Name)
			}
			for _, p := range fn.Type.Params.List {
				if e, ok := p.Type.(*ast.Ellipsis); ok && fn.Name.IsExported() && isAny(e.Elt) {
					t.Errorf("%s: %s takes arguments of any type", at(fn.Pos()), fn.Name.Name)
				}
			}
		}
	})
}

func isAny(e ast.Expr) bool {
	if i, ok := e.(*ast.InterfaceType); ok {
		return len(i.Methods.List) == 0
	}
	i, ok := e.(*ast.Ident)
	return ok && i.Name == "any"
}

var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

// Tests are not skipped, but those in a browser where there is none, work is not
// left for later, and random numbers come from a seed.
func TestHabits(t *testing.T) {
	seeded := []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}
	goFiles(t, func(name string, f *ast.File, at func(token.Pos) string) {
		if name != "notebooks/cmd/paper/program/source_test.go" { // which names the words
			for _, c := range f.Comments {
				if found := unfinished.FindString(c.Text()); found != "" {
					t.Errorf("%s: %s", at(c.Pos()), found)
				}
			}
		}
		packages := map[string]string{}
		for _, i := range f.Imports {
			file := strings.Trim(i.Path.Value, `"`)
			base := path.Base(file)
			if base == "v2" {
				base = path.Base(path.Dir(file))
			}
			if i.Name != nil {
				base = i.Name.Name
			}
			packages[base] = file
			if file == "math/rand" {
				t.Errorf("%s: import of %s, want math/rand/v2", at(i.Pos()), file)
			}
		}
		test := strings.HasSuffix(name, "_test.go")
		inBrowser := test && strings.HasPrefix(name, "notebooks/kernel/browser/")
		library := !test && f.Name.Name != "main" && !strings.HasPrefix(name, "notebooks/")
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if !ok {
				return true
			}
			switch pkg := packages[x.Name]; {
			case !test && pkg == "math/rand/v2" && !slices.Contains(seeded, s.Sel.Name):
				t.Errorf("%s: rand.%s has no seed", at(s.Pos()), s.Sel.Name)
			case x.Name == "t" && strings.HasPrefix(s.Sel.Name, "Skip") && !inBrowser:
				t.Errorf("%s: a test that is skipped tests nothing", at(s.Pos()))
			case name == "pgcr/backend.go" && s.Sel.Name == "LookupEnv": // what GoMLX reads there, to refuse what can block for ever
			case library && forbiddenInLibraries(pkg, s.Sel.Name):
				t.Errorf("%s: a library uses %s.%s", at(s.Pos()), pkg, s.Sel.Name)
			}
			return true
		})
	})
}

// forbiddenInLibraries tells what only a program may do: print, exit, and read
// flags or the environment.
func forbiddenInLibraries(pkg, name string) bool {
	switch pkg {
	case "flag", "log":
		return true
	case "fmt":
		return strings.HasPrefix(name, "Print")
	case "os":
		return slices.Contains([]string{"Exit", "Getenv", "LookupEnv", "Stdout", "Stderr", "Args"}, name)
	}
	return false
}
