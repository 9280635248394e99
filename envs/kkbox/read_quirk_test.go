package kkbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
)

// with is the files of smallData, one of them in another text.
func with(file, text string) map[string]string {
	folder := small()
	folder[file] = text
	return folder
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
			folder := small()
			for file, s := range folder {
				folder[file] = text(s)
			}
			data, _ := read(t, memory(folder))
			same(t, data, smallData())
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
		rows string
		want kkbox.Song
		told kkbox.FileReport // of songs.csv
	}{
		"plain":                  {"s1=,5,465,a,c,l,3.0\n", listed(func(*kkbox.Song) {}), kkbox.FileReport{Rows: 1}},
		"quoted comma":           {`s1=,5,465,"a, b",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = "a, b" }), kkbox.FileReport{Rows: 1}},
		"doubled quotes":         {`s1=,5,465,"a ""b"" ""c""",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `a "b" "c"` }), kkbox.FileReport{Rows: 1}},
		"nothing quoted":         {`s1=,5,465,"",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist, s.ArtistSongs = "", 0 }), kkbox.FileReport{Rows: 1}},
		"quote within":           {`s1=,5,465,12" mix,c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `12" mix` }), kkbox.FileReport{Rows: 1}},
		"quote in quotes":        {`s1=,5,465,"the "a" of b",c,l,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `the "a" of b` }), kkbox.FileReport{Rows: 1}},
		"quote that opens":       {`s1=,5,465,"a,c,l,3.0` + "\nx,1,,y,,,3.0\n", listed(func(s *kkbox.Song) { s.Artist = `"a` }), kkbox.FileReport{Rows: 2, Stray: 1}},
		"one on another line":    {`s1=,5,465,"a,c,l,3.0` + "\n" + `x,1,,"y",,,3.0` + "\n", listed(func(s *kkbox.Song) { s.Artist = `"a` }), kkbox.FileReport{Rows: 2, Stray: 1}},
		"line end in quotes":     {"s1=,5,465,\"a\nb\",c,l,3.0\nx,1,,y,,,3.0\n", listed(func(s *kkbox.Song) { s.Artist = "a\nb" }), kkbox.FileReport{Rows: 2}},
		"blanks are kept":        {"s1=,5,465, a　,c,l,3.0\n", listed(func(s *kkbox.Song) { s.Artist = " a　" }), kkbox.FileReport{Rows: 1}},
		"all missing":            {"s1=,,,,,,\n", listed(func(s *kkbox.Song) { *s = kkbox.Song{ID: s.ID, Listed: true, Name: s.Name, ISRC: s.ISRC, Rows: 2} }), kkbox.FileReport{Rows: 1}},
		"too short":              {"s1=,5,465,a\nx,1,,y,,,3.0\n", listed(func(s *kkbox.Song) { s.Composer, s.Lyricist, s.Language, s.ComposerSongs = "", "", 0, 0 }), kkbox.FileReport{Rows: 2, Ragged: 1}},
		"too long":               {"s1=,5,465,a,c,l,3.0,more,and more\n", listed(func(*kkbox.Song) {}), kkbox.FileReport{Rows: 1, Ragged: 1}},
		"cut off":                {"s1=,5,465,a,c,l,3.0\nx,1,,a", listed(func(*kkbox.Song) {}), kkbox.FileReport{Rows: 1, Ragged: 1, CutOff: true}},
		"the first of two":       {"s1=,5,465,a,c,l,3.0\ns1=,6,1,b,d,m,17.0\n", listed(func(*kkbox.Song) {}), kkbox.FileReport{Rows: 2, Duplicates: 1}},
		"others' duplicates":     {"s1=,5,465,a,c,l,3.0\nx,6,1,b,d,m,17.0\nx,6,1,b,d,m,17.0\n", listed(func(*kkbox.Song) {}), kkbox.FileReport{Rows: 3}},
		"no numbers":             {"s1=,abc,465,a,c,l,x\n", listed(func(s *kkbox.Song) { s.Length, s.Language = 0, 0 }), kkbox.FileReport{Rows: 1, Unreadable: 2}},
		"numbers out of bounds":  {"s1=,99999999999,465,a,c,l,40000.0\n", listed(func(s *kkbox.Song) { s.Length, s.Language = 0, 0 }), kkbox.FileReport{Rows: 1, Unreadable: 2}},
		"no whole numbers":       {"s1=,5.5,465,a,c,l,NaN\n", listed(func(s *kkbox.Song) { s.Length, s.Language = 0, 0 }), kkbox.FileReport{Rows: 1, Unreadable: 2}},
		"negative length":        {"s1=,-5,465,a,c,l,3.0\n", listed(func(s *kkbox.Song) { s.Length = 0 }), kkbox.FileReport{Rows: 1, Unreadable: 1}},
		"songs of the artist":    {"x,1,,a,,,3.0\ns1=,5,465,a,c,l,3.0\ny,1,,a,,,3.0\nz,1,,A,,,3.0\n", listed(func(s *kkbox.Song) { s.ArtistSongs = 3 }), kkbox.FileReport{Rows: 4}},
		"songs of the composer":  {"s1=,5,465,a,c| d,l,3.0\nx,1,,b,c、e,,3.0\ny,1,,b,c/f,,3.0\nz,1,,b, c ;g,,3.0\nw,1,,b,d|c,,3.0\n", listed(func(s *kkbox.Song) { s.Composer, s.ComposerSongs = "c| d", 4 }), kkbox.FileReport{Rows: 5}},
		"no name but separators": {"s1=,5,465,a,| /、;,l,3.0\n", listed(func(s *kkbox.Song) { s.Composer, s.ComposerSongs = "| /、;", 0 }), kkbox.FileReport{Rows: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			data, report := read(t, memory(with("songs.csv", header+c.rows)))
			if got := data.Songs[0]; got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			c.told.Name, c.told.Path = "songs.csv", "songs.csv"
			if got := report.Files[1].Counts(); got != c.told {
				t.Errorf("the report is %+v\nwant %+v", got, c.told)
			}
		})
	}
}

