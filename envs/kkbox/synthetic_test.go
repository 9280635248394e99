package kkbox

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var syntheticNames = []string{"members.csv", "song_extra_info.csv", "songs.csv", "test.csv", "train.csv", "truth.csv"}

func TestSyntheticSettings(t *testing.T) {
	for _, users := range []int{-1, 200_001} {
		_, err := Synthetic{Users: users}.Files()
		if err == nil || !strings.Contains(err.Error(), "Synthetic.Users is ") {
			t.Errorf("%d users: error %v, want one that names the field", users, err)
		}
		if err := (Synthetic{Users: users}).Write(t.Context(), t.TempDir(), nil); err == nil {
			t.Errorf("%d users were written", users)
		}
	}
	text, err := json.Marshal(Synthetic{})
	if want := `{"Users":3000,"Seed":1}`; err != nil || string(text) != want {
		t.Errorf("settings are %s, error %v, want %s", text, err, want)
	}
}

func TestSyntheticSameBytes(t *testing.T) {
	set := Synthetic{Users: 30, Seed: 5}
	folder := filepath.Join(t.TempDir(), "a", "new", "one")
	var done, total int64
	if err := set.Write(t.Context(), folder, func(d, of int64) {
		if d < done || d > of {
			t.Errorf("progress %d of %d after %d", d, of, done)
		}
		done, total = d, of
	}); err != nil {
		t.Fatal(err)
	}
	if done != total || total == 0 {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	files, err := set.Files()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Synthetic{Users: 30, Seed: 6}.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range syntheticNames {
		written, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		inMemory := readFile(t, files, name)
		if !bytes.Equal(written, inMemory) {
			t.Errorf("%s: equal settings gave other bytes", name)
		}
		if bytes.Equal(written, readFile(t, other, name)) {
			t.Errorf("%s: another seed gave the same bytes", name)
		}
	}
}

// When its context ends, at whatever point, a folder is what it was before.
func TestSyntheticIsInterrupted(t *testing.T) {
	folder := t.TempDir()
	names := func() (found []string) {
		entries, err := os.ReadDir(folder) // with hidden ones
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			found = append(found, entry.Name())
		}
		return found
	}
	// The progress is told at the end of each of the files, train.csv the last.
	var sawTemporary bool
	for told := range len(syntheticNames) + 2 {
		ctx, cancel := context.WithCancel(t.Context())
		if told == 0 {
			cancel()
		}
		calls := 0
		err := Synthetic{Users: 2}.Write(ctx, folder, func(done, total int64) {
			if calls++; calls == told {
				sawTemporary = sawTemporary || len(names()) > 0
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("ended at report %d: error %v", told, err)
		}
		if left := names(); len(left) > 0 {
			t.Fatalf("ended at report %d: the folder has %q", told, left)
		}
	}
	if !sawTemporary {
		t.Error("no file was begun when the context ended")
	}
	// It ends soon: a file that is longer than a report is not drawn to its end.
	ctx, cancel := context.WithCancel(t.Context())
	var last, all int64
	err := Synthetic{Users: 30}.Write(ctx, folder, func(done, total int64) {
		last, all = done, total
		cancel()
	})
	if !errors.Is(err, context.Canceled) || last > all/2 {
		t.Errorf("ended at once: error %v after %d of %d lines", err, last, all)
	}
}

// All that fs.FS asks for, and that readers may use.
func TestSyntheticFileSystem(t *testing.T) {
	files, err := Synthetic{Users: 2}.Files()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(readFile(t, files, e.Name())); int64(got) != info.Size() || e.IsDir() {
			t.Errorf("%s has %d bytes, its entry says %d, folder %v", e.Name(), got, info.Size(), e.IsDir())
		}
		names = append(names, e.Name())
	}
	if !slices.Equal(names, syntheticNames) {
		t.Errorf("files %v, want %v", names, syntheticNames)
	}
	if _, err := files.Open("songs.csv.7z"); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: error %v", err)
	}
}

