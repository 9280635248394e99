package kkbox

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Fields are the features of all songs of a data set.
//
// Nothing changes Fields once they are made.
type Fields struct {
	Variant Variant

	// Values is [songs, NumFields], row-major. With Variant.SourceFields the
	// last 16 are 0, for they belong to a row: see Row.
	Values []float32

	// Scales are what the columns are standardised with: 0 and 1 where a column
	// is as it is. They come from the songs alone, never from a target.
	Scales [NumFields]Scale

	song    []int32       // of each row
	origin  []uint16      // of each row, index in origins; nil without SourceFields
	origins [][16]float32 // the last 16 features by tab and type
}

// Scale says how a column is standardised: (x − Mean)/Deviation.
type Scale struct{ Mean, Deviation float64 }

// Song returns the features of a song, [NumFields]. The caller must not change
// them.
func (f *Fields) Song(song int) []float32 {
	return f.Values[song*NumFields : (song+1)*NumFields : (song+1)*NumFields]
}

// Row writes the features of a row of train.csv to dst, [NumFields]: those of
// its song, and with Variant.SourceFields where the user came upon it. It
// panics when dst has another length or there is no such row.
func (f *Fields) Row(dst []float32, row int) {
	if len(dst) != NumFields {
		panic("kkbox: destination of " + strconv.Itoa(len(dst)) + " features, want " + strconv.Itoa(NumFields))
	}
	f.fill((*[NumFields]float32)(dst), int(f.song[row]), row)
}

// fill writes the features of a row, whose song is known, to dst.
func (f *Fields) fill(dst *[NumFields]float32, song, row int) {
	*dst = [NumFields]float32(f.Values[song*NumFields : (song+1)*NumFields])
	if f.origin != nil {
		*(*[16]float32)(dst[firstHash:]) = f.origins[f.origin[row]]
	}
}

// The published mean and standard deviation of ln(song_length), over the rows of
// train.csv, and a decade or so of years.
var (
	lengthScale = Scale{12.383, 0.2357}
	yearScale   = Scale{2010, 8}
)

// Encode makes the features of all songs. No target enters. The counts are
// standardised over the rows of train.csv and test.csv, or in
// Variant.CatalogueCounts over the songs, each once.
func Encode(data *Dataset, v Variant) *Fields {
	e := encoder{data: data, variant: v}
	e.count()
	f := &Fields{Variant: v, Values: make([]float32, len(data.Songs)*NumFields), song: data.Song}
	e.inParallel(func(song int) { e.encode(f.Song(song), &data.Songs[song]) })
	for c := range f.Scales {
		f.Scales[c] = Scale{0, 1}
	}
	f.Scales[0], f.Scales[15] = lengthScale, yearScale
	e.standardise(f)
	if v.SourceFields {
		f.origin, f.origins = encodeOrigins(data)
	}
	return f
}

type encoder struct {
	data    *Dataset
	variant Variant

	// Rows of the whole period by artist, first composer and lyricist, first
	// genre and registrant.
	artist, composer, lyricist, genre, registrant map[string]int64
}

func (e *encoder) count() {
	for _, m := range []*map[string]int64{&e.artist, &e.composer, &e.lyricist, &e.genre, &e.registrant} {
		*m = map[string]int64{}
	}
	for i := range e.data.Songs {
		s := &e.data.Songs[i]
		rows := int64(s.Rows)
		e.artist[s.Artist] += rows
		e.composer[firstName(s.Composer)] += rows
		e.lyricist[firstName(s.Lyricist)] += rows
		e.genre[firstGenreID(s.Genres)] += rows
		if code, ok := parseISRC(s.ISRC); ok {
			e.registrant[code.registrant] += rows
		}
	}
}

// inParallel calls f for every song, from a few goroutines.
func (e *encoder) inParallel(f func(song int)) {
	const block = 4096
	n := len(e.data.Songs)
	next := make(chan int, n/block+1)
	for from := 0; from < n; from += block {
		next <- from
	}
	close(next)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for from := range next {
				for song := from; song < min(from+block, n); song++ {
					f(song)
				}
			}
		})
	}
	workers.Wait()
}