func TestReadExtra(t *testing.T) {
	for row, want := range map[string]struct {
		name, isrc string
		unreadable int
	}{
		"s1=,None,TWUM71200043":   {"None", "TWUM71200043", 0}, // a title, not a missing one
		"s1=,null,TWUM712":        {"null", "TWUM712", 0},      // as much as is used
		"s1=,愛,TWUM71":            {"愛", "", 1},
		"s1=,愛,TWUM7AB00043":      {"愛", "", 1},
		"s1=,愛,":                  {"愛", "", 0},
		"s1=,,":                   {"", "", 0},
		`s1=,"a ""b"", c",`:       {`a "b", c`, "", 0},
		"s1=,愛,TWUM71200043\ns1=": {"愛", "TWUM71200043", 0},
	} {
		data, report := read(t, memory(with("song_extra_info.csv", "song_id,name,isrc\n"+row+"\n")))
		if s := data.Songs[0]; s.Name != want.name || s.ISRC != want.isrc || report.Files[2].Unreadable != want.unreadable {
			t.Errorf("%s: got name %q, isrc %q and %d unreadable, want %+v", row, s.Name, s.ISRC, report.Files[2].Unreadable, want)
		}
	}
}

func TestReadMembers(t *testing.T) {
	ann := func(change func(*kkbox.User)) kkbox.User {
		u := kkbox.User{ID: "ann=", Member: true, City: 13, Age: 27, Gender: kkbox.Female, RegisteredBy: 9, Registered: 20110820, Expires: 20170920}
		change(&u)
		return u
	}
	for row, want := range map[string]struct {
		user       kkbox.User
		unreadable int
	}{
		"ann=,13,27,female,9,20110820,20170920":         {ann(func(u *kkbox.User) {}), 0},
		"ann=,13,0,female,9,20110820,20170920":          {ann(func(u *kkbox.User) { u.Age = 0 }), 0},
		"ann=,13,1,female,9,20110820,20170920":          {ann(func(u *kkbox.User) { u.Age = 1 }), 0},
		"ann=,13,99,male,9,20110820,20170920":           {ann(func(u *kkbox.User) { u.Age, u.Gender = 99, kkbox.Male }), 0},
		"ann=,13,100,female,9,20110820,20170920":        {ann(func(u *kkbox.User) { u.Age = 0 }), 0},
		"ann=,13,-43,female,9,20110820,20170920":        {ann(func(u *kkbox.User) { u.Age = 0 }), 0},
		"ann=,13,1051,,9,20110820,20170920":             {ann(func(u *kkbox.User) { u.Age, u.Gender = 0, kkbox.GenderUnknown }), 0},
		"ann=,13.0,27.0,female,9.0,20110820,20170920.0": {ann(func(u *kkbox.User) {}), 0},
		"ann=,,,,,,":                                {kkbox.User{ID: "ann=", Member: true}, 0},
		"ann=,13,27,female,9,19700101,19700101":     {ann(func(u *kkbox.User) { u.Registered, u.Expires = 0, 0 }), 0},
		"ann=,13,27,female,9,20160229,20170229":     {ann(func(u *kkbox.User) { u.Registered, u.Expires = 20160229, 0 }), 1}, // 2016 has the day
		"ann=,13,27,female,9,20161301,201":          {ann(func(u *kkbox.User) { u.Registered, u.Expires = 0, 0 }), 2},
		"ann=,13,27,female,9,2011/08/20,2017-09-20": {ann(func(u *kkbox.User) { u.Registered, u.Expires = 0, 0 }), 2},
		"ann=,256,x,other,-1,20110820,20170920": {ann(func(u *kkbox.User) {
			u.City, u.Age, u.Gender, u.RegisteredBy = 0, 0, kkbox.GenderUnknown, 0
		}), 4},
	} {
		data, report := read(t, memory(with("members.csv", lines("msno,city,bd,gender,registered_via,registration_init_time,expiration_date", row))))
		if data.Users[0] != want.user || report.Files[3].Unreadable != want.unreadable {
			t.Errorf("%s: got %+v and %d unreadable, want %+v", row, data.Users[0], report.Files[3].Unreadable, want)
		}
		if (data.Users[1] != kkbox.User{ID: "bob="}) || report.UnknownUsers != 1 {
			t.Errorf("%s: bob is %+v and %d users are unknown, want nothing known of one", row, data.Users[1], report.UnknownUsers)
		}
	}
}

