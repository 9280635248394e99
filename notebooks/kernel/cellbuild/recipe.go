package cellbuild

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recipe is how go has built a cell.
type recipe struct {
	Module  string   `json:"module"`  // the cell's
	Imports []string `json:"imports"` // the cell's, sorted

	Compile command           `json:"compile"`
	Link    command           `json:"link"`
	Env     map[string]string `json:"env"` // what go sets for them

	// The two commands' lists of compiled packages. The folder of the main
	// package's files is $WORK/b001.
	ImportCfg string `json:"importcfg"`
	LinkCfg   string `json:"importcfg.link"`

	Sources sources `json:"sources"`
	State   string  `json:"state"` // of the sources, its digest
}

const (
	// lifetime is that of a recipe. go keeps what it has compiled for five days
	// after it has looked at it for the last time, and a recipe has it not look.
	lifetime = 4 * 24 * time.Hour

	// settled is how long before a build its sources must have changed for the last
	// time, so that they are those that it has read: clocks of files are coarse.
	settled = 2 * time.Second

	// most recipes of a key.
	most = 64
)

// take makes a recipe of a build that began at a time, from its trace.
func take(ctx context.Context, goProgram string, r request, began time.Time, trace string) (*recipe, error) {
	work, compile, link, err := readTrace(trace, r.folder)
	if err != nil {
		return nil, err
	}
	made := &recipe{Module: r.module, Imports: r.imports, Compile: compile, Link: link.withoutBuildID()}
	for file, text := range map[string]*string{importCfg: &made.ImportCfg, linkCfg: &made.LinkCfg} {
		data, err := os.ReadFile(work + strings.TrimPrefix(file, "$WORK"))
		if err != nil {
			return nil, err
		}
		*text = strings.ReplaceAll(string(data), work+"/", "$WORK/")
	}
	packages, err := made.packages()
	if err != nil {
		return nil, err
	}
	if made.Sources, err = find(packages, r.localModules); err != nil {
		return nil, err
	}
	now, err := made.Sources.state()
	if err != nil {
		return nil, err
	}
	if now.embed || now.latest.After(began.Add(-settled)) {
		return nil, errUnclear
	}
	made.State = now.digest
	made.Env, err = goEnv(ctx, goProgram, r.folder)
	return made, err
}

// packages are the paths of the packages that are linked. They must be compiled
// and kept, and be known by their own names.
func (r *recipe) packages() (paths []string, err error) {
	for line := range strings.Lines(r.LinkCfg) {
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "packagefile ")
		if !ok {
			continue
		}
		path, file, _ := strings.Cut(line, "=")
		if path == r.Module && file == archive {
			continue
		}
		paths = append(paths, path)
	}
	rest := strings.Replace(r.LinkCfg, r.mainLine(r.Module), "", 1)
	if len(rest) == len(r.LinkCfg) || strings.Contains(rest+r.ImportCfg, "$WORK") {
		return nil, errUnclear
	}
	for line := range strings.Lines(r.LinkCfg + r.ImportCfg) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case kind == "packagefile" || kind == "#" || kind == "":
		case kind == "modinfo" && !strings.Contains(rest, `\nbuild\tvcs`): // nor what git says now
		default:
			return nil, errUnclear
		}
	}
	return paths, nil
}

func (r *recipe) mainLine(module string) string {
	return "packagefile " + module + "=" + archive + "\n"
}

// covers tells whether a cell imports nothing that the recipe's did not.
func (r *recipe) covers(imports []string) bool {
	for _, path := range imports {
		if _, ok := slices.BinarySearch(r.Imports, path); !ok {
			return false
		}
	}
	return true
}

// isCurrent tells whether the sources are what they were.
func (r *recipe) isCurrent() bool {
	now, err := r.Sources.state()
	return err == nil && now.digest == r.State
}

// configs are the lists of compiled packages for a cell of a module, whose files are
// in a folder in the place of $WORK.
func (r *recipe) configs(module, work string) (importCfg, linkCfg string, err error) {
	linkCfg = strings.Replace(r.LinkCfg, r.mainLine(r.Module), r.mainLine(module), 1)
	var b strings.Builder
	for line := range strings.Lines(linkCfg) {
		if quoted, ok := strings.CutPrefix(line, "modinfo "); ok {
			info, err := strconv.Unquote(strings.TrimSpace(quoted))
			if err != nil {
				return "", "", err
			}
			const begin = "path\t%[1]s\nmod\t%[1]s\t"
			old := fmt.Sprintf(begin, r.Module)
			if !strings.Contains(info, old) {
				return "", "", errUnclear
			}
			line = fmt.Sprintf("modinfo %q\n", strings.Replace(info, old, fmt.Sprintf(begin, module), 1))
		}
		b.WriteString(line)
	}
	return r.ImportCfg, strings.ReplaceAll(b.String(), "$WORK", work), nil
}

