package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/notebooks/clone"
)

// repositoryFiles are the files of the repository by slash path, without what
// Git ignores. They are read by this process, so that go test, which caches by
// what it reads, tests a changed file again.
func repositoryFiles(t *testing.T) map[string][]byte {
	t.Helper()
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	ignored := []string{".git", ".go-cache", ".ipynb_checkpoints", "notebooks/.bin", "notebooks/out"}
	files := map[string][]byte{}
	disk := os.DirFS(root)
	err = fs.WalkDir(disk, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(ignored, name) || slices.Contains(ignored, d.Name()) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			files[name], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTopLevel(t *testing.T) {
	want := []string{"LICENSE", "README.md", "baselines", "docker", "envs", "go.mod", "go.sum", "notebooks", "pgcr"}
	for name := range repositoryFiles(t) {
		if top, _, _ := strings.Cut(name, "/"); !strings.HasPrefix(top, ".") && !slices.Contains(want, top) {
			t.Errorf("%s: the top level has %s and nothing else", name, strings.Join(want, ", "))
		}
	}
}

// A name says what is in a file, and these say that somebody did not know.
var emptyNames = []string{"base", "common", "core", "helper", "helpers", "misc", "pkg", "types", "util", "utils"}

func TestNames(t *testing.T) {
	for name := range repositoryFiles(t) {
		for part := range strings.SplitSeq(name, "/") {
			stem, _, _ := strings.Cut(part, ".")
			if slices.Contains(emptyNames, strings.TrimSuffix(stem, "_test")) {
				t.Errorf("%s: the name %q says nothing", name, part)
			}
		}
	}
}

// places are paths and hosts that are there on one machine only.
var places = regexp.MustCompile(`(^|[\s"'=(:,` + "`" + `])/(root|home|work|Users|tmp)/\w|(?i)https?://[\w.-]*(proxy|mirror|registry|artifactory|nexus)[\w.-]*|GOPROXY=[h]`)

func TestNoPlaces(t *testing.T) {
	for name, data := range repositoryFiles(t) {
		if bytes.IndexByte(data, 0) >= 0 {
			continue // no text
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if found := places.Find(line); found != nil {
				t.Errorf("%s:%d names a place: %q", name, i+1, found)
			}
		}
	}
	// Written with | for /, so as to be no place itself.
	for text, want := range map[string]bool{
		"cd |work|dir": true, `"|home|me"`: true, "GOPROXY" + "=http:||x": true, "see https:||proxy.example.org|x": true,
		"mktemp -d": false, "a|home|b": false, "https:||doi.org|10.1": false, "GOPROXY=off": false,
	} {
		if text = strings.ReplaceAll(text, "|", "/"); places.MatchString(text) != want {
			t.Errorf("%q names a place: %v, want %v", text, !want, want)
		}
	}
}

// Pictures and archives do not grow unseen.
func TestSizes(t *testing.T) {
	for name, data := range repositoryFiles(t) {
		limit := 1 << 20
		if path.Ext(name) == ".ipynb" {
			limit = 3 << 20
		}
		if len(data) > limit {
			t.Errorf("%s has %d bytes, the limit is %d", name, len(data), limit)
		}
	}
}
