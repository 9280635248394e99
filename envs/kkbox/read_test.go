package kkbox_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/kkbox/sevenzip"
)

// The files of two users and four songs, one of which test.csv alone has and
// one of which is not in songs.csv.
var (
	trainText = lines(
		"msno,song_id,source_system_tab,source_screen_name,source_type,target",
		"ann=,s1=,my library,Local playlist more,local-library,1",
		"bob=,s2=,null,,,0",
		"ann=,s3=,listen with,Unknown,listen-with,0",
		"bob=,s1=,my library,Local playlist more,local-library,1",
	)
	testText = lines(
		"id,msno,song_id,source_system_tab,source_screen_name,source_type",
		"0,ann=,s2=,my library,Local playlist more,local-library",
		"1,cat=,s4=,search,People global,song",
		"2,cat=,s2=,search,People local,song",
	)
	songsText = lines(
		"song_id,song_length,genre_ids,artist_name,composer,lyricist,language",
		"s1=,247640,465|458,張信哲 (Jeff Chang),董貞| 何啟弘,何啟弘,3.0",
		"u1=,1000,465,張信哲 (Jeff Chang),董貞,,3.0",
		`s2=,10851706,,Various Artists,"Skot Suyama陶山/""蔡詩蕓 Dominique Tsai""",,-1.0`,
		"u2=,1393,139,Nobody,,,",
		"s4=,197328,2022,TEDDY|  FUTURE BOUNCE|  Bekuh BOOM,　Skot Suyama陶山 / x,,52.0",
	)
	extraText = lines(
		"song_id,name,isrc",
		"s1=,愛,TWUM71200043",
		"u1=,None,TWUM71200044",
		"s2=,NA,",
		"s3=,Heroes,GBAYE7500234",
	)
)

// small is a folder of the files above.
func small() map[string]string {
	return map[string]string{"train.csv": trainText, "test.csv": testText, "songs.csv": songsText, "song_extra_info.csv": extraText}
}

// with is those files, one of them with another text.
func with(file, text string) map[string]string {
	files := small()
	files[file] = text
	return files
}

// smallData is what the files above say, by hand.
func smallData() *kkbox.Dataset {
	return &kkbox.Dataset{
		Users: []string{"ann=", "bob="},
		Songs: []kkbox.Song{
			{ID: "s1=", Listed: true, Length: 247640, Genres: "465|458", Artist: "張信哲 (Jeff Chang)", Composer: "董貞| 何啟弘", Lyricist: "何啟弘", Language: 3,
				Name: "愛", ISRC: "TWUM71200043", Rows: 2, ArtistSongs: 2, ComposerSongs: 2},
			{ID: "s2=", Listed: true, Length: 10851706, Artist: "Various Artists", Composer: `Skot Suyama陶山/"蔡詩蕓 Dominique Tsai"`, Language: -1,
				Name: "NA", Rows: 3, ArtistSongs: 1, ComposerSongs: 2},
			{ID: "s3=", Name: "Heroes", ISRC: "GBAYE7500234", Rows: 1},
			{ID: "s4=", Listed: true, Length: 197328, Genres: "2022", Artist: "TEDDY|  FUTURE BOUNCE|  Bekuh BOOM", Composer: "　Skot Suyama陶山 / x", Language: 52,
				Rows: 1, ArtistSongs: 1, ComposerSongs: 2},
		},
		User: []int32{0, 1, 0, 1}, Song: []int32{0, 1, 2, 0}, Target: []uint8{1, 0, 0, 1},
		Type: []uint8{1, 0, 2, 1}, Types: []string{"", "local-library", "listen-with"},
	}
}

func read(t *testing.T, folder string) *kkbox.Dataset {
	t.Helper()
	data, err := kkbox.Read(folder, sevenzip.Unpacker{})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// same fails unless the data is smallData, whatever the notes.
func same(t *testing.T, got *kkbox.Dataset) {
	t.Helper()
	want := smallData()
	want.Notes = got.Notes
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, *want)
	}
}

// swapped is a file with its first two columns exchanged, and one more at the
// end.
func swapped(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ",", 3)
		fmt.Fprintf(&b, "%s,%s,%s,more\n", fields[1], fields[0], fields[2])
	}
	return b.String()
}