// Of two rows of a user and a song, the first counts, and its probability.
func TestReadLeavesDuplicatesOut(t *testing.T) {
	folder := with("train.csv", lines(
		"msno,song_id,source_system_tab,source_screen_name,source_type,target",
		"ann=,s1=,my library,Local playlist more,local-library,1",
		"ann=,s1=,search,Search,song,0",
		"bob=,s1=,my library,Search,song,0",
		"ann=,s2=,,,,1",
		"ann=,s1=,,,,0",
	))
	delete(folder, "test.csv")
	folder["truth.csv"] = lines("probability", "0.5", "0.25", "0.75", "1", "0")
	data, report := read(t, memory(folder))
	for name, c := range map[string]struct{ got, want any }{
		"User": {data.User, []int32{0, 1, 0}}, "Song": {data.Song, []int32{0, 0, 1}}, "Target": {data.Target, []uint8{1, 0, 1}},
		"Tab": {data.Tab, []uint8{1, 1, 0}}, "Screen": {data.Screen, []uint8{1, 2, 0}}, "Type": {data.Type, []uint8{1, 2, 0}},
		"Probability": {data.Probability, []float32{0.5, 0.75, 1}}, "song rows": {data.Songs[0].Rows, int32(2)},
		"rows": {report.Rows, 3}, "rows read": {report.Files[0].Rows, 5}, "duplicates": {report.Files[0].Duplicates, 2},
	} {
		if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	replaced := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("nothing to replace: %q", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	many := []string{"msno,song_id,source_system_tab,source_screen_name,source_type,target"}
	for i := range 256 {
		many = append(many, fmt.Sprintf("ann=,%d,,screen %d,,1", i, i))
	}
	const song = `s2=,10851706,,Various Artists,"Skot Suyama陶山/""蔡詩蕓 Dominique Tsai""",,-1.0`
	beforeSong, _, _ := strings.Cut(songsText, song)
	for name, c := range map[string]struct {
		file, text string
		line       int64
		column     string
		says       string
	}{
		"empty file":         {"train.csv", "", 0, "", "is empty"},
		"empty lines":        {"train.csv", "\n\r\n", 0, "", "is empty"},
		"no rows":            {"train.csv", "msno,song_id,source_system_tab,source_screen_name,source_type,target\n", 0, "", "has no rows"},
		"one row, cut off":   {"train.csv", "msno,song_id,source_system_tab,source_screen_name,source_type,target\nann=,s1=,my", 0, "", "has no rows"},
		"no header":          {"train.csv", strings.SplitAfterN(trainText, "\n", 2)[1], 1, "msno", `is missing in the header, which is "ann=,s1=,`},
		"missing column":     {"songs.csv", replaced(songsText, "lyricist", "writer"), 1, "lyricist", "is missing"},
		"other separator":    {"members.csv", strings.ReplaceAll(membersText, ",", ";"), 1, "msno", `"msno;city;bd`},
		"test, no song":      {"test.csv", replaced(testText, "song_id", "song"), 1, "song_id", "is missing"},
		"target 2":           {"train.csv", replaced(trainText, "listen-with,0", "listen-with,2"), 4, "target", `is "2", want 0 or 1`},
		"target missing":     {"train.csv", replaced(trainText, "listen-with,0", "listen-with,"), 4, "target", `is "", want 0 or 1`},
		"target a word":      {"train.csv", replaced(trainText, "listen-with,0", "listen-with,yes"), 4, "target", `is "yes"`},
		"target with blank":  {"train.csv", replaced(trainText, "listen-with,0", "listen-with, 0"), 4, "target", `is " 0"`},
		"target a fraction":  {"train.csv", replaced(trainText, "listen-with,0", "listen-with,0.5"), 4, "target", `is "0.5"`},
		"no user":            {"train.csv", replaced(trainText, "bob=", ""), 3, "msno", `is "", want an id`},
		"no song":            {"train.csv", replaced(trainText, "s3=", ""), 4, "song_id", `is "", want an id`},
		"no song in test":    {"test.csv", replaced(testText, "s4=", ""), 3, "song_id", `is "", want an id`},
		"short row":          {"train.csv", replaced(trainText, ",s2=,null,,,0", ",s2="), 3, "", "has 2 fields, want 6"},
		"short row in test":  {"test.csv", replaced(testText, "1,cat=,s4=,search,People global,song", "1,cat=,s4="), 3, "", "has 3 fields, want 6"},
		"values of a source": {"train.csv", lines(many...), 257, "source_screen_name", `"screen 255" is value 257, want at most 256`},
		"Big5":               {"songs.csv", replaced(songsText, "董貞| 何啟弘", "\xb8\xb3\xaf\x75"), 2, "composer", `is "\xb8\xb3\xafu", which is not UTF-8`},
		"Latin-1 header":     {"members.csv", replaced(membersText, "city", "st\xe4dt"), 1, "2", "is not UTF-8"},
		"not in a column":    {"songs.csv", replaced(songsText, "3.0\nu1=", "3.0,\xff\nu1="), 2, "8", "which is not UTF-8"},
		"UTF-16 LE":          {"train.csv", "\xff\xfem\x00s\x00n\x00o\x00", 1, "", "is UTF-16"},
		"UTF-16 BE":          {"train.csv", "\xfe\xff\x00m\x00s\x00n\x00o", 1, "", "is UTF-16"},
		"long line":          {"songs.csv", songsText + strings.Repeat("x", 3<<20), 7, "", "is longer than 1048576 bytes"},
		"long in quotes":     {"songs.csv", songsText + `x,1,,"` + strings.Repeat("x", 3<<20), 7, "", "is longer than 1048576 bytes"},
		"cut off in quotes":  {"songs.csv", beforeSong + `s2=,10851706,,Various Artists,"Skot Suyama`, 4, "composer", "within a quoted field"},
		"cut off, two lines": {"songs.csv", beforeSong + "s2=,10851706,,\"Various\nArtists", 4, "artist_name", "within a quoted field"},
		"cut off, last":      {"song_extra_info.csv", extraText + `s4=,x,"TWUM7`, 6, "isrc", "within a quoted field"},
		"few truths":         {"truth.csv", lines("probability", "1", "0", "1"), 0, "", "has 3 rows, want one for each of the 4 of train.csv"},
		"many truths":        {"truth.csv", lines("probability", "1", "0", "1", "1", "0"), 0, "", "has 5 rows"},
		"no probability":     {"truth.csv", lines("probability", "1", "0", "1.5", "1"), 4, "probability", `is "1.5", want a probability`},
		"NaN":                {"truth.csv", lines("probability", "1", "0", "1", "NaN"), 5, "probability", `is "NaN"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := kkbox.ReadFS(memory(with(c.file, c.text)), kkbox.ReadOptions{})
			var where *kkbox.FileError
			if !errors.As(err, &where) {
				t.Fatalf("got %v, want a FileError", err)
			}
			if where.File != c.file || where.Line != c.line || where.Column != c.column || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %q\nwant it to be of %s, line %d, column %q and to say %q", err, c.file, c.line, c.column, c.says)
			}
			if c.line > 0 && !strings.Contains(err.Error(), fmt.Sprintf("%s: line %d", c.file, c.line)) {
				t.Errorf("%q does not name the line", err)
			}
		})
	}
}

// Wherever a file is cut, the reader tells: by an error, by a warning, or by
// what is missing; unless only the last line end is gone, or digits after it.
func TestReadFilesThatAreCutOff(t *testing.T) {
	for file, text := range small() {
		whole, _ := read(t, memory(small()))
		rows := strings.Count(text, "\n") - 1
		for n := range len(text) {
			data, report, err := kkbox.ReadFS(memory(with(file, text[:n])), kkbox.ReadOptions{})
			if err != nil {
				var where *kkbox.FileError
				if !errors.As(err, &where) || where.File != file {
					t.Fatalf("%s, %d of %d bytes: %v", file, n, len(text), err)
				}
				continue
			}
			for _, f := range report.Files {
				if f.Name == file && f.Rows == rows && strings.Count(text[n:], ",") > 0 {
					t.Errorf("%s, %d of %d bytes: %d rows and neither a warning nor an error", file, n, len(text), rows)
				}
				if f.Name == file && f.CutOff != strings.Contains(strings.Join(report.Warnings, "\n"), "ends within a row") {
					t.Errorf("%s, %d of %d bytes: cut off is %v, the warnings are %q", file, n, len(text), f.CutOff, report.Warnings)
				}
			}
			if len(data.User) > len(whole.User) {
				t.Errorf("%s, %d of %d bytes: more rows than in the whole file", file, n, len(text))
			}
		}
	}
}

// The first error in the order of the files is told, whichever was found first.
func TestReadTellsTheSameErrorAlways(t *testing.T) {
	folder := with("train.csv", strings.Replace(trainText, "local-library,1", "local-library,x", 2))
	folder["test.csv"] = "id\n"
	folder["members.csv"] = ""
	for range 20 {
		_, _, err := kkbox.ReadFS(memory(folder), kkbox.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), "train.csv: line 2: column target") {
			t.Fatalf("got %v, want the error of train.csv", err)
		}
	}
}
