package cellbuild_test

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/kernel/cellbuild"
)

// bench is a place with a module whose sources may change, cells that import it, and
// a go command that tells how often it has built.
type bench struct {
	t      *testing.T
	g      cellbuild.Go
	lib    string // the module's folder
	cell   string // a cell's
	builds string // a line for each build of go's
	hook   string // a script that go runs before and after each build

	comments int
}

func newBench(t *testing.T) *bench {
	goPath, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	// What go has compiled must stay what it is.
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "")
	t.Setenv("GOENV", filepath.Join(t.TempDir(), "env"))
	dir := filepath.Join(t.TempDir(), "it's a [place]")
	b := &bench{t: t, lib: filepath.Join(dir, "lib"), cell: filepath.Join(dir, "cell"), builds: filepath.Join(dir, "builds"), hook: filepath.Join(dir, "hook")}
	b.g = cellbuild.Go{Program: filepath.Join(dir, "go"), Recipes: filepath.Join(dir, "recipes")}
	b.write(b.g.Program, fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = build ]; then\n\techo \"$@\" >>%[1]q\n\t[ ! -e %[2]q ] || sh %[2]q before\n\t%[3]q \"$@\" || exit\n\t[ ! -e %[2]q ] || sh %[2]q after\n\texit\nfi\nexec %[3]q \"$@\"\n", b.builds, b.hook, goPath))
	if err := os.Chmod(b.g.Program, 0o777); err != nil {
		t.Fatal(err)
	}
	b.reset()
	return b
}

// reset makes the module and the cell what they are at first.
func (b *bench) reset() {
	b.t.Helper()
	for _, folder := range []string{b.lib, b.cell} {
		if err := os.RemoveAll(folder); err != nil {
			b.t.Fatal(err)
		}
	}
	b.write(filepath.Join(b.lib, "go.mod"), "module example.org/lib\n\ngo 1.26.0\n")
	b.write(filepath.Join(b.lib, "a", "a.go"), "package a\n\nfunc Word() string { return \"one\" }\n")
	b.write(filepath.Join(b.lib, "b", "b.go"), "package b\n\nimport \"example.org/lib/a\"\n\nfunc Words() string { return a.Word() + \" two\" }\n")
	b.write(filepath.Join(b.lib, "b", "b_test.go"), "package b\n\nimport _ \"embed\"\n\n//go:embed b.go\nvar text string\n")
	b.write(filepath.Join(b.lib, "internal", "i", "i.go"), "package i\n")
	b.write(filepath.Join(b.lib, "a", "inner", "x.go"), "package inner\n\nfunc Word() string { return \"inner\" }\n")
	b.newCell(b.cell, "gonb_1")
}