// Other copies of the same files say the same.
func TestReadIsTheSameForOtherCopies(t *testing.T) {
	for name, text := range map[string]func(string) string{
		"CRLF":                   func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"byte order mark":        func(s string) string { return "\ufeff" + s },
		"no last line end":       func(s string) string { return strings.TrimSuffix(s, "\n") },
		"empty lines":            func(s string) string { return strings.ReplaceAll(s, "\n", "\n\n\r\n") },
		"other order of columns": swapped,
		"blanks in the header":   func(s string) string { return strings.Replace(strings.Replace(s, ",", " , ", 1), "\n", " \n", 1) },
		"all quoted": func(s string) string {
			var b strings.Builder
			for line := range strings.Lines(s) {
				if strings.Contains(line, `"`) {
					b.WriteString(line)
				} else {
					b.WriteString(`"` + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), ",", `","`) + `"` + "\n")
				}
			}
			return b.String()
		},
		"numbers without fraction": func(s string) string { return strings.ReplaceAll(s, ".0\n", "\n") },
		"numbers with exponent":    func(s string) string { return strings.ReplaceAll(s, ",10851706,", ",1.0851706E+07,") },
		"targets as floats": func(s string) string {
			if !strings.HasPrefix(s, "msno,song_id") {
				return s
			}
			return strings.ReplaceAll(strings.ReplaceAll(s, ",1\n", ",1.0\n"), ",0\n", ",0.0\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := small()
			for file, s := range files {
				files[file] = text(s)
			}
			data := read(t, folder(t, files))
			same(t, data)
		})
	}
}

