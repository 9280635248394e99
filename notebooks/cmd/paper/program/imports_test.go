package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/clone"
)

// allowed are the imports of every package of the module, direct or not: of
// packages of this module by folder, of others by prefix. Packages that are not
// listed are refused, so that a new one finds its place here.
var allowed = map[string]struct{ folders, others []string }{
	"envs":                {},
	"envs/envtest":        {folders: []string{"envs"}},
	"envs/sim":            {[]string{"envs"}, []string{"github.com/gofrs/flock", "golang.org/x/sys"}},
	"envs/kkbox":          {folders: []string{"envs"}},
	"envs/kkbox/sevenzip": {[]string{"envs", "envs/kkbox"}, packed},
	"envs/logged":         {[]string{"envs"}, []string{"gonum.org/v1/gonum"}},
	"baselines":           {[]string{"envs"}, []string{"gonum.org/v1/gonum"}},
	"pgcr":                {[]string{"envs"}, gomlx},
	"pgcr/ondevice":       {[]string{"envs", "envs/sim", "pgcr"}, slices.Concat(gomlx, locking)},
	"baselines/neural":    {[]string{"envs", "pgcr"}, gomlx},
	"notebooks/figure":    {[]string{"envs", "envs/sim"}, slices.Concat(plotting, locking)},
	"notebooks/paper": {
		[]string{"envs", "envs/sim", "envs/kkbox", "envs/logged", "pgcr", "baselines", "baselines/neural", "notebooks/clone", "notebooks/internal/group", "notebooks/figure"},
		slices.Concat(gomlx, plotting, locking),
	},
	"notebooks/nb": {
		[]string{"envs", "envs/sim", "envs/kkbox", "envs/logged", "pgcr", "baselines", "baselines/neural", "notebooks/clone", "notebooks/internal/group", "notebooks/figure", "notebooks/paper"},
		slices.Concat(gomlx, plotting, locking, terminal, []string{gonb}),
	},
	"notebooks/internal/group": {},
	"notebooks/jupyter":        {folders: []string{"notebooks/internal/group"}},
	"notebooks/clone":          {[]string{"notebooks/internal/group"}, locking},
	"notebooks/site": {
		[]string{"envs", "envs/sim", "envs/kkbox", "envs/logged", "pgcr", "baselines", "baselines/neural", "notebooks/clone", "notebooks/internal/group", "notebooks/figure", "notebooks/paper"},
		slices.Concat(gomlx, plotting, locking, pages),
	},
	// The launcher is there in seconds: nothing that it imports takes long to compile.
	"notebooks/cmd/paper/internal/cli": {[]string{"notebooks/clone", "notebooks/internal/group", "notebooks/jupyter"}, slices.Concat(locking, []string{"github.com/spf13"})},
	"notebooks/cmd/paper": {
		[]string{"notebooks/clone", "notebooks/internal/group", "notebooks/cmd/paper/internal/cli", "notebooks/jupyter"},
		slices.Concat(locking, []string{"github.com/spf13"}),
	},
	"notebooks/cmd/paper/program": {
		[]string{"envs", "envs/sim", "envs/kkbox", "envs/kkbox/sevenzip", "envs/logged", "pgcr", "pgcr/ondevice", "baselines", "baselines/neural", "notebooks/clone", "notebooks/internal/group", "notebooks/cmd/paper/internal/cli", "notebooks/figure", "notebooks/jupyter", "notebooks/paper", "notebooks/site"},
		slices.Concat(gomlx, packed, plotting, locking, terminal, pages, []string{"github.com/spf13"}),
	},
}

// The modules of others, with what they bring along.
var (
	gomlx    = []string{"github.com/gomlx", "github.com/pkg/errors", "github.com/gofrs/uuid", "github.com/go-logr/logr", "golang.org/x", "k8s.io/klog", "google.golang.org/protobuf"}
	plotting = []string{"gonum.org/v1", "codeberg.org/go-fonts", "codeberg.org/go-latex", "codeberg.org/go-pdf", "git.sr.ht/~sbinet/gg", "github.com/ajstarks/svgo", "github.com/golang/freetype", "golang.org/x", "rsc.io/pdf"}
	locking  = []string{"github.com/gofrs/flock", "golang.org/x/sys"}
	pages    = []string{"github.com/yuin/goldmark", "github.com/wyatt915/treeblood", "github.com/microcosm-cc/bluemonday", "github.com/aymerick/douceur", "github.com/gorilla/css", "golang.org/x"}
	terminal = []string{"github.com/schollz/progressbar", "github.com/mitchellh/colorstring", "github.com/rivo/uniseg", "golang.org/x"}
)

// packed are those that unpack 7z files.
var packed = []string{
	"github.com/bodgit", "github.com/andybalholm/brotli", "github.com/hashicorp/golang-lru", "github.com/klauspost/compress", "github.com/pierrec/lz4",
	"github.com/spf13/afero", "github.com/stangelandcl/ppmd", "github.com/ulikunitz/xz", "go4.org/readerutil", "golang.org/x/text",
}

const gonb = "github.com/janpfeifer/gonb"

func TestImports(t *testing.T) {
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Deps", "./...")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	}
	deps, standard := map[string][]string{}, map[string]bool{"C": true}
	for d := json.NewDecoder(strings.NewReader(string(list))); ; {
		var p struct {
			ImportPath string
			Standard   bool
			Deps       []string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		deps[p.ImportPath], standard[p.ImportPath] = p.Deps, p.Standard
	}
	for path, imports := range deps {
		folder, ours := strings.CutPrefix(path, clone.Module+"/")
		if !ours {
			continue
		}
		rule, known := allowed[folder]
		if !known {
			t.Errorf("package %s has no place among the imports", path)
			continue
		}
		for _, i := range imports {
			if f, ours := strings.CutPrefix(i, clone.Module+"/"); ours {
				if !slices.Contains(rule.folders, f) {
					t.Errorf("%s imports %s", folder, f)
				}
			} else if !standard[i] && !slices.ContainsFunc(rule.others, func(o string) bool { return i == o || strings.HasPrefix(i, o+"/") }) {
				t.Errorf("%s imports %s", folder, i)
			}
		}
	}
	for folder := range allowed {
		if _, there := deps[clone.Module+"/"+folder]; !there {
			t.Errorf("package %s is gone", folder)
		}
	}
}