func (b *bench) newCell(folder, module string) {
	b.t.Helper()
	b.write(filepath.Join(folder, "go.mod"), "module "+module+"\n\ngo 1.26.0\n")
	b.write(filepath.Join(folder, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t"+strconv.Quote(b.lib)+"\n)\n")
	b.body(folder, `println(b.Words())`, "example.org/lib/b")
}

// body writes a cell's main function.
func (b *bench) body(folder, statements string, imports ...string) {
	b.t.Helper()
	var text strings.Builder
	text.WriteString("package main\n\n")
	for _, path := range imports {
		fmt.Fprintf(&text, "import %q\n", path)
	}
	b.write(filepath.Join(folder, "main.go"), text.String()+"\nfunc main() {\n\t"+statements+"\n}\n")
}

// write writes a file, and the folders that it is in.
func (b *bench) write(path, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// build builds the cell of a folder, with another comment each time, and tells whether
// that was done, and how often go was called for it.
func (b *bench) build(folder string, flags ...string) (ok bool, calls int) {
	b.t.Helper()
	b.t.Chdir(folder)
	if f, err := os.OpenFile("main.go", os.O_APPEND|os.O_WRONLY, 0); err == nil {
		b.comments++
		fmt.Fprintln(f, "\n//", b.comments)
		f.Close()
	}
	before, _ := os.ReadFile(b.builds)
	ok = b.g.Build(b.t.Context(), append([]string{"build", "-o", filepath.Join(folder, "out")}, flags...))
	after, _ := os.ReadFile(b.builds)
	return ok, bytes.Count(after, []byte("\n")) - bytes.Count(before, []byte("\n"))
}

// want builds a cell and checks what its program says and how often go was called.
func (b *bench) want(folder string, calls int, says string, flags ...string) {
	b.t.Helper()
	ok, called := b.build(folder, flags...)
	if !ok || called != calls {
		b.t.Fatalf("built is %t with %d calls of go, want %d", ok, called, calls)
	}
	out, err := exec.Command(filepath.Join(folder, "out")).CombinedOutput()
	if err != nil || string(out) != says+"\n" {
		b.t.Fatalf("the cell says %q, %v, want %q", out, err, says)
	}
}

// learn has the cell of a folder built until go is not called any more: it keeps the
// packages that it has compiled only when it has built the cell for the first time.
func (b *bench) learn(folder string, flags ...string) {
	b.t.Helper()
	for range 3 {
		ok, calls := b.build(folder, flags...)
		if !ok {
			b.t.Fatal("the cell is not built")
		}
		if calls == 0 {
			return
		}
	}
	b.t.Fatal("go is called for the third time")
}

// clean checks what is in a folder.
func (b *bench) clean(folder string, want ...string) {
	b.t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		b.t.Errorf("in the folder are %q, want %q", names, want)
	}
}

// recipes are the files that are kept.
func (b *bench) recipes() (files []string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.g.Recipes)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		files = append(files, filepath.Join(b.g.Recipes, e.Name()))
	}
	return files
}