func TestReadSongs(t *testing.T) {
	const header = "song_id,song_length,genre_ids,artist_name,composer,lyricist,language\n"
	listed := func(change func(*kkbox.Song)) kkbox.Song {
		s := kkbox.Song{ID: "s1=", Listed: true, Length: 5, Genres: "465", Artist: "a", Composer: "c", Lyricist: "l", Language: 3,
			Name: "愛", ISRC: "TWUM71200043", Rows: 2, ArtistSongs: 1, ComposerSongs: 1}
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		rows  string
		want  kkbox.Song
		notes []string // on songs.csv, beside its rows
	}{
		"plain":                 {"s1=,5,465,a,c,l,3.0\n", listed(func(*kkbox.Song) {}), nil},
		"quoted comma":          {`s1=,5,465,"a, b",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = "a, b" }), nil},
		"doubled quotes":        {`s1=,5,465,"a ""b"" ""c""",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `a "b" "c"` }), nil},
		"nothing quoted":        {`s1=,5,465,"",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist, s.ArtistSongs = "", 0 }), nil},
		"quote within":          {`s1=,5,465,12" mix,c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `12" mix` }), nil},
		"quote in quotes":       {`s1=,5,465,"the "a" of b",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `the "a" of b` }), nil},
		"quote that opens":      {`s1=,5,465,"a,c,l,3.0` + "\nx,1,,y,,,3.0\n", listed(func(s *kkbox.Song) { s.Artist = `"a` }), nil},
		"one on another line":   {`s1=,5,465,"a,c,l,3.0` + "\n" + `x,1,,"y",,,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `"a` }), nil},
		"line end in quotes":    {"s1=,5,465,\"a\nb\",c,l,3.0\nx,1,,y,,,3.0\n", listed(func(s *kkbox.Song) { s.Artist = "a\nb" }), nil},
		"blanks are kept":       {"s1=,5,465, a　,c,l,3.0\n", listed(func(s *kkbox.Song) { s.Artist = " a　" }), nil},
		"all missing":           {"s1=,,,,,,\n", listed(func(s *kkbox.Song) { *s = kkbox.Song{ID: s.ID, Listed: true, Name: s.Name, ISRC: s.ISRC, Rows: 2} }), nil},
		"too short":             {"s1=,5,465,a\nx,1,,y,,,3.0\n", listed(func(s *kkbox.Song) { s.Composer, s.Lyricist, s.Language, s.ComposerSongs = "", "", 0, 0 }), []string{"1 records have another"}},
		"too long":              {"s1=,5,465,a,c,l,3.0,more,and more\n", listed(func(*kkbox.Song) {}), []string{"1 records have another"}},
		"cut off":               {"s1=,5,465,a,c,l,3.0\nx,1,,a", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off after a field": {"s1=,5,465,a,c,l,3.0\nx,1,,a,b,c,", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off at a line end": {"s1=,5,465,a,c,l,3.0\nx,1,,a\n", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off in quotes":     {"s1=,5,465,a,c,l,3.0\nx,1,,\"a, b", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off in the last":   {"s1=,5,465,a,c,l,3.0\nx,1,,a,b,c,\"3.", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off in a letter":   {"s1=,5,465,a,c,l,3.0\nx,1,,a,b,c\xe6\x84", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off, two lines":    {"s1=,5,465,a,c,l,3.0\nx,1,,\"a\n", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off, many commas":  {"s1=,5,465,a,c,l,3.0\nx,1,,\"a, b, c, d, e", listed(func(*kkbox.Song) {}), []string{"line 3, is incomplete"}},
		"cut off, second line":  {"s1=,5,465,a,c,l,3.0\nx,1,,\"a\nb", listed(func(*kkbox.Song) {}), []string{"line 4, is incomplete", "1 records have another"}},
		"one before the last": {"s1=,5,465,\"a\nx,1,,y,,,3.0\n", listed(func(s *kkbox.Song) {
			s.Artist, s.Composer, s.Lyricist, s.Language, s.ComposerSongs = "\"a", "", "", 0, 0
		}), []string{"1 records have another"}},
		"blanks":                 {strings.Repeat(" , ,\n\t\n,,,,,,\n", 3000) + "s1=,5,465,a,c,l,3.0\n,,,,,,", listed(func(*kkbox.Song) {}), []string{"9001 records without any value"}},
		"the first of two":       {"s1=,5,465,a,c,l,3.0\ns1=,6,1,b,d,m,17.0\n", listed(func(*kkbox.Song) {}), nil},
		"others' duplicates":     {"s1=,5,465,a,c,l,3.0\nx,6,1,b,d,m,17.0\nx,6,1,b,d,m,17.0\n", listed(func(*kkbox.Song) {}), nil},
		"no numbers":             {"s1=,abc,465,a,c,l,x\n", listed(func(s *kkbox.Song) { s.Length, s.Language = 0, 0 }), []string{"2 values cannot"}},
		"numbers out of bounds":  {"s1=,99999999999,465,a,c,l,40000.0\n", listed(func(s *kkbox.Song) { s.Length, s.Language = 0, 0 }), []string{"2 values cannot"}},
		"no whole numbers":       {"s1=,5.5,465,a,c,l,NaN\n", listed(func(s *kkbox.Song) { s.Length, s.Language = 0, 0 }), []string{"2 values cannot"}},
		"negative length":        {"s1=,-5,465,a,c,l,3.0\n", listed(func(s *kkbox.Song) { s.Length = 0 }), []string{"1 values cannot"}},
		"songs of the artist":    {"x,1,,a,,,3.0\ns1=,5,465,a,c,l,3.0\ny,1,,a,,,3.0\nz,1,,A,,,3.0\n", listed(func(s *kkbox.Song) { s.ArtistSongs = 3 }), nil},
		"songs of the composer":  {"s1=,5,465,a,c| d,l,3.0\nx,1,,b,c、e,,3.0\ny,1,,b,c/f,,3.0\nz,1,,b, c ;g,,3.0\nw,1,,b,d|c,,3.0\n", listed(func(s *kkbox.Song) { s.Composer, s.ComposerSongs = "c| d", 4 }), nil},
		"no name but separators": {"s1=,5,465,a,| /、;,l,3.0\n", listed(func(s *kkbox.Song) { s.Composer, s.ComposerSongs = "| /、;", 0 }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			data := read(t, folder(t, with("songs.csv", header+c.rows)))
			if got := data.Songs[0]; got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			var notes []string
			for _, note := range data.Notes {
				if strings.HasPrefix(note, "songs.csv: warning") {
					notes = append(notes, note)
				}
			}
			if !slices.EqualFunc(notes, c.notes, strings.Contains) {
				t.Errorf("notes are %q, want %q", notes, c.notes)
			}
		})
	}
}

func TestReadExtra(t *testing.T) {
	for row, want := range map[string][2]string{
		"s1=,None,TWUM71200043":   {"None", "TWUM71200043"}, // a title, not a missing one
		"s1=,null,TWUM712":        {"null", "TWUM712"},      // as much as is used
		"s1=,愛,TWUM71":            {"愛", ""},
		"s1=,愛,TWUM7AB00043":      {"愛", ""},
		"s1=,愛,":                  {"愛", ""},
		`s1=,"a ""b"", c",`:       {`a "b", c`, ""},
		"s1=,愛,TWUM71200043\ns1=": {"愛", "TWUM71200043"},
	} {
		data := read(t, folder(t, with("song_extra_info.csv", "song_id,name,isrc\n"+row+"\n")))
		if s := data.Songs[0]; s.Name != want[0] || s.ISRC != want[1] {
			t.Errorf("%s: got name %q and isrc %q, want %q", row, s.Name, s.ISRC, want)
		}
	}
}

// Rows without any value and a last one that is cut off are left out, and noted.
func TestReadTrain(t *testing.T) {
	data := read(t, folder(t, with("train.csv", strings.Replace(trainText, "bob=,s2=", ",,,,,\nbob=,s2=", 1)+"ann=,s4=,radio,Radio,ra")))
	same(t, data)
	for _, want := range []string{"mean of the target is 0.5000", "train.csv: 4 rows, where the data of the challenge has 7377418", "1 records without any value", "line 7, is incomplete", "1 rows have a song that songs.csv does not have"} {
		if !strings.Contains(strings.Join(data.Notes, "\n"), want) {
			t.Errorf("no note says %q: %q", want, data.Notes)
		}
	}
	files := small()
	delete(files, "test.csv")
	// s4 is of test.csv alone, and s2 has one row in train.csv.
	if data := read(t, folder(t, files)); len(data.Songs) != 3 || data.Songs[1].Rows != 1 {
		t.Errorf("without test.csv there are %d songs, and %d rows of s2, want 3 and 1", len(data.Songs), data.Songs[1].Rows)
	}
}

func TestReadRefuses(t *testing.T) {
	replaced := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("nothing to replace: %q", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	many := "msno,song_id,source_type,target\n"
	for i := range 256 {
		many += fmt.Sprintf("ann=,%d,type %d,1\n", i, i)
	}
	for name, c := range map[string]struct{ file, text, says string }{
		"empty file":      {"train.csv", "", "train.csv: line 1: column msno: is missing in the header, which is []"},
		"no rows":         {"train.csv", replaced(trainText, trainText[strings.Index(trainText, "\n")+1:], ""), "train.csv: line 2: has no rows"},
		"no header":       {"train.csv", strings.SplitAfterN(trainText, "\n", 2)[1], "line 1: column msno: is missing in the header"},
		"missing column":  {"songs.csv", replaced(songsText, "lyricist", "writer"), "songs.csv: line 1: column lyricist: is missing"},
		"test, no song":   {"test.csv", replaced(testText, "song_id", "song"), "test.csv: line 1: column song_id"},
		"target 2":        {"train.csv", replaced(trainText, "listen-with,0", "listen-with,2"), `line 4: column target: is "2", want 0 or 1`},
		"target missing":  {"train.csv", replaced(trainText, "listen-with,0", "listen-with,"), `line 4: column target: is ""`},
		"target half":     {"train.csv", replaced(trainText, "listen-with,0", "listen-with,0.5"), `line 4: column target: is "0.5"`},
		"no user":         {"train.csv", replaced(trainText, "bob=", ""), `line 3: msno is ""`},
		"too many types":  {"train.csv", many, `line 257: column source_type: is "type 255"`},
		"Big5":            {"songs.csv", replaced(songsText, "董貞| 何啟弘", "\xb8\xb3\xaf\x75"), "songs.csv: line 2: "},
		"UTF-16":          {"train.csv", "\xff\xfem\x00s\x00", "is not UTF-8: convert it"},
		"UTF-16, no mark": {"songs.csv", "\x00s\x00o\x00", "column song_length: is missing"},
		"too deep":        {"old/files/songs.csv", "", "songs.csv: file does not exist"},
	} {
		files := with(c.file, c.text)
		if strings.Contains(c.file, "/") {
			delete(files, "songs.csv")
		}
		if _, err := kkbox.Read(folder(t, files), nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.says)
		}
	}
}

// Whatever the files say, they are data whose parts agree, or an error that names a file.
func FuzzRead(f *testing.F) {
	f.Add(trainText, songsText, extraText)
	f.Add("\ufeff"+trainText+",,,,,\nx,\"y", songsText+"\"x\n", strings.ReplaceAll(extraText, "\n", "\r\n"))
	f.Fuzz(func(t *testing.T, train, songs, extra string) {
		files := map[string]string{"train.csv": train, "songs.csv": songs, "song_extra_info.csv": extra}
		data, err := kkbox.Read(folder(t, files), nil)
		if err != nil {
			if data != nil || !strings.Contains(err.Error(), ".csv: ") {
				t.Errorf("%q: %v", files, err)
			}
			return
		}
		for i, x := range kkbox.Encode(data) {
			if x-x != 0 {
				t.Errorf("%q: feature %d of song %d is %v", files, i%kkbox.NumFields, i/kkbox.NumFields, x)
			}
		}
	})
}

func archives(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name := range small() {
		b, err := os.ReadFile(filepath.Join("testdata", "small", name+".7z"))
		if err != nil {
			t.Fatal(err)
		}
		all[name+".7z"] = string(b)
	}
	return all
}

func zipped(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create("kkbox/" + name)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The files may be there in any form, and are the same.
func TestReadForms(t *testing.T) {
	inFolders := map[string]string{}
	for name, text := range small() {
		inFolders[name+"/"+name] = text
	}
	mixed := archives(t)
	mixed["rest.zip"], mixed["train.csv"] = zipped(t, map[string]string{"songs.csv": songsText}), trainText
	delete(mixed, "train.csv.7z")
	delete(mixed, "songs.csv.7z")
	for name, files := range map[string]map[string]string{
		"plain": small(), "folders": inFolders, "7z": archives(t), "zip": {"all.zip": zipped(t, small())}, "zip of 7z": {"all.zip": zipped(t, archives(t))}, "mixed": mixed,
	} {
		t.Run(name, func(t *testing.T) { same(t, read(t, folder(t, files))) })
	}
	if _, err := kkbox.Read(folder(t, archives(t)), nil); err == nil || !strings.Contains(err.Error(), "there is no Unpacker") {
		t.Errorf("archives without an Unpacker: %v", err)
	}
	for name, damage := range map[string]func(string) string{
		"cut off": func(s string) string { return s[:len(s)/2] },
		"changed": func(s string) string { return s[:60] + string(s[60]^1) + s[61:] },
	} {
		files := archives(t)
		files["songs.csv.7z"] = damage(files["songs.csv.7z"])
		if _, err := kkbox.Read(folder(t, files), sevenzip.Unpacker{}); err == nil || !strings.Contains(err.Error(), "songs.csv.7z") {
			t.Errorf("an archive that is %s: error %v", name, err)
		}
	}
}

// What was read is kept, and read again when a file has changed or the cache is
// damaged.
func TestCache(t *testing.T) {
	dir := folder(t, archives(t))
	first := read(t, dir)
	cached, err := kkbox.Read(dir, nil) // no Unpacker is needed
	if err != nil || !reflect.DeepEqual(cached, first) {
		t.Fatalf("from the cache: %v, %+v, want %+v", err, cached, first)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(small())+1 {
		t.Errorf("the folder holds %v, want the files and the cache", entries)
	}
	name := filepath.Join(dir, "contextrec.cache")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []int{0, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(name, whole[:part], 0o666); err != nil {
			t.Fatal(err)
		}
		same(t, read(t, dir))
	}
	if err := os.WriteFile(filepath.Join(dir, "train.csv"), []byte(strings.ReplaceAll(trainText, ",1\n", ",0\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	if data := read(t, dir); data.Target[0] != 0 {
		t.Error("a changed file is read from the cache")
	}
}

// A source is opened once, and after an error again.
func TestOpen(t *testing.T) {
	files := small()
	delete(files, "train.csv")
	source := kkbox.Source{Folder: folder(t, files)}
	if _, err := source.Open(); err == nil || !strings.Contains(err.Error(), "train.csv") {
		t.Fatalf("without train.csv: %v", err)
	}
	name := filepath.Join(source.Folder, "train.csv")
	if err := os.WriteFile(name, []byte(trainText), 0o666); err != nil {
		t.Fatal(err)
	}
	first := open(t, source)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if again := open(t, source); again != first {
		t.Error("the data was read again")
	}
}
