package kkbox

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/contextrec/contextrec/envs"
)

// Synthetic makes a data set with the published statistics of the KKBox data, for
// all who do not have it. A set of U users, 1 to 200,000, is what a sample of U of
// the 30,755 users of the real train.csv would be: about 240 rows a user, and
// songs drawn by one law of popularity whatever U. It has no test.csv.
//
// The law of the target is a logistic one,
//
//	logit P(again) = user + source_type + song's fields + artist + song + popularity + taste of the user · traits of the song + habit of the user with the source_type + time + noise
//
// The terms of user, source_type, time and the song's fields are found such that the means of the
// target are the published ones; the others are normal. The same settings give the same data.
func Synthetic(users int, seed uint64) (*Dataset, error) {
	if users < 1 || users > 200_000 {
		return nil, fmt.Errorf("kkbox: Source.Users is %d, want 1 to 200000", users)
	}
	n := max(1000, int(fullSongs*math.Pow(float64(users)/fullUsers, .7)))
	g := &generator{seed: seed, rng: envs.NewRand(seed, "kkbox/synthetic"), law: readLaw(), songs: make([]madeSong, n)}
	g.drawArtists()
	g.drawSongs()
	rates := g.drawRows(users)
	slices.SortFunc(g.rows, func(a, b madeRow) int { return cmp.Compare(a.time, b.time) })
	for i := range g.rows {
		g.rows[i].level[period] = uint8(i * len(g.law[period].mean) / len(g.rows))
	}
	g.fit(rates)
	return g.dataset(), nil
}

// Of the real train.csv and songs.csv.
const (
	fullUsers = 30_755
	fullSongs = 2_296_320
	rowMean   = 0.5035 // of the target
)

// Standard deviations of the terms of the target's logit that no published mean
// fixes, and the like. They are ours, such that models reach the published AUCs.
const (
	artistSpread     = .28
	songSpread       = .20
	habitSpread      = .45
	noiseSpread      = .20
	popularityEffect = .18 // by 1 of log1p(rows)

	clusterMatch  = .72 // of the taste with language, genre and years
	artistMatch   = .60
	songMatch     = .30
	concentration = 4   // how many rows of the usual mix a user's first row is worth, in the user's mix
	sameArtist    = .20 // rows with a song of an artist whom the user heard before
)

// Fields of the law, in the order of law.tsv. A song or a row has a level of each of the first.
const period, kind, language, country, genre, year, genreIDs, composers, lyricists, levels = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
const userRows, songRows = 9, 10

// asArtist is the probability with which a song has its artist's level of a field.
var asArtist = [levels]float64{country: .85, genre: .75, year: .60}

// generator is a set in the making. Songs go by rank of popularity.
type generator struct {
	seed    uint64
	rng     *rand.Rand
	law     []*field
	songs   []madeSong
	artists []madeArtist // of a language together, the first of them various ones
	first   []int        // by language, the number of its first artist; and their number

	byArtist []int32   // songs, those of an artist together
	weight   []float64 // of all before a song in byArtist; and of all
	from     []int     // by artist, the first of its songs in byArtist; and their number

	rows []madeRow
}

type madeArtist struct {
	name   string
	place  [levels]float64 // in the laws of the fields
	effect float64
	traits traits
	songs  []int32
}

type madeSong struct {
	artist int
	level  [levels]uint8
	effect float64
	traits traits
}

type madeRow struct {
	user, song  int32
	level       [levels]uint8
	time        float64 // from 0 to 1
	base        float64 // the normal terms of the logit
	probability float64
}

// traits are what tastes and songs meet in.
type traits [4]float64

func (g *generator) traits(spread float64) (t traits) {
	for j := range t {
		t[j] = spread / 2 * g.rng.NormFloat64()
	}
	return t
}

func (g *generator) drawArtists() {
	const artistsBySong = .1
	for l, share := range g.law[language].share {
		g.first = append(g.first, len(g.artists))
		for i := range 2 + int(artistsBySong*share*float64(len(g.songs))) {
			a := madeArtist{name: newName(alphabets[l], g.rng), effect: artistSpread * g.rng.NormFloat64(), traits: g.traits(artistMatch)}
			for f := range a.place {
				a.place[f] = g.rng.Float64()
			}
			if i == 0 {
				a.name = "Various Artists"
			} else if alphabets[l] == 1 && g.rng.Float64() < .3 {
				a.name += " (" + newName(0, g.rng) + ")"
			}
			g.artists = append(g.artists, a)
		}
	}
	g.first = append(g.first, len(g.artists))
}

