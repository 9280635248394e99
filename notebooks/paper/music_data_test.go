package paper_test

import (
	"math"
	"testing"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/notebooks/paper"
)

// Two users, who heard 3 songs and 1; one song was heard by both.
func tinyData() *kkbox.Dataset {
	return &kkbox.Dataset{
		Users: make([]kkbox.User, 2), Songs: make([]kkbox.Song, 4), // the last is test.csv's alone
		User: []int32{0, 0, 1, 0}, Song: []int32{0, 1, 1, 2}, Target: []uint8{1, 0, 0, 1},
		Types: []string{"", "radio"}, Type: []uint8{1, 1, 0, 0},
	}
}

func TestDataFacts(t *testing.T) {
	facts := map[string]float64{}
	for _, f := range paper.DataFacts(tinyData()) {
		facts[f.Name] = f.Here
	}
	for name, want := range map[string]float64{
		"rows a user": 2, "users with 10 rows or fewer": 1, "songs with one row": 2. / 3, "rows whose song was heard again": 0.5,
		"the same, mean over users": (2./3 + 0) / 2, "users who heard nothing again": 0.5,
	} {
		if !alike(facts[name], want) {
			t.Errorf("%s: %v, want %v", name, facts[name], want)
		}
	}
	shares, again := paper.SourceTypes(tinyData())
	if shares[3].Name != "radio" || shares[3].Here != 0.5 || again[3].Here != 0.5 || shares[0].Here != 0 {
		t.Errorf("radio has the share %+v, %+v; the first has %+v", shares[3], again[3], shares[0])
	}
}

// A feature that is 1 in three of four rows and 0 in the fourth has the standard
// deviation sqrt(3)/4, one that all songs share none.
func TestFieldDeviations(t *testing.T) {
	data := tinyData()
	fields := &kkbox.Fields{Values: make([]float32, 4*kkbox.NumFields)}
	for song := range 4 {
		fields.Values[song*kkbox.NumFields] = 7
	}
	fields.Values[0*kkbox.NumFields+5], fields.Values[1*kkbox.NumFields+5] = 1, 1
	d := paper.FieldDeviations(data, fields)
	if len(d) != kkbox.NumFields || !alike(d[0], 0) || !alike(d[5], math.Sqrt(3)/4) {
		t.Errorf("deviations are %v", d[:6])
	}
	data.Songs[2].Rows = 9
	if most := paper.MostHeard(data); most != 2 {
		t.Errorf("song %d is heard most", most)
	}
}

func TestDataCurves(t *testing.T) {
	users := paper.RowsPerUser(tinyData())[1]
	for k, n := range users.X {
		want := 1.
		if n < 3 {
			want = 0.5
		}
		if users.Y[k] != want {
			t.Errorf("%v of the users have at most %v rows, want %v", users.Y[k], n, want)
		}
	}
	// 200 songs, song k being heard by the first 200-k users: the first 100 have
	// 200+199+...+101 of 200+199+...+1 rows.
	many := &kkbox.Dataset{Users: make([]kkbox.User, 200), Songs: make([]kkbox.Song, 201)}
	for song := range 200 {
		for user := range 200 - song {
			many.Song, many.User = append(many.Song, int32(song)), append(many.User, int32(user))
		}
	}
	songs := paper.SongShares(many)[1]
	if songs.X[0] != 100 || !alike(songs.Y[0], 15050./20100) || songs.X[len(songs.X)-1] != 200 || songs.Y[len(songs.Y)-1] != 1 {
		t.Errorf("shares are %+v", songs)
	}
}
