package kkbox_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
)

// A source is read once, whoever asks, and under whatever name its folder has.
func TestOpenOnce(t *testing.T) {
	dir := folder(t, duo())
	all := []kkbox.Source{{Folder: dir}, {Folder: dir + "/."}, {Folder: dir, Cache: t.TempDir()}, {Folder: dir}}
	found := make([]*kkbox.Dataset, len(all))
	var wait sync.WaitGroup
	for i, source := range all {
		wait.Go(func() {
			data, report, err := source.Open(nil)
			if err != nil || report.Rows != 8 {
				t.Errorf("%d rows: %v", report.Rows, err)
			}
			found[i] = data
		})
	}
	wait.Wait()
	for i, data := range found {
		if data != found[0] {
			t.Errorf("source %d was read again", i)
		}
	}

	// What is made of it is made once too.
	var fields [4]*kkbox.Fields
	for i, v := range []kkbox.Variant{{}, {SourceFields: true}, {}, {SourceFields: true}} {
		f, err := all[i].Fields(v)
		if err != nil || f.Variant != v {
			t.Fatalf("variant %+v: %v", v, err)
		}
		fields[i] = f
	}
	if fields[0] != fields[2] || fields[1] != fields[3] || fields[0] == fields[1] {
		t.Error("fields are made again, or are shared by variants")
	}

	// Files that change later do not change what the program plays on.
	if err := os.Remove(filepath.Join(dir, "train.csv")); err != nil {
		t.Fatal(err)
	}
	if data, _, err := all[0].Open(nil); err != nil || data != found[0] {
		t.Errorf("after the files have gone: %v", err)
	}
}

// An error is not kept: the files may be put there, and the call repeated.
func TestOpenAgain(t *testing.T) {
	files := duo()
	train := files["train.csv"]
	delete(files, "train.csv")
	dir := folder(t, files)
	source := kkbox.Source{Folder: dir}
	if _, _, err := source.Open(nil); err == nil || !strings.Contains(err.Error(), "train.csv") {
		t.Fatalf("without train.csv: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "train.csv"), []byte(train), 0o666); err != nil {
		t.Fatal(err)
	}
	var tasks []string
	data, _, err := source.Open(func(task string, done, total int64) { tasks = append(tasks, task) })
	if err != nil || len(data.User) != 8 {
		t.Fatalf("with train.csv: %v", err)
	}
	if !strings.Contains(strings.Join(tasks, "\n"), "reading train.csv") {
		t.Errorf("the progress is of %q", tasks)
	}
}

// The zero value is the twin of the documented settings, and a twin is the same
// with a cache and without.
func TestTwin(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "not", "yet", "there")
	kept, report, err := kkbox.Source{Users: 20, Seed: 7, Cache: cache}.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Synthetic || len(kept.Probability) != len(kept.User) {
		t.Error("the twin's probabilities are not there")
	}
	files, err := kkbox.Synthetic{Users: 20, Seed: 7}.Files()
	if err != nil {
		t.Fatal(err)
	}
	data, _, err := kkbox.ReadFS(files, kkbox.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(kept, data) {
		t.Error("with a cache the twin is another")
	}

	folders, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(folders) != 1 || !strings.Contains(folders[0], "20-users-seed-7") {
		t.Fatalf("the cache has %v (%v), want one folder", folders, err)
	}
	// What is in the cache is read, not made anew.
	kkbox.ForgetSources()
	again, report, err := kkbox.Source{Users: 20, Seed: 7, Cache: cache}.Open(func(task string, _, _ int64) {
		if strings.HasPrefix(task, "making") {
			t.Error("the cache is passed over")
		}
	})
	if err != nil || !report.Cached || !reflect.DeepEqual(again, data) {
		t.Errorf("from the cache the twin is another (%v)", err)
	}
}

// A kept twin that is damaged, or is none, is made anew: results never depend on
// what has become of the files.
func TestDamagedTwin(t *testing.T) {
	source := kkbox.Source{Users: 20, Seed: 7, Cache: t.TempDir()}
	open := func(what string) *kkbox.Dataset {
		t.Helper()
		kkbox.ForgetSources()
		data, _, err := source.Open(nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return data
	}
	want := open("at first")
	folders, err := filepath.Glob(filepath.Join(source.Cache, "*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the cache has %v (%v), want one folder", folders, err)
	}
	folder := folders[0]
	good := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		good[entry.Name()] = string(text)
	}

	half := func(text string) string { return text[:len(text)/2] }
	plant := func(files map[string]string) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range good {
		if name == kkbox.CacheFile {
			continue // may be removed at any time, and has its own checksum
		}
		damages := map[string]func(){"cut to half": func() { plant(map[string]string{name: half(good[name])}) }}
		if name == "train.csv" {
			damages["removed"] = func() { os.Remove(filepath.Join(folder, name)) }
			damages["changed in one digit"] = func() {
				// The target, the last digit of a line.
				text := strings.TrimRight(good[name], "\r\n")
				digit := "0"
				if text[len(text)-1] == '0' {
					digit = "1"
				}
				plant(map[string]string{name: text[:len(text)-1] + digit + good[name][len(text):]})
			}
		}
		for what, damage := range damages {
			damage()
			if data := open(name + " " + what); !reflect.DeepEqual(data, want) {
				t.Errorf("%s %s: the twin is another", name, what)
			}
			if found, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(found) != good[name] {
				t.Errorf("%s %s: it is not what it was (%v)", name, what, err)
			}
		}
	}
	// Good files, but none of that twin's, with all that a twin has.
	other := kkbox.Synthetic{Users: 20, Seed: 8}
	if err := other.Write(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	if data := open("another twin's files"); !reflect.DeepEqual(data, want) {
		t.Error("another twin's files are taken for the twin")
	}
	// What an earlier version of the program kept says nothing about itself.
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	plant(duo())
	if data := open("another data set"); !reflect.DeepEqual(data, want) {
		t.Error("another data set is taken for the twin")
	}
	if left, _ := filepath.Glob(filepath.Join(source.Cache, "unfinished-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}

	// A cache that is no folder is an error.
	source.Cache = filepath.Join(folder, "train.csv")
	kkbox.ForgetSources()
	if _, _, err := source.Open(nil); err == nil || !strings.Contains(err.Error(), "Source.Cache") {
		t.Errorf("with a file for a cache: %v", err)
	}
}

// Archives take an Unpacker, whoever else asks for the same folder without one,
// at the same time or before.
func TestOpenArchives(t *testing.T) {
	dir := folder(t, archives(t))
	without, with := kkbox.Source{Folder: dir}, kkbox.Source{Folder: dir, Unpacker: sevenzip.Unpacker{}}
	if _, _, err := without.Open(nil); err == nil || !strings.Contains(err.Error(), "there is no Unpacker") {
		t.Errorf("without an Unpacker: %v", err)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if i%2 == 0 {
				without.Open(nil)
				return
			}
			data, _, err := with.Open(nil)
			if err != nil {
				t.Error(err)
				return
			}
			same(t, data, smallData())
		})
	}
	wait.Wait()
	// What has been read is there for all.
	if _, _, err := without.Open(nil); err != nil {
		t.Error(err)
	}
	if _, _, err := kkbox.Read(dir, kkbox.ReadOptions{}); err != nil {
		t.Errorf("from the cache: %v", err)
	}
}
