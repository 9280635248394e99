package kkbox_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
)

// folder is a folder on the disk of texts.
func folder(t testing.TB, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// readFolder reads a folder and tells whether it came from the cache.
func readFolder(t testing.TB, dir string) (*kkbox.Dataset, kkbox.Report) {
	t.Helper()
	data, report, err := kkbox.Read(dir, unpacking)
	if err != nil {
		t.Fatal(err)
	}
	return data, report
}

func cacheOf(t testing.TB, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, kkbox.CacheFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReadFromTheCacheIsTheSame(t *testing.T) {
	synthetic := small()
	synthetic["truth.csv"] = lines("probability", "0.75", "0.125", "0", "1")
	for name, texts := range map[string]map[string]string{
		"plain": small(), "7z": archives(t), "synthetic": synthetic, "with warnings": with("songs.csv", songsText+"x,1"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, texts)
			first, told := readFolder(t, dir)
			second, again := readFolder(t, dir)
			if told.Cached || !again.Cached {
				t.Fatalf("from the cache: %v at first and %v then", told.Cached, again.Cached)
			}
			same(t, second, first)
			again.Cached = false
			if !reflect.DeepEqual(again, told) || again.String() != told.String() {
				t.Errorf("the report is %+v\nwant %+v", again, told)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(texts)+1 {
				t.Errorf("the folder has %v, want the files and the cache", entries)
			}
		})
	}
}

func TestReadWithoutCache(t *testing.T) {
	dir := folder(t, small())
	for range 2 {
		_, report, err := kkbox.Read(dir, kkbox.ReadOptions{Unpacker: sevenzip.Unpacker{}, NoCache: true})
		if err != nil || report.Cached {
			t.Fatalf("from the cache: %v, error %v", report.Cached, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, kkbox.CacheFile)); err == nil {
		t.Error("there is a cache")
	}
}

// Whatever happens to the files, an old cache is not taken for them.
func TestReadSeesThatFilesChanged(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"another length": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "members.csv"), strings.Replace(membersText, "female", "male", 1))
		},
		"another time": func(t *testing.T, dir string) {
			if err := os.Chtimes(filepath.Join(dir, "songs.csv"), time.Time{}, time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "test.csv")); err != nil {
				t.Fatal(err)
			}
		},
		"new": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "truth.csv"), lines("probability", "1", "0", "0.5", "1"))
		},
		"another form": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "songs.csv")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "songs.csv.7z"), pack(t, "songs.csv.7z"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, small())
			readFolder(t, dir)
			change(t, dir)
			want, _, err := kkbox.Read(dir, kkbox.ReadOptions{Unpacker: sevenzip.Unpacker{}, NoCache: true})
			if err != nil {
				t.Fatal(err)
			}
			got, report := readFolder(t, dir)
			if report.Cached {
				t.Error("it comes from the cache")
			}
			same(t, got, want)
			if _, report := readFolder(t, dir); !report.Cached {
				t.Error("the cache is not that of the changed files")
			}
		})
	}
}

// A crash may leave any part of the cache under its name on a bad day, and
// under a temporary one on any. Neither is read.
func TestReadNeverReadsAPartOfACache(t *testing.T) {
	dir := folder(t, small())
	want, _ := readFolder(t, dir)
	whole := cacheOf(t, dir)
	for n := range len(whole) {
		if kkbox.DecodesCache([]byte(whole[:n]), whole) {
			t.Fatalf("%d of %d bytes are read", n, len(whole))
		}
	}
	if !kkbox.DecodesCache([]byte(whole), whole) {
		t.Fatal("the whole is not read")
	}
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		write(t, filepath.Join(dir, kkbox.CacheFile), whole[:n])
		got, report := readFolder(t, dir)
		if report.Cached {
			t.Fatalf("%d of %d bytes are read", n, len(whole))
		}
		same(t, got, want)
		if cacheOf(t, dir) != whole {
			t.Errorf("the cache is not written again after %d of %d bytes", n, len(whole))
		}
	}
	if err := os.Rename(filepath.Join(dir, kkbox.CacheFile), filepath.Join(dir, "."+kkbox.CacheFile+"-123")); err != nil {
		t.Fatal(err)
	}
	if _, report := readFolder(t, dir); report.Cached {
		t.Error("a temporary file was read")
	}
}

