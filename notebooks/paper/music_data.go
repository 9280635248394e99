package paper

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/notebooks/figure"
)

// DataFact is a statistic of the KKBox data: what public write-ups of the
// challenge say of the real train.csv, and what it is here.
type DataFact struct {
	Name            string
	Published, Here float64
}

// DataFacts returns statistics that the music experiments depend on.
func DataFacts(data *kkbox.Dataset) []DataFact {
	rows := float64(len(data.User))
	perUser, heard := make([]float64, len(data.Users)), make([]float64, len(data.Users))
	perSong := make([]float64, len(data.Songs))
	var again, early float64
	firstRows := int(0.142 * rows)
	for i, user := range data.User {
		target := float64(data.Target[i])
		perUser[user]++
		heard[user] += target
		perSong[data.Song[i]]++
		again += target
		if i < firstRows {
			early += target
		}
	}
	var rate, few, none, once, songs float64
	for u, n := range perUser {
		rate += heard[u] / n / float64(len(perUser))
		if n <= 10 {
			few++
		}
		if heard[u] == 0 {
			none++
		}
	}
	for _, n := range perSong {
		if n > 0 {
			songs++
		}
		if n == 1 {
			once++
		}
	}
	users := float64(len(data.Users))
	return []DataFact{
		{"rows a user", 239.88, rows / users},
		{"users with 10 rows or fewer", 0.144, few / users},
		{"songs with one row", 0.462, once / songs},
		{"rows whose song was heard again", 0.5035, again / rows},
		{"the same, in the first 14.2 % of the rows", 0.689, early / float64(firstRows)},
		{"the same, mean over users", 0.416, rate},
		{"users who heard nothing again", 0.119, none / users},
	}
}

// publishedTypes are shares of the rows and of those heard again by source_type.
var publishedTypes = []struct {
	name        string
	share, mean float64
}{
	{"local-library", 0.307, 0.632}, {"online-playlist", 0.267, 0.425}, {"local-playlist", 0.146, 0.657}, {"radio", 0.065, 0.219},
	{"album", 0.065, 0.393}, {"top-hits-for-artist", 0.057, 0.418}, {"song", 0.033, 0.437}, {"song-based-playlist", 0.029, 0.381},
	{"listen-with", 0.026, 0.320},
}

// SourceTypes returns, for the sources from which users come upon songs most
// often, their shares of the rows, and the share of their songs that was heard
// again.
func SourceTypes(data *kkbox.Dataset) (shares, again []DataFact) {
	for _, p := range publishedTypes {
		var n, heard float64
		if k := slices.Index(data.Types, p.name); k >= 0 {
			for i, t := range data.Type {
				if int(t) == k {
					n++
					heard += float64(data.Target[i])
				}
			}
		}
		shares = append(shares, DataFact{p.name, p.share, n / float64(len(data.Type))})
		again = append(again, DataFact{p.name, p.mean, heard / max(n, 1)})
	}
	return shares, again
}

// RowsPerUser returns the share of users who have at most so many rows, as
// published and here.
func RowsPerUser(data *kkbox.Dataset) []figure.Series {
	published := figure.Series{
		Name: "published",
		X:    []float64{10, 20, 50, 100, 150, 200, 300, 400, 500, 600, 800, 990},
		Y:    []float64{0.144, 0.219, 0.344, 0.463, 0.554, 0.624, 0.734, 0.812, 0.869, 0.909, 0.953, 0.969},
	}
	perUser := make([]int, len(data.Users))
	for _, u := range data.User {
		perUser[u]++
	}
	slices.Sort(perUser)
	here := figure.Series{Name: "here"}
	for _, n := range spread(1, 1000, 60) {
		below, _ := slices.BinarySearch(perUser, n+1)
		here.X, here.Y = append(here.X, float64(n)), append(here.Y, float64(below)/float64(len(perUser)))
	}
	return []figure.Series{published, here}
}

// SongShares returns the share of the rows that so many of the most heard songs
// have, as published and here. In a sample of the users it is about the same for
// the songs that are heard often, while of the others fewer are left.
func SongShares(data *kkbox.Dataset) []figure.Series {
	published := figure.Series{
		Name: "published",
		X:    []float64{2577, 4495, 8148, 15949, 20489, 35808, 71397, 111873, 212418},
		Y:    []float64{0.5, 0.59, 0.68, 0.77, 0.8, 0.86, 0.92, 0.95, 0.98},
	}
	perSong := make([]int, len(data.Songs))
	for _, s := range data.Song {
		perSong[s]++
	}
	perSong = slices.DeleteFunc(perSong, func(n int) bool { return n == 0 })
	slices.SortFunc(perSong, func(a, b int) int { return b - a })
	here := figure.Series{Name: "here"}
	sum, at := 0, 0
	for _, n := range spread(100, len(perSong), 60) {
		for ; at < n; at++ {
			sum += perSong[at]
		}
		here.X, here.Y = append(here.X, float64(n)), append(here.Y, float64(sum)/float64(len(data.Song)))
	}
	return []figure.Series{published, here}
}

// MostHeard is the index of the song with the most rows.
func MostHeard(data *kkbox.Dataset) int {
	most := 0
	for i := range data.Songs {
		if data.Songs[i].Rows > data.Songs[most].Rows {
			most = i
		}
	}
	return most
}

// FieldDeviations is the standard deviation of every feature over the rows,
// [NumFields].
func FieldDeviations(data *kkbox.Dataset, fields *kkbox.Fields) []float64 {
	weights := make([]float64, len(data.Songs))
	for _, s := range data.Song {
		weights[s]++
	}
	deviations, column := make([]float64, kkbox.NumFields), make([]float64, len(data.Songs))
	for i := range deviations {
		for s := range column {
			column[s] = float64(fields.Song(s)[i])
		}
		deviations[i] = stat.PopStdDev(column, weights)
	}
	return deviations
}

// spread returns up to n whole numbers from low to high, in even ratios.
func spread(low, high, n int) []int {
	low = min(low, high)
	var all []int
	for i := range n {
		x := float64(low) * math.Pow(float64(high)/float64(low), float64(i)/float64(n-1))
		all = append(all, int(math.Round(x)))
	}
	return slices.Compact(all)
}