// Another cell that imports the same is built without go, and is what go would have
// built.
func TestBuild(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("GOTMPDIR", "")
	// The build IDs are the same where the user chooses them.
	for _, flags := range [][]string{{"-ldflags=-buildid=x"}, {"-gcflags=all=-dwarf=false", "-ldflags=-s -w -buildid=x", "-tags=netgo,osusergo"}} {
		b := newBench(t)
		b.learn(b.cell, flags...)
		b.body(b.cell, `println(b.Words(), "three")`, "example.org/lib/b")
		b.want(b.cell, 0, "one two three", flags...)
		made, err := os.ReadFile(filepath.Join(b.cell, "out"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(b.g.Program, append([]string{"build", "-o", "by go"}, flags...)...)
		cmd.Dir = b.cell
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if by, err := os.ReadFile(filepath.Join(b.cell, "by go")); err != nil || !bytes.Equal(by, made) {
			t.Errorf("with %q go builds another program, %v", flags, err)
		}
		b.clean(b.cell, "by go", "go.mod", "go.work", "main.go", "out")
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder are %v, %v", left, err)
	}
}

// go does not take for up to date what was built by a recipe, nor for another cell's.
func TestBuildThenGo(t *testing.T) {
	b := newBench(t)
	for range 2 {
		b.want(b.cell, 1, "one two")
	}
	main := filepath.Join(b.cell, "main.go")
	first, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	b.body(b.cell, `println("other", b.Words())`, "example.org/lib/b")
	b.want(b.cell, 0, "other one two")
	// The first again, by go alone.
	b.write(main, string(first))
	cmd := exec.Command(b.g.Program, "build", "-o", filepath.Join(b.cell, "out"))
	cmd.Dir = b.cell
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(filepath.Join(b.cell, "out")).CombinedOutput(); err != nil || string(out) != "one two\n" {
		t.Errorf("the cell says %q, %v", out, err)
	}
}

// Kernels have folders of their own and modules of other names.
func TestBuildInAnotherFolder(t *testing.T) {
	b := newBench(t)
	b.body(b.cell, `println(b.Words(), a.Word())`, "example.org/lib/a", "example.org/lib/b")
	b.learn(b.cell)
	other := filepath.Join(filepath.Dir(b.cell), "another cell", "folder")
	b.newCell(other, "gonb_another")
	b.want(other, 0, "one two") // it imports less
	info, err := buildinfo.ReadFile(filepath.Join(other, "out"))
	if err != nil || info.Path != "gonb_another" || info.Main.Path != "gonb_another" || len(info.Deps) != 1 || info.Deps[0].Path != "example.org/lib" {
		t.Errorf("the program's modules are %+v, %v", info, err)
	}
}

// Whatever may change a cell is seen.
func TestBuildAfterAChange(t *testing.T) {
	b := newBench(t)
	file := func(name string) string { return filepath.Join(b.lib, filepath.FromSlash(name)) }
	for _, c := range []struct {
		name   string
		change func()
		says   string
		flags  []string
	}{
		{name: "a source", change: func() { b.write(file("b/b.go"), "package b\n\nfunc Words() string { return \"new\" }\n") }, says: "new"},
		{name: "a source, of the same size", change: func() { b.write(file("b/b.go"), "package b\n\nfunc Words() string { return \"now\" }\n") }, says: "now"},
		{name: "what a source imports", change: func() {
			b.write(file("b/b.go"), "package b\n\nimport \"example.org/lib/a/inner\"\n\nfunc Words() string { return inner.Word() }\n")
		}, says: "inner"},
		{name: "a package that another imports", change: func() { b.write(file("a/inner/x.go"), "package inner\n\nfunc Word() string { return \"depth\" }\n") }, says: "depth"},
		{name: "a new file", change: func() { b.write(file("a/inner/y.go"), "package inner\n\nfunc init() { println(\"begin\") }\n") }, says: "begin\ndepth"},
		{name: "a file that is gone", change: func() {
			os.Remove(file("a/inner/y.go"))
		}, says: "depth"},
		{name: "a file of another kind", change: func() { b.write(file("a/inner/z.h"), "#define Z\n") }, says: "depth"},
		{name: "flags", change: func() {}, flags: []string{"-tags=x"}, says: "depth"},
		{name: "settings of go", change: func() { t.Setenv("GOFLAGS", "-tags=y") }, says: "depth"},
		{name: "the file of settings", change: func() { b.write(os.Getenv("GOENV"), "GODEBUG=panicnil=1\n") }, says: "depth"},
		{name: "a line of it", change: func() { b.write(os.Getenv("GOENV"), "GODEBUG=panicnil=0\n") }, says: "depth"},
		{name: "the module's go.mod", change: func() { b.write(file("go.mod"), "module example.org/lib\n\ngo 1.25.0\n") }, says: "depth"},
		{name: "the cell's go.mod", change: func() { b.write(filepath.Join(b.cell, "go.mod"), "module gonb_1\n\ngo 1.25.0\n") }, says: "depth"},
		{name: "the workspace", change: func() {
			b.write(filepath.Join(b.cell, "go.work"), "go 1.26.0\n\ngodebug panicnil=1\n\nuse (\n\t.\n\t"+strconv.Quote(b.lib)+"\n)\n")
		}, says: "depth"},
		{name: "the go command", change: func() {
			then := time.Now().Add(-time.Hour)
			if err := os.Chtimes(b.g.Program, then, then); err != nil {
				t.Fatal(err)
			}
		}, says: "depth"},
		{name: "an import", change: func() {
			b.body(b.cell, `println(b.Words(), a.Word())`, "example.org/lib/a", "example.org/lib/b")
		}, says: "depth one"},
		{name: "an import of Go's", change: func() {
			b.body(b.cell, `println(b.Words(), runtime.GOOS != "")`, "example.org/lib/b", "runtime")
		}, says: "depth true"},
		{name: "another folder of the module", change: func() {
			for _, name := range []string{"go.mod", "a/a.go", "b/b.go", "a/inner/x.go"} {
				text, err := os.ReadFile(file(name))
				if err != nil {
					t.Fatal(err)
				}
				b.write(filepath.Join(b.lib+"2", name), strings.ReplaceAll(string(text), "depth", "copy"))
			}
			b.write(filepath.Join(b.cell, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t../lib2\n)\n")
		}, says: "copy true"},
		{name: "a module in the place of another", change: func() {
			b.write(filepath.Join(b.lib+"2", "go.mod"), "module example.org/lib\n\ngo 1.26.0\n\nrequire example.org/other v1.0.0\n\nreplace example.org/other v1.0.0 => ../other\n")
			b.write(filepath.Join(b.lib+"2", "b", "b.go"), "package b\n\nimport \"example.org/other\"\n\nfunc Words() string { return other.Word() }\n")
			b.write(filepath.Join(b.lib+"2", "..", "other", "go.mod"), "module example.org/other\n")
			b.write(filepath.Join(b.lib+"2", "..", "other", "other.go"), "package other\n\nfunc Word() string { return \"other\" }\n")
		}, says: "other true"},
		{name: "its source", change: func() {
			b.write(filepath.Join(b.lib+"2", "..", "other", "other.go"), "package other\n\nfunc Word() string { return \"further\" }\n")
		}, says: "further true"},
		{name: "a module in the place of another, by the workspace", change: func() {
			b.reset()
			b.write(filepath.Join(b.cell, "go.mod"), "module gonb_1\n\ngo 1.26.0\n\nrequire example.org/other v1.0.0\n")
			b.write(filepath.Join(b.cell, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t../lib\n)\n\nreplace example.org/other v1.0.0 => ../other\n")
			b.body(b.cell, `println(other.Word())`, "example.org/other")
		}, says: "further"},
		{name: "a source of that", change: func() {
			b.write(filepath.Join(b.lib, "..", "other", "other.go"), "package other\n\nfunc Word() string { return \"back\" }\n")
		}, says: "back"},
		{name: "a module in the place of another, by the cell", change: func() {
			b.write(filepath.Join(b.cell, "go.mod"), "module gonb_1\n\ngo 1.26.0\n\nrequire example.org/other v1.0.0\n\nreplace example.org/other v1.0.0 => ../other\n")
			b.write(filepath.Join(b.cell, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t../lib\n)\n")
		}, says: "back"},
		{name: "another source of that", change: func() {
			b.write(filepath.Join(b.lib, "..", "other", "more.go"), "package other\n\nfunc init() { println(\"more\") }\n")
		}, says: "more\nback"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.learn(b.cell)
			c.change()
			b.want(b.cell, 1, c.says, c.flags...)
		})
	}
}

// What go has just compiled is in a folder that does not stay.
func TestBuildForTheFirstTime(t *testing.T) {
	b := newBench(t)
	for _, calls := range []int{1, 1, 0, 0} {
		b.want(b.cell, calls, "one two")
	}
}

// A recipe that is not what it was, or not there, is none.
func TestBuildWithoutARecipe(t *testing.T) {
	b := newBench(t)
	b.learn(b.cell)
	each := func(do func(file string) error) func() {
		return func() {
			files := b.recipes()
			if len(files) != 1 {
				t.Fatalf("recipes are %v, want one", files)
			}
			if err := do(files[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func()
		calls  []int
	}{
		{"cut off", each(func(file string) error { return os.Truncate(file, 100) }), []int{1, 0}},
		{"empty", each(func(file string) error { return os.WriteFile(file, []byte("{}"), 0o666) }), []int{1, 0}},
		{"old", each(func(file string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			made := regexp.MustCompile(`"made":"[^"]*"`)
			then, _ := time.Now().Add(-5 * 24 * time.Hour).MarshalText()
			return os.WriteFile(file, made.ReplaceAll(text, []byte(`"made":"`+string(then)+`"`)), 0o666)
		}), []int{1, 0}},
		{"without commands", each(func(file string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, regexp.MustCompile(`"args":\[[^]]*\]`).ReplaceAll(text, []byte(`"args":[]`)), 0o666)
		}), []int{1, 0}},
		{"gone", each(os.Remove), []int{1, 0}},
		{"no folder for recipes", func() {
			b.write(b.g.Recipes+"2", "")
			b.g.Recipes += "2"
		}, []int{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			c.change()
			for _, calls := range c.calls {
				b.want(b.cell, calls, "one two")
			}
		})
	}
}

// A recipe that leads nowhere, as when the build cache was emptied, is removed, and go
// builds the cell.
func TestBuildWhereARecipeFails(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"example.org/lib/b=", "runtime="} { // of the compiler and of the linker
		b.learn(b.cell)
		files := b.recipes()
		if len(files) != 1 {
			t.Fatalf("recipes are %v, want one", files)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		b.write(files[0], strings.ReplaceAll(string(text), "packagefile "+name, "packagefile "+name+"/gone"))
		b.want(b.cell, 1, "one two")
		b.want(b.cell, 0, "one two")
	}
}

// What is not a cell, or not in order, is go's to build and to tell of.
func TestBuildLeavesToGo(t *testing.T) {
	b := newBench(t)
	b.learn(b.cell)
	in := func(name string) string { return filepath.Join(b.cell, name) }
	add := func(name, text string) func() { return func() { b.write(in(name), text) } }
	for _, c := range []struct {
		name   string
		change func()
		args   []string // nil is those of a cell
		calls  int
	}{
		{name: "another command", args: []string{"vet"}},
		{name: "no command", args: []string{}},
		{name: "no output", args: []string{"build"}},
		{name: "half an output", args: []string{"build", "-o"}},
		{name: "a package", args: []string{"build", "-o", "out", "."}},
		{name: "a file", args: []string{"build", "-o", "out", "main.go"}},
		{name: "a flag with files", args: []string{"build", "-o", "out", "-overlay=x"}},
		{name: "a flag in two words", args: []string{"build", "-o", "out", "-tags", "x"}},
		{name: "an unknown flag", args: []string{"build", "-o", "out", "-sharp=1"}},
		{name: "into a folder", args: []string{"build", "-o", b.lib}},
		{name: "to nowhere", args: []string{"build", "-o", os.DevNull}},
		{name: "in the place of a source", args: []string{"build", "-o", "main.go"}},
		{name: "with the module's name", args: []string{"build", "-o", "out", "-gcflags=gonb_1=-N"}},
		{name: "a text in the place of the program", change: add("out", "a text")},
		{name: "a link in the place of the program", change: func() { os.Symlink("main.go", in("out")) }},
		{name: "another module's name", change: add("go.mod", "module example.org/lib/cell\n\ngo 1.26.0\n")},
		{name: "a repository", change: add("../.git/HEAD", "")},
		{name: "a directory of a version control system", change: func() {
			os.RemoveAll(in("../.git"))
			add(".hg/x", "")()
		}},
		{name: "another file", change: add("more.go", "package main\n\nfunc init() {}\n")},
		{name: "assembly", change: add("more_amd64.s", "")},
		{name: "a profile", change: add("default.pgo", "")},
		{name: "vendored", change: add("vendor/modules.txt", "")},
		{name: "no go.mod", change: func() { os.Remove(in("go.mod")) }},
		{name: "a go.mod that is broken", change: add("go.mod", "modul x\n")},
		{name: "a go.mod without a name", change: add("go.mod", "go 1.26.0\n")},
		{name: "no go.work", change: func() { os.Remove(in("go.work")) }},
		{name: "a go.work that is broken", change: add("go.work", "us .\n")},
		{name: "a go.work without the cell", change: add("go.work", "go 1.26.0\n\nuse "+strconv.Quote(b.lib)+"\n")},
		{name: "a go.work of nothing", change: add("go.work", "go 1.26.0\n\nuse (\n\t.\n\t./nowhere\n)\n")},
		{name: "a directive", change: add("main.go", "package main\n\nimport _ \"example.org/lib/b\"\n\n//go:noinline\nfunc f() {}\n\nfunc main() { f() }\n")},
		{name: "a constraint", change: add("main.go", "// +build ignore\n\npackage main\n\nfunc main() {}\n")},
		{name: "C", change: add("main.go", "package main\n\nimport \"C\"\n\nfunc main() {}\n")},
		{name: "not a program", change: add("main.go", "package cell\n")},
		{name: "no Go", change: add("main.go", "func main() {}\n")},
		{name: "no main.go", change: func() { os.Remove(in("main.go")) }},
		{name: "its own package", change: func() {
			add("sub/sub.go", "package sub\n")()
			b.body(b.cell, "", "gonb_1/sub")
		}},
		// These look like a cell.
		{name: "no types", change: func() { b.body(b.cell, `println(b.Words(1))`, "example.org/lib/b") }},
		{name: "an import that is not used", change: func() { b.body(b.cell, "", "example.org/lib/b") }},
		{name: "nothing of this name", change: func() { b.body(b.cell, "", "example.org/lib/c") }, calls: 1},
		{name: "an internal package", change: func() {
			add("main.go", "package main\n\nimport _ \"example.org/lib/internal/i\"\n\nfunc main() {}\n")()
		}, calls: 1},
		{name: "a test of another package", change: func() { b.write(filepath.Join(b.lib, "b", "b_test.go"), "package x\n") }, calls: 1},
		{name: "a library with a mistake", change: func() { b.write(filepath.Join(b.lib, "a", "a.go"), "package a\n\nfunc Word() int { return 1 }\n") }, calls: 1},
		{name: "no library", change: func() { os.RemoveAll(filepath.Join(b.lib, "a")) }, calls: 1},
		{name: "a library that is another module's", change: func() { b.write(filepath.Join(b.lib, "b", "go.mod"), "module example.org/lib/b\n") }, calls: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.reset()
			if c.change != nil {
				c.change()
			}
			if c.args == nil {
				if ok, calls := b.build(b.cell); ok || calls != c.calls {
					t.Errorf("built is %t, with %d calls of go, want %d", ok, calls, c.calls)
				}
				return
			}
			t.Chdir(b.cell)
			if b.g.Build(t.Context(), c.args) {
				t.Errorf("go %q is done", c.args)
			}
		})
	}
}

// What go reads besides, in cells that look the same, keeps recipes from being made.
func TestBuildNeverKeeps(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, b *bench)
		says   string
	}{
		{"embedded files", func(_ *testing.T, b *bench) {
			b.write(filepath.Join(b.lib, "b", "word.txt"), "embedded")
			b.write(filepath.Join(b.lib, "b", "b.go"), "package b\n\nimport _ \"embed\"\n\n//go:embed word.txt\nvar word string\n\nfunc Words() string { return word }\n")
		}, "embedded"},
		{"an overlay", func(t *testing.T, b *bench) {
			over := filepath.Join(b.lib, "over")
			b.write(over+".go", "package b\n\nfunc Words() string { return \"over\" }\n")
			b.write(over+".json", fmt.Sprintf(`{"Replace": {%q: %q}}`, filepath.Join(b.lib, "b", "b.go"), over+".go"))
			t.Setenv("GOFLAGS", `"-overlay=`+over+`.json"`)
		}, "over"},
		{"two modules of one prefix", func(_ *testing.T, b *bench) {
			b.write(filepath.Join(b.lib, "..", "b", "go.mod"), "module example.org/lib/b\n")
			b.write(filepath.Join(b.lib, "..", "b", "b.go"), "package b\n\nfunc Words() string { return \"own module\" }\n")
			if err := os.RemoveAll(filepath.Join(b.lib, "b")); err != nil {
				b.t.Fatal(err)
			}
			b.write(filepath.Join(b.cell, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t../lib\n\t../b\n)\n")
		}, "own module"},
		{"a module that is replaced and not used", func(_ *testing.T, b *bench) {
			b.write(filepath.Join(b.lib, "..", "b", "go.mod"), "module example.org/lib/b\n")
			b.write(filepath.Join(b.lib, "..", "b", "b.go"), "package b\n\nfunc Words() string { return \"not used\" }\n")
			b.write(filepath.Join(b.lib, "go.mod"), "module example.org/lib\n\ngo 1.26.0\n\nreplace example.org/lib/b => ../b\n")
		}, "one two"},
		{"words that are no text", func(_ *testing.T, b *bench) {
			t.Setenv("GOFLAGS", "-ldflags=-X=main.s=\xff")
		}, "one two"},
		{"a workspace elsewhere", func(t *testing.T, b *bench) {
			b.write(filepath.Join(b.lib, "..", "else", "go.work"), "go 1.26.0\n\nuse (\n\t../cell\n\t../lib\n)\n")
			b.write(os.Getenv("GOENV"), "GOWORK="+filepath.Join(b.lib, "..", "else", "go.work")+"\n")
		}, "one two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			c.change(t, b)
			for range 3 {
				b.want(b.cell, 1, c.says)
			}
		})
	}
}

// What changes while go builds, and keeps its size and time, is not taken for what go
// has read.
func TestBuildWhileSourcesChange(t *testing.T) {
	file := func(b *bench) string { return filepath.Join(b.lib, "b", "b.go") }
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			b := newBench(t)
			b.learn(b.cell)
			first, err := os.ReadFile(file(b))
			if err != nil {
				t.Fatal(err)
			}
			then := strings.ReplaceAll(string(first), "two", "new")
			b.write(file(b), then)
			b.learn(b.cell)
			// Both are compiled, and go is called for neither. Now it is.
			if err := os.RemoveAll(b.g.Recipes); err != nil {
				t.Fatal(err)
			}
			b.write(file(b), string(first))
			b.write(b.hook, fmt.Sprintf("[ $1 = %s ] || exit 0\nf=%q\nsed s/two/new/ \"$f\" >\"$f.new\"\ntouch -r \"$f\" \"$f.new\"\nmv \"$f.new\" \"$f\"\n", when, file(b)))
			if ok, _ := b.build(b.cell); !ok {
				t.Fatal("not built")
			}
			if err := os.Remove(b.hook); err != nil {
				t.Fatal(err)
			}
			b.want(b.cell, 1, "one new")
			b.write(file(b), string(first))
			b.want(b.cell, 1, "one two")
		})
	}
	// To something else, which go reads, and back.
	b := newBench(t)
	b.learn(b.cell)
	first, err := os.ReadFile(file(b))
	if err != nil {
		t.Fatal(err)
	}
	b.write(file(b), strings.ReplaceAll(string(first), "two", "new"))
	b.learn(b.cell)
	if err := os.RemoveAll(b.g.Recipes); err != nil {
		t.Fatal(err)
	}
	b.write(file(b), string(first))
	b.write(b.hook, fmt.Sprintf("if [ $1 = before ]; then sed -i.old s/two/new/ %[1]q; else sed -i.old s/new/two/ %[1]q; fi\n", file(b)))
	b.want(b.cell, 1, "one new")
	if err := os.Remove(b.hook); err != nil {
		t.Fatal(err)
	}
	b.want(b.cell, 1, "one two")

	b = newBench(t)
	b.learn(b.cell)
	if err := os.RemoveAll(b.g.Recipes); err != nil {
		t.Fatal(err)
	}
	b.write(b.hook, fmt.Sprintf("[ $1 = after ] && echo '// more' >>%q\n", filepath.Join(b.lib, "go.mod")))
	for range 2 {
		b.want(b.cell, 1, "one two")
	}
	b.reset()
	b.want(b.cell, 1, "one two")
}

