package cellbuild

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// request is what is asked for, a build of a cell.
type request struct {
	folder  string   // of the cell, absolute
	output  string   // the program's file
	flags   []string // of go build, but for -o
	imports []string // of the cell, sorted

	main         []byte   // the cell's program
	module       string   // its name
	goMod, goSum []byte   // the cell's, without the module's name
	goWork       []byte   // the cell's
	localModules []module // of go.work, but for the cell's own
}

// module is one whose sources may change at any time.
type module struct{ path, folder string }

// plainFlags are the flags of go build that decide nothing but how packages are
// compiled and linked.
var plainFlags = []string{"asmflags", "buildvcs", "gcflags", "ldflags", "tags"}

// errGo says that go is to do by itself what is asked for.
var errGo = errors.New("not what can be done without go")

// kernelModule is the name that a kernel gives the module of its cells. What go
// accepts in a module depends on its name; among these, it does not.
var kernelModule = regexp.MustCompile(`^gonb_[0-9A-Za-z]+$`)

// newRequest reads the arguments of go, and the cell in a folder.
func newRequest(folder string, args []string) (request, error) {
	r := request{folder: folder}
	if err := r.readArguments(args); err != nil {
		return r, err
	}
	if err := r.readFolder(); err != nil {
		return r, err
	}
	if err := r.readModules(); err != nil {
		return r, err
	}
	return r, r.readImports()
}

func (r *request) readArguments(args []string) error {
	if len(args) == 0 || args[0] != "build" {
		return errGo
	}
	for args = args[1:]; len(args) > 0; args = args[1:] {
		name, value, hasValue := strings.Cut(args[0], "=")
		flag := strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
		switch {
		case flag == name:
			return errGo // a package
		case flag == "o" && hasValue:
			r.output = value
		case flag == "o" && len(args) > 1:
			args = args[1:]
			r.output = args[0]
		case hasValue && slices.Contains(plainFlags, flag):
			r.flags = append(r.flags, args[0])
		default:
			return errGo
		}
	}
	if r.output == "" {
		return errGo
	}
	if work := os.Getenv("GOWORK"); work != "" && work != "auto" {
		return errGo
	}
	if !isReplaceable(r.output) {
		return errGo
	}
	return nil
}

// isReplaceable tells whether a program may take the place of what there is: nothing,
// or an earlier one. go refuses to replace other files, and puts it into a folder.
func isReplaceable(file string) bool {
	info, err := os.Lstat(file)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 4)
	if _, err := io.ReadFull(f, begin); err != nil {
		return info.Size() == 0
	}
	switch string(begin) {
	case "\x7fELF", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\x00asm":
		return true
	}
	return false
}

// readFolder looks for what a program is made of beside its main.go.
func (r *request) readFolder() error {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if name == "main.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if isSource(name) || name == "default.pgo" || name == "vendor" {
			return errGo
		}
	}
	// go tells a program the state of the repository that it is in.
	for up := r.folder; ; up = filepath.Dir(up) {
		for _, name := range []string{".git", ".hg", ".svn", ".bzr", ".fslckout", "_FOSSIL_"} {
			if exists(filepath.Join(up, name)) {
				return errGo
			}
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
}

func (r *request) readModules() error {
	text, f, err := readGoMod(r.folder)
	if err != nil {
		return err
	}
	r.module = f.Module.Mod.Path
	if !kernelModule.MatchString(r.module) || strings.Contains(strings.Join(r.flags, " "), r.module) {
		return errGo
	}
	start, end := f.Module.Syntax.Span()
	r.goMod = slices.Concat(text[:start.Byte], text[end.Byte:])
	if r.goSum, err = os.ReadFile(filepath.Join(r.folder, "go.sum")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.addReplaced(r.folder, f.Replace); err != nil {
		return err
	}

	goWork := filepath.Join(r.folder, "go.work")
	if r.goWork, err = os.ReadFile(goWork); err != nil {
		return err
	}
	work, err := modfile.ParseWork(goWork, r.goWork, nil)
	if err != nil {
		return errGo
	}
	if err := r.addReplaced(r.folder, work.Replace); err != nil {
		return err
	}
	own := false
	for _, use := range work.Use {
		folder := inFolder(r.folder, use.Path)
		if folder == r.folder {
			own = true
			continue
		}
		if err := r.addModule("", folder); err != nil {
			return err
		}
	}
	if !own {
		return errGo
	}
	return nil
}

// readGoMod reads the go.mod of a folder, which names the module.
func readGoMod(folder string) ([]byte, *modfile.File, error) {
	file := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	f, err := modfile.Parse(file, text, nil)
	if err != nil || f.Module == nil {
		return nil, nil, errGo
	}
	return text, f, nil
}

// addModule adds a module whose sources are in a folder. Its path is that of its
// go.mod where it is "".
func (r *request) addModule(path, folder string) error {
	_, f, err := readGoMod(folder)
	if err != nil {
		return err
	}
	if path == "" {
		path = f.Module.Mod.Path
	}
	r.localModules = append(r.localModules, module{path, folder})
	return r.addReplaced(folder, f.Replace)
}

// addReplaced adds the modules that take the place of others by their folders. Which
// of several replacements counts, go decides; all are looked at.
func (r *request) addReplaced(base string, replaced []*modfile.Replace) error {
	for _, p := range replaced {
		if p.New.Version != "" {
			continue
		}
		m := module{p.Old.Path, inFolder(base, p.New.Path)}
		if slices.Contains(r.localModules, m) {
			continue
		}
		if err := r.addModule(m.path, m.folder); err != nil {
			return err
		}
	}
	return nil
}

func (r *request) readImports() error {
	file := filepath.Join(r.folder, "main.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r.main = text
	// Directives may name files, constraints and settings.
	if bytes.Contains(text, []byte("//go:")) || bytes.Contains(text, []byte("+build")) {
		return errGo
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil || f.Name.Name != "main" {
		return errGo // go says why
	}
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || path == "C" || path == r.module || strings.HasPrefix(path, r.module+"/") {
			return errGo
		}
		r.imports = append(r.imports, path)
	}
	slices.Sort(r.imports)
	r.imports = slices.Compact(r.imports)
	return nil
}

func inFolder(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