func (g *generator) drawSongs() {
	rng, weights := g.rng, make([]float64, len(g.songs))
	ranks, rows := g.law[songRows].knots(math.Log)
	for i := range g.songs {
		s := &g.songs[i]
		l := g.law[language].draw(0, rng.Float64())
		// The sizes of artists go as 1/(k+20). Various artists have 1 of 25 songs.
		known := float64(g.first[l+1]-g.first[l]-1) / 20
		k := 1 + int(20*math.Pow(known+1, math.Pow(rng.Float64(), 1.4))-20)
		if rng.Float64() < .04 {
			k = 0
		}
		s.artist = g.first[l] + k
		artist := &g.artists[s.artist]
		s.level[language] = l
		for f := country; f < levels; f++ {
			q := rng.Float64()
			if k > 0 && rng.Float64() < asArtist[f] {
				q = artist.place[f]
			}
			s.level[f] = g.law[f].draw(l, q)
		}
		if g.value(country, s) == "" {
			s.level[year] = 0 // the ISRC has both
		}
		heard := math.Exp(interpolate(math.Log(float64(i+1)), ranks, rows))
		// Users who have heard the popular songs go on to others: this makes up for it.
		weights[i] = math.Pow(-math.Log(1-2*heard/fullUsers), 1.03)
		s.effect = artist.effect + songSpread*rng.NormFloat64() + popularityEffect*math.Log1p(heard)
		s.traits = g.traits(songMatch)
		for j, x := range artist.traits {
			s.traits[j] += x
		}
		era := sort.SearchInts([]int{1, 4, 9, 19}, int(s.level[year]))      // unknown, from 2015, 2010, 2000, before
		for shift, level := range []int{int(l), int(s.level[genre]), era} { // eight levels of each differ
			s.traits[(level+shift)%4] += clusterMatch / math.Sqrt(3) * float64(1-level/4%2*2)
		}
		artist.songs = append(artist.songs, int32(i))
	}
	g.weight = []float64{0}
	for _, artist := range g.artists {
		g.from = append(g.from, len(g.byArtist))
		for _, song := range artist.songs {
			g.weight = append(g.weight, g.weight[len(g.byArtist)]+weights[song])
			g.byArtist = append(g.byArtist, song)
		}
	}
	g.from = append(g.from, len(g.byArtist))
}

func (g *generator) value(f int, s *madeSong) string { return g.law[f].values[s.level[f]] }

// drawSong draws a song of some artists by popularity, any song if they have none.
func (g *generator) drawSong(artist, end int) int32 {
	from, to := g.from[artist], g.from[end]
	if from == to {
		return int32(g.rng.IntN(len(g.songs)))
	}
	x := g.weight[from] + g.rng.Float64()*(g.weight[to]-g.weight[from])
	return g.byArtist[from+sort.SearchFloat64s(g.weight[from+1:to], x)]
}

// drawRows draws what each user hears, and where, and returns the users' rates: how often they
// listen again. Rates rise with the rows, but users of a few days hardly listen again. Small sets
// have the shape of large ones. A user hears no song twice. Sources and languages are those of an
// earlier row of the user ever more often (Pólya's urn), so that every user has a mix, and all
// together the usual one.
func (g *generator) drawRows(users int) []float64 {
	rng, rates := g.rng, make([]float64, users)
	counts, below := g.law[userRows].knots(func(x float64) float64 { return x })
	heard := make([]int32, len(g.songs)) // the last user, from 1, who heard the song
	for u, place := range rng.Perm(users) {
		rows := math.Round(interpolate((float64(place)+.5)/float64(users), below, counts))
		rows = min(max(rows, 1), float64(len(g.songs)/3))
		rates[u] = sigmoid(-.61 + .105*math.Log(rows) + 2.35/math.Sqrt(5+rows/150)*rng.NormFloat64())
		if rng.Float64() < .83/(1+math.Exp((math.Log(rows)-2.45)/.5)) {
			rates[u] = sigmoid(-6 + 2*rng.NormFloat64())
		}
		taste, joined := g.traits(2), max(0, 4*rng.Float64()-3)
		habits := make([]float64, len(g.law[kind].values))
		for k := range habits {
			habits[k] = habitSpread * rng.NormFloat64()
		}
		from := len(g.rows)
		for k := range int(rows) {
			// earlier is a row of the user, or nil for something new.
			earlier := func() *madeRow {
				if rng.Float64()*(float64(k)+concentration) < concentration {
					return nil
				}
				return &g.rows[from+rng.IntN(k)]
			}
			row := madeRow{user: int32(u), time: joined + (1-joined)*rng.Float64()}
			l := g.law[language].draw(0, rng.Float64())
			if r := earlier(); r != nil {
				l = r.level[language]
			}
			row.song = g.drawSong(g.first[l], g.first[l+1])
			if r := earlier(); r != nil && rng.Float64() < sameArtist && !slices.Contains(g.first, g.songs[r.song].artist) {
				row.song = g.drawSong(g.songs[r.song].artist, g.songs[r.song].artist+1)
			}
			for try := 0; heard[row.song] == int32(u+1); try++ {
				if row.song = g.drawSong(g.first[l], g.first[l+1]); try > 20 {
					row.song = int32(rng.IntN(len(heard)))
				}
			}
			heard[row.song] = int32(u + 1)
			s := &g.songs[row.song]
			row.level = s.level
			row.level[kind] = g.law[kind].draw(0, rng.Float64())
			if r := earlier(); r != nil {
				row.level[kind] = r.level[kind]
			}
			row.base = s.effect + habits[row.level[kind]] + noiseSpread*rng.NormFloat64()
			for j, x := range taste {
				row.base += x * s.traits[j]
			}
			g.rows = append(g.rows, row)
		}
	}
	return rates
}

