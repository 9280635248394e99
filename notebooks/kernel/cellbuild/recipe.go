package cellbuild

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
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
	Made    time.Time `json:"made"`
	Module  string    `json:"module"`  // the cell's
	Imports []string  `json:"imports"` // the cell's, sorted

	Compile command           `json:"compile"`
	Link    command           `json:"link"`
	Env     map[string]string `json:"env"` // what go sets for them

	// The two commands' lists of compiled packages. The folder of the main
	// package's files is $WORK/b001.
	ImportCfg string `json:"importcfg"`
	LinkCfg   string `json:"importcfg.link"`

	Sources sources `json:"sources"`
}

// newRecipe makes a recipe of a build of a cell, from its trace. The sources are those
// of all local modules, as they were before the build, with the times of their changes.
func newRecipe(ctx context.Context, goProgram string, cell request, before sources, times map[string]string, trace string) (*recipe, error) {
	work, compile, link, err := readTrace(trace, cell.folder)
	if err != nil {
		return nil, err
	}
	r := &recipe{Made: time.Now().UTC().Round(0), Module: cell.module, Imports: cell.imports, Compile: compile, Link: link}
	for file, text := range map[string]*string{importCfg: &r.ImportCfg, linkCfg: &r.LinkCfg} {
		data, err := os.ReadFile(work + strings.TrimPrefix(file, "$WORK"))
		if err != nil {
			return nil, err
		}
		*text = strings.ReplaceAll(string(data), work+"/", "$WORK/")
	}
	packages, err := r.packages()
	if err != nil {
		return nil, err
	}
	if r.Sources, err = before.of(packages, cell.localModules); err != nil {
		return nil, err
	}
	if r.Env, err = goEnv(ctx, goProgram, cell.folder); err != nil {
		return nil, err
	}
	if r.Sources.haveEmbeds() || !r.Sources.areCurrent(cell.localModules) {
		return nil, errGo
	}
	for folder := range r.Sources {
		if changed(folder) != times[folder] {
			return nil, errGo // perhaps to something else and back
		}
	}
	return r, nil
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
	others := strings.Replace(r.LinkCfg, r.mainLine(r.Module), "", 1)
	if len(others) == len(r.LinkCfg) || strings.Contains(others+r.ImportCfg, "$WORK") {
		return nil, errGo
	}
	for line := range strings.Lines(r.LinkCfg + r.ImportCfg) {
		kind, info, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case kind == "packagefile" || kind == "#" || kind == "":
		case kind == "modinfo" && !strings.Contains(info, `\nbuild\tvcs`): // nor what git says now
		default:
			return nil, errGo
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
				return "", "", errGo
			}
			line = fmt.Sprintf("modinfo %q\n", strings.Replace(info, old, fmt.Sprintf(begin, module), 1))
		}
		b.WriteString(line)
	}
	return r.ImportCfg, strings.ReplaceAll(b.String(), "$WORK", work), nil
}

// linkOf is the command that links a cell. go's build ID is that of another cell, by
// which it would take this one for up to date; without one, programs do not start on
// some systems.
func (r *recipe) linkOf(cell request) command {
	link := command{Env: r.Link.Env, Args: slices.Clone(r.Link.Args)}
	for i, a := range link.Args {
		if strings.HasPrefix(a, "-buildid=") {
			link.Args[i] = fmt.Sprintf("-buildid=cellbuild/%.16x", sha256.Sum256(cell.main))
			break // one of the user's own, which comes later, counts
		}
	}
	return link
}

// isComplete tells whether the compiled packages are there.
func (r *recipe) isComplete() bool {
	for line := range strings.Lines(r.LinkCfg) {
		_, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if ok && strings.HasPrefix(line, "packagefile ") && file != archive && !exists(file) {
			return false
		}
	}
	return true
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
		if name != "mod" && !slices.Contains(plainFlags, name) {
			return nil, errGo // it may name a file
		}
	}
	work, err := os.Stat(env["GOWORK"])
	own, ownErr := os.Stat(filepath.Join(folder, "go.work"))
	if err != nil || ownErr != nil || !os.SameFile(work, own) {
		return nil, errGo
	}
	return env, nil
}