// Files that go does not look at may change.
func TestBuildAfterAnotherChange(t *testing.T) {
	b := newBench(t)
	b.learn(b.cell)
	for _, name := range []string{"b/.b.go", "b/_b.go", "b/note.txt", "b/dir.go/x", "c/c.go", "a/inner/x.go"} {
		b.write(filepath.Join(b.lib, name), "package x\n")
		b.want(b.cell, 0, "one two")
	}
	if err := os.Symlink("nowhere", filepath.Join(b.lib, "b", ".#b.go")); err != nil {
		t.Fatal(err)
	}
	b.want(b.cell, 0, "one two")
	for _, setting := range []string{"GOMAXPROCS=2", "GOGC=50", "GOMLX_BACKEND=x", "GONB_DIR=x", "GOWORK=auto", "GOPROXY=off", "PAPER_SCALE=1"} {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
		b.want(b.cell, 0, "one two")
	}
	// And these it may look at.
	tools := t.TempDir()
	b.write(filepath.Join(tools, "gcc"), "#!/bin/sh\nexec cc \"$@\"\n")
	if err := os.Chmod(filepath.Join(tools, "gcc"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"CGO_CFLAGS=-O1", "GODEBUG=panicnil=0", "PATH=" + tools + ":" + os.Getenv("PATH")} {
		b.learn(b.cell)
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
		b.want(b.cell, 1, "one two")
	}
	for _, sums := range []string{filepath.Join(b.lib, "go.sum"), filepath.Join(b.cell, "go.sum")} {
		b.learn(b.cell)
		b.write(sums, "\n")
		b.want(b.cell, 1, "one two")
	}
}

// Kernels build at the same time, and may be stopped.
func TestBuildAtTheSameTime(t *testing.T) {
	b := newBench(t)
	b.learn(b.cell)
	t.Chdir(b.cell)
	stopped, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			ctx := t.Context()
			if i == 0 {
				ctx = stopped
			}
			// Three by the recipe, and three by go, which make the same one.
			args := []string{"build", "-o", fmt.Sprintf("out%d", i)}
			if i%2 == 1 {
				args = append(args, "-tags=t")
			}
			if ok := b.g.Build(ctx, args); ok != (i != 0) {
				t.Errorf("program %d is built: %t", i, ok)
			}
		})
	}
	stop()
	wg.Wait()
	for i := 1; i < 6; i++ {
		if out, err := exec.Command(fmt.Sprintf("./out%d", i)).CombinedOutput(); err != nil || string(out) != "one two\n" {
			t.Errorf("program %d says %q, %v", i, out, err)
		}
	}
	b.clean(b.cell, "go.mod", "go.work", "main.go", "out", "out1", "out2", "out3", "out4", "out5")
	for _, r := range b.recipes() {
		if !strings.HasSuffix(r, ".json") {
			t.Errorf("left among the recipes is %s", r)
		}
	}
}