func (g *generator) dataset() *Dataset {
	d := &Dataset{Types: g.law[kind].values, Notes: []string{"the data is synthetic: the true probabilities are known"}}
	artistSongs, composerSongs := map[string]int32{}, map[string]int32{}
	for i := range g.songs { // what write draws first of a song
		artistSongs[g.artists[g.songs[i].artist].name]++
		composerSongs[firstOf(creatorNames(g.credits(composers, i, rand.New(rand.NewPCG(g.seed, uint64(i))))))]++
	}
	delete(composerSongs, "")
	songOf, users := make([]int32, len(g.songs)), map[string]int32{} // songs from 1
	for _, row := range g.rows {
		if songOf[row.song] == 0 {
			song := g.write(int(row.song))
			song.ArtistSongs, song.ComposerSongs = artistSongs[song.Artist], composerSongs[firstOf(creatorNames(song.Composer))]
			d.Songs = append(d.Songs, song)
			songOf[row.song] = int32(len(d.Songs))
		}
		d.User = append(d.User, indexOf(fmt.Sprint("user ", row.user), users, &d.Users, strings.Clone))
		d.Song = append(d.Song, songOf[row.song]-1)
		d.Songs[songOf[row.song]-1].Rows++
		d.Type, d.Probability = append(d.Type, row.level[kind]), append(d.Probability, float32(row.probability))
		d.Target = append(d.Target, uint8(flag(g.rng.Float64() < row.probability)))
	}
	return d
}

// credits are the artist often, or others of the language, of whom the first write most.
func (g *generator) credits(f, at int, rng *rand.Rand) string {
	s, all := &g.songs[at], []string(nil)
	first, end := g.first[s.level[language]], g.first[s.level[language]+1]
	for range int(number(g.value(f, s))) {
		a := first + 1 + int(8*math.Pow(float64(end-first-1)/8+1, math.Pow(rng.Float64(), 1.5))-8)
		if rng.Float64() < .3 && s.artist > first {
			a = s.artist
		}
		all = append(all, g.artists[a].name)
	}
	return strings.Join(all, "|")
}

func (g *generator) write(at int) Song {
	s, rng := &g.songs[at], rand.New(rand.NewPCG(g.seed, uint64(at)))
	l := s.level[language]
	song := Song{
		ID: fmt.Sprint("song ", at), Listed: true, Artist: g.artists[s.artist].name, Genres: g.value(genre, s),
		Composer: g.credits(composers, at, rng), Lyricist: g.credits(lyricists, at, rng),
		Language: int16(number(g.value(language, s))), Length: int32(math.Exp(12.383 + .24*rng.NormFloat64())),
	}
	for n := number(g.value(genreIDs, s)); n > 1 && song.Genres != ""; n-- {
		song.Genres += "|" + g.law[genre].values[g.law[genre].draw(l, rng.Float64())]
	}
	song.Name = newName(alphabets[l], rng)
	song.Name += []string{" (Live)", " (feat. Ray)", "", "", "", "", "", "", "", ""}[rng.IntN(10)]
	if country := g.value(country, s); country != "" {
		song.ISRC = fmt.Sprintf("%sA%02d%s%05d", country, s.artist%97, g.value(year, s)[2:], rng.IntN(3000))
	}
	return song
}

// Syllables of names, Latin, Chinese, Korean and Japanese, and which of them the
// languages of law.tsv have.
var (
	syllables = [][]string{
		strings.Fields("Ber Cal Dar El Fen Gar Hol Jen Kar Lam Mor Nor Per Ral San Tor Ver Wil Zan Bran Ton Ley Man Son Field Dale Ford Wood Mont Rick Ka Mi Ra Lo"),
		strings.Split("陳林黃張李王吳劉蔡楊許鄭謝洪郭邱曾廖賴徐周葉蘇莊呂江何蕭羅高潘簡朱鍾游彭詹胡施沈傑倫信哲宗緯俊宏惠妹佳瑩怡君志明淑芬雅婷", ""),
		strings.Split("김이박최정강조윤장임한오서신권황안송전홍민준도하은지우주원시현예수아진영호성재훈태연경미선희혜인규석동철상욱", ""),
		strings.Split("佐鈴高田渡伊山中小加吉松井木林清斎藤橋本村石川原あいうえおかきくけこさしすせそアイウエオカキクケコサシスセソ", ""),
	}
	alphabets = []int{1, 0, 2, 0, 3, 1, 1, 0, 0, 0}
)

func newName(alphabet int, rng *rand.Rand) string {
	var parts []string
	for range 3 {
		parts = append(parts, syllables[alphabet][rng.IntN(len(syllables[alphabet]))])
	}
	return strings.Join(parts, []string{" ", "", "", ""}[alphabet])
}
