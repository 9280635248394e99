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
	"strings"
	"testing"
	"time"

	"github.com/contextrec/contextrec/notebooks/clone"
)

// kernelFolder builds this repository's kernel. Tests that only use it share it with
// the command line, for building takes a minute the first time.
func kernelFolder(t *testing.T) (root, binDir string) {
	t.Helper()
	root, err := clone.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := clone.InstallKernel(t.Context(), root, io.Discard); err != nil {
		t.Fatal(err)
	}
	return root, clone.Programs(root)
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
	template := filepath.Join(root, "notebooks", "cmd", "paper", "program", "testdata", "template.ipynb")
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
	if want := runtime.GOARCH == "amd64" && len(clone.CellEnv(t.Context())) > 0; simd != want {
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

// The image's commands share packages with its cells.
func TestImageFlags(t *testing.T) {
	text := repositoryFiles(t)["docker/Dockerfile"]
	if want := fmt.Sprintf("ENV GOFLAGS=\"-tags=%s %s\"\n", strings.TrimPrefix(clone.CellFlags()[2], "-tags="), clone.CellFlags()[0]); !strings.Contains(string(text), want) {
		t.Errorf("docker/Dockerfile has no %s", want)
	}
}