// encode writes the features of a song to x, which is 0. A count is NaN where it
// is missing, until it is standardised.
func (e *encoder) encode(x []float32, s *Song) {
	credits := splitArtists(s.Artist)
	artists, composers, lyricists := artistNames(credits), creatorNames(s.Composer), creatorNames(s.Lyricist)
	isrc, hasISRC := parseISRC(s.ISRC)

	if s.Length > 0 {
		x[0] = lengthScale.clipped(math.Log(float64(s.Length)))
	}
	x[1] = flag(!s.Listed)
	ids := splitGenres(s.Genres)
	x[2] = min(float32(len(ids))/3, 3)
	x[3] = flag(len(ids) == 0)
	x[4] = log1p(int64(len(credits)))
	x[5] = flag(isFeatured(s.Artist) || isFeatured(s.Name))
	x[6] = flag(s.Artist == "Various Artists" || s.Artist == "Various")
	x[7], x[8] = log1p(int64(len(composers))), flag(len(composers) == 0)
	x[9], x[10] = log1p(int64(len(lyricists))), flag(len(lyricists) == 0)
	x[11] = flag(share(artists, composers))
	x[12] = flag(share(artists, lyricists))
	x[13] = flag(share(composers, lyricists))
	x[14] = flag(!hasISRC)
	x[16] = asciiShare(s.Name)
	x[17] = flag(isVersion(s.Name))

	if !e.variant.CatalogueCounts {
		x[18] = log1p(int64(s.Rows))
		x[19] = log1pIf(s.Artist != "", e.artist[s.Artist])
		x[20] = log1pOfFirst(composers, e.composer)
		x[21] = log1pOfFirst(lyricists, e.lyricist)
		x[22] = log1pOfFirst(ids, e.genre)
		x[25] = log1pIf(hasISRC, e.registrant[isrc.registrant])
	}
	x[23] = log1pIf(s.ArtistSongs > 0, int64(s.ArtistSongs))
	x[24] = log1pIf(s.ComposerSongs > 0, int64(s.ComposerSongs))

	language := slices.Index(languages[:], s.Language)
	if language < 0 {
		language = len(languages)
	}
	x[firstLanguage+language] = 1
	for _, id := range ids {
		genre := len(genres)
		if n, err := strconv.Atoi(id); err == nil {
			if known := slices.Index(genres[:], n); known >= 0 {
				genre = known
			}
		}
		x[firstGenre+genre] = 1
	}
	if hasISRC {
		x[15] = yearScale.clipped(float64(isrc.year))
		country := slices.Index(countries[:], isrc.country)
		if country < 0 {
			country = len(countries)
		}
		x[firstCountry+country] = 1
		bin := 0
		for bin < len(yearsFrom) && isrc.year >= yearsFrom[bin] {
			bin++
		}
		x[firstYear+bin] = 1
	}

	if !e.variant.SourceFields {
		names := x[firstHash:]
		hashNames(names[:artistBuckets], artists)
		hashNames(names[artistBuckets:artistBuckets+nameBuckets], composers)
		hashNames(names[artistBuckets+nameBuckets:], lyricists)
	}
}

// standardise brings every count to mean 0 and standard deviation 1 over the
// songs that have it, each weighed by its rows, and writes 0 where it is missing.
func (e *encoder) standardise(f *Fields) {
	const columns = firstLanguage - firstCount
	var n, sum, squares [columns]float64
	weight := func(song int) float64 {
		if e.variant.CatalogueCounts {
			return 1
		}
		return float64(e.data.Songs[song].Rows)
	}
	for song := range e.data.Songs {
		w := weight(song)
		for c, x := range f.Song(song)[firstCount:firstLanguage] {
			if x == x {
				n[c] += w
				sum[c] += w * float64(x)
			}
		}
	}
	scales := f.Scales[firstCount:firstLanguage]
	for c := range scales {
		if n[c] > 0 {
			scales[c].Mean = sum[c] / n[c]
		}
	}
	for song := range e.data.Songs {
		w := weight(song)
		for c, x := range f.Song(song)[firstCount:firstLanguage] {
			if x == x {
				d := float64(x) - scales[c].Mean
				squares[c] += w * d * d
			}
		}
	}
	for c := range scales {
		// Below this, all are the same but for rounding: songs of one artist, say.
		if d := math.Sqrt(squares[c] / n[c]); d > 1e-4 {
			scales[c].Deviation = d
		}
	}
	for song := range e.data.Songs {
		counts := f.Song(song)[firstCount:firstLanguage]
		for c, x := range counts {
			if x == x {
				counts[c] = float32((float64(x) - scales[c].Mean) / scales[c].Deviation)
			} else {
				counts[c] = 0
			}
		}
	}
}

// encodeOrigins returns the features of where the user came upon the song, and
// which of them a row has.
func encodeOrigins(data *Dataset) (origin []uint16, origins [][16]float32) {
	for _, tab := range data.Tabs {
		for _, kind := range data.Types {
			var x [16]float32
			if i := slices.Index(sourceTypes[:], kind); i >= 0 {
				x[i] = 1
			}
			if i := slices.Index(sourceTabs[:], tab); i >= 0 {
				x[len(sourceTypes)+i] = 1
			}
			origins = append(origins, x)
		}
	}
	origin = make([]uint16, len(data.Song))
	for row := range origin {
		origin[row] = uint16(int(data.Tab[row])*len(data.Types) + int(data.Type[row]))
	}
	return origin, origins
}

func (s Scale) clipped(x float64) float32 {
	return float32(min(max((x-s.Mean)/s.Deviation, -4), 4))
}

func flag(yes bool) float32 {
	if yes {
		return 1
	}
	return 0
}

func log1p(n int64) float32 { return float32(math.Log1p(float64(n))) }

func log1pIf(known bool, n int64) float32 {
	if !known {
		return float32(math.NaN())
	}
	return log1p(n)
}

func log1pOfFirst(names []string, counts map[string]int64) float32 {
	if len(names) == 0 {
		return log1pIf(false, 0)
	}
	return log1p(counts[names[0]])
}

// isrcCode is what the features use of an International Standard Recording
// Code, CCXXXYYNNNNN.
type isrcCode struct {
	country, registrant string
	year                int
}

// parseISRC returns false where there is no code, or none that can be read.
func parseISRC(code string) (isrcCode, bool) {
	if len(code) < 7 {
		return isrcCode{}, false
	}
	tens, units := code[5]-'0', code[6]-'0'
	if tens > 9 || units > 9 {
		return isrcCode{}, false
	}
	year := 1900 + 10*int(tens) + int(units)
	if year <= 1917 { // the data ends in 2017
		year += 100
	}
	return isrcCode{code[:2], code[2:5], year}, true
}

func splitGenres(ids string) []string {
	return strings.FieldsFunc(ids, func(r rune) bool { return r == '|' || r == ' ' })
}

func firstGenreID(ids string) string {
	if split := splitGenres(ids); len(split) > 0 {
		return split[0]
	}
	return ""
}