func TestSyntheticReplacesOnlySynthetic(t *testing.T) {
	folder := t.TempDir()
	train := filepath.Join(folder, "train.csv")
	if err := os.WriteFile(train, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := (Synthetic{Users: 2}).Write(t.Context(), folder, nil); err == nil || !strings.Contains(err.Error(), "not a synthetic one") {
		t.Errorf("error %v, want one that says why not", err)
	}
	if text, _ := os.ReadFile(train); string(text) != "precious" {
		t.Fatalf("train.csv of real data became %q", text)
	}
	if err := os.Remove(train); err != nil {
		t.Fatal(err)
	}
	for _, users := range []int{2, 3} { // the second replaces the first
		if err := (Synthetic{Users: users}).Write(t.Context(), folder, nil); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Synthetic{Users: 3}.Files()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(syntheticNames) {
		t.Errorf("%d entries in the folder, want only the %d files", len(entries), len(syntheticNames))
	}
	if text, _ := os.ReadFile(train); !bytes.Equal(text, readFile(t, files, "train.csv")) {
		t.Error("the second set did not replace the first")
	}
}

// A file that cannot be written leaves nothing behind, and what was there.
func TestSyntheticWriteFails(t *testing.T) {
	folder := t.TempDir()
	blocked := filepath.Join(folder, "songs.csv")
	if err := os.MkdirAll(filepath.Join(blocked, "inside"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := (Synthetic{Users: 2}).Write(t.Context(), folder, nil); err == nil || !strings.Contains(err.Error(), "songs.csv") {
		t.Errorf("error %v, want one that names songs.csv", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "train.csv" {
			t.Errorf("%s was left", e.Name())
		}
	}
}

// The smallest sets are read without complaint about what is in them.
func TestSyntheticSmallSets(t *testing.T) {
	for _, users := range []int{1, 2, 7} {
		for seed := uint64(1); seed <= 4; seed++ {
			files, err := Synthetic{Users: users, Seed: seed}.Files()
			if err != nil {
				t.Fatal(err)
			}
			data, report, err := ReadFS(files, ReadOptions{})
			if err != nil {
				t.Fatalf("%d users, seed %d: %v", users, seed, err)
			}
			if report.Users != users || !report.Synthetic || len(data.Probability) != len(data.Target) {
				t.Errorf("%d users, seed %d: read %d users, %d probabilities for %d rows", users, seed, report.Users, len(data.Probability), len(data.Target))
			}
			for _, p := range data.Probability {
				if !(p >= 0 && p <= 1) {
					t.Fatalf("%d users, seed %d: probability %v", users, seed, p)
				}
			}
		}
	}
}

// Of the real train.csv it is known that its size is just that of its header,
// and of each row two ids of 44 bytes, five commas, a digit, a line end, and the
// texts of the three sources as counted: so it has neither quotes nor carriage
// returns, and a missing source is an empty field.
func TestSyntheticTrainSize(t *testing.T) {
	files, err := Synthetic{Users: 100}.Files()
	if err != nil {
		t.Fatal(err)
	}
	text := string(readFile(t, files, "train.csv"))
	header, body, _ := strings.Cut(text, "\n")
	if want := "msno,song_id,source_system_tab,source_screen_name,source_type,target"; header != want {
		t.Fatalf("header %q, want %q", header, want)
	}
	size, rows := len(header)+1, 0
	counts := map[string]int{}
	for line := range strings.Lines(body) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		if len(fields) != 6 {
			t.Fatalf("row %q has %d fields", line, len(fields))
		}
		rows++
		for _, source := range fields[2:5] {
			counts[source]++
		}
	}
	size += rows * (44 + 44 + 5 + 1 + 1)
	for source, n := range counts {
		size += n * len(source)
	}
	if len(text) != size || strings.ContainsAny(text, "\"\r\ufeff") || !strings.HasSuffix(text, "\n") {
		t.Errorf("train.csv has %d bytes, want %d of %d rows, no quotes, no carriage returns, and a line end at the end", len(text), size, rows)
	}
	if counts["null"] == 0 || counts[""] == 0 {
		t.Errorf("%d sources are null and %d empty, want some", counts["null"], counts[""])
	}
}

// What real readers stumble over is there.
func TestSyntheticQuirks(t *testing.T) {
	files, err := Synthetic{Users: 300}.Files()
	if err != nil {
		t.Fatal(err)
	}
	songs, extra, members, test := parseTable(t, files, "songs.csv"), parseTable(t, files, "song_extra_info.csv"), parseTable(t, files, "members.csv"), parseTable(t, files, "test.csv")

	share := func(what string, rows [][]string, is func(row []string) bool, low, high float64) {
		t.Helper()
		n := 0
		for _, row := range rows {
			if is(row) {
				n++
			}
		}
		if got := float64(n) / float64(len(rows)); got < low || got > high {
			t.Errorf("%s: share %.5f of %d, want %.5f to %.5f", what, got, len(rows), low, high)
		}
	}
	has := func(column int, is func(string) bool) func([]string) bool {
		return func(row []string) bool { return is(row[column]) }
	}
	equals := func(text string) func(string) bool { return func(s string) bool { return s == text } }
	contains := func(text string) func(string) bool { return func(s string) bool { return strings.Contains(s, text) } }
	script := func(r *unicode.RangeTable) func(string) bool {
		return func(s string) bool { return strings.ContainsFunc(s, func(c rune) bool { return unicode.Is(r, c) }) }
	}

	// The shares of all rows of the real songs.csv are .041, .466, .847. A small
	// set's catalogue ends earlier, with fewer of those of whom little is known.
	share("genre missing", songs, has(2, equals("")), .005, .08)
	share("composer missing", songs, has(4, equals("")), .25, .55)
	share("lyricist missing", songs, has(5, equals("")), .50, .90)
	share("several genres", songs, has(2, contains("|")), .03, .06)
	share("several composers", songs, has(4, contains("|")), .01, .3)
	share("quote", songs, has(4, contains(`"`)), .00005, .02)
	share("Various Artists", songs, has(3, equals("Various Artists")), .03, .05)
	share("Han", songs, has(3, script(unicode.Han)), .02, .6)
	share("Hangul", songs, has(3, script(unicode.Hangul)), .01, .2)
	share("Hiragana", songs, has(3, script(unicode.Hiragana)), .01, .2)
	share("full-width blank", songs, has(3, contains("\u3000")), .002, .1)
	share("Latin in brackets", songs, has(3, contains(" (")), .005, .2)
	share("language 3.0", songs, has(6, equals("3.0")), .05, .5)
	share("language -1.0", songs, has(6, equals("-1.0")), .02, .3)
	share("language missing", songs, has(6, equals("")), .5/float64(len(songs)), 1.5/float64(len(songs)))
	share("odd lengths", songs, has(1, func(s string) bool { return s == "1393" || s == "10851706" }), .00003, .0003)

	share("isrc missing", extra, has(2, equals("")), .03, .15)
	share("isrc cut short", extra, has(2, func(s string) bool { return s != "" && len(s) != 12 }), .00005, .001)
	share("a title with a bar", extra, has(1, contains("| Op.")), .01, .04)
	share("no title", extra, has(1, equals("")), .5/float64(len(extra)), 1.5/float64(len(extra)))
	if len(extra) >= len(songs)+10 || len(extra) < len(songs)*99/100 {
		t.Errorf("%d rows of song_extra_info.csv for %d of songs.csv", len(extra), len(songs))
	}

	// Real members: gender missing .58; unknown ages 0; registered_via 4 .33.
	share("gender missing", members, has(3, equals("")), .5, .66)
	share("age 0", members, has(2, equals("0")), .45, .65)
	share("registered_via 4", members, has(4, equals("4")), .2, .45)
	share("trial of three days", members, func(row []string) bool { return row[5][:6] == row[6][:6] && atoi(t, row[6]) == atoi(t, row[5])+3 }, .02, .25)

	users := map[string]bool{}
	for row := range strings.Lines(string(readFile(t, files, "train.csv"))) {
		users[row[:44]] = true
	}
	share("users of test.csv alone", test, func(row []string) bool { return !users[row[1]] }, .03, .12)
	share("screens of test.csv alone", test, has(4, func(s string) bool { return s == "People global" || s == "People local" }), .0001, .002)
	if n := len(members); n != 300+36 {
		t.Errorf("%d members, want 300 of train.csv and 36 of test.csv alone", n)
	}
}

// Songs without a row in songs.csv, ages and days that are none: rare, and so
// looked for in a larger set.
func TestSyntheticRareQuirks(t *testing.T) {
	data, report := twinReport()
	if report.UnlistedSongs < 2 || report.UnlistedSongs > 60 {
		t.Errorf("%d songs are missing from songs.csv, want a few", report.UnlistedSongs)
	}
	for _, w := range report.Warnings {
		if !strings.HasPrefix(w, "song_extra_info.csv, values that cannot be read") { // ISRCs cut short
			t.Errorf("the reader warns of %q", w)
		}
	}
	if report.TrainSongs >= len(data.Songs) {
		t.Error("test.csv has no songs of its own")
	}
	if len(data.Users) < 3000 || report.UnknownUsers > 0 {
		t.Errorf("%d users, %d without a row in members.csv", len(data.Users), report.UnknownUsers)
	}
	members := string(readFile(t, twinFiles(), "members.csv"))
	for _, odd := range []string{",1051,", ",-43,", ",19700101\n"} {
		if !strings.Contains(members, odd) {
			t.Errorf("no member with %q", odd)
		}
	}
}

func readFile(t *testing.T, files fs.FS, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// parseTable is the rows of a file without the header, by a strict reader.
func parseTable(t *testing.T, files fs.FS, name string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(readFile(t, files, name))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for _, c := range text {
		n = 10*n + int(c-'0')
	}
	return n
}
