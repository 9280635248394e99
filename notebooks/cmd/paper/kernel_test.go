package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/contextrec/contextrec/notebooks/paper"
)

// kernelFolder is installKernel's for this repository. Tests that only use the
// kernel share it with the command line, for building takes a minute the first
// time.
func kernelFolder(t *testing.T) (root, binDir string) {
	t.Helper()
	root, err := paper.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	binDir, err = installKernel(t.Context(), root, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return root, binDir
}

// fakeKernel makes a repository whose three kernel programs do nothing but
// print a word, so that they build quickly.
func fakeKernel(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	files := map[string]string{"go.mod": "module fake\n\ngo 1.26\n\ntool fake/gonb\n\ntool fake/goimports\n"}
	for _, name := range kernelPrograms {
		files[name+"/main.go"] = "package main\n\nfunc main() { println(\"old\") }\n"
	}
	for name, text := range files {
		writeFile(t, filepath.Join(root, "notebooks", "kernel", name), text)
	}
	return root
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestInstallKernel(t *testing.T) {
	root := fakeKernel(t)
	// Two at once: one builds, and both have the result.
	var logs [2]bytes.Buffer
	var wg sync.WaitGroup
	for i := range logs {
		wg.Go(func() {
			if _, err := installKernel(t.Context(), root, &logs[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all := logs[0].String() + logs[1].String(); strings.Count(all, "building the notebook kernel") != 1 {
		t.Errorf("two at once log %q, want one that builds", all)
	}
	binDir := filepath.Join(root, "notebooks", ".bin")
	for _, name := range kernelPrograms {
		if _, err := os.Stat(filepath.Join(binDir, name)); err != nil {
			t.Error(err)
		}
	}

	// Nothing to do: no program is started, for there is none on PATH.
	path := os.Getenv("PATH")
	t.Setenv("PATH", "")
	var log bytes.Buffer
	if got, err := installKernel(t.Context(), root, &log); got != binDir || err != nil || log.Len() > 0 {
		t.Errorf("up to date: %s, %v, log %q; want %s and silence", got, err, log.String(), binDir)
	}

	// A changed source is built again, and so is a program that is gone.
	source := filepath.Join(root, "notebooks", "kernel", "nbrun", "main.go")
	writeFile(t, source, "package main\n\nfunc main() { println(\"new\") }\n")
	if _, err := installKernel(t.Context(), root, io.Discard); err == nil || !strings.Contains(err.Error(), "go is not on PATH") {
		t.Errorf("without go the error is %v", err)
	}
	t.Setenv("PATH", path)
	if err := os.Remove(filepath.Join(binDir, "gonb")); err != nil {
		t.Fatal(err)
	}
	if _, err := installKernel(t.Context(), root, io.Discard); err != nil {
		t.Fatal(err)
	}
	if program, err := os.ReadFile(filepath.Join(binDir, "nbrun")); err != nil || !bytes.Contains(program, []byte("new")) {
		t.Errorf("the changed program was not built, %v", err)
	}
	if _, err := os.Stat(filepath.Join(binDir, "gonb")); err != nil {
		t.Error(err)
	}

	// What go says is in the error, and the next try does not take the old
	// programs for good.
	writeFile(t, source, "package main\n\nfunc main() { undefined() }\n")
	for range 2 {
		if _, err := installKernel(t.Context(), root, io.Discard); err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
			t.Errorf("error of sources that do not compile is %v", err)
		}
	}
}

func TestInstallKernelWaitsForAnother(t *testing.T) {
	root := fakeKernel(t)
	binDir := filepath.Join(root, "notebooks", ".bin")
	if err := os.MkdirAll(binDir, 0o777); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(filepath.Join(binDir, ".kernel.lock"))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var log bytes.Buffer
	if _, err := installKernel(ctx, root, &log); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want the context's", err)
	}
	if !strings.Contains(log.String(), "another process builds the notebook kernel") {
		t.Errorf("log is %q", log.String())
	}
}

func TestInstallKernelWithoutSources(t *testing.T) {
	if _, err := installKernel(t.Context(), t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "sources of the notebook kernel") {
		t.Errorf("error is %v", err)
	}
}

// The template is what every notebook of this repository begins as. It is run
// with settings in the environment that break cells unless the set-up cell
// repairs them.
func TestTemplateNotebook(t *testing.T) {
	root, binDir := kernelFolder(t)
	for name, value := range map[string]string{"GOFLAGS": "-mod=mod", "GOWORK": "off", "GOPROXY": "off"} {
		t.Setenv(name, value)
	}
	folder := t.TempDir()
	out := filepath.Join(folder, "executed", "template.ipynb")
	var progress bytes.Buffer
	template := filepath.Join(root, "notebooks", "cmd", "paper", "testdata", "template.ipynb")
	// go test caches by the files that this process itself reads.
	if _, err := os.ReadFile(template); err != nil {
		t.Fatal(err)
	}
	env := []string{"PAPER_OUT=" + folder, "PAPER_SCALE=0.5"}
	if err := runNotebook(t.Context(), binDir, template, out, env, &progress); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(progress.String(), "template.ipynb  cell "); got != 3 {
		t.Errorf("progress is %q, want a line for each of 3 cells", progress.String())
	}
	cells := readNotebook(t, out).code()
	if got, want := string(cells[0].Outputs[0].Text), "Set: GOFLAGS=\"-mod=readonly\"\nSet: GOWORK=\"auto\"\n"; len(cells[0].Outputs) != 1 || got != want {
		t.Errorf("the set-up cell prints %q, want %q", got, want)
	}
	// 100 steps at a scale of one half.
	if got, want := string(cells[1].Outputs[0].Data["text/plain"]), "policy  steps\nrandom  50"; got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "results", "*", "*.csv"))
	if len(files) != 1 {
		t.Fatalf("results are %v, want one in the output folder", files)
	}
	result, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	simd := bytes.Contains(result, []byte(runtime.GOARCH+" simd\n"))
	if want := runtime.GOARCH == "amd64" && hasExperiment(t.Context(), "simd"); simd != want {
		t.Errorf("cells are compiled with vectorised products: %v, want %v", simd, want)
	}
	figure := cells[2].Outputs[0]
	raw, err := base64.StdEncoding.DecodeString(string(figure.Data["image/png"]))
	if err != nil {
		t.Fatal(err)
	}
	im, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	// 6.4 x 4 inches at 192 and at 96 dots an inch.
	if size, shown := im.Bounds().Size(), figure.Metadata["image/png"]; size.X != 1229 || size.Y != 768 || shown["width"] != 614 || shown["height"] != 384 {
		t.Errorf("the figure has %v pixels, shown as %v; want 1229x768 as 614x384", size, shown)
	}
}

func TestExecuteNotebooks(t *testing.T) {
	_, binDir := kernelFolder(t)
	// A repository of notebooks alone, with this one's kernel.
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(other, "notebooks"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kernel", ".bin"} {
		if err := os.Symlink(filepath.Join(filepath.Dir(binDir), name), filepath.Join(other, "notebooks", name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, line := range map[string]string{
		"good.ipynb":  "!echo $COLOUR $GOFLAGS $GOMLX_NO_AUTO_INSTALL",
		"bad.ipynb":   "!echo broken; exit 7",
		"worse.ipynb": "%nosuchcmd",
	} {
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(other, "notebooks", name), `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
			{"cell_type": "code", "id": "a", "metadata": {}, "source": `+string(data)+`, "outputs": [], "execution_count": null}]}`)
	}
	out := filepath.Join(other, "out")
	err := executeNotebooks(t.Context(), other, []string{"bad.ipynb", "good.ipynb", "worse.ipynb"}, out, []string{"COLOUR=blue"}, 8, io.Discard)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"bad.ipynb: cell 1 of 1: exit status 7\n    | !echo broken; exit 7\n    broken",
		"worse.ipynb: cell 1 of 1: command \"%nosuchcmd\" unknown",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q in it", err, want)
		}
	}
	if got, want := string(readNotebook(t, filepath.Join(out, "good.ipynb")).Cells[0].Outputs[0].Text), "blue -mod=readonly 1\n"; got != want {
		t.Errorf("the good notebook prints %q, want %q", got, want)
	}
	if got := readNotebook(t, filepath.Join(out, "bad.ipynb")).Cells[0].Outputs; len(got) != 2 {
		t.Errorf("the bad notebook has outputs %v, want what the command said", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := executeNotebooks(ctx, other, []string{"good.ipynb"}, out, nil, 1, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled run is %v", err)
	}
}

func TestRunNotebookIsInterrupted(t *testing.T) {
	_, binDir := kernelFolder(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.ipynb"), filepath.Join(dir, "b.ipynb")
	writeFile(t, in, `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
		{"cell_type": "code", "id": "a", "metadata": {}, "source": "!exec sleep 1000 > runs", "outputs": [], "execution_count": null}]}`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if err := runNotebook(ctx, binDir, in, out, nil, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the interrupted notebook was written")
	}
}

func TestCellTags(t *testing.T) {
	for tags, want := range map[string]string{"": "netgo,osusergo", "xla": "netgo,osusergo,xla", "osusergo,xla,netgo": "netgo,osusergo,xla"} {
		settings := []debug.BuildSetting{{Key: "-compiler", Value: "gc"}}
		if tags != "" {
			settings = append(settings, debug.BuildSetting{Key: "-tags", Value: tags})
		}
		if got := cellTags(settings); got != want {
			t.Errorf("with %q: %q, want %q", tags, got, want)
		}
	}
}

// The image's commands share packages with its cells.
func TestImageFlags(t *testing.T) {
	text := repositoryFiles(t)["docker/Dockerfile"]
	if want := fmt.Sprintf("ENV GOFLAGS=\"-tags=%s %s\"\n", cellTags(nil), cellFlags()[0]); !strings.Contains(string(text), want) {
		t.Errorf("docker/Dockerfile has no %s", want)
	}
}
