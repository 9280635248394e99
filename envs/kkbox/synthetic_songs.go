package kkbox

import (
	"math"
	"math/rand/v2"
)

// traits is the number of dimensions in which tastes and songs meet.
const traits = 4

// Standard deviations of the terms of the target's logit that no published mean
// fixes. They are ours, such that models reach the published AUCs and the rewards
// that these imply.
const (
	artistSpread     = .36
	songSpread       = .25
	habitSpread      = .50 // of the source_type for one user: its mean by user is among the best features of published models
	noiseSpread      = .20
	popularityEffect = .18 // by 1 of log1p(rows)

	// Parts of the match of taste and song: by language, genre and years; by
	// artist; by song.
	clusterMatch = .85
	artistMatch  = .70
	songMatch    = .30
)

// catalogue is songs.csv and what is behind it. Songs go by rank of popularity,
// from 0; all slices have one entry a song.
type catalogue struct {
	effect []float32 // artist, song and popularity, in logits
	traits [][traits]float32
	artist []int32 // number of the artist, 0 for various ones; artists of a language are together
	fields []songFields

	artistLanguage []uint8 // by artist
	languageFirst  []int32 // by language, the number of its first artist
}

// songFields are positions in the tables of the law.
type songFields struct {
	language, country, year, genre           uint8
	genreCount, composerCount, lyricistCount uint8
	unlisted                                 bool // whether songs.csv lacks it
}

// artists is how many artists a language has by its songs.csv rows.
const artistsBySong = .1

func (s Synthetic) drawCatalogue() *catalogue {
	rng := s.rand("songs")
	size := catalogueSize(s.Users)
	c := &catalogue{
		effect: make([]float32, size),
		traits: make([][traits]float32, size),
		artist: make([]int32, size),
		fields: make([]songFields, size),
	}

	// Popularity, and how near a rank is to the end of the catalogue, where
	// songs are as in songs.csv; those at its head are as they must be for the
	// rows of train.csv to have their shares of languages.
	depth := make([]float32, size)
	var all, deep float64
	for i := range depth {
		rows := rowsOfSong(float64(i + 1))
		d := max(0, math.Log(float64(i+1)/300)/math.Log(fullCatalogue/300.))
		depth[i] = float32(d * d)
		all += rows
		deep += rows * d * d
	}
	deep /= all
	var atHead, atEnd [16]float64
	for l, lang := range languageLevels {
		atHead[l] = max(0, lang.share-deep*lang.value.catalogue)
		atEnd[l] = lang.value.catalogue
	}
	headLanguages, endLanguages := newDice(atHead[:len(languageLevels)]), newDice(atEnd[:len(languageLevels)])

	// Artists, in the order of language and of fame within it.
	c.artistLanguage = append(c.artistLanguage, 0)
	artists := make([]int, len(languageLevels))
	for l, lang := range languageLevels {
		artists[l] = 1 + int(artistsBySong*lang.value.catalogue*float64(size))
		c.languageFirst = append(c.languageFirst, int32(len(c.artistLanguage)))
		for range artists[l] {
			c.artistLanguage = append(c.artistLanguage, uint8(l))
		}
	}
	genreDice, countryDice := genresByLanguage(), countriesByLanguage()
	yearDice := diceOf(yearLevels)
	type artistLaw struct {
		effect         float32
		traits         [traits]float32
		genre, country uint8
		era            float64
	}
	law := make([]artistLaw, len(c.artistLanguage))
	// Few artists have much of the rows, so those of a language, in the order of
	// fame, have genres, countries and eras spread evenly over their laws, by the
	// additive recurrence in three dimensions with the best constants known.
	var place [3]float64
	for a := range law {
		l := c.artistLanguage[a]
		for j, step := range []float64{.8191725134, .6710436067, .5497004779} {
			if a <= 1 || l != c.artistLanguage[a-1] {
				place[j] = rng.Float64()
			}
			place[j] = math.Mod(place[j]+step, 1)
		}
		law[a] = artistLaw{
			effect:  float32(artistSpread * rng.NormFloat64()),
			traits:  normalTraits(rng, artistMatch),
			genre:   genreDice[l].at(place[0]),
			country: countryDice[l].at(place[1]),
			era:     math.Sqrt2 * math.Erfinv(2*place[2]-1),
		}
	}
	law[0].effect, law[0].traits = 0, [traits]float32{}

	// Traits of languages, genres and eras; a cluster's are their sum.
	part := clusterMatch / math.Sqrt(3)
	languageTraits, genreTraits, eraTraits := tableOfTraits(rng, len(languageLevels), part), tableOfTraits(rng, len(genreLevels), part), tableOfTraits(rng, 5, part)

	composers, lyricists, genreNumbers := diceOf(composerLevels[1:]), diceOf(lyricistLevels[1:]), diceOf(genreCountLevels)
	for i := range size {
		f := &c.fields[i]
		d := float64(depth[i])
		if rng.Float64() < d {
			f.language = endLanguages.roll(rng)
		} else {
			f.language = headLanguages.roll(rng)
		}
		l := int(f.language)
		lang := languageLevels[l].value

		// The sizes of artists go as 1/(k+20). Known songs are of known artists.
		const flat = 20
		u := rng.Float64()
		if rng.Float64() > 2*d {
			u = math.Pow(u, 1.4)
		}
		k := int32(flat*math.Pow(float64(artists[l]+flat)/flat, u) - flat)
		a := c.languageFirst[l] + min(k, int32(artists[l]-1))
		if rng.Float64() < .04 {
			a = 0
		}
		c.artist[i] = a
		artist := &law[a]

		f.genre, f.country = artist.genre, artist.country
		if a == 0 || rng.Float64() < .25 {
			f.genre = genreDice[l].roll(rng)
		}
		if a == 0 || rng.Float64() < .15 {
			f.country = countryDice[l].roll(rng)
		}
		const kept = .6 // correlation of a song's year with its artist's
		era := kept*artist.era + math.Sqrt(1-kept*kept)*rng.NormFloat64()
		f.year = yearDice.at(math.Erfc(-era/math.Sqrt2) / 2)
		if countryLevels[f.country].value == "" {
			f.year = noYear
		}
		f.genreCount = 1 + genreNumbers.roll(rng)
		if genreLevels[f.genre].value == "" {
			f.genreCount = 0
		}
		// Rare songs are poorly annotated: 47 % and 85 % of songs.csv lack
		// composer and lyricist.
		if rng.Float64() > lang.composerMissing*(.93+.5*d) {
			f.composerCount = 1 + composers.roll(rng)
		}
		if rng.Float64() > lang.lyricistMissing*(.97+.3*d) {
			f.lyricistCount = 1 + lyricists.roll(rng)
		}
		f.unlisted = i > size/100 && rng.Float64() < unlistedShare

		c.effect[i] = artist.effect + float32(songSpread*rng.NormFloat64()+popularityEffect*math.Log1p(rowsOfSong(float64(i+1))))
		own := normalTraits(rng, songMatch)
		era5 := eraOf(f.year)
		for j := range own {
			own[j] += artist.traits[j] + languageTraits[l][j] + genreTraits[f.genre][j] + eraTraits[era5][j]
		}
		c.traits[i] = own
	}
	return c
}