// withoutBuildID is a command that marks what it makes by no build ID: by that of
// another cell go would take it for up to date.
func (c command) withoutBuildID() command {
	args := slices.DeleteFunc(slices.Clone(c.Args), func(a string) bool { return strings.HasPrefix(a, "-buildid=") })
	return command{Env: c.Env, Args: slices.Insert(args, 1, "-buildid=")}
}

// goEnv are the settings that go makes for the commands that it runs.
func goEnv(ctx context.Context, goProgram, folder string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, goProgram, "env", "-json")
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var env map[string]string
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, err
	}
	for flag := range strings.FieldsSeq(env["GOFLAGS"]) {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if name != "mod" && !slices.Contains(known, name) {
			return nil, errUnclear // it may name a file
		}
	}
	work, err := os.Stat(env["GOWORK"])
	own, ownErr := os.Stat(filepath.Join(folder, "go.work"))
	if err != nil || ownErr != nil || !os.SameFile(work, own) {
		return nil, errUnclear
	}
	// These are of one cell's folder.
	for _, name := range []string{"GOWORK", "GOMOD", "GOTMPDIR", "GOGCCFLAGS"} {
		delete(env, name)
	}
	return env, nil
}

// key identifies what recipes must have in common with a request.
func (r request) key(goProgram string) (string, error) {
	h := sha256.New()
	info, err := os.Stat(goProgram)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "1\n%q %d %d\n%q\n%q\n%q\n", goProgram, info.Size(), info.ModTime().UnixNano(), r.flags, r.goMod, r.goWork)
	for _, m := range r.localModules {
		fmt.Fprintf(h, "%q %q\n", m.path, m.folder)
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(m.folder, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			fmt.Fprintf(h, "%q\n", text)
		}
	}
	settings := os.Environ()
	slices.Sort(settings)
	for _, s := range settings {
		if matters(s) {
			fmt.Fprintf(h, "%q\n", s)
		}
	}
	for _, name := range cTools {
		path, _ := exec.LookPath(name)
		fmt.Fprintf(h, "%q\n", path)
	}
	file := os.Getenv("GOENV")
	if file == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", err
		}
		file = filepath.Join(config, "go", "env")
	}
	if text, err := os.ReadFile(file); err == nil {
		fmt.Fprintf(h, "%q\n", text)
	}
	return fmt.Sprintf("%.12x", h.Sum(nil)), nil
}

// matters tells whether go or a compiler may look at a setting of the environment
// for more than how to do its work.
func matters(setting string) bool {
	name, _, _ := strings.Cut(setting, "=")
	switch name {
	case "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CC", "CXX", "FC", "AR", "PKG_CONFIG", "PKG_CONFIG_PATH", "GCCGO":
		return true
	case "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOTMPDIR":
		return false
	}
	// Some of the kernel and of GoMLX begin as go's do.
	return strings.HasPrefix(name, "CGO_") || strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "GONB_") && !strings.HasPrefix(name, "GOMLX_")
}

// cTools are programs that go finds on PATH, for packages that are partly in C.
var cTools = []string{"gcc", "g++", "clang", "clang++", "gfortran", "pkg-config"}

// shelf is a folder of recipes.
type shelf string

// find looks for a recipe by which a cell can be built. It removes those that its
// sources have left behind.
func (s shelf) find(key string, r request) *recipe {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if !strings.HasPrefix(e.Name(), key+"-") || err != nil || time.Since(info.ModTime()) > lifetime {
			continue
		}
		file := filepath.Join(string(s), e.Name())
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		found := new(recipe)
		if json.Unmarshal(data, found) != nil || !found.covers(r.imports) {
			continue
		}
		if found.isCurrent() {
			return found
		}
		os.Remove(file)
	}
	return nil
}

// put keeps a recipe, and removes those that are too old or too many.
func (s shelf) put(key string, r *recipe) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(s), 0o777); err != nil {
		return err
	}
	imports := sha256.Sum256([]byte(strings.Join(r.Imports, "\n")))
	file := filepath.Join(string(s), fmt.Sprintf("%s-%.8x.json", key, imports))
	f, err := os.CreateTemp(string(s), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	return s.tidy()
}

func (s shelf) tidy() error {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return err
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, info := range infos {
		if i >= most || time.Since(info.ModTime()) > lifetime {
			err = errors.Join(err, os.Remove(filepath.Join(string(s), info.Name())))
		}
	}
	return err
}
