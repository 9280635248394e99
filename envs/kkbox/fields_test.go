package kkbox_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
)

// library is a hand-made data set: four songs.
func library() *kkbox.Dataset {
	return &kkbox.Dataset{
		Users: []string{"ann="},
		Songs: []kkbox.Song{
			{
				ID: "full", Listed: true, Length: 200_000, Genres: "465|9999|921",
				Artist: "張信哲 (Jeff Chang) feat. A Mei", Composer: "jeff  CHANG|李宗盛", Lyricist: "李宗盛", Language: 3,
				Name: "愛如潮水 (Live)", ISRC: "TWA531299999", Rows: 6, ArtistSongs: 7, ComposerSongs: 3,
			},
			{
				ID: "other", Listed: true, Length: 1_000, Genres: "465",
				Artist: "Various Artists", Composer: "李宗盛", Language: 24,
				Name: "Olive", ISRC: "FRXYZ8812345", Rows: 2, ArtistSongs: 1, ComposerSongs: 1,
			},
			{ID: "unlisted", Rows: 1},
			{
				ID: "odd", Listed: true, Length: 20_000_000, Genres: "1|2|3|4|5|6|7|8|9|10",
				Artist: "X Japan & y x z", Composer: " | ", Language: 99,
				Name: "#1 hit featuring 9", ISRC: "USXX", Rows: 1, ArtistSongs: 1,
			},
		},
		User: []int32{0, 0, 0}, Song: []int32{0, 1, 0}, Target: []uint8{1, 0, 0},
	}
}

// Columns are 94, named and documented.
func TestColumns(t *testing.T) {
	columns := kkbox.Columns()
	if len(columns) != kkbox.NumFields {
		t.Fatalf("%d columns, want %d", len(columns), kkbox.NumFields)
	}
	seen := map[string]bool{}
	for i, c := range columns {
		if c.Name == "" || c.Doc == "" || seen[c.Name] {
			t.Errorf("column %d is %q, %q: no name, no text, or a name that another has", i, c.Name, c.Doc)
		}
		seen[c.Name] = true
	}
}

// z standardises log1p of a count over songs by their rows: a column's values
// and the rows of the songs that have it, of which the first is returned.
func z(of int, counts, rows []float64) float64 {
	var n, mean, variance float64
	for i, c := range counts {
		n += rows[i]
		mean += rows[i] * math.Log1p(c)
	}
	mean /= n
	for i, c := range counts {
		variance += rows[i] * math.Pow(math.Log1p(c)-mean, 2) / n
	}
	return (math.Log1p(counts[of]) - mean) / math.Sqrt(variance)
}