// Recipes do not pile up.
func TestRecipesAreFew(t *testing.T) {
	b := newBench(t)
	for i := range 200 {
		b.write(filepath.Join(b.g.Recipes, fmt.Sprintf("%d.json", i)), "{}")
	}
	b.learn(b.cell)
	old := filepath.Join(b.g.Recipes, "old.json")
	b.write(old, "{}")
	then := time.Now().Add(-5 * 24 * time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	// The one that was used last stays.
	b.want(b.cell, 0, "one two")
	for i := range 3 {
		b.learn(b.cell, fmt.Sprintf("-tags=t%d", i))
		if n := len(b.recipes()); n > 64 || slices.Contains(b.recipes(), old) {
			t.Errorf("there are %d recipes, %q", n, b.recipes())
		}
	}
	b.want(b.cell, 0, "one two")
}

// A recipe is removed when its sources are others.
func TestRecipesAreCurrent(t *testing.T) {
	b := newBench(t)
	for _, word := range []string{"one", "two", "three"} {
		b.write(filepath.Join(b.lib, "a", "a.go"), "package a\n\nfunc Word() string { return \""+word+"\" }\n")
		b.learn(b.cell)
		if files := b.recipes(); len(files) != 1 {
			t.Errorf("recipes are %v, want one", files)
		}
	}
}