// catalogueSize is the number of songs of a set: songs.csv's at full size.
func catalogueSize(users int) int {
	return int(math.Round(fullCatalogue * math.Pow(float64(users)/fullUsers, .8)))
}

// noYear is the position in years, one past its end, of songs without one.
var noYear = uint8(len(yearLevels))

// eraOf tells five eras apart, as those who like them might.
func eraOf(year uint8) int {
	if year == noYear {
		return 0
	}
	switch y := yearLevels[year].value; {
	case y < 2000:
		return 1
	case y < 2010:
		return 2
	case y < 2015:
		return 3
	}
	return 4
}

// normalTraits are independent, each with a variance of spread² over their number,
// so that their product with a taste of unit normals has that spread.
func normalTraits(rng *rand.Rand, spread float64) (t [traits]float32) {
	for j := range t {
		t[j] = float32(spread / math.Sqrt(traits) * rng.NormFloat64())
	}
	return t
}

// tableOfTraits are those of n levels, orthogonal for as many as there are
// dimensions, so that no two levels are alike by chance.
func tableOfTraits(rng *rand.Rand, n int, spread float64) [][traits]float32 {
	table := make([][traits]float32, n)
	for i := range table {
		v := normalTraits(rng, 1)
		for _, w := range table[i-i%traits : i] {
			var dot float32
			for j := range v {
				dot += v[j] * w[j]
			}
			for j := range v {
				v[j] -= dot * w[j] / float32(spread*spread)
			}
		}
		var norm float64
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		for j := range v {
			v[j] *= float32(spread / math.Sqrt(norm))
		}
		table[i] = v
	}
	return table
}

func genresByLanguage() []dice {
	all := make([]dice, len(languageLevels))
	for l := range all {
		w := make([]float64, len(genreLevels))
		for g := range w {
			w[g] = genreLevels[g].share
			if g < len(genreTilt[l]) {
				w[g] *= genreTilt[l][g]
			}
		}
		all[l] = newDice(w)
	}
	return all
}

func countriesByLanguage() []dice {
	all := make([]dice, len(languageLevels))
	for l := range all {
		all[l] = newDice(countryShares[l])
	}
	return all
}

// dice draw a position by cumulative weights.
type dice []float64

func newDice(weights []float64) dice {
	d := make(dice, len(weights))
	sum := 0.
	for i, w := range weights {
		sum += w
		d[i] = sum
	}
	return d
}

func diceOf[T any](levels []level[T]) dice {
	var w []float64
	for _, l := range levels {
		w = append(w, l.share)
	}
	return newDice(w)
}

func (d dice) roll(rng *rand.Rand) uint8 { return d.at(rng.Float64()) }

// at is the position at a share q, 0 <= q <= 1, of the weights.
func (d dice) at(q float64) uint8 {
	x := q * d[len(d)-1]
	for i, c := range d {
		if x < c {
			return uint8(i)
		}
	}
	return uint8(len(d) - 1)
}