// Every column of a song of which each is worked out by hand. Columns that are
// not named are 0.
func TestEncode(t *testing.T) {
	f := kkbox.Encode(library())
	byName := func(song int) map[string]float64 {
		x := map[string]float64{}
		for i, c := range kkbox.Columns() {
			if v := f.Song(song)[i]; v != 0 {
				x[c.Name] = float64(v)
			}
		}
		return x
	}
	ln := math.Log1p
	for song, want := range []map[string]float64{
		{
			// ln 200,000 = 12.206073, (12.206073-12.383)/0.2357 = -0.750646.
			"len_z": -0.750646, "n_genre": 1, "n_artist": ln(2), "is_featured": 1,
			"n_composer": ln(2), "n_lyricist": ln(1),
			"artist_is_composer": 1, "composer_is_lyricist": 1,
			"year_z": 2.0 / 8, "title_ascii": 4.0 / 8, "title_version": 1,
			// Rows of song, artist, composer and genre 465: 6, 6, 6, 8. The other
			// song with counts of all has 2, 2, 2, 8; the third and the fourth
			// have no composer; the fourth, with 1 row, an artist and a genre.
			"pop_song":     z(0, []float64{6, 2, 1, 1}, []float64{6, 2, 1, 1}),
			"pop_artist":   z(0, []float64{6, 2, 1}, []float64{6, 2, 1}),
			"pop_composer": z(0, []float64{6, 2}, []float64{6, 2}),
			"pop_genre":    z(0, []float64{8, 8, 1}, []float64{6, 2, 1}),
			"cat_artist":   z(0, []float64{7, 1, 1}, []float64{6, 2, 1}),
			"cat_composer": z(0, []float64{3, 1}, []float64{6, 2}),
			// Registrants A53 and XYZ.
			"pop_registrant": z(0, []float64{6, 2}, []float64{6, 2}),
			"lang=3":         1, "genre=465": 1, "genre=921": 1, "genre=other": 1,
			"cc=TW": 1, "year=2010-12": 1,
		},
		{
			"len_z": -4, "n_genre": 1.0 / 3, "n_artist": ln(1), "is_various": 1,
			"n_composer": ln(1), "lyricist_missing": 1,
			"year_z": -22.0 / 8, "title_ascii": 1,
			"pop_song":       z(1, []float64{6, 2, 1, 1}, []float64{6, 2, 1, 1}),
			"pop_artist":     z(1, []float64{6, 2, 1}, []float64{6, 2, 1}),
			"pop_composer":   z(1, []float64{6, 2}, []float64{6, 2}),
			"pop_genre":      z(1, []float64{8, 8, 1}, []float64{6, 2, 1}),
			"cat_artist":     z(1, []float64{7, 1, 1}, []float64{6, 2, 1}),
			"cat_composer":   z(1, []float64{3, 1}, []float64{6, 2}),
			"pop_registrant": z(1, []float64{6, 2}, []float64{6, 2}),
			"lang=24":        1, "genre=465": 1, "cc=other": 1, "year=<1990": 1,
		},
		{
			"song_missing": 1, "genre_missing": 1, "composer_missing": 1, "lyricist_missing": 1, "isrc_missing": 1,
			"title_ascii": 0.5, "lang=other/missing": 1,
			"pop_song": z(2, []float64{6, 2, 1, 1}, []float64{6, 2, 1, 1}),
		},
		{
			// x stands between names, or else belongs to one.
			"len_z": 4, "n_genre": 3, "n_artist": ln(3), "is_featured": 1,
			"composer_missing": 1, "lyricist_missing": 1, "isrc_missing": 1,
			"title_ascii": 1, "pop_song": z(3, []float64{6, 2, 1, 1}, []float64{6, 2, 1, 1}),
			"pop_artist":  z(2, []float64{6, 2, 1}, []float64{6, 2, 1}),
			"pop_genre":   z(2, []float64{8, 8, 1}, []float64{6, 2, 1}),
			"cat_artist":  z(2, []float64{7, 1, 1}, []float64{6, 2, 1}),
			"genre=other": 1, "lang=other/missing": 1,
		},
	} {
		// The hashes, by the standard library.
		for prefix, names := range [][3][]string{
			{{"張信哲", "jeff chang", "a mei"}, {"jeff chang", "李宗盛"}, {"李宗盛"}},
			{{"various artists"}, {"李宗盛"}, nil},
			{},
			{{"x japan", "y", "z"}, nil, nil},
		}[song] {
			buckets := []uint64{8, 4, 4}[prefix]
			for _, name := range names {
				h := fnv.New64a()
				h.Write([]byte(name))
				x := 1 / math.Sqrt(float64(len(names)))
				if h.Sum64() >= 1<<63 {
					x = -x
				}
				key := fmt.Sprint([]string{"h_artist", "h_composer", "h_lyricist"}[prefix], h.Sum64()%buckets)
				if want[key] += x; want[key] == 0 {
					delete(want, key)
				}
			}
		}
		got := byName(song)
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("song %d: %s is %v, want 0", song, name, got[name])
			}
		}
		for name, w := range want {
			if math.Abs(got[name]-w) > 1e-5 {
				t.Errorf("song %d: %s is %v, want %v", song, name, got[name], w)
			}
		}
	}
}

// Songs that are all the same have counts of 0: there is nothing to divide by.
// Counts of 50,000 and 50,003 differ by little, but not by rounding.
// What a user made of a song is nowhere in the features.
func TestEncodeOneSong(t *testing.T) {
	counts := kkbox.Encode(&kkbox.Dataset{Songs: []kkbox.Song{{ID: "a", Rows: 50_000}, {ID: "b", Rows: 50_003}}})
	if a, b := counts.Song(0)[18], counts.Song(1)[18]; math.Abs(float64(a)+1) > 0.05 || math.Abs(float64(b)-1) > 0.05 {
		t.Errorf("standardised, two counts are %v and %v, want -1 and 1", a, b)
	}
	data := library()
	data.Songs = data.Songs[:1]
	data.Song = []int32{0, 0, 0}
	one := kkbox.Encode(data)
	for i, x := range one {
		if x-x != 0 || i >= 18 && i <= 25 && x != 0 {
			t.Errorf("column %d of a single song is %v", i, x)
		}
	}
	data.Target, data.Probability = []uint8{0, 1, 1}, []float32{.1, .9, .8}
	for i, x := range kkbox.Encode(data) {
		if x != one[i] {
			t.Errorf("column %d depends on the targets", i)
		}
	}
}
