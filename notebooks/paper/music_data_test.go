package paper_test

import (
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
	// One song of three has half of the rows, two have three quarters.
	songs := paper.SongShares(tinyData())[1]
	if len(songs.X) != 3 || !alike(songs.X[0], 1./3) || songs.Y[0] != 0.5 || songs.Y[1] != 0.75 || songs.Y[2] != 1 {
		t.Errorf("shares are %+v", songs)
	}
}
