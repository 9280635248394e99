package kkbox_test

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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
	membersText = lines(
		"msno,city,bd,gender,registered_via,registration_init_time,expiration_date",
		"ann=,13,27,female,9,20110820,20170920",
		"eve=,1,0,,4,20160326,20160329",
		"bob=,22,1051,,13,20150628,19700101",
	)
)

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

// small is a folder of the files above.
func small() map[string]string {
	return map[string]string{
		"train.csv": trainText, "test.csv": testText, "songs.csv": songsText,
		"song_extra_info.csv": extraText, "members.csv": membersText,
	}
}

// smallData is what the files above say, by hand.
func smallData() *kkbox.Dataset {
	return &kkbox.Dataset{
		Users: []kkbox.User{
			{ID: "ann=", Member: true, City: 13, Age: 27, Gender: kkbox.Female, RegisteredBy: 9, Registered: 20110820, Expires: 20170920},
			{ID: "bob=", Member: true, City: 22, RegisteredBy: 13, Registered: 20150628},
		},
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
		Tab: []uint8{1, 0, 2, 1}, Screen: []uint8{1, 0, 2, 1}, Type: []uint8{1, 0, 2, 1},
		Tabs: []string{"", "my library", "listen with"}, Screens: []string{"", "Local playlist more", "Unknown"}, Types: []string{"", "local-library", "listen-with"},
		TestRows: 3, CatalogueSize: 5,
	}
}

// memory is a folder of texts.
func memory(texts map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(1500000000, 0)}
	}
	return files
}

// unpacking reads the files in every form.
var unpacking = kkbox.ReadOptions{Unpacker: sevenzip.Unpacker{}}

func read(t *testing.T, folder fs.FS) (*kkbox.Dataset, kkbox.Report) {
	t.Helper()
	data, report, err := kkbox.ReadFS(folder, unpacking)
	if err != nil {
		t.Fatal(err)
	}
	return data, report
}

func same(t *testing.T, got, want *kkbox.Dataset) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, *want)
	}
}

func TestReadIsWhatTheFilesSay(t *testing.T) {
	data, report := read(t, memory(small()))
	same(t, data, smallData())
	// Two of four targets are 1; song s3 is missing in songs.csv, with one row.
	if report.Rows != 4 || report.Users != 2 || report.Songs != 4 || report.TrainSongs != 3 || report.TargetMean != 0.5 ||
		report.UnlistedSongs != 1 || report.UnlistedRows != 1 || report.UnknownUsers != 0 || report.Synthetic || report.Cached {
		t.Errorf("the report is %+v", report)
	}
}
