package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/clone"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// readme is the README, and the repository it is of.
func readme(t *testing.T) (root, text string) {
	t.Helper()
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return root, string(data)
}

// block is a fenced block of Markdown.
type block struct{ language, text string }

func blocks(markdown string) (all []block) {
	for i, part := range strings.Split("\n"+markdown, "\n```") {
		if i%2 == 1 {
			language, text, _ := strings.Cut(part, "\n")
			all = append(all, block{language, text})
		}
	}
	return all
}

// commands are the command lines of the blocks in sh, and those in the text
// that begin like one, without comments.
func commands(markdown string) (all []string) {
	add := func(line string) {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	for _, b := range blocks(markdown) {
		if b.language == "sh" {
			for line := range strings.SplitSeq(b.text, "\n") {
				add(line)
			}
		}
	}
	for _, m := range inline.FindAllStringSubmatch(markdown, -1) {
		add(m[1])
	}
	return all
}

var inline = regexp.MustCompile("[^`]`((?:go (?:run|test|doc|tool|build|vet|get|install) |git )[^`\n]+)`[^`]")

func TestReadmeCommands(t *testing.T) {
	root, text := readme(t)
	all := commands(text)
	if want := []string{"go run ./notebooks/cmd/paper reproduce", "go test ./..."}; len(all) < 2 || !slices.Equal(all[:2], want) {
		t.Fatalf("the README begins with the commands %q, want %q", all, want)
	}
	// The arguments of paper are run, in this order, by a program that has the
	// declared experiments on a problem that takes no time.
	s := newShell(t)
	small := s.experiments[0]
	s.experiments = nil
	for _, e := range paper.Experiments() {
		small.Name = e.Name
		s.experiments = append(s.experiments, small)
	}
	study := s.tuning[0]
	s.tuning = nil
	for _, e := range paper.Tuning() {
		study.Name = e.Name
		s.tuning = append(s.tuning, study)
	}
	repository, _ := s.Repository()
	_, names := storedNotebooks(t)
	for _, name := range names {
		writeFile(t, filepath.Join(repository, "notebooks", name), "{}")
	}
	t.Chdir(s.dir) // where a relative -out is to be
	if err := os.MkdirAll(filepath.Join("notebooks", "published"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if elsewhere[c] != "" {
			continue
		}
		if args, ok := strings.CutPrefix(strings.Replace(c, " -tags xla", "", 1), "go run ./notebooks/cmd/paper"); ok {
			s.run(0, strings.Fields(args)...)
		} else if strings.HasPrefix(c, "go doc ") {
			runCommand(t, root, c)
		} else {
			t.Errorf("nobody tests the command %q", c)
		}
	}
}

// elsewhere says where the README's other commands are run.
var elsewhere = map[string]string{
	"go test ./...":                                     ".ci/run",
	"go run ./notebooks/cmd/paper lab":                  "TestLab, with a front end that is faked, and package jupyter",
	"go run ./notebooks/cmd/paper kernel install":       "TestKernelInstall, into a folder of its own",
	"go build ./notebooks/cmd/paper":                    "the tests in a browser, which build it",
	"go run ./notebooks/cmd/paper bench":                "TestBench, of shapes that take no time",
	"go run ./notebooks/cmd/paper site pages":           "package site, of the notebooks that are stored",
	"go test -run '^$' -bench . ./...":                  ".ci/run, each benchmark once",
	"docker build -f docker/Dockerfile -t contextrec .": "docker/test.sh, by buildah",
	"docker run --rm -p 127.0.0.1:8888:8888 -v results:/contextrec/notebooks/out contextrec": "docker/test.sh, which runs what the image says",
	"git clone https://github.com/contextrec/contextrec && cd contextrec":                    "the place where .ci/run runs is a clone",
}

func runCommand(t *testing.T, root, command string) {
	t.Helper()
	words := strings.Fields(command)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil || len(text) == 0 {
		t.Errorf("%s: %v\n%s", command, err, text)
	}
}

// The README's Go code is that of an example, which go test compiles and runs.
func TestReadmeCode(t *testing.T) {
	_, text := readme(t)
	var examples []string
	for name, data := range repositoryFiles(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Example") {
				examples = append(examples, plain(string(data[set.Position(fn.Body.Lbrace).Offset+1:set.Position(fn.Body.Rbrace).Offset])))
			}
		}
	}
	for _, b := range blocks(text) {
		switch b.language {
		case "go":
			if code := plain(b.text); !slices.ContainsFunc(examples, func(e string) bool { return strings.Contains(e, code) }) {
				t.Errorf("no example has the README's code\n%s", b.text)
			}
		case "sh", "text":
		default:
			t.Errorf("a block of %q: sh, go or text", b.language)
		}
	}
}

// plain is code without indentation and empty lines at its ends.
func plain(code string) string {
	var out []string
	for line := range strings.SplitSeq(code, "\n") {
		out = append(out, strings.TrimSpace(line))
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)`)

func TestReadmeLinks(t *testing.T) {
	root, text := readme(t)
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("the README links to what is not there: %v", err)
		}
	}
}

// The package comment is the program's manual.
func TestManual(t *testing.T) {
	main, err := os.ReadFile(filepath.Join("..", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	manual, _, _ := strings.Cut(string(main), "\npackage main")
	lacks := func(prefix, flags string) {
		for _, flag := range longFlag.FindAllStringSubmatch(flags, -1) {
			if short, long := flag[1], flag[2]; !strings.Contains(manual, prefix+"-"+long+" ") && (short == "" || !strings.Contains(manual, prefix+short)) {
				t.Errorf("the manual lacks the flag -%s", long)
			}
		}
	}
	root := newShell(t).commands()
	lacks("\n//	", root.PersistentFlags().FlagUsages())
	for _, c := range root.Commands() {
		if !strings.Contains(manual, "\n//	paper "+c.Name()) {
			t.Errorf("the manual lacks the command %s", c.Name())
		}
		lacks("", c.LocalNonPersistentFlags().FlagUsages())
	}
}

var longFlag = regexp.MustCompile(`(?m)^ +(-\w)?(?:, )? *--([\w-]+)`)
