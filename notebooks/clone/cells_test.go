package clone

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What cells import is compiled, and one of them is built as the kernel does.
func TestCompileForCells(t *testing.T) {
	root := fakeKernel(t)
	writeFile(t, filepath.Join(root, "go.mod"), "module "+Module+"\n\ngo 1.26\n")
	writeFile(t, filepath.Join(root, "notebooks", "nb", "nb.go"), "package nb\n")
	writeFile(t, filepath.Join(root, "envs", "envs.go"), "package envs\n")
	// This cellgo tells what it was called with, and where.
	told := filepath.Join(root, "told")
	writeFile(t, filepath.Join(root, "notebooks", "kernel", "cellgo", "main.go"), `package main

import (
	"os"
	"strings"
)

func main() {
	main, _ := os.ReadFile("main.go")
	work, _ := os.ReadFile("go.work")
	text := strings.Join(os.Args[1:], " ") + "\n" + os.Getenv("GOWORK") + " " + os.Getenv("GOFLAGS") + "\n" + string(work) + string(main)
	os.WriteFile(`+strconv.Quote(told)+`, []byte(text), 0o666)
}
`)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("GOTMPDIR", "")
	CompileForCells(t.Context(), root)
	if _, err := os.Stat(told); err == nil {
		t.Fatal("there is no kernel yet, but a cell was built")
	}
	if err := InstallKernel(t.Context(), root, &strings.Builder{}); err != nil {
		t.Fatal(err)
	}
	CompileForCells(t.Context(), root)
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	goPath, err := GoProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		goPath + " build -o ", "/cell " + strings.Join(CellFlags(), " ") + "\nauto -mod=readonly\n",
		"\t.\n\t" + root + "\n",
		"import (\n\t_ \"" + Module + "/baselines\"\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the cell's build lacks %q:\n%s", want, text)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder are %v, %v", left, err)
	}
}

// The notebooks import nothing that the cell that is built for all does not, and that
// can be built.
func TestCellImports(t *testing.T) {
	if out, err := exec.Command("go", append([]string{"list"}, cellImports...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join("..", "*.ipynb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("notebooks are %v, %v", files, err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var notebook struct {
			Cells []struct {
				Type   string `json:"cell_type"`
				Source any
			}
		}
		if err := json.Unmarshal(text, &notebook); err != nil {
			t.Fatal(err)
		}
		for _, cell := range notebook.Cells {
			if cell.Type != "code" {
				continue
			}
			for _, imports := range importDeclaration.FindAllString(source(cell.Source), -1) {
				for _, quoted := range importPath.FindAllString(imports, -1) {
					path, err := strconv.Unquote(quoted)
					found++
					if err != nil || !slices.Contains(cellImports, path) {
						t.Errorf("%s imports %s, which is not among cellImports", file, quoted)
					}
				}
			}
		}
	}
	if found < len(files) {
		t.Errorf("%d notebooks import %d packages", len(files), found)
	}
}

var (
	importDeclaration = regexp.MustCompile(`(?m)^import (\([^)]*\)|.*$)`)
	importPath        = regexp.MustCompile(`"[^"]*"`)
)

// source is a cell's, which is a text or a list of lines.
func source(of any) string {
	lines, ok := of.([]any)
	if !ok {
		text, _ := of.(string)
		return text
	}
	var b strings.Builder
	for _, line := range lines {
		text, _ := line.(string)
		b.WriteString(text)
	}
	return b.String()
}