// Whatever byte changes, and whatever follows, the cache is not read.
func TestReadNeverReadsADamagedCache(t *testing.T) {
	dir := folder(t, small())
	readFolder(t, dir)
	whole := cacheOf(t, dir)
	for at := range len(whole) {
		changed := []byte(whole)
		changed[at] ^= 1
		if kkbox.DecodesCache(changed, whole) {
			t.Fatalf("byte %d changed, and is read", at)
		}
	}
	if kkbox.DecodesCache([]byte(whole+"x"), whole) {
		t.Error("one more byte, and it is read")
	}
}

// A process that was killed while it wrote leaves a file, which goes some time
// later; one that writes at this time keeps its own.
func TestReadRemovesWhatOthersLeft(t *testing.T) {
	dir := folder(t, small())
	old, young := filepath.Join(dir, "."+kkbox.CacheFile+"-1"), filepath.Join(dir, "."+kkbox.CacheFile+"-2")
	write(t, old, "half")
	write(t, young, "half")
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	readFolder(t, dir)
	if _, err := os.Stat(old); err == nil {
		t.Error("the old one is still there")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("the young one is gone")
	}
}

// Where the cache cannot be written, the data is read all the same.
func TestReadWhereNothingCanBeKept(t *testing.T) {
	dir := folder(t, small())
	if err := os.Mkdir(filepath.Join(dir, kkbox.CacheFile), 0o777); err != nil {
		t.Fatal(err)
	}
	data, report := readFolder(t, dir)
	same(t, data, smallData())
	if !strings.Contains(strings.Join(report.Warnings, "\n"), "cannot be kept") {
		t.Errorf("the warnings are %q", report.Warnings)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(small())+1 {
		t.Errorf("the folder has %v, want no temporary file in it", entries)
	}
}

func TestReadOfNoFolder(t *testing.T) {
	dir := folder(t, small())
	if _, _, err := kkbox.Read(filepath.Join(dir, "nowhere"), unpacking); !os.IsNotExist(underlying(err)) {
		t.Errorf("got %v, want an error that is fs.ErrNotExist", err)
	}
	if _, _, err := kkbox.Read(filepath.Join(dir, "train.csv"), unpacking); err == nil || !strings.Contains(err.Error(), "is a file, want the folder") {
		t.Errorf("got %v, want an error that says that it is a file", err)
	}
	missing := small()
	delete(missing, "songs.csv")
	dir = folder(t, missing)
	if _, _, err := kkbox.Read(dir, unpacking); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want an error that names the folder", err)
	}
}

func underlying(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		if _, ok := err.(*os.PathError); ok {
			return err
		}
		err = u.Unwrap()
	}
}

// FuzzReadCache takes the bytes for the content of a cache, with its mark and
// checksum right: one is read, or not, and then all its numbers are in bounds.
func FuzzReadCache(f *testing.F) {
	dir := folder(f, small())
	readFolder(f, dir)
	whole := cacheOf(f, dir)
	head := strings.IndexByte(whole, '\n') + 1 + 8 + 4
	f.Add([]byte(whole[head:]))
	for _, at := range slices.Sorted(maps.Keys(map[int]bool{head: true, head + 8: true, len(whole) / 2: true, len(whole) - 9: true})) {
		changed := []byte(whole)
		changed[at] ^= 0xff
		f.Add(changed[head:])
		f.Add([]byte(whole[head:at]))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		b := []byte(whole[:head-12])
		b = binary.LittleEndian.AppendUint64(b, uint64(len(content)))
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
		data, ok := kkbox.DecodeCache(append(b, content...), whole)
		if !ok {
			if bytes.Equal(content, []byte(whole[head:])) {
				t.Error("the cache is not read")
			}
			return
		}
		for i := range data.User {
			_ = data.Users[data.User[i]].ID + data.Songs[data.Song[i]].ID + data.Tabs[data.Tab[i]] + data.Screens[data.Screen[i]] + data.Types[data.Type[i]]
		}
	})
}
