package sim_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/contextrec/contextrec/envs/sim"
)

// files maps the paths below a folder to their contents.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func mustRun(t testing.TB, e sim.Experiment, store sim.Store, opt sim.Options) []*sim.Result {
	t.Helper()
	results, err := e.Run(context.Background(), store, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(e.Contenders) {
		t.Fatalf("%d results of %d contenders", len(results), len(e.Contenders))
	}
	return results
}

// However the runs are stacked and shared out, the files are the same, and
// nothing else is left.
func TestRunSameFilesForAllOptions(t *testing.T) {
	whole := t.TempDir()
	mustRun(t, lesson(), sim.Store{Dir: whole}, sim.Options{Workers: 1, Stack: 20, Version: "v1", Backend: "none"})
	want := files(t, whole)
	if len(want) != 2 {
		t.Fatalf("%d files of 2 contenders", len(want))
	}
	for _, stack := range []int{0, 1, 7, 20} {
		for workers := 1; workers <= 4; workers++ {
			dir := t.TempDir()
			mustRun(t, lesson(), sim.Store{Dir: dir}, sim.Options{Workers: workers, Stack: stack, Version: "v1", Backend: "none"})
			have := files(t, dir)
			if len(have) != len(want) {
				t.Errorf("stack %d, %d workers: %d files, want %d", stack, workers, len(have), len(want))
			}
			for name, text := range want {
				if have[name] != text {
					t.Errorf("stack %d, %d workers: %s differs", stack, workers, name)
				}
			}
		}
	}
}

func TestWriteRead(t *testing.T) {
	for _, r := range mustRun(t, lesson(), sim.Store{Dir: t.TempDir()}, sim.Options{}) {
		var text bytes.Buffer
		if err := r.Write(&text); err != nil {
			t.Fatal(err)
		}
		if _, err := sim.ReadResult(&text); err != nil {
			t.Fatal(err)
		}
	}
}
