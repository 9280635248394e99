package kkbox_test

import (
	"encoding/csv"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/contextrec/contextrec/envs/kkbox"
)

// checkRead reads a folder and checks what holds for any content of the files:
// an error names one of them, and data are in bounds and as many as reported.
//
// A 7z archive takes as much memory as its header asks for, which is under a
// checksum; so memory is not counted where there is one.
func checkRead(t *testing.T, folder fstest.MapFS) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	data, report, err := kkbox.ReadFS(folder, unpacking)
	runtime.ReadMemStats(&after)
	size, archive := 0, false
	for name, f := range folder {
		size += len(f.Data)
		archive = archive || strings.HasSuffix(name, ".7z")
	}
	// A block for each file, and a few hundred bytes a row of at least two bytes.
	if used, most := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+1000*size); used > most && !archive {
		t.Errorf("%d bytes were allocated for %d bytes of files", used, size)
	}
	if err != nil {
		var where *kkbox.FileError
		if !errors.As(err, &where) || where.File == "" {
			t.Errorf("%v: names no file", err)
		}
		return
	}
	rows := len(data.User)
	if report.Rows != rows || len(data.Song) != rows || len(data.Target) != rows || len(data.Tab) != rows || len(data.Screen) != rows || len(data.Type) != rows {
		t.Errorf("%d rows by the report, and %d, %d, %d, %d, %d and %d", report.Rows, rows, len(data.Song), len(data.Target), len(data.Tab), len(data.Screen), len(data.Type))
	}
	heard := make([]int32, len(data.Songs))
	for i := range rows {
		_ = data.Users[data.User[i]].ID + data.Tabs[data.Tab[i]] + data.Screens[data.Screen[i]] + data.Types[data.Type[i]]
		heard[data.Song[i]]++
		if data.Target[i] > 1 {
			t.Errorf("row %d has target %d", i, data.Target[i])
		}
	}
	for s, song := range data.Songs {
		if song.Rows < heard[s] || song.Listed && song.Artist != "" && song.ArtistSongs < 1 {
			t.Errorf("song %d of %d rows is %+v", s, heard[s], song)
		}
	}
}

func folderOf(texts map[string]string) fstest.MapFS { return memory(texts).(fstest.MapFS) }

// hostile is what a CSV reader may trip over.
var hostile = []string{
	"", "\n", "\r", "\r\n", `"`, `""`, `"""`, `"\n`, ",", ",,,,,,\n", `a"b` + "\n", "\"a\nb\"\n", "\"a\r\nb\"\r\n", "\xef\xbb\xbf", "\xff\xfe", "\xff",
	strings.Repeat(`"`, 1000), strings.Repeat(",", 1000), strings.Repeat("\"\n", 100), "s1=,1,2,\"a\n", "\x00\x00\n", "s1=,1e9999,,,,,NaN\n", "s1=,-9223372036854775808,,,,,-0\n",
}

func FuzzReadSongs(f *testing.F) {
	f.Add(songsText)
	for _, s := range hostile {
		f.Add(songsText + s)
		f.Add(s + songsText)
	}
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, folderOf(with("songs.csv", text))) })
}

func FuzzReadTrain(f *testing.F) {
	fuzzTwo(f, "train.csv", trainText, "test.csv", testText)
}

// fuzzTwo fuzzes two files of a folder, beginning with their texts.
func fuzzTwo(f *testing.F, first, firstText, second, secondText string) {
	f.Add(firstText, secondText)
	for _, s := range hostile {
		f.Add(firstText+s, secondText+s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		folder := with(first, a)
		folder[second] = b
		checkRead(t, folderOf(folder))
	})
}

func FuzzReadMembers(f *testing.F) {
	fuzzTwo(f, "members.csv", membersText, "song_extra_info.csv", extraText)
}

func FuzzReadArchive(f *testing.F) {
	f.Add(pack(f, "songs.csv.7z"), zipped(f, small(), 0))
	f.Add(pack(f, "train.csv.7z"), zipped(f, archives(f), 8))
	f.Add("", "")
	f.Fuzz(func(t *testing.T, archive, zip string) {
		folder := folderOf(with("songs.csv.7z", archive))
		delete(folder, "songs.csv")
		checkRead(t, folder)
		folder = folderOf(with("all.zip", zip))
		delete(folder, "train.csv")
		delete(folder, "test.csv")
		if _, _, err := kkbox.ReadFS(folder, unpacking); err != nil && !strings.Contains(err.Error(), "all.zip") {
			t.Errorf("%v: names no file", err)
		}
	})
}

// FuzzReadAsOthersDo holds the reader to encoding/csv, wherever that one takes a
// text without leniency, and every record has as many fields as the header.
func FuzzReadAsOthersDo(f *testing.F) {
	const header = "song_id,name,isrc\n"
	f.Add("s1=,a,\ns2=,b,\n")
	f.Add("s1=,\"a \"\"b\"\", c\",\r\ns2=,\"b\nc\",\n\n\"s3=\",\"\",\"\"")
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := csv.NewReader(strings.NewReader(header + text))
		records, err := r.ReadAll()
		if err != nil {
			return
		}
		want := map[string]string{}
		for _, record := range records[1:] {
			if _, ok := want[record[0]]; !ok {
				want[record[0]] = record[1]
			}
		}
		data, report, err := kkbox.ReadFS(memory(with("song_extra_info.csv", header+text)), unpacking)
		if err != nil {
			if !strings.Contains(err.Error(), "UTF-8") {
				t.Error(err)
			}
			return
		}
		if strings.Count(text, "\n") < 16 && report.Files[2].Rows != len(records)-1 { // more lines may be one record for others
			t.Errorf("%d rows, want %d", report.Files[2].Rows, len(records)-1)
		}
		for _, song := range data.Songs {
			// encoding/csv drops the carriage returns of lines in quotes.
			if name := strings.ReplaceAll(song.Name, "\r\n", "\n"); strings.Count(text, "\n") < 16 && !reflect.DeepEqual(name, want[song.ID]) {
				t.Errorf("the name of %q is %q, want %q", song.ID, name, want[song.ID])
			}
		}
	})
}
