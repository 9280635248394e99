package cellbuild

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of a recipe are run with the settings that go ran them with.
func TestFollow(t *testing.T) {
	folder, work := t.TempDir(), t.TempDir()
	script := filepath.Join(folder, "tool")
	text := "#!/bin/sh\necho \"$GOAMD64 $GOROOT $TMPDIR $PWD $*\" >>log\nif [ \"$1\" = link ]; then echo >\"$2\"; fi\n"
	if err := os.WriteFile(script, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOAMD64", "")
	r := recipe{
		Module: "gonb_1", Env: map[string]string{"GOAMD64": "v3", "GOROOT": "/go"},
		LinkCfg: "packagefile gonb_1=" + archive + "\n",
		Compile: command{Args: []string{script, "compile", archive}},
		Link:    command{Args: []string{script, "link", linked, "-buildid=a/b", "-buildid=mine"}, Env: []string{"GOROOT=/other"}},
	}
	cell := request{folder: folder, module: "gonb_2", output: filepath.Join(folder, "out")}
	if err := r.follow(t.Context(), cell, work); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(folder, "log"))
	want := "v3 /go " + work + " " + folder + " compile " + work + "/b001/_pkg_.a\n" +
		"v3 /other " + work + " " + folder + " link " + work + "/b001/exe/a.out -buildid=cellbuild/"
	if err != nil || !strings.HasPrefix(string(log), want) || !strings.HasSuffix(string(log), " -buildid=mine\n") || strings.Contains(string(log), "a/b") {
		t.Errorf("run were\n%s%v, want\n%s", log, err, want)
	}
	if text, err := os.ReadFile(filepath.Join(work, "b001", "importcfg.link")); err != nil || string(text) != "packagefile gonb_2="+work+"/b001/_pkg_.a\n" {
		t.Errorf("the list of packages is %q, %v", text, err)
	}

	// Who says something is for go to run.
	r.Compile.Args = []string{"/bin/sh", "-c", "echo something"}
	if err := r.follow(t.Context(), cell, work); err == nil || !strings.Contains(err.Error(), "something") {
		t.Errorf("error is %v", err)
	}
}
